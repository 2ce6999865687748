"""Each safety condition: where it stops a region, and where it must not."""

from __future__ import annotations

import pytest

from parallel.graphs import (
    AT_MOST_ONE,
    DROPS,
    MAKES,
    MANY,
    NOT_PARALLEL,
    ONE,
    WAITS,
    app,
    model,
    op,
    sink,
    source,
)
from penstock.base.diagnostics import UserError
from penstock.expr.typing import literal
from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.ir.models import Flag, OperatorModel, Selectivity, State, Why
from penstock.lang import compile_text
from penstock.parallel.extensions import BEYOND, PAPER, Extensions
from penstock.parallel.instructions import channels
from penstock.parallel.reasons import Condition
from penstock.parallel.region_plan import Joint, Ordering, ParallelRegions, Routing
from penstock.parallel.regions import parallel_regions
from penstock.parallel.strategies import choose_strategies


def regions(*operators: Operator, fused: tuple[str, ...] = (), extensions: Extensions = PAPER) -> ParallelRegions:
    """The plan of operators between a source `in` and a sink `out`, both sequential."""
    return parallel_regions(app(source("in"), *operators, sink("out", operators[-1].id), fused=fused), extensions)


def operators(plan: ParallelRegions) -> list[tuple[str, ...]]:
    return [region.operators for region in plan.regions]


def conditions(plan: ParallelRegions, operator: str) -> list[Condition]:
    return [reason.condition for reason in plan.refused[operator]]


# State.


@pytest.mark.parametrize("given", [model(), model("k"), model("kl")])
def test_no_state_and_partitioned_state_are_parallel(given):
    assert operators(regions(op("a", "in", given))) == [("a",)]


def test_unknown_state_is_not_parallel():
    plan = regions(op("a", "in", model(known=False)))
    assert conditions(plan, "a") == [Condition.STATE]
    assert plan.refused["a"][0].text == "nothing is known of its state; declare a model for it"


def test_a_model_says_in_its_words_why_it_is_unknown():
    plan = regions(op("a", "in", OperatorModel(why=(Why(Flag.STATE, "it prints"), Why(Flag.SELECTIVITY, "it loops")))))
    assert [str(reason) for reason in plan.refused["a"]] == ["state: it prints", "selectivity: it loops"]


def test_partitioned_by_nothing_or_by_what_is_not_there_is_not_parallel():
    no_key = OperatorModel(state=State.PARTITIONED, selectivity=ONE)
    assert "by no attribute" in regions(op("a", "in", no_key)).refused["a"][0].text
    assert "has no attribute `z`" in regions(op("a", "in", model("kz"))).refused["a"][0].text


# Selectivity.


@pytest.mark.parametrize(
    ("selectivity", "ordering"), [(ONE, Ordering.ROUND_ROBIN), (AT_MOST_ONE, Ordering.SEQNO_AND_PULSES)]
)
def test_at_most_one_tuple_of_one_is_parallel(selectivity, ordering):
    (region,) = regions(op("a", "in", model(selectivity=selectivity))).regions
    assert (region.selectivity, region.ordering) == (selectivity, ordering)


def test_several_tuples_of_one_are_not_parallel():
    plan = regions(op("a", "in", model(selectivity=MANY)))
    assert conditions(plan, "a") == [Condition.SELECTIVITY]


def test_several_tuples_of_one_are_parallel_with_second_level_numbers():
    (region,) = regions(op("a", "in", model(selectivity=MANY)), extensions=Extensions(prolific=True)).regions
    assert (region.ordering, region.levels) == (Ordering.SEQNO_AND_SECOND_LEVEL, 1)


def test_several_tuples_by_time_are_not_parallel_even_then():
    plan = regions(op("a", "in", model("k", selectivity=MANY, spontaneous=True)), extensions=Extensions(prolific=True))
    assert conditions(plan, "a") == [Condition.SELECTIVITY]


def test_an_operator_that_fires_by_time_is_in_no_region_with_a_prolific_one():
    fires = model("k", selectivity=AT_MOST_ONE, spontaneous=True)
    many = model("k", selectivity=MANY)
    for first, second in ((fires, many), (many, fires)):
        plan = regions(op("a", "in", first), op("b", "a", second), extensions=Extensions(prolific=True))
        assert operators(plan) == [("a",), ("b",)]
        assert plan.boundaries[1].reason.condition is Condition.SELECTIVITY


