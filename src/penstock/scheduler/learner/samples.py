"""The input of the resource function learner: samples of one stream's rate, noisy and partial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.base.diagnostics import Diagnostics

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look at a PE: what went in, what it was given, what came out.

    Attributes:
        input_tps: Rate of each input stream, in the PE's order; None where it was not measured.
        mips: What the PE used; None where it was not measured.
        output_tps: Rate of the output stream; None where it was not measured.
    """

    input_tps: tuple[float | None, ...]
    mips: float | None
    output_tps: float | None

    @property
    def is_complete(self) -> bool:
        """Whether every figure was measured."""
        return self.output_tps is not None and self.mips is not None and None not in self.input_tps


def check_samples(samples: Sequence[Sample]) -> None:
    """Raise a `UserError` that names every sample that cannot be right.

    Example:
        >>> check_samples([Sample(input_tps=(10.0,), mips=-3.0, output_tps=5.0)])
        Traceback (most recent call last):
        penstock.UserError: error: sample 0: mips is -3.0; give a finite number of at least 0
    """
    found = Diagnostics()
    widths = [len(sample.input_tps) for sample in samples]
    for index, sample in enumerate(samples):
        if widths[index] != widths[0]:
            found.error(f"sample {index}: has {widths[index]} input rates, sample 0 has {widths[0]}")
        for name, value in _named_figures(sample):
            if value is not None and not (math.isfinite(value) and value >= 0):
                found.error(f"sample {index}: {name} is {value}", hint="give a finite number of at least 0")
    found.raise_if_any()


def _named_figures(sample: Sample) -> list[tuple[str, float | None]]:
    inputs = [(f"input_tps[{i}]", value) for i, value in enumerate(sample.input_tps)]
    return [*inputs, ("mips", sample.mips), ("output_tps", sample.output_tps)]


def as_arrays(samples: Sequence[Sample]) -> tuple[Matrix, Matrix]:
    """The samples with a known output: points (input rates, then mips; NaN where unknown) and output rates.

    Example:
        >>> as_arrays([Sample(input_tps=(10.0,), mips=None, output_tps=5.0)])
        (array([[10., nan]]), array([5.]))
    """
    known = [sample for sample in samples if sample.output_tps is not None]
    rows = [[_or_nan(v) for v in (*sample.input_tps, sample.mips)] for sample in known]
    return np.array(rows, dtype=float), np.array([sample.output_tps for sample in known], dtype=float)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
