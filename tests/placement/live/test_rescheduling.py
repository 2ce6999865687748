"""Moves are made if they pay."""

from __future__ import annotations

from penstock.placement.live.channel_graph import ChannelGraph
from penstock.placement.live.moves_log import HELD_BATCHES, Move, MovesLog
from penstock.placement.live.rescheduling import LINK_BYTES_A_SECOND, OPEN_SECONDS, may_move, predict

HOSTS = {"0": "a", "1": "b"}
APART, TOGETHER = {(1, 0): "0", (2, 0): "1"}, {(1, 0): "0", (2, 0): "0"}


def graph(sent: float, state: int = 0, cpu: float = 0.1) -> ChannelGraph:
    tasks = ((1, 0), (2, 0))
    return ChannelGraph(
        tasks=tasks,
        flows={tasks: sent},  # type: ignore[dict-item]
        cpu_seconds=dict.fromkeys(tasks, cpu),
        state_bytes=dict.fromkeys(tasks, state),
    )


def test_much_traffic_pays_for_a_move() -> None:
    found = predict(graph(LINK_BYTES_A_SECOND), APART, TOGETHER, HOSTS)
    assert (found.saved, found.move_seconds) == (1.0, OPEN_SECONDS)
    assert may_move(found, 60)


def test_little_traffic_does_not() -> None:
    assert not may_move(predict(graph(LINK_BYTES_A_SECOND / 1000), APART, TOGETHER, HOSTS), 60)


def test_state_that_takes_longer_to_load_than_it_saves_stays() -> None:
    found = predict(graph(LINK_BYTES_A_SECOND, state=int(200 * LINK_BYTES_A_SECOND)), APART, TOGETHER, HOSTS)
    assert found.move_seconds > 100
    assert not may_move(found, 60)
    assert may_move(found, 3600)


def test_who_is_never_to_look_again_never_moves() -> None:
    assert not may_move(predict(graph(LINK_BYTES_A_SECOND), APART, TOGETHER, HOSTS), None)


def test_a_stage_that_gets_fuller_costs_what_the_network_saves() -> None:
    tasks = ((1, 0), (1, 1))
    two = ChannelGraph(tasks=tasks, cpu_seconds=dict.fromkeys(tasks, 1.0))
    found = predict(two, {(1, 0): "0", (1, 1): "1"}, {(1, 0): "0", (1, 1): "0"}, HOSTS)
    assert found.saved == -1.0
    assert not may_move(found, 3600)


def test_a_task_that_has_moved_is_held_for_some_batches() -> None:
    log = MovesLog()
    prediction = predict(graph(1), APART, TOGETHER, HOSTS)
    log.add(Move(batch=5, at=0.0, cause="looked again", tasks={(2, 0): ("1", "0")}, prediction=prediction))
    assert log.has_just_moved((2, 0), 5 + HELD_BATCHES - 1)
    assert not log.has_just_moved((2, 0), 5 + HELD_BATCHES)
    assert not log.has_just_moved((1, 0), 5)


def test_the_outcome_of_a_move_is_what_crossed_behind_it() -> None:
    log = MovesLog()
    prediction = predict(graph(70), APART, TOGETHER, HOSTS)
    log.add(Move(batch=5, at=0.0, cause="measured", tasks={(2, 0): ("1", "0")}, prediction=prediction))
    assert not log.awaits(4)
    assert log.awaits(5)
    log.observe(graph(70), TOGETHER)
    assert not log.awaits(6)
    assert log.moves[0].to_json()["remote_bytes"] == 0
    assert log.count == 1