def test_places_order_what_makes_several_tuples_by_time():
    extensions = Extensions(prolific=True, by_time=True)
    both = model("k", selectivity=MANY, spontaneous=True)
    (region,) = regions(op("a", "in", both), op("b", "a", model("k", selectivity=MANY)), extensions=extensions).regions
    assert (region.operators, region.ordering, region.levels) == (("a", "b"), Ordering.PLACES, 0)


def test_no_param_filter_is_exactly_one_without_a_filter():
    (region,) = regions(op("a", "in", model(selectivity=Selectivity.NO_PARAM_FILTER))).regions
    assert region.selectivity is ONE


def test_skipping_tuples_that_fail_makes_exactly_one_at_most_one():
    (region,) = regions(op("a", "in", on_error=ErrorPolicy.SKIP)).regions
    assert (region.selectivity, region.ordering) == (AT_MOST_ONE, Ordering.SEQNO_AND_PULSES)


def test_one_of_two_output_ports_carries_at_most_one():
    plan = parallel_regions(app(source("in"), op("a", "in", outputs=2), sink("out", "a")))
    assert plan.regions[0].selectivity is AT_MOST_ONE


# Fan-in and fan-out.


def test_two_streams_in_or_out_are_not_parallel():
    plan = parallel_regions(
        app(source("in"), op("a", "in"), op("b", "in"), op("c", "a b"), sink("out", "c"), sink("x", "c"))
    )
    assert conditions(plan, "c") == [Condition.FAN_IN, Condition.FAN_OUT]
    assert operators(plan) == [("a",), ("b",)]


def test_an_output_that_nobody_receives_is_no_fan_out():
    (region,) = parallel_regions(app(source("in"), op("a", "in", outputs=2))).regions
    assert region.exits[0].joint is Joint.PARALLEL_SINK


def test_with_fan_out_a_region_is_a_tree_whose_key_all_branches_share():
    plan = parallel_regions(
        app(
            source("in"),
            op("a", "in"),
            op("b", "a", model("kl")),
            op("c", "a", model("k")),
            op("d", "a", model("l")),
            sink("x", "b"),
            sink("y", "c"),
            sink("z", "d"),
        ),
        Extensions(fan_out=True),
    )
    assert operators(plan) == [("a", "b", "c"), ("d",)]
    assert plan.regions[0].key == {"k"}
    assert [(e.operator, e.joint) for e in plan.regions[0].exits] == [
        ("a", Joint.SHUFFLE),
        ("b", Joint.MERGE),
        ("c", Joint.MERGE),
    ]


def test_without_fan_in_branches_that_meet_again_stay_outside():
    plan = parallel_regions(
        app(source("in"), op("a", "in"), op("b", "a"), op("c", "a"), op("d", "b c"), sink("out", "d")),
        Extensions(prolific=True, fan_out=True),
    )
    assert operators(plan) == [("a", "b", "c")]
    assert conditions(plan, "d") == [Condition.FAN_IN]


# Keys.


def test_a_coarser_key_serves_operators_with_finer_ones():
    (region,) = regions(op("a", "in", model("kl")), op("b", "a", model("km")), op("c", "b", model("k"))).regions
    assert (region.operators, region.key) == (("a", "b", "c"), {"k"})
    assert region.routing is Routing.HASH


def test_keys_without_a_common_attribute_are_joined_by_a_shuffle():
    plan = regions(op("a", "in", model("k")), op("b", "a", model("l")))
    assert [(r.first_joint, r.last_joint) for r in plan.regions] == [
        (Joint.SPLIT, Joint.SHUFFLE),
        (Joint.SHUFFLE, Joint.MERGE),
    ]
    assert plan.boundaries[1].reason.text == "its key {l} has no attribute in common with the region's key {k}"


def test_pairwise_compatible_keys_may_still_have_nothing_in_common():
    plan = regions(op("a", "in", model("kl")), op("b", "a", model("lm")), op("c", "b", model("mk")))
    assert operators(plan) == [("a", "b"), ("c",)]


