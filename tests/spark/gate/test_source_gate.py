"""The gate behind sources with partitions: one clock, whatever the partitions and the batches are."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.transport.batches import FINAL, PULSE, REPORT, TUPLE, Item, decode, rows
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.lang import compile_text
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.sources.waiting import has_gate
from penstock.spark.checkpoint.plan_record import claim
from penstock.spark.gate.clock_reader import ClockReader, positions
from penstock.spark.gate.gating import gated_sources
from penstock.spark.gate.source_gate import CLOCK, Gate, GateState, Row
from penstock.spark.kafka.messages import tuples_of
from penstock.toolkit.adapters.kafka_consumer import message_form

SECOND = 1_000_000_000
TEXT = """composite Main {{ graph
    stream<rstring message> K = KafkaConsumer() {{ param topic: "t"; bootstrapServers: "nowhere:1"; idleTime: 5.0; }}
    stream<rstring message> B = Aggregate(K) {{ window K: tumbling, {window}; }}
    () as Sink = FileSink(B) {{ param file: "out.csv"; }}
    {more} }}"""
BEACON = """stream<rstring message> O = Beacon() { param iterations: 9; output O: message = "own"; }
    () as Own = FileSink(O) { param file: "own.csv"; }"""

Message = tuple[int, int, float]
"""Partition, offset and time in seconds."""


class Kept(dict[int, Row]):
    """Keeps pieces in memory."""

    put = dict.__setitem__
    take = dict.pop


class Run:
    """A program's sources in front of a gate, which is made anew for each batch, as on Spark."""

    def __init__(self, *, continuous: bool, more: str = "") -> None:
        application = compile_text(TEXT.format(window="time(1)", more=more)).application
        self.plan = physical_plan(application, [[o.id for o in application.operators]])
        evaluator = Evaluator(environment=Environment())
        self.sources = list(gated_sources(self.plan, evaluator))
        self.kafka = next(s for s in self.sources if s.idle_ns is not None)
        self.form = message_form(application.operator["K"], evaluator)
        self.state, self.store, self.continuous = GateState(), Kept(), continuous
        self.seen: list[tuple[int, Any]] = []
        self.pulses: list[int] = []
        self.late = 0
        self.wall_ns = 9_000 * SECOND

    def batch(self, messages: Sequence[Message] = (), *, own: Sequence[Item] = (), told: dict[str, Any] | None = None):
        """Let a batch pass: what came out of it, in order."""
        arriving: list[Row] = [] if told is None else [(CLOCK, 0, json.dumps(told).encode())]
        for partition in sorted({m[0] for m in messages}):
            arriving += _triples(self.kafka.rows(self._items([m for m in messages if m[0] == partition])))
        for source in self.sources:
            if own and source.idle_ns is None:
                (edge,) = source.routing
                arriving += _triples([rows(edge, own, source.routing[edge][1])])
        gate = Gate(self.sources, self.state, self.store, continuous=self.continuous)
        return self._taken(
            [r for row in gate.take(arriving) for r in ([row] if isinstance(row, tuple) else _triples([row]))]
        )

    def tick(self, seconds: float, messages: Sequence[Message] = ()):
        """A batch that tells the time on the wall, so much later."""
        self.wall_ns += round(seconds * SECOND)
        return self.batch(messages, told={"now_ns": self.wall_ns})

    def _items(self, messages: Sequence[Message]):
        partition, offset, seconds = zip(*messages, strict=True)
        columns = {
            "key": pa.array([b""] * len(messages), pa.binary()),
            "value": pa.array([f"{p}/{o}".encode() for p, o, _ in messages], pa.binary()),
            "topic": pa.array(["t"] * len(messages)),
            "partition": pa.array(partition, pa.int32()),
            "offset": pa.array(offset, pa.int64()),
            "micros": pa.array([round(s * 1e6) for s in seconds], pa.int64()),
        }
        return tuples_of(pa.table(columns), self.form, "K", ["t"])[0]

    def _taken(self, passed: Sequence[Row]) -> list[str]:
        items: list[Item] = []
        for edge, _, value in passed:
            if edge == REPORT:
                self.late += sum(decode_report(value).late.values())
            else:
                schema = next(s.routing[edge][1] for s in self.sources if edge in s.routing)
                items += decode(value, schema)
        items.sort(key=lambda item: item[:3])
        self.pulses += [item.time_ns for item in items if item.kind == PULSE]
        found = [(item.time_ns, item.tuple_[0]) for item in items if item.kind == TUPLE and item.tuple_]
        self.seen += found
        return [text for _, text in found]


