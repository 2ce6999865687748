"""Which operators must stay sequential for the sake of an operator that waits for window markers.

Introduction:
    A window marker stands between two tuples of a stream. In a parallel region the tuples before it are on all
    channels, so there is no one place for it, and a region's merge drops markers. SPL's rule follows: an operator that
    waits for markers may not stand directly behind a parallel region.

Example:
    FileSource, Functor, Aggregate over `punct()` windows: the Functor passes the file's marker on to the Aggregate,
    which counts on its place. So the Functor stays sequential. With a Custom in between, which drops markers, the
    Functor is free, and only the Custom stands directly before the Aggregate.

When it does not apply:
    Where nobody waits: a FileSink that only flushes on markers writes the same file without them. Markers that an
    exported stream would carry are not part of what a job promises to another.

Algorithm:
    From every operator that waits, go back over the streams: the operators directly before it, and, through those that
    pass markers on, every operator whose markers get there. Linear in the streams, whatever the number that wait.

Reference:
    The paper is silent on punctuation; the rule is the SPL language's, which speaks of the direct neighbour only.
"""

from __future__ import annotations

from penstock.ir.graph import Application
from penstock.ir.models import Markers


def operators_before_waiting(application: Application) -> dict[str, str]:
    """From each operator that must not be parallel to the operator that waits for its markers.

    Example:
        >>> from penstock.ir.graph import InputPort, Operator, OutputPort
        >>> from penstock.ir.models import OperatorModel
        >>> from penstock.ir.types import parse_schema
        >>> schema = parse_schema("int32 x")
        >>> app = Application(name="Main", operators=(
        ...     Operator(id="F", kind="Functor", outputs=(OutputPort(stream="F", schema=schema),)),
        ...     Operator(id="W", kind="Aggregate", inputs=(InputPort(streams=("F",), schema=schema),),
        ...              model=OperatorModel(waits_for_markers=True)),
        ... ))
        >>> operators_before_waiting(app)
        {'F': 'W'}
    """
    predecessors: dict[str, list[str]] = {o.id: [] for o in application.operators}
    for producer, consumer, _, _ in application.edges():
        predecessors[consumer].append(producer)
    found: dict[str, str] = {}
    passed: set[str] = set()
    for waiting in application.operators:
        if waiting.model.waits_for_markers:
            found.update({p: waiting.id for p in predecessors[waiting.id] if p not in found})
            _follow_back(application, predecessors, waiting.id, found, passed)
    return found


def _follow_back(
    application: Application, predecessors: dict[str, list[str]], waiting: str, found: dict[str, str], passed: set[str]
) -> None:
    """Note every operator whose markers reach the one that waits."""
    ready = [waiting]
    while ready:
        for before in predecessors[ready.pop()]:
            markers = application.operator[before].model.markers
            if markers is not Markers.NONE:
                found.setdefault(before, waiting)
            if markers is Markers.PASSED_ON and before not in passed:
                passed.add(before)
                ready.append(before)