def test_a_key_that_changes_on_the_way_ends_the_region():
    plan = regions(op("a", "in", model(forwards="l")), op("b", "a", model("k")))
    assert operators(plan) == [("a",), ("b",)]
    assert plan.boundaries[1].reason.condition is Condition.FORWARDING


def test_of_a_key_only_what_is_forwarded_is_used():
    (region,) = regions(op("a", "in", model(forwards="l")), op("b", "a", model("kl"))).regions
    assert region.key == {"l"}


def test_a_key_may_change_behind_the_last_operator_that_needs_it():
    (region,) = regions(op("a", "in", model("k", forwards="")), op("b", "a")).regions
    assert region.operators == ("a", "b")


# Parallel sources and sinks.


def test_a_source_with_a_key_is_a_parallel_source():
    plan = parallel_regions(app(source("a", model("k")), op("b", "a", model("kl")), sink("out", "b")))
    assert operators(plan) == [("a", "b")]
    assert (plan.regions[0].first_joint, plan.regions[0].routing) == (Joint.PARALLEL_SOURCE, Routing.BY_SOURCE)
    assert plan.regions[0].ordering is Ordering.SEQNO_AND_PULSES


def test_a_source_that_is_divided_by_more_than_an_operators_key_cannot_be_in_its_region():
    plan = parallel_regions(app(source("a", model("kl")), op("b", "a", model("k")), sink("out", "b")))
    assert operators(plan) == [("a",), ("b",)]
    assert plan.boundaries[0].reason.condition is Condition.KEYS


def test_a_stateless_source_names_no_key_for_a_stateful_operator():
    plan = parallel_regions(app(source("a", model()), op("b", "a"), op("c", "b", model("k")), sink("out", "c")))
    assert operators(plan) == [("a", "b"), ("c",)]


def test_a_key_of_a_source_that_is_lost_on_the_way_ends_the_region():
    plan = parallel_regions(app(source("a", model("k")), op("b", "a", model(forwards="")), op("c", "b", model("k"))))
    assert operators(plan) == [("a", "b"), ("c",)]
    assert plan.boundaries[0].reason.condition is Condition.FORWARDING


def test_a_single_region_before_a_parallel_sink_needs_no_numbers():
    plan = parallel_regions(app(source("in"), op("a", "in"), sink("out", "a", model("k"))))
    assert operators(plan) == [("a", "out")]
    assert plan.regions[0].ordering is Ordering.ROUTING_ONLY


def test_a_shuffle_before_a_parallel_sink_still_puts_tuples_in_order():
    plan = parallel_regions(app(source("in"), op("a", "in", model("k")), sink("out", "a", model("l"))))
    assert {region.ordering for region in plan.regions} == {Ordering.SEQNO_AND_PULSES}


# Fusion dependencies.


def test_fused_operators_in_one_region_may_stay():
    plan = regions(op("a", "in"), op("b", "a"), op("c", "b"), fused=("a c",))
    assert operators(plan) == [("a", "b", "c")]


def test_a_fusion_dependency_on_a_sequential_operator_is_in_no_region():
    plan = regions(op("a", "in"), op("b", "a"), fused=("b out",))
    assert operators(plan) == [("a",)]
    assert plan.refused["b"][0].text == "it must be fused with `out`, which cannot join its region: it is n.p."


def test_a_region_ends_early_to_leave_a_fusion_group_whole():
    plan = regions(op("a", "in", model("k")), op("b", "a", model("kl")), op("c", "b", model("l")), fused=("b c",))
    assert operators(plan) == [("a",), ("b", "c")]
    assert plan.boundaries[1].reason.condition is Condition.FUSION
    assert [region.key for region in plan.regions] == [{"k"}, {"l"}]


def test_fusion_is_transitive():
    plan = regions(op("a", "in"), op("b", "a"), op("c", "b"), fused=("a b", "b c", "c out"))
    assert operators(plan) == []
    assert conditions(plan, "a") == [Condition.FUSION]


def test_fused_siblings_join_a_tree_together():
    graph = app(source("in"), op("a", "in"), op("b", "a"), op("c", "a"), sink("x", "b"), sink("y", "c"), fused=["b c"])
    assert operators(parallel_regions(graph, BEYOND)) == [("a", "b", "c")]
    assert operators(parallel_regions(graph)) == []


