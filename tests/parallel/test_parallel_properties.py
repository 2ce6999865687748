"""Regions of generated graphs, against a checker that tries every condition by brute force."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parallel.graphs import AT_MOST_ONE, DROPS, MAKES, MANY, ONE, PASSES, app, model, op, source
from parallel.region_checker import adjacent, chains, groups, loses, possible_key, violations
from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.ir.models import Selectivity
from penstock.parallel.extensions import BEYOND, PAPER, Extensions
from penstock.parallel.region_plan import Joint, Ordering
from penstock.parallel.regions import parallel_regions
from penstock.parallel.report import pretty_regions, regions_json
from penstock.parallel.strategies import choose_strategies

EXTENSIONS = st.sampled_from(
    [PAPER, Extensions(prolific=True), Extensions(fan_out=True), Extensions(fan_in=True), BEYOND, BEYOND]
)
RARELY = st.integers(0, 9).map(lambda n: n == 0)


@st.composite
def models(draw: st.DrawFn) -> object:
    """Mostly parallelizable ones."""
    return model(
        draw(st.sampled_from(["", "", "k", "l", "kl", "klm"])),
        selectivity=draw(st.sampled_from([ONE, ONE, AT_MOST_ONE, MANY])),
        forwards=draw(st.sampled_from(["klm", "klm", "kl", "k", ""])),
        known=not draw(RARELY),
        spontaneous=draw(RARELY),
        markers=draw(st.sampled_from([PASSES, MAKES, DROPS])),
        waits_for_markers=draw(st.integers(0, 24)) == 0,
    )


@st.composite
def graphs(draw: st.DrawFn) -> Application:
    """Graphs of up to 12 operators in which chains are common; some feedback, some fusion, some instructions."""
    count = draw(st.integers(1, 12))
    operators: list[Operator] = []
    streams: list[str] = []
    for i in range(count):
        id_ = f"o{i}"
        if i == 0 or draw(RARELY):
            operators.append(source(id_, draw(models())))
        else:
            many = draw(st.sampled_from([1, 1, 1, 2]))
            chosen = draw(st.lists(st.sampled_from(streams[-2:]), min_size=1, max_size=many, unique=True))
            operators.append(draw(_reader(id_, chosen, [f"o{i + 1}"] if i + 1 < count else [])))
        streams.extend(port.stream for port in operators[-1].outputs)
    ids = [o.id for o in operators]
    fused = (
        draw(st.lists(st.lists(st.sampled_from(ids), min_size=2, max_size=3, unique=True), max_size=2))
        if count > 1
        else []
    )
    return app(*operators, fused=[" ".join(ids) for ids in fused])


@st.composite
def _reader(draw: st.DrawFn, id_: str, streams: list[str], later: list[str]) -> Operator:
    loop = later if later and draw(RARELY) else []
    return op(
        id_,
        " ".join([*streams, *loop]),
        draw(models()),
        outputs=1 if loop or draw(st.integers(0, 5)) else draw(st.integers(1, 2)),
        feedback=" ".join(loop),
        width=draw(st.sampled_from([2, 3])) if draw(RARELY) else None,
        on_error=ErrorPolicy.SKIP if draw(RARELY) else ErrorPolicy.FAIL,
    )


CASES = settings(max_examples=200, deadline=None)


@CASES
@given(graphs(), EXTENSIONS)
def test_every_region_satisfies_every_condition(graph, extensions):
    plan = parallel_regions(graph, extensions)
    event(f"largest region: {max((len(r.operators) for r in plan.regions), default=0)}")
    for region in plan.regions:
        assert violations(graph, set(region.operators), extensions) == []


@CASES
@given(graphs(), EXTENSIONS)
def test_every_operator_is_in_one_region_or_refused_with_a_reason(graph, extensions):
    plan = parallel_regions(graph, extensions)
    inside = [id_ for region in plan.regions for id_ in region.operators]
    assert len(inside) == len(set(inside))
    assert sorted([*inside, *plan.refused]) == sorted(o.id for o in graph.operators)
    assert all(plan.refused.values())


@CASES
@given(graphs(), EXTENSIONS)
def test_a_regions_key_is_what_its_operators_share(graph, extensions):
    for region in parallel_regions(graph, extensions).regions:
        expected = possible_key(graph, set(region.operators), region.operators[0])
        assert region.key == (expected or frozenset())


@CASES
@given(graphs(), EXTENSIONS)
def test_no_fusion_dependency_spans_a_boundary(graph, extensions):
    plan = parallel_regions(graph, extensions)
    for group in groups(graph):
        assert all(plan.may_share_pe(a, b) for a in group for b in group)


@CASES
@given(graphs(), st.booleans())
def test_what_is_refused_could_not_be_in_any_region(graph, prolific):
    extensions = Extensions(prolific=prolific)
    plan = parallel_regions(graph, extensions)
    for chain_ in chains(graph):
        if chain_ & plan.refused.keys():
            assert violations(graph, chain_, extensions)


@CASES
@given(graphs(), EXTENSIONS)
def test_adjacent_regions_that_can_merge_do(graph, extensions):
    plan = parallel_regions(graph, extensions)
    for left, right in adjacent(graph, plan):
        assert violations(graph, left | right, extensions)


@CASES
@given(graphs(), EXTENSIONS)
def test_every_crossing_stream_has_a_reason_and_a_joint(graph, extensions):
    plan = parallel_regions(graph, extensions)
    crossing = [(b.stream, b.consumer) for b in plan.boundaries]
    assert len(crossing) == len(set(crossing))
    for producer, consumer, stream, feedback in graph.edges():
        left, right = plan.region_of.get(producer), plan.region_of.get(consumer)
        crosses = left is not right or (feedback and left is not None)
        assert ((stream, consumer) in crossing) == crosses
    for region in plan.regions:
        assert region.first_joint is not Joint.NONE
        assert region.exits
        assert all(exit_.joint is not Joint.NONE for exit_ in region.exits)


@CASES
@given(graphs(), EXTENSIONS)
def test_strategies_follow_table_1_with_the_adjustments_for_shuffles_and_sources(graph, extensions):
    plan = parallel_regions(graph, extensions)
    for region in plan.regions:
        shuffled = Joint.SHUFFLE in {region.first_joint, *(e.joint for e in region.exits)}
        if len(region.entries) > 1:
            assert region.ordering is Ordering.PLACES
        elif region.ordering is not Ordering.ROUTING_ONLY and not shuffled and region.first_joint is Joint.SPLIT:
            assert region.ordering is _table_1(graph, region.operators)
        if region.ordering is Ordering.ROUTING_ONLY:
            assert all(e.joint is not Joint.MERGE for e in region.exits)
        elif shuffled or region.first_joint is Joint.PARALLEL_SOURCE:
            assert region.ordering not in (Ordering.ROUND_ROBIN, Ordering.SEQNO)


def _table_1(graph: Application, ids: tuple[str, ...]) -> Ordering:
    members = [graph.operator[id_] for id_ in ids]
    if any(o.inputs and o.outputs and o.model.selectivity is Selectivity.UNKNOWN for o in members):
        fires = any(o.model.spontaneous for o in members)
        return Ordering.PLACES if fires else Ordering.SEQNO_AND_SECOND_LEVEL
    if any(loses(o) for o in members):
        return Ordering.SEQNO_AND_PULSES
    return Ordering.SEQNO if any(o.model.partition_by for o in members) else Ordering.ROUND_ROBIN


@CASES
@given(graphs(), EXTENSIONS)
def test_the_pass_returns_the_same_plan_when_nothing_changes_and_the_plan_can_be_shown(graph, extensions):
    plan = parallel_regions(graph, extensions)
    assert choose_strategies(graph, plan) is plan
    assert parallel_regions(graph, extensions).regions == plan.regions
    assert all(region.id in pretty_regions(graph, plan) for region in plan.regions)
    assert len(regions_json(graph, plan)["operators"]) == len(graph.operators)


def chain(length: int, **more: object) -> Application:
    return app(source("s"), *(op(f"o{i}", f"o{i - 1}" if i else "s", model("k")) for i in range(length)), **more)  # type: ignore[arg-type]


ALL = " ".join(f"o{i}" for i in range(5000))
IN_PAIRS = [f"o{i} o{i + 1}" for i in range(4999)]


@pytest.mark.parametrize("fused", [(), [ALL], IN_PAIRS, [*IN_PAIRS, "o4999 s"]])
def test_ten_thousand_operators_are_few_regions(fused):
    plan = parallel_regions(chain(10_000, fused=fused))
    assert [len(region.operators) for region in plan.regions] == [5000 if "o4999 s" in fused else 10_000]
