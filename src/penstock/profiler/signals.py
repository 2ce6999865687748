"""Submit signals of a generated PE: what its module calls, if it is profiled.

Introduction:
    The paper's containers have a submit signal at every output port of an operator and at every input port of the PE.
    A generated PE works on whole batches, one operator after the other, so its signals stand between the operators'
    lines, and each tells how much CPU time went by since the one before. Where operators share a loop over tuples, they
    nest as in the paper: a sampled tuple takes the branch of the loop in which timers run.

Formulation:
    The lines of `process` are divided into stretches (`Stretch`). An operator has stretches of its own. What several
    operators use, such as a comparison that their filters share, is a stretch that counts in full for each of them:
    each would have to pay for it if it stood alone, and that is what a profile says of an operator. A loop is the
    stretch of all operators in it, divided by the times of sampled tuples.

    Columns that an operator has selected but not copied are copied at its signal: whoever asks for them first would
    pay otherwise, the transport if the operator stands alone, its consumer if it is fused.

    So the observation of an operator for a batch is the CPU time of its stretches, and the number of tuples.

Example:
    >>> signals = Signals(Sampling(), (Stretch(("F",)), Stretch(("F", "G")), Stretch(("G",))))
    >>> signals.begin()
    >>> signals.mark(0); signals.mark(1); signals.mark(2)
    >>> signals.end({"F": [10], "G": [5]}, {})
    >>> sorted(signals.statistics.metrics)
    [('process', 'F', 0), ('process', 'G', 0)]

When it does not apply:
    Work in other threads (Arrow's, or an operator's own) is not seen by the clock of this one; it is counted for the PE
    as a whole, as base CPU time.

Algorithm:
    One clock for each stretch of a batch; in loops two for each operator and sampled tuple.

Reference:
    Gedik et al., CIKM 2009, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.ir.types import Schema, TupleType
from penstock.profiler.apart import meter
from penstock.profiler.clock import all_threads_ns, cpu_ns
from penstock.profiler.loop_signals import Counts, LoopSignals, Site
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sampling import Sampling
from penstock.profiler.sizes import fixed_bytes
from penstock.profiler.stride import Stride


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some lines of a generated module.

    Attributes:
        operators: Those for which they work.
        is_loop: Whether the operators take turns in it; otherwise all of it is for each of them.
    """

    operators: tuple[str, ...]
    is_loop: bool = False


class Signals:
    """The signals of an instance of a PE.

    Args:
        sampling: How much to look at.
        stretches: Of the module.
        schemas: Of the streams that it makes, and of those that enter.
        pe: The number of the PE.

    Attributes:
        statistics: What has been collected since they were last taken.
    """

    def __init__(
        self,
        sampling: Sampling,
        stretches: Sequence[Stretch],
        schemas: Mapping[str, Schema] | None = None,
        *,
        pe: int = 0,
    ) -> None:
        self.statistics = Statistics(sampling.reservoir)
        self._sampling = sampling
        self._stretches = stretches
        self._pe = pe
        self._schemas = schemas or {}
        self._varying = {stream: schema for stream, schema in self._schemas.items() if fixed_bytes(schema) is None}
        self._sizes = {stream: _fixed_and_varying(schema) for stream, schema in self._varying.items()}
        self._names = {stream: schema.names for stream, schema in self._schemas.items()}
        self._stride = Stride(sampling.rate)
        self._taken: list[float] = []
        self._loops: dict[int, LoopSignals] = {}
        self._last = self._began = self._began_all = 0

    def begin(self) -> None:
        """The work on a batch begins."""
        self._taken = [0.0] * len(self._stretches)
        self._loops = {}
        self._began_all = all_threads_ns()
        meter.is_on = True
        meter.take()
        self._last = self._began = cpu_ns()

    def mark(self, stretch: int) -> None:
        """The lines of a stretch end here; the last mark was their beginning."""
        now = cpu_ns()
        self._taken[stretch] += now - self._last - meter.take()
        self._last = now

    def submit(self, stream: str, frame: Any) -> None:
        """An operator has made the rows of a stream: copy what is only selected, and note its size."""
        for name in self._names[stream]:
            frame[name]
        before = cpu_ns()
        self.size(stream, frame)
        self._last += cpu_ns() - before

    def size(self, stream: str, frame: Any) -> None:
        """Note the size of the rows of a stream, where it is not always the same."""
        if stream in self._varying and len(frame):
            fixed, names = self._sizes[stream]
            sizes = fixed * len(frame) + sum(_column_bytes(frame[name], len(frame)) for name in names)
            self.statistics.add(("size", stream, 0), sizes, tuples=len(frame))

    def loop(self, stretch: int, sites: Sequence[tuple[str, str | None, int]], tuples: int) -> LoopSignals:
        """The signals of the loop that begins here, over so many tuples."""
        self._loops[stretch] = LoopSignals(
            self._stride, [Site(*site) for site in sites], tuples, self._sampling.reservoir, self._varying
        )
        return self._loops[stretch]

    def end(self, received: Counts, submitted: Counts) -> None:
        """The work on a batch ends; turn times of stretches into observations of operators."""
        meter.is_on = False
        others_ns = (all_threads_ns() - self._began_all) - (cpu_ns() - self._began)
        own: dict[str, float] = {}
        for index, stretch in enumerate(self._stretches):
            if stretch.is_loop:
                if index in self._loops:
                    self.statistics.merge(self._loops[index].observed(self._taken[index], received, submitted))
            else:
                for operator in stretch.operators:
                    own[operator] = own.get(operator, 0.0) + self._taken[index]
        for operator, took in own.items():
            self._observe(operator, took, received.get(operator, ()))
        self._share_base(max(0.0, others_ns), own)

    def transfer(self, kind: str, took: float, tuples: int) -> None:
        """Note what the PE took to `receive`, or to `send`, so many tuples."""
        self.statistics.add((kind, f"PE {self._pe}", 0), took, tuples=tuples)

    def take(self) -> Statistics:
        """The statistics collected so far; the next batch starts with none."""
        taken, self.statistics = self.statistics, Statistics(self._sampling.reservoir)
        return taken

    def _observe(self, operator: str, took: float, received: Sequence[int]) -> None:
        """One observation for each input port; the ports of an operator share its lines as they share its tuples."""
        total = sum(received)
        for port, tuples in enumerate(received):
            share = tuples / total if total else 1.0 / len(received)
            self.statistics.add(("process", operator, port), took * share, tuples=tuples)

    def _share_base(self, others_ns: float, own: Mapping[str, float]) -> None:
        """Other threads work for the operators in proportion to what these do themselves."""
        total = sum(own.values())
        for operator, took in own.items():
            self.statistics.add_base(operator, others_ns * took / total if total else 0.0)


def _fixed_and_varying(schema: Schema) -> tuple[float, list[str]]:
    """The size of the attributes of fixed width together, and the names of the others."""
    alone = [(a.name, fixed_bytes(TupleType((a,)))) for a in schema.attributes]
    return sum(size for _, size in alone if size is not None), [name for name, size in alone if size is None]


def _column_bytes(column: Any, rows: int) -> float:
    """The size of a column in memory; a scalar, which is the value of all rows, counts once for each row."""
    scalar = getattr(column, "nbytes", None) is None or not hasattr(column, "__len__")
    if not scalar:
        return float(column.nbytes)
    return rows * float(column.nbytes if hasattr(column, "nbytes") else pa.array([column.as_py()]).nbytes)
