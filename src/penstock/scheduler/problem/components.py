"""Cut a graph of PEs into parts that can be solved apart.

A weak component (line 8 of figure 6 of the SODA paper) is a set of PEs that streams hold together, whatever their
direction. Before that, PEs that cannot contribute to importance are set aside: no stream with a value and a weight
depends on what they produce (figure 3), so they get their minimum and need no search. Setting them aside also loosens
components that only they held together.

A group is the same one level up: jobs that some choice of templates could connect.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.scheduler.problem.admission_problem import Job, Pe
from penstock.scheduler.problem.resource_functions import depends_on_load

_K = TypeVar("_K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """A graph of PEs, cut up.

    Attributes:
        weak: The weak components among the PEs that matter, each in the order of the graph; trimmed to the
            inputs and outputs that matter.
        idle: The PEs that cannot contribute to importance.
    """

    weak: tuple[tuple[Pe, ...], ...]
    idle: tuple[Pe, ...]


def weak_components(pes: Sequence[Pe]) -> Components:
    """Set aside the PEs that do not matter and cut the rest into weak components.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Linear, Output
        >>> one, worth = Flow(mips_per_tps=1.0, selectivity=1.0), Linear(slope=1.0)
        >>> a = Pe(id="a", max_mips=1.0, outputs=(Output(stream="s", rate=one),))
        >>> b = Pe(id="b", max_mips=1.0, inputs=("s",), outputs=(Output(stream="t", rate=one, value=worth),))
        >>> c = Pe(id="c", max_mips=1.0, inputs=("s",), outputs=(Output(stream="u", rate=one),))
        >>> cut = weak_components([a, b, c])
        >>> [[pe.id for pe in part] for part in cut.weak], [pe.id for pe in cut.idle]
        ([['a', 'b']], ['c'])
    """
    active = trim(pes)
    active_ids = {pe.id for pe in active}
    links = [((pe.id, "pe"), (stream, "stream")) for pe in active for stream in pe.inputs]
    links += [((pe.id, "pe"), (out.stream, "stream")) for pe in active for out in pe.outputs]
    by_id = {pe.id: pe for pe in active}
    parts = connected(list(by_id), links)
    weak = tuple(tuple(by_id[member] for member in part) for part in parts)
    return Components(weak=weak, idle=tuple(pe for pe in pes if pe.id not in active_ids))


def trim(pes: Sequence[Pe]) -> tuple[Pe, ...]:
    """The PEs that matter, without the inputs and outputs that do not.

    An output matters when it is valued itself or when importance further on depends on its rate. An input matters when
    an output that matters depends on it: a resource function that is a table does not depend on what comes in.
    """
    wanted = _wanted_streams(pes)
    trimmed = []
    for pe in pes:
        outputs = tuple(out for out in pe.outputs if out.is_valued or out.stream in wanted)
        if outputs:
            carries = any(depends_on_load(out.rate) for out in outputs)
            inputs = tuple(stream for stream in pe.inputs if stream in wanted) if carries else ()
            trimmed.append(replace(pe, inputs=inputs, outputs=outputs))
    return tuple(trimmed)


def _wanted_streams(pes: Sequence[Pe]) -> frozenset[str]:
    """The streams whose rate some importance depends on downstream."""
    producer = {out.stream: pe for pe in pes for out in pe.outputs}
    frontier = [pe for pe in pes if any(out.is_valued and depends_on_load(out.rate) for out in pe.outputs)]
    thirsty = {pe.id for pe in frontier}
    wanted: set[str] = set()
    while frontier:
        for stream in frontier.pop().inputs:
            if (source := producer.get(stream)) is None:
                continue
            wanted.add(stream)
            if source.id not in thirsty and _passes_load_on(source, stream):
                thirsty.add(source.id)
                frontier.append(source)
    return frozenset(wanted)


def _passes_load_on(pe: Pe, stream: str) -> bool:
    return any(out.stream == stream and depends_on_load(out.rate) for out in pe.outputs)


def job_groups(jobs: Sequence[Job]) -> tuple[tuple[Job, ...], ...]:
    """The jobs in groups between which no choice of templates runs a stream.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output, Template
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> def job(name, inputs):
        ...     pe = Pe(id=name, max_mips=1.0, inputs=inputs, outputs=(Output(stream=f"{name}.s", rate=one),))
        ...     return Job(id=name, templates=(Template(id="only", pes=(pe,)),))
        >>> [[j.id for j in group] for group in job_groups([job("A", ()), job("B", ()), job("C", ("A.s",))])]
        [['A', 'C'], ['B']]
    """
    links = []
    for job in jobs:
        for template in job.choices:
            links += [((job.id, "pe"), (stream, "stream")) for pe in template.pes for stream in pe.inputs]
            links += [((job.id, "pe"), (stream, "stream")) for stream in template.streams]
    by_id = {job.id: job for job in jobs}
    return tuple(tuple(by_id[member] for member in part) for part in connected(list(by_id), links))


def connected(
    names: Sequence[str], links: Iterable[tuple[tuple[str, str], tuple[str, str]]]
) -> tuple[tuple[str, ...], ...]:
    """The names in sets held together by links between `(name, "pe")` and `(stream, "stream")`, in order."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}
    for left, right in links:
        parent[_root(parent, left)] = _root(parent, right)
    parts: dict[tuple[str, str], list[str]] = {}
    for name in names:
        parts.setdefault(_root(parent, (name, "pe")), []).append(name)
    return tuple(tuple(part) for part in parts.values())


def _root(parent: dict[_K, _K], item: _K) -> _K:
    while (above := parent.setdefault(item, item)) != item:
        parent[item] = parent[above]
        item = above
    return item
