"""The rates of streams on a cycle: the least fixed point of their resource functions, exactly.

Introduction. On a cycle the load of a PE depends on its own output. The loop starts empty and fills: its rates are the
least fixed point. Filling it round by round needs as many rounds as the loop has gain: a loop that returns every tuple
and may carry 100,000 tuples a second, fed with one, is full after 100,000 rounds.

Formulation. Output o of PE p flows at x_o = s_o min(load_p, c_o), where load_p is what comes in from outside plus the
rates of the cycle's own streams that p reads, and c_o = mips / mips_per_tps. That is the smaller of two linear
functions, so F(x) = x is a system of concave, monotone equations.

Example: one PE with selectivity 1 and 100 mips at 1 mips a tuple reads its own output and 2 tuples a second from
outside: 2 + x = load, x = min(load, 100), so x = 100.

Algorithm. What cannot be reached from any inflow carries nothing. On the rest a concave monotone system that is
positive at 0 has only one fixed point, and it is found from above (`_descend`): begin with every output at its limit,
see which limits hold at the present rates, solve the linear system in which just these hold, and go on until they
stay the same. The rates only fall, so a limit that holds no more never holds again: at most one step for each output.
The system of a large cycle is sparse, and is solved for one allocation after the other.

When it does not apply. Resource functions that are not flows; a table does not depend on the load and is a constant
here. Large cycles that close in very many ways, because eliminating their streams fills the system up
(`can_be_solved`). Both are filled round by round (`penstock.scheduler.problem.composition`).

Reference. The SODA paper leaves cycles out; the method is policy iteration (Howard 1960), for concave systems from
above.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu

from penstock.base.deadline import Deadline
from penstock.scheduler.problem.admission_problem import Flow, Output, Pe
from penstock.scheduler.problem.resource_functions import Amounts, FloatArray, rate_of

BoolArray = NDArray[np.bool_]

MOST_NUMBERS = 4_000_000
"""Entries of the systems that are solved at once: bounds the memory."""

LARGE = 300
"""Outputs of a cycle beyond which its system is sparse."""

MOST_CIRCLES = 500
"""Ways in which a large cycle may close, for elimination to leave its system sparse."""

MOST_ROUNDS = 20
"""Plain rounds after the last system is solved."""

ROUNDING = 1e-12
"""A load that falls short of a limit by this part of it is at the limit: a loop of gain 1 has no other solution."""


def can_be_solved(batch: Sequence[Pe]) -> bool:
    """Whether the system of a cycle is small, or stays sparse when it is solved."""
    outputs = sum(len(pe.outputs) for pe in batch)
    if outputs <= LARGE:
        return True
    own = {out.stream for pe in batch for out in pe.outputs}
    return sum(len(pe.outputs) * sum(stream in own for stream in pe.inputs) for pe in batch) <= outputs + MOST_CIRCLES


def cycle_rates(
    batch: Sequence[Pe], mips: Mapping[str, Amounts], outside: Mapping[str, Amounts], deadline: Deadline | None = None
) -> dict[str, FloatArray]:
    """The rate of each stream that the PEs of a cycle produce, for many allocations at once.

    Raises:
        OutOfTime: The deadline has passed before all were solved.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output
        >>> out = Output(stream="s", rate=Flow(mips_per_tps=1.0, selectivity=1.0))
        >>> loop = Pe(id="p", max_mips=100.0, inputs=("s",), outputs=(out,))
        >>> cycle_rates([loop], {"p": np.array([0.0, 100.0])}, {"p": 2.0})["s"].tolist()
        [0.0, 100.0]
    """
    loop = _Loop(batch, deadline or Deadline.after(None))
    shape = np.broadcast_shapes(*(np.shape(given[pe.id]) for given in (mips, outside) for pe in batch))
    flat, inflow = ({pe.id: _flatten(given[pe.id], shape) for pe in batch} for given in (mips, outside))
    size = len(next(iter(flat.values())))
    chunk = max(1, MOST_NUMBERS // len(loop.outputs) ** 2)
    parts = []
    for i in range(0, size, chunk):
        own, fed = ({p: amounts[i : i + chunk] for p, amounts in every.items()} for every in (flat, inflow))
        parts.append(loop.rates(own, fed))
    rates = np.concatenate(parts) if parts else np.zeros((0, len(loop.outputs)))
    return {out.stream: rates[:, i].reshape(shape) for i, (_, out) in enumerate(loop.outputs)}


def _flatten(amounts: Amounts, shape: tuple[int, ...]) -> FloatArray:
    return np.broadcast_to(amounts, shape).ravel() if shape else np.array([amounts], dtype=np.float64)


class _Loop:
    """The outputs of a cycle and how they feed each other.

    Attributes:
        outputs: Each with the PE that produces it.
    """

    def __init__(self, batch: Sequence[Pe], deadline: Deadline) -> None:
        deadline.check()
        self._deadline = deadline
        self.outputs: list[tuple[Pe, Output]] = [(pe, out) for pe in batch for out in pe.outputs]
        self._selectivity = np.array([_selectivity(out) for _, out in self.outputs])
        made = {out.stream: i for i, (_, out) in enumerate(self.outputs)}
        ends = [(i, made[s]) for i, (pe, _) in enumerate(self.outputs) for s in dict.fromkeys(pe.inputs) if s in made]
        rows, columns = np.array(ends, dtype=np.int64).reshape(-1, 2).T
        shape = (len(self.outputs),) * 2
        self._feeds: FloatArray | csr_array
        if len(self.outputs) > LARGE:
            self._feeds = csr_array((np.ones(len(ends)), (rows, columns)), shape=shape)
        else:
            self._feeds = np.zeros(shape)
            self._feeds[rows, columns] = 1.0

    def rates(self, mips: Mapping[str, FloatArray], inflow: Mapping[str, FloatArray]) -> FloatArray:
        """A row for each allocation, a column for each output."""
        limit, constant = self._limits(mips)
        outside = np.stack([inflow[pe.id] for pe, _ in self.outputs], axis=1) + constant @ self._feeds.T
        reached = self._reached(outside > 0, (limit > 0) & (self._selectivity > 0))
        return constant + self._descend(outside, np.where(reached, limit, 0.0))

    def _limits(self, mips: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """The most tuples that each output can be made of, and the rates of those that do not depend on the load."""
        limits, constants = [], []
        for pe, out in self.outputs:
            own = mips[pe.id]
            is_flow = isinstance(out.rate, Flow)
            limits.append(own / out.rate.mips_per_tps if isinstance(out.rate, Flow) else np.zeros(len(own)))
            constants.append(np.zeros(len(own)) if is_flow else np.asarray(rate_of(out.rate, own, own)))
        return np.stack(limits, axis=1), np.stack(constants, axis=1)

    def _reached(self, fed: BoolArray, carries: BoolArray) -> BoolArray:
        """Which outputs carry anything at all: those that some inflow reaches through outputs that carry."""
        reached = fed & carries
        for _ in self.outputs:
            self._deadline.check()
            wider = carries & (fed | ((reached @ self._feeds.T) > 0))
            if (wider == reached).all():
                break
            reached = wider
        return reached

    def _descend(self, outside: FloatArray, limit: FloatArray) -> FloatArray:
        """Policy iteration from above: which limits hold, and the rates that follow from that."""
        holds = np.ones(limit.shape, dtype=bool)
        rates = self._selectivity * limit
        for _ in range(len(self.outputs) + 1):
            self._deadline.check()
            load = outside + rates @ self._feeds.T
            still = holds & (load >= limit * (1 - ROUNDING))
            if (still == holds).all():
                break
            holds = still
            rates = self._solve(outside, limit, holds)
        # Elimination mixes streams of very different rates, and small ones drown; a few plain rounds bring them back.
        for _ in self.outputs[:MOST_ROUNDS]:
            rates = self._selectivity * np.minimum(outside + rates @ self._feeds.T, limit)
        return rates

    def _solve(self, outside: FloatArray, limit: FloatArray, holds: BoolArray) -> FloatArray:
        """The rates when some outputs run at their limit and the others pass on all their load."""
        passes = np.where(holds, 0.0, self._selectivity)
        known = np.where(holds, self._selectivity * limit, passes * outside)
        if isinstance(self._feeds, csr_array):
            return np.stack([self._solve_one(*row) for row in zip(passes, known, strict=True)])
        system = np.eye(len(self.outputs)) - passes[:, :, None] * self._feeds
        return np.asarray(np.maximum(np.linalg.solve(system, known[:, :, None])[:, :, 0], 0.0))

    def _solve_one(self, passes: FloatArray, known: FloatArray) -> FloatArray:
        self._deadline.check()
        system = csc_array(eye_array(len(passes)) - diags_array(passes) @ self._feeds)
        return np.maximum(splu(system).solve(known), 0.0)


def _selectivity(out: Output) -> float:
    return out.rate.selectivity if isinstance(out.rate, Flow) else 0.0