def _triples(batches) -> list[Row]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_the_clock_is_that_of_the_partition_furthest_behind():
    run = Run(continuous=True)
    assert run.tick(0, [(0, 0, 1), (0, 1, 5), (0, 2, 9), (1, 0, 2), (1, 1, 3)]) == ["0/0", "1/0", "1/1"]
    assert run.pulses[-1] == 3 * SECOND
    assert run.batch([(1, 2, 7)]) == ["0/1", "1/2"]
    assert run.batch([(1, 3, 20)]) == ["0/2"]
    assert run.late == 0


def test_one_partition_waits_for_nothing():
    run = Run(continuous=True)
    assert run.batch([(0, 0, 1), (0, 1, 5)]) == ["0/0", "0/1"]


def test_a_partition_that_gives_nothing_for_some_seconds_is_not_waited_for_and_then_late():
    run = Run(continuous=True)
    assert run.tick(0, [(0, 0, 1), (1, 0, 100)]) == ["0/0"]
    assert run.tick(4, [(1, 1, 104)]) == []
    assert run.tick(1, [(1, 2, 105)]) == ["1/0", "1/1", "1/2"]
    assert run.pulses[-1] == 105 * SECOND
    # It comes back behind the clock: counted, at the time of the clock, and the clock waits for it again.
    assert run.tick(1, [(0, 1, 50), (0, 2, 105.5), (1, 3, 110)]) == ["0/1", "0/2"]
    assert run.late == 1
    assert run.seen[-2:] == [(105 * SECOND, "0/1"), (105 * SECOND + SECOND // 2, "0/2")]


def test_time_goes_on_when_every_partition_is_quiet():
    run = Run(continuous=True)
    run.tick(0, [(0, 0, 100), (1, 0, 103)])
    for _ in range(5):
        run.tick(1)
    assert run.seen[-1] == (103 * SECOND, "1/0")
    assert run.pulses[-1] == 103 * SECOND
    run.tick(3)
    assert run.pulses[-1] == 106 * SECOND
    # What comes at once after that is not late: the clock is some seconds behind.
    assert run.tick(0.1, [(0, 1, 111)]) == ["0/1"]
    assert run.late == 0


def test_a_topic_in_which_nothing_ever_came_lets_no_time_pass():
    run = Run(continuous=True)
    run.tick(100)
    assert run.tick(1, [(0, 0, 3)]) == ["0/0"]
    assert run.late == 0


def test_a_message_is_never_before_another_of_its_partition_and_not_late_for_that():
    run = Run(continuous=True)
    run.batch([(0, 0, 10), (0, 1, 20)])
    run.batch([(0, 2, 15), (0, 3, 30)])
    assert run.seen == [(10 * SECOND, "0/0"), (20 * SECOND, "0/1"), (20 * SECOND, "0/2"), (30 * SECOND, "0/3")]
    assert run.late == 0


def test_the_other_sources_of_a_program_are_waited_for_until_they_end():
    run = Run(continuous=False, more=BEACON)
    assert run.batch([(0, 0, 5)]) == []
    assert run.batch(own=[Item(2 * SECOND, 0, b"\0\0\0\0", TUPLE, ("own",)), Item(4 * SECOND, 2**62, b"", PULSE)]) == [
        "own"
    ]
    assert run.batch(told={"ended": [[run.kafka.order, 0]]}) == []
    assert run.batch(own=[Item(4 * SECOND, 0, b"\0\0\0\0", FINAL)]) == ["0/0"]


@pytest.mark.parametrize("seed", range(40))
def test_a_topic_read_to_its_end_is_the_same_in_any_batches(seed: int):
    rng = random.Random(seed)
    topic = _random_topic(rng)
    whole, cut = Run(continuous=False), Run(continuous=False)
    whole.batch(topic)
    ends = {p: max(o for q, o, _ in topic if q == p) for p in {m[0] for m in topic}}
    ended = {"ended": [[whole.kafka.order, p] for p in ends]}
    whole.batch(told=ended)
    left = {p: [m for m in topic if m[0] == p] for p in ends}
    while any(left.values()):
        sizes = {p: rng.randint(1, 4) for p in left if left[p]}
        batch = [m for p, size in sizes.items() for m in left[p][:size]]
        for p, size in sizes.items():
            left[p] = left[p][size:]
        over = [[cut.kafka.order, p] for p in left if not left[p]]
        cut.batch(batch)
        if rng.random() < 0.5:
            cut.batch(told={"ended": over})
    cut.batch(told=ended)
    assert len(whole.seen) == len(topic)
    assert cut.seen == whole.seen
    assert not cut.late
    assert not cut.store
    for p in ends:
        assert [text for _, text in cut.seen if text.startswith(f"{p}/")] == [f"{p}/{o}" for o in range(ends[p] + 1)]


@pytest.mark.parametrize("seed", range(40))
def test_windows_are_the_same_in_any_interleaving_while_nothing_is_late(seed: int):
    rng = random.Random(seed)
    topic, run = _random_topic(rng), Run(continuous=True)
    left = {p: [m for m in topic if m[0] == p] for p in {m[0] for m in topic}}
    first = [m for p in left for m in left[p][:1]]
    run.tick(0, first)
    left = {p: messages[1:] for p, messages in left.items()}
    while any(left.values()):
        p = rng.choice([p for p in left if left[p]])
        run.tick(0.01, [left[p].pop(0)])
    for _ in range(6):
        run.tick(1)
    assert not run.late
    assert len(run.seen) == len(topic)
    assert run.seen == sorted(run.seen, key=lambda seen: seen[0])
    whole = Run(continuous=False)
    whole.batch(topic)
    whole.batch(told={"ended": [[whole.kafka.order, p] for p in left]})
    assert sorted(run.seen) == sorted(whole.seen)


def _random_topic(rng: random.Random) -> list[Message]:
    found = []
    for partition in range(rng.randint(1, 4)):
        time = rng.randint(1, 5)
        for offset in range(rng.randint(1, 25)):
            time += rng.choice((-1, 0, 0, 1, 3))
            found.append((partition, offset, max(0, time)))
    return found


def test_pieces_keep_their_marks_and_values_apart():
    run = Run(continuous=True, more=BEACON)
    path = b"\0\0\0\0"
    own = [
        Item(SECOND, 0, path, TUPLE, ("a",)),
        Item(9 * SECOND, 0, path, TUPLE, ("b",)),
        Item(9 * SECOND, 1, path, FINAL),
    ]
    assert run.batch([(0, 0, 5)], own=own) == ["a", "0/0"]
    assert run.batch([(0, 1, 9)]) == ["b", "0/1"]


def test_only_jobs_that_read_kafka_and_act_by_time_have_a_gate():
    plans = [TEXT.format(window=window, more="") for window in ("time(1)", "count(2)")]
    plans.append(
        "composite Main { graph stream<int32 n> A = Beacon() { param iterations: 3; }"
        " stream<int32 n> B = Aggregate(A) { window A: tumbling, time(1); } }"
    )
    applications = [compile_text(text).application for text in plans]
    assert [has_gate(a) for a in applications] == [True, False, False]


LOG = """v1
{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"1"}}
{"t":{"0":%d,"1":7}}
{"tick": 1, "now_ns": 0, "ended": []}
-"""


def test_the_clock_of_a_run_that_ends_tells_which_partitions_have_come_to_their_end(tmp_path: Path):
    (tmp_path / "0").write_text(LOG % 3)
    (tmp_path / "1").write_text(LOG % 5)
    (tmp_path / ".1.crc").write_text("")
    assert positions(tmp_path) == {"t": {"0": 5, "1": 7}}
    ends = {"t": {"0": 6, "1": 7}}
    reader = ClockReader({"offsets": str(tmp_path), "sources": '[[0, ["t"]]]', "ends": json.dumps(ends)})
    first = reader.latestOffset(reader.initialOffset(), None)
    assert first["ended"] == [[0, 1]]
    assert reader.latestOffset(first, None) == first
    (tmp_path / "2").write_text(LOG % 6)
    second = reader.latestOffset(first, None)
    assert second["ended"] == [[0, 0], [0, 1]]
    (part,) = reader.partitions(first, second)
    (batch,) = reader.read(part)
    assert json.loads(batch.to_pylist()[0]["tuples"]) == {"ended": [[0, 0], [0, 1]]}


def test_the_clock_of_a_run_that_goes_on_tells_the_time_once_a_second(monkeypatch: pytest.MonkeyPatch):
    now = [5 * SECOND]
    monkeypatch.setattr("penstock.spark.gate.clock_reader.time.time_ns", lambda: now[0])
    reader = ClockReader({"continuous": "true"})
    first = reader.latestOffset(reader.initialOffset(), None)
    assert first["now_ns"] == 5 * SECOND
    now[0] += SECOND // 2
    assert reader.latestOffset(first, None) == first
    now[0] += SECOND // 2
    assert reader.latestOffset(first, None)["tick"] == 2


def test_a_source_that_nobody_reads_holds_nothing_up():
    run = Run(continuous=True, more="stream<int32 x> Nobody = Beacon() { param iterations: 1; }")
    assert run.batch([(0, 0, 5)]) == ["0/0"]


def test_a_checkpoint_of_a_job_without_a_gate_is_refused(tmp_path: Path):
    plan = Run(continuous=True).plan
    claim(tmp_path, plan)
    assert claim(tmp_path, plan)
    written = json.loads((tmp_path / "plan.json").read_text())
    (tmp_path / "plan.json").write_text(json.dumps({k: v for k, v in written.items() if k != "gate"}))
    with pytest.raises(UserError, match="which read Kafka in another way"):
        claim(tmp_path, plan)
