"""Fits transfer costs to measurements.

Introduction:
    A calibration runs small jobs and takes down, for each, how much time it took and what passed through which part of
    the way. This turns such samples into the cost of a tuple and of a byte in each part.

Formulation:
    For a sample i with time t_i, n_ip tuples of b_i bytes in part p: find a_p, c_p >= 0 that minimize the sum of

        ((sum over p of n_ip (a_p + c_p b_i)) / t_i - 1) ** 2

    so errors are relative: a run of a second counts as much as one of a minute. A part may also be something that
    takes time once in a batch or a stage; then n_ip counts these and its name is in `ONCE`.

Example:
    Chains of 1 and of 3 pass-through PEs took 3 and 5 microseconds a tuple: a crossing costs 1, the rest of the way 2.

    >>> samples = [TransferSample(seconds=3e-6, tuples={"crossing": 1, "source": 1}),
    ...            TransferSample(seconds=5e-6, tuples={"crossing": 3, "source": 1})]
    >>> fit = fit_costs(samples)
    >>> {part: round(cost.seconds_per_tuple * 1e6, 3) for part, cost in fit.costs.items()}
    {'crossing': 1.0, 'source': 2.0}

When it does not apply:
    Where samples cannot tell two parts apart (one never occurs without the other, in the same proportion), any division
    of their cost fits as well; they share it equally. Samples of one tuple size cannot tell tuples from bytes.

Algorithm:
    Non-negative least squares (Lawson and Hanson) on rows divided by their time and columns divided by their norm; a
    trace of ridge makes the division between columns that cannot be told apart unique and equal. Cubic in the number
    of columns, which is 14 at most for a calibration.

Reference:
    Gedik et al., CIKM 2009, section 3.4: the paper keeps a table of (rate, size) pairs; a plane through the same points
    needs fewer measurements, and can be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.base.diagnostics import UserError
from penstock.model.hosts import Floats
from penstock.model.transfer import PARTS, Cost, Transfer

ONCE = ("batch", "stage", "pe", "run")
"""Parts that carry no bytes."""

_RIDGE = 1e-5


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferSample:
    """One measurement.

    Attributes:
        seconds: What it took.
        tuples: How many tuples passed through each part.
        tuple_bytes: Their size.
    """

    seconds: float
    tuples: Mapping[str, float] = field(default_factory=dict)
    tuple_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The costs that fit the samples best.

    Attributes:
        costs: Of each part that the samples name.
        errors: Of each sample: the predicted time less the measured one, as a fraction of the latter.
    """

    costs: dict[str, Cost]
    errors: tuple[float, ...]


def fit_costs(samples: Sequence[TransferSample]) -> Fit:
    """Fit the cost of every part that the samples name.

    Raises:
        UserError: A sample's time is not above zero, or there is none.
    """
    if not samples or any(not sample.seconds > 0 for sample in samples):
        raise UserError("transfer costs cannot be fitted", hint="give samples, each with a time above 0")
    parts = list(dict.fromkeys(part for sample in samples for part in sample.tuples))
    columns = [(part, power) for part in parts for power in ((0,) if part in ONCE else (0, 1))]
    rows = np.array([[_coefficient(sample, *column) for column in columns] for sample in samples])
    found = _least_squares(rows)
    value = dict(zip(columns, found.tolist(), strict=True))
    costs = {p: Cost(seconds_per_tuple=value[p, 0], seconds_per_byte=value.get((p, 1), 0.0)) for p in parts}
    return Fit(costs=costs, errors=tuple((rows @ found - 1.0).tolist()))


def fit_transfer(samples: Sequence[TransferSample], *, mips: float, pipelined: bool = False) -> Transfer:
    """A calibration of a machine with cores of `mips` from samples that name `PARTS`, `batch` and `stage`.

    Example:
        >>> transfer = fit_transfer([TransferSample(seconds=0.2, tuples={"batch": 1})], mips=1000.0)
        >>> round(transfer.batch_seconds, 6)
        0.2
    """
    costs = fit_costs(samples).costs
    once = {part: costs.get(part, Cost()).seconds_per_tuple for part in ONCE}
    parts = {part: costs[part] for part in PARTS if part in costs}
    fixed = {f"{part}_seconds": once[part] for part in ("batch", "stage", "pe")}
    return Transfer(mips=mips, pipelined=pipelined, **fixed, **parts)  # type: ignore[arg-type]  # keys do not overlap


def _coefficient(sample: TransferSample, part: str, power: int) -> float:
    return float(sample.tuples.get(part, 0.0) * sample.tuple_bytes**power / sample.seconds)


def _least_squares(rows: Floats) -> Floats:
    """The x >= 0 for which rows @ x is nearest to ones."""
    from scipy.optimize import nnls  # few runs fit anything, and its import takes 0.15 s

    norms = np.linalg.norm(rows, axis=0)
    used = norms > 0
    scaled = rows[:, used] / norms[used]
    count = scaled.shape[1]
    system = np.vstack([scaled, _RIDGE * np.eye(count)])
    target = np.concatenate([np.ones(len(rows)), np.zeros(count)])
    found = np.zeros(rows.shape[1])
    found[used] = nnls(system, target)[0] / norms[used]
    return found
