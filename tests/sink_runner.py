"""Feeds sinks with batches in this process, again and again where a test asks for it: crashes without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.transport.batches import FINAL, PULSE, PULSE_NUMBER, TUPLE, WINDOW, Item, encode, values_as_rows
from penstock.expr.environment import Environment
from penstock.runtime.sinks.task_parts import write_rows
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.toolkit.core.program import Program

Batch = dict[str, list[object]]
"""For each stream, its items: tuples, and the words `window` and `final`."""

_MARKS = {"window": WINDOW, "final": FINAL}


class Sinks:
    """The sinks of a program, fed with what their streams carry."""

    def __init__(self, program: Program, folder: Path, *, in_tasks: bool = False) -> None:
        application = program.application
        self.in_tasks = in_tasks
        self.program, self.folder, self.out = program, folder, folder / "out"
        self.out.mkdir(parents=True, exist_ok=True)
        self.plan = physical_plan(application, [[o.id for o in application.operators]])
        self.pe = next(pe.index for pe in self.plan.pes if pe.role == "sink")
        self.sinks = self.start()

    def start(self) -> SinkPE:
        environment = Environment(output_directory=self.out, data_directory=self.out)
        return SinkPE(self.program, self.plan, environment, self.folder / "sinks", in_tasks=self.in_tasks)

    def crash(self) -> None:
        """Lose everything in memory; only what is stored remains."""
        self.sinks.close()
        self.sinks = self.start()

    def write(self, number: int, batch: Batch, spread: Callable[[int], int] = lambda n: 0) -> None:
        """Write a batch; `spread` tells which of several values, which come in turn, an item is in."""
        rows = self.rows(number, batch, spread)
        self.sinks.write_rows(self.by_tasks(number, rows) if self.in_tasks else rows, number)

    def by_tasks(self, number: int, rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """What goes on to the driver when each value is written by a task of its own, the last one first."""
        return [pair for row in reversed(rows) for pair in self.by_task(number, [row])]

    def by_task(self, number: int, rows: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
        """What goes on to the driver when one task writes."""
        batches = [values_as_rows(edge, [value]) for edge, value in rows]
        return [
            (edge, value)
            for batch in write_rows(self.sinks.in_tasks, number, batches)
            for edge, value in zip(batch.column("edge").to_pylist(), batch.column("tuples").to_pylist(), strict=True)
        ]

    def rows(self, number: int, batch: Batch, spread: Callable[[int], int]) -> list[tuple[int, bytes]]:
        found = []
        for edge in self.plan.into(self.pe):
            schema = self.plan.application.streams[edge.stream].schema
            values: dict[int, list[Item]] = {}
            for n, item in enumerate(batch.get(edge.stream, ())):
                values.setdefault(spread(n), []).append(_item(number, n, item))
            for value in sorted(values):
                items = [*values[value], Item(number, PULSE_NUMBER, b"", PULSE)]
                found += [(edge.index, encoded) for encoded in encode(items, schema)]
        return found

    def files(self) -> dict[str, bytes]:
        return {str(p.relative_to(self.out)): p.read_bytes() for p in sorted(self.out.rglob("*")) if p.is_file()}


def _item(batch: int, number: int, item: object) -> Item:
    path = (0).to_bytes(4)
    if isinstance(item, str):
        return Item(batch, number, path, _MARKS[item])
    assert isinstance(item, tuple)
    return Item(batch, number, path, TUPLE, item)


def batches_of(items: Sequence[object], size: int, stream: str) -> list[Batch]:
    return [{stream: list(items[i : i + size])} for i in range(0, len(items), size)]
