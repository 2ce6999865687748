"""The order in which streams can be worked out: producers before readers."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import CycleError, TopologicalSorter

from penstock.scheduler.problem.admission_problem import Pe


def stream_order(pes: Sequence[Pe]) -> list[int] | None:
    """The positions of PEs, each behind all that produce what it reads; None where streams go in a circle.

    Several PEs may produce a stream: the same one in the templates of a job.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> a = Pe(id="a", max_mips=1.0, inputs=("s",))
        >>> b = Pe(id="b", max_mips=1.0, outputs=(Output(stream="s", rate=one),))
        >>> stream_order([a, b])
        [1, 0]
    """
    producers: dict[str, list[int]] = {}
    for i, pe in enumerate(pes):
        for output in pe.outputs:
            producers.setdefault(output.stream, []).append(i)
    waits_for = {i: [p for stream in pe.inputs for p in producers.get(stream, ())] for i, pe in enumerate(pes)}
    try:
        return list(TopologicalSorter(waits_for).static_order())
    except CycleError:
        return None
