"""Refined statistics: from what signals collected to a profile.

Introduction:
    The time of a process call holds the times of all submit calls in it, so raw times depend on what is fused with
    what. What an operator costs does not. This takes the one out of the other.

Formulation:
    Equation 1 of the paper. For an operator with k input ports, l output ports and m threads of its own, with c
    tuples a second on a port, mean times t to process and to submit, and the base CPU fraction b of a thread:

        u = sum_m b + sum_k c_in t_in - sum_l c_out t_out

    The numbers of tuples are exact, the mean times are those of the reservoirs. With it: rates in tuples and bytes for
    each port, selectivities, sizes, and the variance of the CPU time of a tuple.

Example:
    A tuple takes 50 us to process and 40 us to submit; half of 100 tuples are submitted: 5 ms less 2 ms.

    >>> statistics = Statistics()
    >>> statistics.add(("process", "F", 0), 50_000.0)
    >>> statistics.add(("submit", "F", 0), 40_000.0)
    >>> round(own_seconds("F", statistics, [100], [50]), 9)
    0.003

When it does not apply:
    An operator whose submit calls were sampled on other tuples than its process calls, in a run too short for means to
    settle, could come out below zero: it is then taken to cost nothing.

Algorithm:
    Linear in ports.

Reference:
    Gedik et al., CIKM 2009, section 3.3. The paper has means; the variance is ours: that of process times, less the
    part that comes from submitting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.ir.graph import Application, Operator
from penstock.model.profile import OperatorProfile, Profile, StreamProfile
from penstock.profiler.raw_statistics import Statistics
from penstock.profiler.sizes import fixed_bytes

Counts = Mapping[str, Sequence[int]]

_NS = 1e9


def refine(
    application: Application,
    statistics: Statistics,
    *,
    received: Counts,
    submitted: Counts,
    seconds: float,
    mips: float,
) -> Profile:
    """The profile of a run.

    Args:
        application: Its graph.
        statistics: What signals have collected in all PEs.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        seconds: How long the run took.
        mips: The speed of one core of the machine.
    """
    operators = tuple(
        _operator(o, statistics, received.get(o.id, ()), submitted.get(o.id, ()), seconds)
        for o in application.operators
    )
    return Profile(
        application=application.name,
        mips=mips,
        seconds=seconds,
        operators=operators,
        streams=_streams(application, statistics, submitted, seconds),
    )


def own_seconds(operator: str, statistics: Statistics, received: Sequence[int], submitted: Sequence[int]) -> float:
    """CPU time of an operator in the whole run, without that of its consumers: equation 1 times the run's length."""
    process = sum(n * statistics.mean(("process", operator, i)) for i, n in enumerate(received))
    submit = sum(n * statistics.mean(("submit", operator, i)) for i, n in enumerate(submitted))
    base = statistics.base_ns.get(operator, 0.0)
    return max(0.0, base + process - submit) / _NS


def _operator(
    operator: Operator, statistics: Statistics, received: Sequence[int], submitted: Sequence[int], seconds: float
) -> OperatorProfile:
    tuples = sum(received) if operator.inputs else sum(submitted)
    total = own_seconds(operator.id, statistics, received, submitted)
    variance = _variance(operator.id, statistics, received, submitted)
    return OperatorProfile(
        id=operator.id,
        kind=operator.kind,
        rate_tps=tuples / seconds,
        cpu_seconds=total / tuples if tuples else 0.0,
        cpu_variance=variance / tuples / _NS**2 if tuples else 0.0,
        selectivity=tuple(n / tuples if tuples else 0.0 for n in submitted or [0] * len(operator.outputs)),
    )


def _variance(operator: str, statistics: Statistics, received: Sequence[int], submitted: Sequence[int]) -> float:
    """Of the CPU time of all tuples together, in square ns."""
    process = sum(n * statistics.variance(("process", operator, i)) for i, n in enumerate(received))
    submit = sum(n * statistics.variance(("submit", operator, i)) for i, n in enumerate(submitted))
    return max(0.0, process - submit)


def _streams(
    application: Application, statistics: Statistics, submitted: Counts, seconds: float
) -> tuple[StreamProfile, ...]:
    subscriptions: dict[str, list[tuple[str, bool]]] = {id_: [] for id_ in application.streams}
    for _, consumer, stream, feedback in application.edges():
        subscriptions[stream].append((consumer, feedback))
    found = []
    for operator in application.operators:
        counts = submitted.get(operator.id, [0] * len(operator.outputs))
        for port, (output, count) in enumerate(zip(operator.outputs, counts, strict=True)):
            takers = subscriptions[output.stream]
            size = fixed_bytes(output.schema)
            found.append(
                StreamProfile(
                    id=output.stream,
                    producer=operator.id,
                    port=port,
                    consumers=tuple(consumer for consumer, _ in takers),
                    feedback=frozenset(consumer for consumer, feedback in takers if feedback),
                    rate_tps=count / seconds,
                    tuple_bytes=statistics.mean(("size", output.stream, 0)) if size is None else size,
                )
            )
    return tuple(found)
