"""The store: no illegal transition can be kept, whoever tries; files of other versions."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.service.states.job_state import FINAL, TRANSITIONS, JobState, may_follow
from penstock.service.store import schema
from penstock.service.store.records import SampleRecord
from penstock.service.store.store import KEPT_SAMPLES, IllegalTransition, Store

STATES = st.sampled_from(JobState)


def add(store: Store, name: str = "job") -> None:
    store.add_job(name, {"name": name}, rank=1, required=False, weight=1.0, templates=())


def state_of(store: Store, name: str = "job") -> JobState:
    record = store.job(name)
    assert record is not None
    return record.state


@given(st.lists(st.tuples(STATES, STATES), max_size=30))
def test_a_job_only_goes_where_the_table_lets_it(moves: list[tuple[JobState, JobState]]) -> None:
    store = Store(":memory:")
    add(store)
    for before, after in moves:
        now = state_of(store)
        if before != now:
            assert not store.move("job", before, after)
        elif before == after or may_follow(before, after):
            assert store.move("job", before, after)
            now = after
        else:
            with pytest.raises(IllegalTransition, match=f"cannot go from {before} to {after}"):
                store.move("job", before, after)
        assert state_of(store) == now
    states = [event.text.partition(":")[0] for event in store.events("job", most=1000)]
    pairs = pairwise(states)
    assert all(a == b or may_follow(JobState(a), JobState(b)) for a, b in pairs)


def test_a_commit_that_fails_takes_nothing_else_with_it(tmp_path: Path) -> None:
    """As when the disk is full: what comes later is kept all the same."""
    store = Store(tmp_path / "service.sqlite")
    add(store)

    def write() -> None:
        with store.transaction() as connection:
            connection.execute("PRAGMA defer_foreign_keys = ON")
            connection.execute("INSERT INTO templates VALUES ('nobody', 't', 0, '{}', '{}')")

    with pytest.raises(sqlite3.IntegrityError):
        write()
    store.set("job", weight=5.0)
    other = Store(tmp_path / "service.sqlite")
    record = other.job("job")
    assert record is not None
    assert record.weight == 5.0
    other.close()
    store.close()


def test_events_behind_an_event_are_told_without_a_gap() -> None:
    store = Store(":memory:")
    for number in range(10):
        store.note("service", str(number))
    assert [event.text for event in store.events(most=3)] == ["7", "8", "9"]
    told, after = [], 1
    while found := store.events(after=after, most=4):
        told += [event.text for event in found]
        after = found[-1].id
    assert told == [str(number) for number in range(1, 10)]


def test_of_plans_that_are_long_fewer_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.service.store.store._LEAST_DECISIONS", 3)
    monkeypatch.setattr("penstock.service.store.store._MOST_PLAN_BYTES", 5_000)
    store = Store(":memory:")
    figures = dict.fromkeys(("importance", "waterline", "mips", "mips_used", "seconds"), 0.0)
    for _ in range(20):
        store.add_decision("micro", figures, {"note": "x" * 1_000})
    assert len(store.decisions(most=100)) == 4


@given(st.lists(STATES, min_size=1, max_size=20))
def test_the_file_itself_refuses_what_the_table_does_not_allow(states: list[JobState]) -> None:
    """Not only our own method: any statement."""
    store = Store(":memory:")
    add(store)
    for state in states:
        now = state_of(store)
        try:
            with store.transaction() as connection:
                connection.execute("UPDATE jobs SET state = ? WHERE id = 'job'", (state.value,))
        except sqlite3.IntegrityError:
            assert not may_follow(now, state)
            assert state_of(store) == now
        else:
            assert state == now or may_follow(now, state)


def test_a_job_begins_queued_and_nothing_follows_its_end() -> None:
    store = Store(":memory:")
    with pytest.raises(sqlite3.IntegrityError), store.transaction() as connection:
        connection.execute(
            "INSERT INTO jobs (id, number, submitted_at, spec, rank, required, weight, state, state_since)"
            " VALUES ('x', 1, 0, '{}', 1, 0, 1, 'done', 0)"
        )
    assert {JobState.DONE, JobState.CANCELLED} == FINAL
    reached, new = {JobState.QUEUED}, {JobState.QUEUED}
    while new := {after for state in new for after in TRANSITIONS[state]} - reached:
        reached |= new
    assert reached == set(JobState)


def test_of_two_who_move_a_job_one_finds_it_moved(tmp_path: Path) -> None:
    store = Store(tmp_path / "service.sqlite")
    add(store)
    won: list[bool] = []
    threads = [
        threading.Thread(target=lambda: won.append(store.move("job", JobState.QUEUED, JobState.ADMITTED)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False] * 7 + [True]


def test_a_transaction_that_fails_leaves_nothing() -> None:
    store = Store(":memory:")

    def fail() -> None:
        with store.transaction():
            add(store)
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError):
        fail()
    assert (store.jobs(), store.events()) == ((), [])
    add(store)
    with pytest.raises(UserError, match="there is a job `job` already"):
        add(store)


def test_what_was_kept_is_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "service.sqlite")
    add(store)
    store.move("job", JobState.QUEUED, JobState.ADMITTED, "why not", mips=12.5)
    store.close()
    again = Store(tmp_path / "service.sqlite")
    record = again.job("job")
    assert record is not None
    assert (record.state, record.mips, record.spec) == (JobState.ADMITTED, 12.5, {"name": "job"})
    assert [event.text for event in again.events("job")] == ["queued", "admitted: why not"]


def test_a_file_of_a_later_version_or_of_something_else_is_refused(tmp_path: Path) -> None:
    Store(tmp_path / "a.sqlite").close()
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(UserError, match="of a later version of penstock: 99"):
        Store(tmp_path / "a.sqlite")
    (tmp_path / "b.sqlite").write_text("this is no database, however long it is " * 100)
    with pytest.raises(UserError, match="cannot be used as the service's store"):
        Store(tmp_path / "b.sqlite")


def test_old_samples_are_forgotten() -> None:
    store = Store(":memory:")
    add(store)
    for at in range(KEPT_SAMPLES + 20):
        sample = SampleRecord(
            job="job", template="t", at=at, seconds=1, mips=1, ingest_tps=at, waited=0, importance=0, streams={"A": at}
        )
        store.add_sample(sample)
    kept = store.samples("job", "t", most=10_000)
    assert (len(kept), kept[0].at, kept[-1].streams) == (KEPT_SAMPLES, 20, {"A": KEPT_SAMPLES + 19})


def test_a_file_of_an_earlier_version_is_brought_to_this_one_with_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", whole[:1])
    old = Store(tmp_path / "a.sqlite")
    add(old)
    old.close()
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        connection.execute(
            "INSERT INTO samples (at, job, template, seconds, mips, ingest_tps, waited, importance, streams)"
            " VALUES (1, 'job', 't', 1, 5, 2, 0, 0, '{}')"
        )
    monkeypatch.setattr(schema, "MIGRATIONS", whole)
    store = Store(tmp_path / "a.sqlite")
    (kept,) = store.samples("job")
    assert (kept.mips, kept.pes) == (5.0, {})
    store.add_sample(replace(kept, at=2.0, pes={"A, B": 3.0}))
    assert [sample.pes for sample in store.samples("job")] == [{}, {"A, B": 3.0}]
