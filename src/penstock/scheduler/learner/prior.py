"""The prior of a resource function: what a profile says of a PE before its job has run."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.scheduler.learner.samples import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """The flow that a profile predicts for a PE before its job has run.

    Attributes:
        mips_per_tps: The cost of a tuple.
        selectivity: Tuples out for a tuple in.
        most_tps: The input rate up to which it is meant to hold.
    """

    mips_per_tps: float
    selectivity: float
    most_tps: float

    def samples(self, inputs: int) -> list[Sample]:
        """Samples as a PE would show them that is now starved and now not."""
        shares = [(load, mips) for load in (0.25, 0.5, 1.0) for mips in (0.25, 0.5, 0.75, 1.0)]
        return [self._sample(inputs, load * self.most_tps, mips * self.most_tps) for load, mips in shares]

    def _sample(self, inputs: int, load_tps: float, affordable_tps: float) -> Sample:
        each = (load_tps / inputs,) * inputs if inputs else ()
        carried = min(load_tps, affordable_tps) if inputs else affordable_tps
        return Sample(input_tps=each, mips=affordable_tps * self.mips_per_tps, output_tps=self.selectivity * carried)
