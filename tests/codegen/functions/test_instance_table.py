"""The instances of classes lie in tables between batches: what is stored costs what was touched, and goes on alike."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import pytest
from test_class_calls import Dying, Numbered, chain

from penstock import App, KeyedOperator
from penstock.codegen.functions import class_rounds
from penstock.codegen.transport.batches import REPORT
from penstock.runtime.pes.held_state import measure_state
from penstock.testing import feed
from stored_job import Job

SCHEMA = "int64 n, rstring s, float64 f"


class Mixed(Numbered):
    """Columns of every kind, which leave the normal case now and then."""

    def __init__(self):
        self.count, self.big, self.mean, self.last, self.seen, self.is_odd = 0, 1, 0.0, "", None, False

    def process(self, t):
        self.count += 1
        self.big = self.big * 3 if t.n > 4 else self.big
        self.mean = (self.mean + t.f) / 2
        self.last = t.s + str(self.count)
        self.seen = t.n if t.n % 2 else None
        self.is_odd = not self.is_odd
        yield {"n": self.count, "s": f"{self.last} {self.big} {self.seen} {self.is_odd}", "f": self.mean}


class Held(Numbered):
    """Objects that no column holds."""

    def __init__(self):
        self.rows = []

    def process(self, t):
        self.rows.append(t.n)
        yield {"n": sum(self.rows), "s": t.s, "f": float(len(self.rows))}


class ByNumber(Numbered):
    partition_by = "n"


class ByTwo(Mixed):
    partition_by = ("n", "s")


@pytest.fixture(autouse=True)
def _rounds_for_few(monkeypatch):
    monkeypatch.setattr(class_rounds, "KEYS_PER_LINE", 0)
    monkeypatch.setattr(class_rounds, "LEAST_ROWS", 30)


@pytest.mark.parametrize("kind", [Numbered, Mixed, Held, ByNumber, ByTwo])
@pytest.mark.parametrize("uses_files", [False, True])
def test_a_job_whose_instances_are_stored_goes_on_like_one_whose_are_not(kind, uses_files, tmp_path):
    chosen = random.Random(7)
    job, forever = Job(chain(kind), tmp_path / "job"), Job(chain(kind), tmp_path / "forever")
    instance = forever.make()
    for size in (5, 0, 40, 3, 60, 31, 1, 45):
        rows = [(chosen.randrange(9), chosen.choice("abcdefgh"), chosen.random() * 9) for _ in range(size)]
        wanted = [pair for pair in instance.process_batch(forever.values(rows)) if pair[0] != REPORT]
        assert job.run(rows, uses_files=uses_files) == wanted


class HeldForAWhile(Held):
    ttl = 3.0


@pytest.mark.parametrize("kind", [Dying, HeldForAWhile])
@pytest.mark.parametrize("uses_files", [False, True])
def test_instances_that_are_stored_expire_and_are_counted_like_those_that_are_not(kind, uses_files, tmp_path):
    chosen = random.Random(5)
    job, forever = Job(chain(kind), tmp_path / "job"), Job(chain(kind), tmp_path / "forever")
    instance = forever.make()
    for size in (5, 1, 40, 3, 1, 60, 31, 1, 1, 45):
        job.seconds = forever.seconds = job.seconds + chosen.choice([0, 1, 1, 2, 3])
        rows = [(chosen.randrange(9), chosen.choice("abcdefgh"), chosen.random() * 9) for _ in range(size)]
        assert job.run(rows, uses_files=uses_files) == forever.process(instance, rows)
        assert job.expired == forever.expired
    assert job.expired > 8


class Parting(Held):
    def on_expire(self):
        yield {"n": len(self.rows), "s": "expired", "f": 0.0}


class Waking(Held):
    def on_wake(self):
        return []


def with_ttl(kind: type[KeyedOperator], seconds: float | None) -> Any:
    given = {} if seconds is None else {"ttl": seconds}
    app = App("Test")
    made = app.source(feed([]), SCHEMA, name="A").apply(kind, SCHEMA, partition_by="s", name="C0", **given)
    made.write_file("out.csv", name="Sink")
    return app.program()


@pytest.mark.parametrize("uses_files", [False, True])
@pytest.mark.parametrize(
    ("kind", "before", "now", "lives_until"),
    [
        # Where nothing expired nobody knows when the last tuple came: time begins when the job goes on.
        (Numbered, None, 3.0, 13),
        (Held, None, 3.0, 13),
        (Waking, None, 3.0, 13),
        (Held, 30.0, 12.0, 12),
        (Held, 12.0, 30.0, 30),
        (Parting, 12.0, 30.0, 30),
        (Parting, 30.0, 12.0, 12),
        (Waking, 12.0, 30.0, 30),
    ],
)
def test_a_time_to_live_that_is_new_or_another_holds_for_what_there_is(
    kind, before, now, lives_until, uses_files, tmp_path
):
    first, second = Job(with_ttl(kind, before), tmp_path / "first"), Job(with_ttl(kind, now), tmp_path / "second")
    first.run([(1, "a", 0.0), (2, "b", 0.0)])
    first.seconds = 10
    first.run([(3, "c", 0.0)], uses_files=uses_files)
    second.head, second.store, second.has_run, second.number = first.head, first.store, True, first.number
    for seconds, expired in ((10, 0), (lives_until - 1, 0), (lives_until, 2)):
        second.seconds = seconds
        second.run([(1, "d", 0.0)], uses_files=uses_files)
        assert min(second.expired, 2) == expired, seconds


def test_what_is_held_are_the_instances_that_have_not_expired():
    job = Job(chain(HeldForAWhile))
    instance = job.make()
    job.process(instance, [(i, f"key {i}", 0.5) for i in range(9)])
    assert measure_state(instance, 0)["C0"][0] == 9
    job.seconds = 3
    job.process(instance, [(0, "key 0", 0.5)])
    assert measure_state(instance, 0)["C0"][0] == 1


def test_instances_that_have_expired_are_counted_once_and_leave_the_table(tmp_path):
    job = Job(chain(HeldForAWhile), tmp_path)
    job.run([(i, f"key {i}", 0.5) for i in range(3_000)])
    job.seconds = 3
    job.run([(0, "key 0", 0.5)], uses_files=True)
    assert job.expired == 3_000
    job.run([(0, "key 0", 0.5)], uses_files=True)
    assert job.expired == 3_000
    assert sum(job.head.logs["C0 0"].entries.values()) <= 2


@pytest.mark.parametrize("kind", [Numbered, Held, HeldForAWhile])
def test_a_batch_stores_the_instances_that_it_has_touched(kind, tmp_path):
    job = Job(chain(kind), tmp_path)
    job.run([(i, f"key {i}", 0.5) for i in range(3_000)])
    before = job.head.logs["C0 0"].added
    for turn in range(5):
        job.run([(i, f"key {turn * 10 + i}", 0.5) for i in range(10)], uses_files=True)
    log = job.head.logs["C0 0"]
    assert [rows for number, rows in log.entries.items() if number >= before] == [10] * 5


KEYS: dict[str, list[Any]] = {
    "boolean": [True, False],
    "int8": [-128, 127, 0],
    "uint64": [0, 2**64 - 1, 2**63],
    "rstring": ["", "a", "\0", "é", "\U0001f600"],
    "ustring": ["", "ß", "SS"],
    "blob": [b"", b"\0", b"\xff\0"],
    "timestamp": [0, 1, 1_700_000_000_000_000_001],
    "decimal64": [Decimal("1.50"), Decimal("1.5"), Decimal("-0"), Decimal("NaN")],
    "enum{red, green}": ["red", "green"],
    "optional<int32>": [None, 0, 7],
    "optional<rstring>": [None, "", "a"],
    "tuple<int32 a, rstring b>": [(1, "a"), (1, "b")],
    "float64": [0.0, -0.0, float("nan"), 1.5],
}


class ByKey(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.count = 0

    def process(self, t):
        self.count += 1
        yield {"n": self.count * 1000 + t.n}


class ByKeyDying(ByKey):
    ttl = 2.0


class ByKeyHeld(ByKey):
    def process(self, t):
        self.seen = [*getattr(self, "seen", []), t.n]
        yield {"n": sum(self.seen)}


@pytest.mark.parametrize("kind", [ByKey, ByKeyHeld, ByKeyDying])
@pytest.mark.parametrize("type_", KEYS)
def test_a_key_of_any_type_finds_its_instance_again(type_, kind, tmp_path):
    def program():
        app = App("Test")
        made = app.source(feed([]), f"{type_} k, int64 n", name="A").apply(kind, "int64 n", name="C0")
        made.write_file("out.csv", name="Sink")
        return app.program()

    chosen = random.Random(3)
    job, forever = Job(program(), tmp_path / "job"), Job(program(), tmp_path / "forever")
    instance = forever.make()
    for number, size in enumerate((6, 45, 2, 60, 33)):
        job.seconds = forever.seconds = number
        rows = [(chosen.choice(KEYS[type_]), chosen.randrange(9)) for _ in range(size)]
        wanted = [pair for pair in instance.process_batch(forever.values(rows)) if pair[0] != REPORT]
        assert job.run(rows, uses_files=number % 2 == 0) == wanted
