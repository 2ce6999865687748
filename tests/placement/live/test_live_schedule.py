"""The placement of a running job's tasks, by what they have sent."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from penstock.placement.live.channel_graph import ChannelGraph, Task
from penstock.placement.live.live_schedule import Executor, deal_out, follow, place_tasks

FOUR = [Executor(id=str(n), host=f"127.0.0.{n + 2}") for n in range(4)]


def chains(depth: int, channels: int, size: float = 100.0) -> ChannelGraph:
    """Chains that send nothing to each other."""
    tasks = tuple((pe, channel) for pe in range(1, depth + 1) for channel in range(channels))
    return ChannelGraph(
        tasks=tasks,
        flows={((pe, c), (pe + 1, c)): size for pe, c in tasks if pe < depth},
        cpu_seconds=dict.fromkeys(tasks, 1.0),
        state_bytes=dict.fromkeys(tasks, 1000),
    )


def most_of_a_stage(graph: ChannelGraph, homes: dict[Task, str]) -> float:
    return max(max(loads.values()) for loads in graph.stage_loads(homes).values())


def test_chains_lie_on_one_executor_each_and_every_stage_on_all() -> None:
    graph = chains(7, 4)
    found = place_tasks(graph, FOUR, "metis")
    assert graph.cut(found) == 0
    assert most_of_a_stage(graph, found) == 1.0


def test_even_knows_nothing_of_chains() -> None:
    graph = chains(7, 4)
    found = place_tasks(graph, FOUR, "even")
    assert graph.cut(found) > 0.5 * sum(graph.flows.values())
    held = [list(found.values()).count(executor.id) for executor in FOUR]
    assert held == [7, 7, 7, 7]


def test_an_executor_with_more_cores_gets_more() -> None:
    large = [Executor(id="0", host="a", cores=3), Executor(id="1", host="b", cores=1)]
    found = deal_out([(1, n) for n in range(8)], large)
    assert sorted(found.values()).count("0") == 6


def test_a_task_without_state_goes_where_most_of_its_input_is() -> None:
    graph = ChannelGraph(
        tasks=((1, 0), (1, 1), (2, 0)),
        flows={((1, 0), (2, 0)): 1.0, ((1, 1), (2, 0)): 5.0},
        cpu_seconds={(1, 0): 1.0, (1, 1): 1.0},
    )
    assert follow(graph, frozenset([2]))[2, 0] == (1, 1)
    found = place_tasks(graph, FOUR[:2], "metis", stateless=[2])
    assert found[2, 0] == found[1, 1] != found[1, 0]


def test_a_task_behind_the_source_alone_has_no_place_of_its_own() -> None:
    graph = ChannelGraph(tasks=((1, 0), (2, 0)), flows={((1, 0), (2, 0)): 1.0})
    assert place_tasks(graph, FOUR, "metis", stateless=[1]).keys() == {(2, 0)}


def test_what_talks_stays_on_one_host_and_then_in_one_rack() -> None:
    executors = [
        Executor(id=f"{host}{n}", host=host, rack=rack) for host, rack in [("a", "r"), ("b", "s")] for n in range(2)
    ]
    graph = chains(3, 4)
    # Channels 0 and 1 exchange a little, and so do 2 and 3.
    flows = {**graph.flows}
    for one, other in ((0, 1), (2, 3)):
        flows[(1, one), (2, other)] = flows[(1, other), (2, one)] = 10.0
    graph = ChannelGraph(tasks=graph.tasks, flows=flows, cpu_seconds=graph.cpu_seconds)
    found = place_tasks(graph, executors, "metis")
    assert graph.cut({task: home[0] for task, home in found.items()}) == 0
    assert graph.cut(found) == 40
    assert most_of_a_stage(graph, found) == 1.0


def test_what_was_on_a_lost_executor_moves_and_the_rest_stays() -> None:
    graph = chains(3, 8)
    before = place_tasks(graph, FOUR, "metis")
    left = FOUR[:3]
    costs = dict.fromkeys(graph.tasks, 1e6)
    after = place_tasks(graph, left, "metis", present=before, move_costs=costs)
    assert set(after.values()) <= {"0", "1", "2"}
    # Eight chains do not share three executors evenly, so one that stays may have to make room.
    assert graph.cut(after) <= 100 * 2 * 3


flows = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 3)), st.floats(1, 1000), min_size=1, max_size=16)


@given(st.lists(flows, min_size=1, max_size=3), st.integers(2, 4), st.sampled_from(["even", "greedy", "metis"]))
def test_every_task_gets_an_executor(layers: list[dict[tuple[int, int], float]], count: int, algorithm: str) -> None:
    tasks = tuple((pe, channel) for pe in range(1, len(layers) + 2) for channel in range(4))
    pairs = {((pe, a), (pe + 1, b)): s for pe, layer in enumerate(layers, start=1) for (a, b), s in layer.items()}
    graph = ChannelGraph(tasks=tasks, flows=pairs, cpu_seconds=dict.fromkeys(tasks, 0.5))
    found = place_tasks(graph, FOUR[:count], algorithm)  # type: ignore[arg-type]
    assert found.keys() == set(tasks)
    assert set(found.values()) <= {executor.id for executor in FOUR[:count]}


@given(flows)
def test_metis_finds_the_best_placement_of_two_small_stages(layer: dict[tuple[int, int], float]) -> None:
    tasks = tuple((pe, channel) for pe in (1, 2) for channel in range(4))
    graph = ChannelGraph(
        tasks=tasks,
        flows={((1, a), (2, b)): size for (a, b), size in layer.items()},
        cpu_seconds=dict.fromkeys(tasks, 1.0),
    )
    found = place_tasks(graph, FOUR, "metis")
    assert most_of_a_stage(graph, found) == 1.0
    fixed = {(1, n): str(n) for n in range(4)}
    all_of_them = (
        {**fixed, **{(2, n): str(home) for n, home in enumerate(order)}} for order in itertools.permutations(range(4))
    )
    assert graph.cut(found) <= min(graph.cut(homes) for homes in all_of_them) * 1.001 + 1e-6
