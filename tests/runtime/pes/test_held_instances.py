"""The instances of classes with timers lie in tables between batches: a batch costs what it touches."""

from __future__ import annotations

import pickle
import random
from typing import Any

import pytest
from held_rows import SCHEMA, Timed, drawn

from penstock import App, KeyedOperator
from penstock.codegen.transport.batches import FINAL
from penstock.runtime.pes import state_log
from penstock.runtime.pes.held_keys import completed
from penstock.runtime.pes.held_state import measure_state
from penstock.testing import feed
from penstock.toolkit.core.memory import Memory


class Listed(KeyedOperator):
    """Remembers the numbers of a key."""

    partition_by = "s"

    def __init__(self):
        self.rows = []

    def process(self, t):
        self.rows.append(t.n)
        yield {"n": sum(self.rows), "s": t.s, "f": self.now}


class Quiet(Listed):
    """Tells of keys that were quiet, when they expire."""

    ttl = 4.0

    def on_expire(self):
        yield {"n": -len(self.rows), "s": str(self.key), "f": self.now}


class Waking(Listed):
    """Wakes now and then, sets its wakes anew, and takes them back."""

    def process(self, t):
        yield from super().process(t)
        self.wake((None, 0.5, 2.0, 3.0, 7.0)[t.n % 5])

    def on_wake(self):
        yield {"n": 100 + len(self.rows), "s": str(self.key), "f": self.now}
        if len(self.rows) % 2:
            self.wake(1.0)


class Both(Waking):
    ttl = 3.0
    on_expire = Quiet.on_expire


class Forgotten(Waking):
    """Expires without a word, though it would wake."""

    ttl = 1.5


class Telling(Waking):
    """What reaches all keys reaches them in the order of their first tuples."""

    def on_punctuation(self, port):
        yield {"n": len(self.rows), "s": f"at a marker: {self.key}", "f": self.now}

    finish = lambda self: self.on_punctuation(0)  # noqa: E731 # as good as a method


KINDS = (Quiet, Waking, Both, Forgotten, Telling)


def program(*kinds: type[KeyedOperator], by: str = "s") -> Any:
    app = App("Test")
    stream = app.source(feed([]), SCHEMA, name="A")
    for i, kind in enumerate(kinds):
        stream = stream.apply(kind, SCHEMA, partition_by=by, name=f"C{i}")
    stream.write_file("out.csv", name="Sink")
    return app.program()


@pytest.mark.parametrize("kinds", [*((kind,) for kind in KINDS), (Waking, Both), (Forgotten, Quiet)])
@pytest.mark.parametrize("seed", range(3))
def test_a_job_whose_timed_instances_are_stored_goes_on_like_one_whose_are_not(kinds, seed, tmp_path):
    rng = random.Random(seed)
    job, forever = Timed(program(*kinds), tmp_path / "job"), Timed(program(*kinds), tmp_path / "forever")
    instance = forever.make()
    for size in (5, 0, 40, 3, 1, 60, 31, 2, 1, 45, 1):
        rows = [*drawn(rng, size, "abcdefgh"), rng.choice([0.0, 0.5, 3.0, 9.0]), (1, rng.choice("abxy"), 0.5)]
        assert job.run(rows, uses_files=rng.random() < 0.7) == forever.process(instance, rows)
        assert job.expired == forever.expired
    assert job.run([2.0, FINAL], uses_files=True) == forever.process(instance, [2.0, FINAL])
    assert job.expired == forever.expired


@pytest.mark.parametrize("kind", [Quiet, Waking])
def test_a_batch_loads_and_stores_what_it_touches(kind, tmp_path):
    job = Timed(program(kind), tmp_path)
    # Numbers that wake in a long while.
    job.run([(4, f"key {i}", 0.5) for i in range(3_000)])
    before = job.head.logs["C0 0"].added
    for turn in range(5):
        job.run([0.125, *((4, f"key {turn * 10 + i}", 0.5) for i in range(10))], uses_files=True)
    log = job.head.logs["C0 0"]
    assert [rows for number, rows in log.entries.items() if number >= before] == [10] * 5
    instance = job.make()
    state_log.resume(instance, job.head, job.store)
    job.process(instance, [(4, "key 7", 0.5), (4, "key 8", 0.5), (4, "another", 0.5)])
    (piece,) = instance._instances.values()
    assert len(piece.container.node["C0"].runtime.entries) == 3
    # All were due by then.
    job.run([20.0, (4, "another", 0.5)], uses_files=True)
    assert job.expired == (3_000 if kind is Quiet else 0)


def test_what_is_held_is_measured_and_what_has_expired_leaves_the_table(tmp_path):
    job = Timed(program(Quiet), tmp_path)
    job.run([(1, f"key {i}", 0.5) for i in range(3_000)])
    instance = job.make()
    state_log.resume(instance, job.head, job.store)
    keys, bytes_ = measure_state(instance, 0)["C0"]
    assert keys == 3_000
    assert bytes_ > 100_000
    job.run([5.0, (1, "a", 0.5)], uses_files=True)
    assert job.expired == 3_000
    job.run([(1, "a", 0.5)], uses_files=True)
    assert sum(job.head.logs["C0 0"].entries.values()) <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_savepoint_has_the_instances_of_the_table_as_the_runtime_has_them(kind, tmp_path):
    rng = random.Random(4)
    job, forever = Timed(program(kind), tmp_path / "job"), Timed(program(kind), tmp_path / "forever")
    instance = forever.make()
    for size in (30, 4, 9):
        rows = drawn(rng, size, "abcdefgh")
        job.run(rows, uses_files=True)
        forever.process(instance, rows)
    (piece,) = state_log.read(job.head, job.store.get)["pieces"]
    (wanted,) = instance.snapshot()["pieces"]
    found = completed(piece)["nodes"]["C0"]["runtime"]
    assert as_sorted(found) == as_sorted(wanted["nodes"]["C0"]["runtime"])
    # It goes on from there like from a table.
    again = job.make()
    again.restore({**instance.snapshot(), "pieces": [completed(piece)]})
    rows = [8.0, (1, "a", 0.5)]
    job.seconds, job.number = forever.seconds, forever.number
    assert job.process(again, rows) == forever.process(instance, rows)


def as_sorted(memory: Memory) -> Any:
    """A memory whose keys have an order, and whose instances are plain data."""
    (parts,) = memory[1].values()
    return parts[0], [(*own[:3], pickle.loads(pickle.dumps(own[4:]))) for _, own in sorted(parts[1].items())]