def test_a_pe_never_spans_a_boundary():
    plan = regions(op("a", "in", model("k")), op("b", "a"), op("c", "b", model("l")))
    assert plan.may_share_pe("a", "b")
    assert not plan.may_share_pe("b", "c")
    assert not plan.may_share_pe("in", "a")
    assert plan.may_share_pe("in", "out")


# Window markers.


def test_an_operator_that_waits_for_markers_does_not_stand_behind_a_region():
    plan = parallel_regions(app(source("in"), op("a", "in"), op("b", "a"), op("w", "b", WAITS)))
    assert operators(plan) == []
    assert conditions(plan, "a") == conditions(plan, "b") == [Condition.MARKERS]


def test_markers_that_are_dropped_or_made_anew_on_the_way_do_not_matter_before():
    for markers in (DROPS, MAKES):
        plan = parallel_regions(
            app(source("in"), op("a", "in"), op("b", "a", model(markers=markers)), op("w", "b", WAITS))
        )
        assert operators(plan) == [("a",)]


def test_an_operator_that_gives_no_markers_may_be_parallel_before_one_that_passes_them_on():
    plan = parallel_regions(
        app(source("in"), op("a", "in", model(markers=DROPS)), op("b", "a", NOT_PARALLEL), op("w", "b", WAITS))
    )
    assert operators(plan) == [("a",)]


# Feedback.


def test_a_region_does_not_reach_across_a_feedback_edge():
    plan = parallel_regions(
        app(source("in"), op("a", "in c", feedback="c"), op("b", "a"), op("c", "b"), sink("out", "c"))
    )
    assert operators(plan) == [("b",)]
    plan = parallel_regions(app(source("in"), op("b", "in"), op("c", "b", feedback="b"), sink("out", "c")))
    assert sorted(operators(plan)) == [("b",), ("c",)]
    assert {region.first_joint for region in plan.regions} == {Joint.SPLIT}
    assert any(b.reason.condition is Condition.FEEDBACK for b in plan.boundaries)


def test_a_loop_of_its_own_leaves_by_a_merge_and_comes_back_by_a_split():
    (region,) = parallel_regions(app(op("a", "b", feedback="b"), op("b", "a"))).regions
    assert region.operators == ("a", "b")
    assert (region.first_joint, region.last_joint) == (Joint.SPLIT, Joint.MERGE)


# Instructions.


def test_parallel_sets_the_width_of_a_region():
    (region,) = regions(op("a", "in", width=4), op("b", "a")).regions
    assert region.operators == ("a", "b")
    assert channels(region.widths, lambda width: width.value) == 4


def test_different_widths_end_a_region():
    plan = regions(op("a", "in", width=4), op("b", "a", width=2), op("c", "b", width=2))
    assert operators(plan) == [("a",), ("b", "c")]
    assert plan.boundaries[1].reason.condition is Condition.WIDTH


def test_parallel_on_an_unsafe_operator_is_not_followed_and_the_user_is_told_why():
    plan = regions(op("a", "in", NOT_PARALLEL, width=4), op("b", "a"))
    (warning,) = plan.warnings
    assert warning.message == "`@parallel` on `a` is not followed, because it is n.p."
    assert regions(op("a", "in", width=4)).warnings == ()


def test_a_width_is_a_positive_integer():
    with pytest.raises(UserError, match="`width` of @parallel is 0; give a positive integer"):
        channels([literal(0)], lambda width: width.value)


NESTED = """
composite Inner(input I; output O) {
  graph
    @parallel(width=3)
    stream<int32 x> O = Functor(I) { output O: x = x + 1; }
}
composite Main {
  graph
    stream<int32 x> A = Beacon() { param iterations: 5; }
    @parallel(width=2)
    stream<int32 x> B = Inner(A) { }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}
"""


def test_nested_regions_multiply_their_width():
    (region,) = parallel_regions(compile_text(NESTED, main="Main").application).regions
    assert channels(region.widths, lambda width: width.value) == 6


# The pass.


def test_a_complete_plan_is_returned_as_it_is():
    graph = app(source("in"), op("a", "in", model("k")), op("b", "a", model("l")), sink("out", "b"))
    plan = parallel_regions(graph)
    assert choose_strategies(graph, plan) is plan


def test_an_empty_application_has_no_regions():
    assert parallel_regions(Application(name="Main")).regions == ()
