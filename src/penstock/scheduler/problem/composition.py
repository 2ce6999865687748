"""Compose resource functions along the graph of PEs, from left to right (section 2 of the SODA paper, figure 4).

PEs are taken in ready-list order: a PE is ready when the rates of all its inputs are known. Where a cycle leaves no
PE ready, the strongly connected PEs that wait for nobody else are taken together, and their rates are the least fixed
point: the loop starts empty and fills (`penstock.scheduler.problem.cycles`). A stream whose producer is not in the
graph (its job is not admitted) carries nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from penstock.base.deadline import Deadline, OutOfTime
from penstock.scheduler.problem.admission_problem import PRIMAL, Pe
from penstock.scheduler.problem.cycles import can_be_solved, cycle_rates
from penstock.scheduler.problem.resource_functions import Amounts, depends_on_each_input, importance_of, rate_of

_SAME = 1e-12
CYCLE_ROUNDS = 2_000
"""Rounds given to a cycle that is filled; one that can be solved needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The rates, loads and importance that result from an allocation to a graph of PEs.

    Attributes:
        rates_tps: The rate of each stream.
        loads_tps: The input rate of each PE, by its id.
        importance: The PE importance function's value, by the PE's id.
    """

    rates_tps: Mapping[str, Amounts]
    loads_tps: Mapping[str, Amounts]
    importance: Mapping[str, Amounts]


def compose(
    pes: Sequence[Pe],
    mips: Mapping[str, Amounts],
    order: Sequence[Sequence[Pe]] | None = None,
    deadline: Deadline | None = None,
) -> Composition:
    """The rates and the importance that follow from the mips of each PE.

    The mips may be arrays, all of one shape, for many allocations at once. `order` is the ready-list order of the PEs
    where the caller has it. A cycle that is not full when time is up is understated.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Linear, Output
        >>> half = Flow(mips_per_tps=2.0, selectivity=0.5)
        >>> a = Pe(id="a", max_mips=99.0, offered_tps=40.0, outputs=(Output(stream="s", rate=half),))
        >>> out = Output(stream="t", rate=half, value=Linear(slope=3.0))
        >>> b = Pe(id="b", max_mips=99.0, inputs=("s",), outputs=(out,))
        >>> result = compose([a, b], {"a": 60.0, "b": 20.0})
        >>> result.rates_tps["s"], result.importance["b"]
        (15.0, 15.0)
    """
    amounts = {pe.id: _amounts(mips[pe.id]) for pe in pes}
    rates: dict[str, Amounts] = {}
    loads: dict[str, Amounts] = {}
    for batch in ready_order(pes) if order is None else order:
        outside = {pe.id: pe.offered_tps for pe in batch}
        try:
            loads |= propagate(batch, amounts, outside, rates, deadline)
        except OutOfTime:
            loads |= _round(batch, amounts, outside, rates)
    importance: dict[str, Amounts] = {
        pe.id: sum((importance_of(out, rates[out.stream]) for out in pe.outputs), 0.0) for pe in pes
    }
    return Composition(rates_tps=rates, loads_tps=loads, importance=importance)


def _amounts(mips: Amounts) -> Amounts:
    return np.asarray(mips, dtype=np.float64) if isinstance(mips, np.ndarray) else float(mips)


def propagate(
    batch: Sequence[Pe],
    mips: Mapping[str, Amounts],
    outside: Mapping[str, Amounts],
    rates: dict[str, Amounts],
    deadline: Deadline | None = None,
) -> dict[str, Amounts]:
    """Add the rates of the streams of one batch of `ready_order`; return the load of each of its PEs.

    `outside` is what comes into each PE besides the streams in `rates`.

    Raises:
        OutOfTime: The deadline has passed before a cycle was full.
    """
    if not is_loop(batch):
        return _round(batch, mips, outside, rates)
    if is_filled(batch):
        return _fill(batch, mips, outside, rates, deadline)
    known = {pe.id: _load(pe, outside[pe.id], rates) for pe in batch}
    own = cycle_rates(batch, mips, known, deadline)
    rates.update({stream: float(rate) if rate.ndim == 0 else rate for stream, rate in own.items()})
    return {pe.id: _load(pe, known[pe.id], {s: rates[s] for s in own}) for pe in batch}


def _fill(
    batch: Sequence[Pe],
    mips: Mapping[str, Amounts],
    outside: Mapping[str, Amounts],
    rates: dict[str, Amounts],
    deadline: Deadline | None,
) -> dict[str, Amounts]:
    """Fill a cycle round by round; what still grows after the last round is understated."""
    _check(deadline)
    own = [output.stream for pe in batch for output in pe.outputs]
    loads = _round(batch, mips, outside, rates)
    for _ in range(CYCLE_ROUNDS):
        before = [rates[stream] for stream in own]
        loads = _round(batch, mips, outside, rates)
        if all(_is_same(old, rates[s]) for old, s in zip(before, own, strict=True)):
            break
        _check(deadline)
    return loads


def _check(deadline: Deadline | None) -> None:
    if deadline is not None:
        deadline.check()


def _is_same(before: Amounts, after: Amounts) -> bool:
    if isinstance(before, float) and isinstance(after, float):
        return abs(after - before) <= _SAME * abs(after)
    return bool(np.all(np.abs(np.subtract(after, before)) <= _SAME * np.abs(after)))


def _round(
    batch: Sequence[Pe], mips: Mapping[str, Amounts], outside: Mapping[str, Amounts], rates: dict[str, Amounts]
) -> dict[str, Amounts]:
    loads: dict[str, Amounts] = {}
    for pe in batch:
        loads[pe.id] = _load(pe, outside[pe.id], rates)
        for output in pe.outputs:
            inputs = inputs_of(pe, rates) if depends_on_each_input(output.rate) else None
            rates[output.stream] = rate_of(output.rate, loads[pe.id], mips[pe.id], inputs)
    return loads


def is_filled(batch: Sequence[Pe]) -> bool:
    """Whether a batch is a cycle that is filled round by round: what it carries may be understated."""
    return is_loop(batch) and (sees_each_input(batch) or not can_be_solved(batch))


def sees_each_input(batch: Sequence[Pe]) -> bool:
    """Whether to some PE of a batch it matters on which input a load comes."""
    return any(depends_on_each_input(out.rate) for pe in batch for out in pe.outputs)


def inputs_of(pe: Pe, rates: Mapping[str, Amounts]) -> dict[str, Amounts]:
    """The rate of each input of a PE by itself."""
    return {PRIMAL: pe.offered_tps, **{stream: rates[stream] for stream in pe.inputs if stream in rates}}


def _load(pe: Pe, outside: Amounts, rates: Mapping[str, Amounts]) -> Amounts:
    load = outside
    for stream in pe.inputs:
        if stream in rates:
            load = load + rates[stream]
    return load


def is_loop(batch: Sequence[Pe]) -> bool:
    """Whether a batch of `ready_order` is a cycle: several PEs, or one that reads what it produces."""
    return len(batch) > 1 or any(output.stream in batch[0].inputs for output in batch[0].outputs)


def ready_order(pes: Sequence[Pe]) -> tuple[tuple[Pe, ...], ...]:
    """The PEs in ready-list order, in batches: one PE, or the PEs of one cycle.

    Of several that are ready the latest is taken, so that a branch is followed to its end and few streams stay open.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> def pe(id, inputs, *outs):
        ...     return Pe(id=id, max_mips=1.0, inputs=inputs, outputs=tuple(Output(stream=s, rate=one) for s in outs))
        >>> graph = [pe("c", ("b1",)), pe("b", ("a1", "loop"), "b1"), pe("l", ("b1",), "loop"), pe("a", (), "a1")]
        >>> [[p.id for p in batch] for batch in ready_order(graph)]
        [['a'], ['b', 'l'], ['c']]
    """
    producer = {output.stream: pe.id for pe in pes for output in pe.outputs}
    waits_for = {pe.id: {producer[s] for s in pe.inputs if s in producer} - {pe.id} for pe in pes}
    readers: dict[str, list[str]] = {pe.id: [] for pe in pes}
    for reader, producers in waits_for.items():
        for p in producers:
            readers[p].append(reader)
    by_id = {pe.id: pe for pe in pes}
    waiting = _Waiting(waits_for, readers)
    ready: list[tuple[str, ...]] = [(pe.id,) for pe in reversed(pes) if not waits_for[pe.id]]
    order: list[tuple[Pe, ...]] = []
    while waits_for:
        batch = (ready := ready or waiting.find_cycles()).pop()
        order.append(tuple(by_id[member] for member in batch))
        ready += waiting.take(batch)
    return tuple(order)


class _Waiting:
    """The PEs that are not taken yet, and those that each of them waits for; a cycle waits as one."""

    def __init__(self, waits_for: dict[str, set[str]], readers: Mapping[str, list[str]]) -> None:
        self._waits_for = waits_for
        self._readers = readers
        self._cycle_of: dict[str, tuple[str, ...]] = {}
        self._missing: dict[tuple[str, ...], int] = {}

    def find_cycles(self) -> list[tuple[str, ...]]:
        """Where nobody is ready: the cycles, and those of them that are. They are looked for once."""
        for cycle in _cycles(self._waits_for):
            members = set(cycle)
            for member in cycle:
                self._cycle_of[member] = cycle
                self._waits_for[member] = {p for p in self._waits_for[member] if p not in members}
            self._missing[cycle] = sum(len(self._waits_for[member]) for member in cycle)
        return [cycle for cycle, missing in self._missing.items() if not missing]

    def take(self, batch: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Take a batch out; return those that are ready because of it."""
        for member in batch:
            del self._waits_for[member]
        freed = []
        for member in batch:
            for reader in self._readers[member]:
                if reader in self._waits_for and member in self._waits_for[reader]:
                    self._waits_for[reader].remove(member)
                    unit = self._cycle_of.get(reader, (reader,))
                    freed += [unit] if self._is_free(unit) else []
        return freed

    def _is_free(self, unit: tuple[str, ...]) -> bool:
        if unit not in self._missing:
            return not self._waits_for[unit[0]]
        self._missing[unit] -= 1
        return not self._missing[unit]


def _cycles(waits_for: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """The cycles among PEs that wait, the latest first."""
    names = list(waits_for)
    position = {pe_id: i for i, pe_id in enumerate(names)}
    ends = [(position[p], position[reader]) for reader, producers in waits_for.items() for p in producers]
    rows, columns = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    graph = csr_array((np.ones(len(ends)), (rows, columns)), shape=(len(names), len(names)))
    parts: dict[int, list[str]] = {}
    for pe_id, part in zip(names, connected_components(graph, connection="strong")[1].tolist(), strict=True):
        parts.setdefault(part, []).append(pe_id)
    found = [tuple(members) for members in parts.values() if len(members) > 1]
    return sorted(found, key=lambda cycle: position[cycle[0]], reverse=True)
