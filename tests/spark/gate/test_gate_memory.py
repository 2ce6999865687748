"""What waits at the gate goes on under another plan, each item once and in its place."""

from __future__ import annotations

import pickle
from random import Random

import pyarrow as pa
import pytest
from gate.test_source_gate import SECOND, Kept

from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.transport.batches import FINAL, PULSE, REPORT, TUPLE, Item, decode, rows
from penstock.codegen.transport.routes import Router
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.spark.gate.gate_memory import gate_of_memory, memory_of_gate, read_gate, write_gate
from penstock.spark.gate.gating import gated_sources
from penstock.spark.gate.source_gate import Gate, GatedSource, GateState
from penstock.spark.kafka.messages import tuples_of
from penstock.toolkit.adapters.kafka_consumer import message_form

TEXT = """composite Main { graph
    stream<int32 k, int32 v> K = KafkaConsumer() { param topic: "t"; bootstrapServers: "nowhere:1"; format: csv; }
    stream<int32 k, int32 v> O = Beacon() { param iterations: 9; }
    stream<int32 n> T = Aggregate(K) { window K: tumbling, time(1); output T: n = Count(); }
    stream<int32 k, int32 n> S = Aggregate(K) { window K: tumbling, count(3), partitioned; param partitionBy: k;
      output S: k = Any(k), n = Sum(v); }
    stream<int32 k, int32 n> P = Aggregate(O) { window O: tumbling, count(3), partitioned; param partitionBy: k;
      output P: k = Any(k), n = Sum(v); }
    () as S1 = FileSink(T) { param file: "t"; }
    () as S2 = FileSink(S) { param file: "s"; }
    () as S3 = FileSink(P) { param file: "p"; }
}"""


def table_of(messages: list[tuple[int, int, int, bytes]]) -> pa.Table:
    """Messages of (partition, offset, microseconds, value)."""
    partition, offset, micros, value = zip(*messages, strict=True)
    columns = {
        "key": pa.array([b"k"] * len(messages), pa.binary()),
        "value": pa.array(value, pa.binary()),
        "topic": pa.array(["t"] * len(messages)),
        "partition": pa.array(partition, pa.int32()),
        "offset": pa.array(offset, pa.int64()),
        "micros": pa.array(micros, pa.int64()),
    }
    return pa.table(columns)


def sources_of(plan: PhysicalPlan) -> list[GatedSource]:
    return list(gated_sources(plan, Evaluator(environment=Environment())))


def draw_plan(application: Application, rng: Random) -> PhysicalPlan:
    groups = rng.choice([[["T", "S", "P"]], [["T"], ["S"], ["P"]], [["T"], ["S", "P"]]])
    return physical_plan(application, groups, rng.choice([1, 2, 3]))


def draw_batches(rng: Random, count: int) -> list[tuple[list, list[Item]]]:
    """For each batch messages of three partitions, and items of our own source."""
    offset, time, turn, found = [0, 0, 0], [0, 0, 0], 0, []
    for number in range(count):
        messages = []
        for partition in rng.sample(range(3), rng.randint(0, 3)):
            for _ in range(rng.randint(1, 5)):
                time[partition] += rng.randint(0, 900_000)
                value = f"{rng.randrange(5)},{offset[partition]}".encode()
                messages.append((partition, offset[partition], time[partition], value))
                offset[partition] += 1
        own = []
        for _ in range(rng.randint(0, 3) if number <= count // 2 else 0):
            own.append((number * SECOND // 2, turn, TUPLE, (turn % 4, turn)))
            turn += 1
        if number == count // 2:
            own.append((number * SECOND // 2, turn, FINAL, None))
        found.append((messages, own))
    return found


class Gated:
    """A gate under one plan after the other."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self.form = message_form(application.operator["K"], Evaluator(environment=Environment()))
        self.state, self.store = GateState(), Kept()
        self.seen: dict[str, set] = {}

    def change_to(self, plan: PhysicalPlan, folder) -> None:
        if hasattr(self, "plan"):
            memory = memory_of_gate(self.state, list(self.store.values()), sources_of(self.plan))
            state, pieces = gate_of_memory(pickle.loads(pickle.dumps(memory)), sources_of(plan))
            write_gate(folder / "gate.state", state, pieces)
            self.state, pieces = read_gate(folder / "gate.state")
            self.store = Kept(pieces)
        self.plan = plan

    def batch(self, messages: list, own: list) -> None:
        sources = sources_of(self.plan)
        arriving: list = []
        for source in sources:
            if source.idle_ns is not None:
                for partition in sorted({m[0] for m in messages}):
                    items, _ = tuples_of(table_of([m for m in messages if m[0] == partition]), self.form, "K", ["t"])
                    arriving += triples(source.rows(items))
            elif own:
                for step, (edge, (_, schema)) in enumerate(source.routing.items()):
                    made = [
                        Item(t, n * source.sources + source.order, step.to_bytes(4), kind, value)
                        for t, n, kind, value in own
                    ]
                    arriving += triples([rows(edge, made, schema)])
        told = [e for e in arriving if e[0] != REPORT]
        routed = [r for s in sources for r in route(s, told)]
        for passed in Gate(sources, self.state, self.store).take(routed):
            for edge, channel, value in [passed] if isinstance(passed, tuple) else triples([passed]):
                self.take(sources, edge, channel, value)

    def take(self, sources, edge: int, channel: int, value: bytes) -> None:
        for source in sources:
            if edge in source.routing:
                known, schema = source.routing[edge]
                step = list(source.routing).index(edge)
                for item in decode(value, schema):
                    if item.kind != PULSE:
                        assert int.from_bytes(item.path) % len(source.routing) == step
                        # Ends go to every channel, a tuple to one.
                        place = (channel * (item.kind == FINAL), item.time_ns, item.number, item.kind, item.tuple_)
                        key = f"{known.stream} to {[self.plan.pes[known.consumer].operators]}"
                        assert place not in self.seen.setdefault(key, set()), "an item came twice"
                        self.seen[key].add(place)

    def items(self) -> dict[str, set]:
        """All that has passed, by stream."""
        found: dict[str, set] = {}
        for key, places in self.seen.items():
            found.setdefault(key.split(" to ")[0], set()).update(place[1:] for place in places)
        return found


def triples(batches) -> list:
    return [row for b in batches for row in zip(*(c.to_pylist() for c in b.columns), strict=True)]


def route(source: GatedSource, arriving: list) -> list:
    """What comes from a source as it travels."""
    mine = [row for row in arriving if row[0] in source.routing]
    if source.idle_ns is not None:
        # Has been routed by the source itself.
        return mine
    return [r for edge, _, value in mine for r in triples(Router(source.routing).rows([(edge, [value])]))]


@pytest.mark.parametrize("seed", range(40))
def test_the_same_passes_whatever_plans_a_gate_goes_through(seed, tmp_path):
    rng, application = Random(seed), compile_text(TEXT).application
    batches = draw_batches(rng, 12)
    steady, changing = Gated(application), Gated(application)
    steady.change_to(physical_plan(application, [["T", "S", "P"]]), tmp_path)
    for number, (messages, own) in enumerate(batches):
        if not number or rng.random() < 0.4:
            changing.change_to(draw_plan(application, rng), tmp_path)
        steady.batch(messages, own)
        changing.batch(messages, own)
        assert changing.items() == steady.items()
        assert changing.state.time_ns == steady.state.time_ns
    assert steady.items()["K"]
