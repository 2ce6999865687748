"""The checks after each stage of the pipeline: each yields what is wrong, which is a bug of the stage."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.ir.verify import verify

if TYPE_CHECKING:
    from penstock.codegen.plan.physical import PhysicalPlan
    from penstock.compiler.job import Draft


def check_graph(draft: Draft) -> Iterator[str]:
    """The graph that runs is a graph; where its loop was opened, nothing goes round any more."""
    assert draft.opened is not None
    if not draft.loop_is_open:
        return
    try:
        verify(draft.opened.application)
    except UserError as error:
        yield str(error)
    for _, consumer, stream, feedback in draft.opened.application.edges():
        if feedback:
            yield f"the loop over `{stream}` still leads back to `{consumer}`"


def check_regions(draft: Draft) -> Iterator[str]:
    """Every operator is in one region, or there is a reason why it is in none."""
    assert draft.parallel is not None
    inside = [id_ for region in draft.parallel.regions for id_ in region.operators]
    yield from _check_once("operator", [*inside, *draft.parallel.refused], draft.application.operator)


def check_channels(draft: Draft) -> Iterator[str]:
    """Regions that have channels have several, and were found to be parallel."""
    assert draft.parallel is not None
    assert draft.regions is not None
    for region, width in draft.regions.width.items():
        if width < 2:
            yield f"the region `{region}` has {width} channels"
    for id_ in draft.regions.region:
        if id_ not in draft.parallel.region_of:
            yield f"`{id_}` has channels and is in no parallel region"


def check_fusion(draft: Draft) -> Iterator[str]:
    """No operator is in two PEs."""
    assert draft.choice is not None
    chosen = Counter(id_ for group in draft.choice.fusion for id_ in group)
    yield from (f"the operator `{id_}` is in {count} PEs" for id_, count in chosen.items() if count > 1)


def check_plan(draft: Draft) -> Iterator[str]:
    """Every operator is in one PE, and edges lead forward, from a PE that has the stream to those who take it."""
    assert draft.plan is not None
    plan = draft.plan
    yield from _check_once("operator", [id_ for pe in plan.pes for id_ in pe.operators], plan.application.operator)
    for edge in plan.edges:
        if edge.producer >= edge.consumer:
            yield f"edge {edge.index} leads from PE {edge.producer} to PE {edge.consumer}"
        if plan.home[plan.application.streams[edge.stream].operator] != edge.producer:
            yield f"edge {edge.index} carries `{edge.stream}`, which PE {edge.producer} does not make"
    yield from _check_subscribers(plan)


def _check_subscribers(plan: PhysicalPlan) -> Iterator[str]:
    """Whoever takes a stream of another PE is served by an edge."""
    served = {(edge.stream, subscriber) for edge in plan.edges for subscriber in edge.subscribers}
    for stream in plan.application.streams.values():
        for subscriber in plan.application.subscribers[stream.id]:
            is_inside = plan.home[subscriber[0]] == plan.home[stream.operator]
            if ((stream.id, subscriber) in served) == is_inside:
                yield f"`{stream.id}` reaches `{subscriber[0]}` {'twice' if is_inside else 'by no edge'}"


def check_places(draft: Draft) -> Iterator[str]:
    """Where PEs are placed, every channel of every PE but the sinks has a host that there is."""
    if draft.placed is None:
        return
    assert draft.plan is not None
    assert draft.options.hosts is not None
    wanted = {(pe.index, channel) for pe in draft.plan.pes if pe.role != "sink" for channel in range(pe.channels)}
    hosts = {host.id for host in draft.options.hosts.hosts}
    if set(draft.placed.host_of) != wanted:
        yield "a channel has no host"
    yield from (f"there is no host `{host}`" for host in set(draft.placed.host_of.values()) - hosts)


def check_build(draft: Draft) -> Iterator[str]:
    """Every PE between sources and sinks has code or a reason for each of its operators, and code is Python."""
    assert draft.plan is not None
    assert draft.build is not None
    for pe in draft.plan.pes:
        if pe.role in ("source", "sink"):
            continue
        pieces = draft.build.pieces[pe.index]
        inside = [id_ for piece in pieces.made for id_ in pieces.plan.pes[piece].operators]
        yield from _check_once("operator", inside, pe.operators)
    for name, module in draft.build.modules.items():
        try:
            ast.parse(module.text)
        except SyntaxError as error:
            yield f"the module `{name}` is no Python: {error}"


def _check_once(what: str, found: Iterable[str], wanted: Iterable[str]) -> Iterator[str]:
    count = Counter(found)
    yield from (f"the {what} `{id_}` is there {count[id_]} times" for id_ in wanted if count[id_] != 1)
    yield from (f"there is no {what} `{id_}`" for id_ in count.keys() - set(wanted))
