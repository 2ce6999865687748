"""The applications of `penstock bench fusion`, with their input and the fusions that need no algorithm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.bench.measure.on_spark import ROOT, load_file
from penstock.ir.graph import Application
from penstock.optimizer import Groups, inner_operators
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured.

    Attributes:
        parts: Stations, or groups of symbols.
        per_batch: Tuples in a batch.
        batches: How many.
        rounds: How often fusions take turns.
        iterations: Of the loop.
    """

    parts: int
    per_batch: int
    batches: int
    rounds: int
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """An application with its input.

    Attributes:
        name: For people.
        program: What runs.
        data: Where its input lies.
        size: How much of it is measured.
    """

    name: str
    program: Program
    data: Path
    size: Size

    @property
    def application(self) -> Application:
        """Its graph."""
        return self.program.application


def by_composite(application: Application) -> Groups:
    """The operators of each composite in a PE, as a developer would say it: those whose ids share their first part.

    Example:
        >>> from penstock.ir.graph import InputPort, Operator, OutputPort
        >>> from penstock.ir.types import parse_schema
        >>> schema = parse_schema("int32 a")
        >>> port, made = InputPort(streams=(), schema=schema), OutputPort(stream="s", schema=schema)
        >>> ids = ("Sky", "Station0.Mine", "Station1.Mine", "Station0.Stokes")
        >>> operators = tuple(Operator(id=id_, kind="Functor", inputs=(port,), outputs=(made,)) for id_ in ids)
        >>> by_composite(Application(name="A", operators=operators))
        (('Sky',), ('Station0.Mine', 'Station0.Stokes'), ('Station1.Mine',))
    """
    groups: dict[str, list[str]] = {}
    for id_ in inner_operators(application):
        groups.setdefault(id_.partition(".")[0], []).append(id_)
    return tuple(map(tuple, groups.values()))


def radio_astronomy(folder: Path, *, quick: bool) -> Subject:
    """Outlier detection with one station, or with six, and a running spectrum of 32 lines for each antenna."""
    small = Size(parts=1, per_batch=4_000, batches=2, rounds=1, iterations=1)
    size = small if quick else Size(parts=6, per_batch=200_000, batches=4, rounds=3, iterations=4)
    examples = ROOT / "examples" / "radio_astronomy"
    generate = load_file(examples / "generate.py").generate
    samples = size.per_batch * size.batches
    generate(folder / "samples.csv", samples=samples, stations=size.parts, rare=samples // 16)
    program = load_file(examples / "radio_astronomy.py").app(stations=size.parts, bins=32).program()
    return Subject(name="radio astronomy", program=program, data=folder, size=size)


def bargain_detection(folder: Path, *, quick: bool) -> Subject:
    """Bargain detection with one group of symbols, or with four, and a Kalman filter for each symbol."""
    small = Size(parts=1, per_batch=4_000, batches=2, rounds=1, iterations=1)
    size = small if quick else Size(parts=4, per_batch=200_000, batches=4, rounds=3, iterations=4)
    examples = ROOT / "examples" / "bargains"
    generate = load_file(examples / "generate.py").generate
    generate(folder / "ticks.csv", ticks=size.per_batch * size.batches, symbols=256)
    program = load_file(examples / "bargains.py").app(groups=size.parts, forecast=True).program()
    return Subject(name="bargain detection", program=program, data=folder, size=size)


SUBJECTS: dict[str, Callable[..., Subject]] = {
    "radio astronomy": radio_astronomy,
    "bargain detection": bargain_detection,
}
