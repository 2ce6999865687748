"""An estimate of what a load is worth, to tell promising partial allocations from poor ones."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.scheduler.problem.admission_problem import Flow, Limits, Linear, Output, Pe, RateFunction, Surface


def potentials(order: Sequence[Sequence[Pe]]) -> dict[str, float]:
    """For each PE the importance that a tuple a second of load could earn downstream if mips were free.

    `order` is the ready-list order of a component. Value tables count with their mean slope, and a cycle's way back
    counts nothing.

    Example:
        >>> half = Flow(mips_per_tps=1.0, selectivity=0.5)
        >>> a = Pe(id="a", max_mips=9.0, offered_tps=2.0, outputs=(Output(stream="s", rate=half),))
        >>> out = Output(stream="t", rate=half, value=Linear(slope=8.0))
        >>> potentials([[a], [Pe(id="b", max_mips=9.0, inputs=("s",), outputs=(out,))]])
        {'b': 4.0, 'a': 2.0}
    """
    worth: dict[str, float] = {}
    stream_worth: dict[str, float] = {}
    for batch in reversed(order):
        for pe in reversed(batch):
            worth[pe.id] = sum(
                _yield(out.rate) * (_mean_slope(out) + stream_worth.get(out.stream, 0.0)) for out in pe.outputs
            )
            for stream in pe.inputs:
                stream_worth[stream] = stream_worth.get(stream, 0.0) + worth[pe.id]
    return worth


def _yield(rate: RateFunction) -> float:
    """About how many tuples leave for one that comes in."""
    match rate:
        case Flow():
            return rate.selectivity
        case Limits():
            return max((share for _, share in rate.offered), default=1.0)
        case Surface():
            most_in = sum(knots[-1] for knots in rate.knots[:-1])
            return rate.rates[-1] / most_in if most_in > 0 else 0.0
        case _:
            return 0.0


def _mean_slope(output: Output) -> float:
    if output.value is None:
        return 0.0
    if isinstance(output.value, Linear):
        return output.weight * output.value.slope
    (first, low), (last, high) = output.value.points[0], output.value.points[-1]
    return output.weight * (high - low) / (last - first) if last > first else 0.0
