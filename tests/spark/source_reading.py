"""Drives the reader of a job's sources as Spark does, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiling import compile_fused
from penstock.codegen.transport.batches import FINAL, PULSE, REPORT, TUPLE, WINDOW, Item, decode
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.sources.outside_rows import own_sources
from penstock.spark.sources.admission import ReadAllAvailable
from penstock.spark.sources.data_source import SourceReader, dump
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation

Seen = tuple[str, Any]
"""A stream and a tuple, `window` or `final`."""

_MARKS = {WINDOW: "window", FINAL: "final"}


SUBSCRIBER = "() as Sink{0} = Custom({0}) {{ logic onTuple {0}: {{ }} }}"


def program(*invocations: str) -> Program:
    """A program of some sources, each with a subscriber that drops its tuples."""
    names = [text.split(" = ", 1)[0].rsplit(" ", 1)[1] for text in invocations]
    return compile_text("composite Main { graph " + "\n".join([*invocations, *map(SUBSCRIBER.format, names)]) + "}")


@dataclass
class Reading:
    """What the reader has given."""

    seen: list[Seen] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    pulses: list[int] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    submitted: dict[str, int] = field(default_factory=dict)
    late: int = 0
    batches: int = 0
    parts: int = 0


class Sources:
    """The sources of a program behind a reader; a new reader on the same folder is a restarted job."""

    def __init__(self, program: Program, data: Path, folder: Path, turns: int = 7, **options: str) -> None:
        job = compile_fused(program, [[o.id for o in program.application.operators]])
        self.plan = job.plan
        folder.mkdir(exist_ok=True)
        self.log = folder / "log"
        if not (folder / "program").exists():
            dump(program, self.plan, environment(data), job.build, folder / "program")
        self.options = {
            "program": str(folder / "program"),
            "pe": str(own_sources(self.plan)[0]),
            "log": str(self.log),
            "turns_per_batch": str(turns),
            **options,
        }
        self.reader = SourceReader(self.options)
        self.offset = self.reader.initialOffset()
        self.found = Reading()

    def restart(self) -> None:
        """A new process: nothing is known but the offset, and the old one, which is dead, plans nothing more."""
        self.reader._ahead.wait()
        self.reader = SourceReader(self.options)

    def plan_batch(self) -> dict[str, int]:
        return self.reader.latestOffset(self.offset, ReadAllAvailable())

    def step(self) -> bool:
        """One batch; tells whether there was one."""
        end = self.plan_batch()
        if end == self.offset:
            return False
        self.take(end)
        self.reader.commit(self.offset)
        return True

    def take(self, end: dict[str, int]) -> None:
        """Read the batch up to an offset, and go there."""
        parts = self.reader.partitions(self.offset, end)
        items = sorted(self._items(parts), key=lambda pair: pair[1][:3])
        for stream, item in items:
            if item.kind == PULSE:
                self.found.pulses.append(item.time_ns)
            else:
                self.found.seen.append((stream, item.tuple_ if item.kind == TUPLE else _MARKS[item.kind]))
                self.found.times.append(item.time_ns)
        self.found.batches += 1
        self.found.parts = max(self.found.parts, len(parts))
        self.offset = end

    def run(self) -> Reading:
        while self.step():
            pass
        assert self.offset["ended"]
        return self.found

    def _items(self, parts: Any) -> Iterator[tuple[str, Item]]:
        edges = {e.index: e.stream for e in self.plan.edges}
        for part in parts:
            # A task has a reader of its own.
            for batch in SourceReader(self.options).read(part):
                for row in batch.to_pylist():
                    if row["edge"] == REPORT:
                        self._count(row["tuples"])
                    else:
                        stream = edges[row["edge"]]
                        schema = self.plan.application.streams[stream].schema
                        yield from ((stream, item) for item in decode(row["tuples"], schema))

    def _count(self, value: bytes) -> None:
        report = decode_report(value)
        self.found.letters += report.dead_letters
        self.found.late += sum(report.late.values())
        for id_, ports in report.submitted.items():
            self.found.submitted[id_] = self.found.submitted.get(id_, 0) + sum(ports)


def environment(data: Path) -> Environment:
    return Environment(data_directory=data, output_directory=data, application_directory=data)


def in_the_reference(program: Program, data: Path) -> tuple[list[Seen], list[DeadLetter]]:
    """What the sources of a program give in the reference interpreter, and what they set aside."""
    seen: list[Seen] = []
    streams = {s for o in program.application.operators if not o.inputs for s in [p.stream for p in o.outputs]}

    def note(stream: str, item: Any) -> None:
        if stream in streams:
            seen.append((stream, item.value if isinstance(item, Punctuation) else item))

    outcome = run(program, environment=environment(data), on_tuple=note)
    return seen, list(outcome.dead_letters)
