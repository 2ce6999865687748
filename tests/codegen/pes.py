"""Runs a PE both ways, as a container and as generated code, and compares what leaves."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Iterable, Sequence

from penstock.codegen.plan.part import part_of
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.run.loaded_module import LoadedModule
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import FINAL, PULSE, TUPLE, WINDOW, Item, decode, encode
from penstock.codegen.transport.placed_frames import encode_frame, read_frames
from penstock.codegen.write.builder import streams_with_marks
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.runtime.pes.container import Container
from penstock.toolkit.core.program import Program

Batch = Sequence[tuple[int, Item]]
"""Items with the edges they come by."""

Left = dict[int, list[Item]]


def plan_of(program: Program, fusion: Sequence[Iterable[str]] | None = None) -> PhysicalPlan:
    """Everything but sources and sinks in one PE, or as `fusion` says."""
    everything = [[o.id for o in program.application.operators]]
    return physical_plan(program.application, fusion if fusion is not None else everything)


def inner_pe(plan: PhysicalPlan) -> int:
    """The one PE that is neither source nor sink."""
    (pe,) = (pe.index for pe in plan.pes if pe.role not in ("source", "sink"))
    return pe


def generated(program: Program, plan: PhysicalPlan, pe: int) -> Module:
    """The generated module; fails with the reason if there is none."""
    made = generate(program, plan, pe)
    assert isinstance(made, Module), made
    return made


def by_container(program: Program, plan: PhysicalPlan, pe: int, batches: Sequence[Batch]) -> list[tuple[Left, object]]:
    """What leaves a container, batch by batch, and what it counted."""
    container = Container(program, plan, pe, Environment())
    found = []
    for batch in batches:
        container.take(sorted(batch, key=lambda pair: pair[1][:3]))
        container.pulse()
        left = _renumbered(_without_marks(plan, pe, container.leaving))
        for items in container.leaving.values():
            items.clear()
        report = container.report()
        found.append((left, (report.received, report.submitted)))
    return found


def by_generated_code(
    program: Program, plan: PhysicalPlan, pe: int, batches: Sequence[Batch]
) -> list[tuple[Left, object]]:
    """What leaves generated code, batch by batch; between batches the state is pickled and a new instance goes on."""
    made = generated(program, plan, pe)
    module = LoadedModule(made, program, Environment())
    state, found = None, []
    for batch in batches:
        instance = PieceInstance(module)
        if state is not None:
            instance.restore(pickle.loads(state))
        left = take_encoded(instance, made, _values(plan, batch))
        state = pickle.dumps(instance.snapshot())
        schemas = made.part.schemas(made.part.leaving)
        items = {edge: [item for v in values for item in decode(v, schemas[edge])] for edge, values in left.items()}
        found.append((_renumbered(_without_marks(plan, pe, items)), (instance.received, instance.submitted)))
    return found


def take_encoded(instance: PieceInstance, made: Module, values: Sequence[tuple[int, bytes]]) -> dict[int, list[bytes]]:
    """What leaves a piece for encoded values, encoded."""
    part = made.part
    left = instance.take(read_frames(values, part.schemas(part.entering)))
    dead = {edge.index: part.plan.dead[edge.stream] for edge in part.leaving}
    return {e: encode_frame(left[e], schema, dead[e]) for e, schema in part.schemas(part.leaving).items()}


def _values(plan: PhysicalPlan, batch: Batch) -> list[tuple[int, bytes]]:
    """The batch encoded, one value for each run of items of one edge."""
    streams = plan.application.streams
    schema = {e.index: streams[e.stream].schema for e in plan.edges}
    by_edge: dict[int, list[Item]] = defaultdict(list)
    for edge, item in batch:
        by_edge[edge].append(item)
    return [(edge, value) for edge, items in by_edge.items() for value in encode(items, schema[edge])]


def _without_marks(plan: PhysicalPlan, pe: int, left: Left) -> Left:
    """What leaves without the window markers that nobody waits for: generated code need not make them."""
    marked = streams_with_marks(part_of(plan, pe))
    kept = {e.index for e in plan.edges if e.stream in marked}
    return {edge: [i for i in items if i.kind != WINDOW or edge in kept] for edge, items in left.items()}


def _renumbered(left: Left) -> Left:
    """The last step of each path counted from 0, as the container counts it; generated code may leave gaps."""
    steps: dict[tuple[int, int, bytes], set[bytes]] = defaultdict(set)
    for items in left.values():
        for item in items:
            steps[item.time_ns, item.number, item.path[:-4]].add(item.path[-4:])
    rank = {at: {step: i for i, step in enumerate(sorted(found))} for at, found in steps.items()}

    def counted(item: Item) -> Item:
        if item.kind == PULSE:
            return item
        before, step = item.path[:-4], item.path[-4:]
        return item._replace(path=before + rank[item.time_ns, item.number, before][step].to_bytes(4))

    return {edge: [counted(item) for item in items] for edge, items in left.items()}


def assert_same(program: Program, plan: PhysicalPlan, pe: int, batches: Sequence[Batch]) -> None:
    """What leaves is the same both ways: tuples to the bit, markers, order, counts."""
    expected = by_container(program, plan, pe, batches)
    actual = by_generated_code(program, plan, pe, batches)
    for (left, counts), (left_, counts_) in zip(expected, actual, strict=True):
        for edge, items in left.items():
            assert list(map(_exact, left_[edge])) == list(map(_exact, items))
        assert counts_ == counts


def _exact(item: Item) -> tuple[object, ...]:
    """An item with its floats spelled out, so that -0.0 is not 0.0 and NaN is NaN."""
    return (*item[:4], repr(item.tuple_))


def tuples(rows: Sequence[tuple[object, ...]], *, start: int = 0, path: bytes = b"") -> list[Item]:
    """Tuples one after the other, each an item of its own."""
    return [Item(start + i, 0, path, TUPLE, row) for i, row in enumerate(rows)]


def end(time_ns: int, path: bytes = b"") -> Item:
    """The end of a stream."""
    return Item(time_ns, 0, path, FINAL)
