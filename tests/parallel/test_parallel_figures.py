"""The regions that the auto-parallelization paper derives: figures 5 and 1, and bargain detection."""

from __future__ import annotations

from pathlib import Path

import pytest

from parallel.graphs import AT_MOST_ONE, NOT_PARALLEL, app, model, op, sink, source
from penstock.lang import compile_file
from penstock.parallel.extensions import PAPER, Extensions
from penstock.parallel.reasons import Condition
from penstock.parallel.region_plan import Joint, Ordering, ParallelRegions, Routing
from penstock.parallel.regions import parallel_regions

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def figure_5() -> ParallelRegions:
    """The graph of figure 5, rebuilt from section 3.3.

    The text fixes: o1 before o8, which has fan-in above one; o2 before o3, which is n.p.; o5, o6 in a row, o6 by {k};
    o9, o10, o11 in a row such that o10 fits either neighbour and o9 does not fit o11; o12 fused with o14, with o13
    between them, whose fan-in is above one. Operators that it does not speak of are n.p.
    """
    return parallel_regions(
        app(
            op("o1", "in1"),
            op("o2", "in2"),
            op("o3", "o2", NOT_PARALLEL),
            op("o4", "o3", NOT_PARALLEL),
            op("o5", "o4"),
            op("o6", "o5", model("k")),
            op("o7", "o6", NOT_PARALLEL),
            op("o8", "o1 o7"),
            op("o9", "o8", model("k")),
            op("o10", "o9", model("kl")),
            op("o11", "o10", model("l")),
            op("o12", "in3"),
            op("o13", "o11 o12"),
            op("o14", "o13"),
            source("in1"),
            source("in2"),
            source("in3"),
            sink("out", "o14"),
            fused=["o12 o14"],
        )
    )


def operators(plan: ParallelRegions) -> list[tuple[str, ...]]:
    return [region.operators for region in plan.regions]


def end_of(plan: ParallelRegions, producer: str, consumer: str) -> tuple[Condition, str]:
    """The condition that ends a region between two operators, and which of the two fails it."""
    boundary = next(b for b in plan.boundaries if (b.producer, b.consumer) == (producer, consumer))
    return boundary.reason.condition, boundary.about


def test_figure_5_has_the_papers_regions(figure_5):
    assert {frozenset(region) for region in operators(figure_5)} == {
        frozenset({"o1"}),
        frozenset({"o2"}),
        frozenset({"o5", "o6"}),
        frozenset({"o9", "o10"}),
        frozenset({"o11"}),
    }


def test_o1_is_alone_because_o8_violates_fan_in(figure_5):
    assert end_of(figure_5, "o1", "o8") == (Condition.FAN_IN, "o8")


def test_o2_is_alone_because_o3_is_not_parallelizable(figure_5):
    assert end_of(figure_5, "o2", "o3") == (Condition.STATE, "o3")


def test_o5_and_o6_share_a_region_keyed_by_o6(figure_5):
    assert figure_5.region_of["o5"] is figure_5.region_of["o6"]
    assert figure_5.region_of["o5"].key == {"k"}


def test_o11_is_not_with_o10_because_the_key_would_be_empty(figure_5):
    region = figure_5.region_of["o9"]
    assert region.key == {"k"}
    assert region.last_joint is Joint.SHUFFLE
    assert end_of(figure_5, "o10", "o11") == (Condition.KEYS, "o11")
    assert figure_5.region_of["o11"].first_joint is Joint.SHUFFLE


def test_o12_is_not_parallel_because_of_its_fusion_dependency_with_o14(figure_5):
    (reason,) = figure_5.refused["o12"]
    assert reason.condition is Condition.FUSION
    assert reason.text == (
        "it must be fused with `o14`, which cannot join its region, because of `o13`: "
        "it receives 2 streams, `o11` and `o12`; a region has one entry"
    )
    (reason,) = figure_5.refused["o14"]
    assert reason.text == "it must be fused with `o12`, which is in no region"


def test_without_the_fusion_dependency_o12_is_parallel():
    graph = app(source("in"), op("o11", "in"), op("o12", "in"), op("o13", "o11 o12"), op("o14", "o13"))
    assert operators(parallel_regions(graph)) == [("o11",), ("o12",), ("o14",)]


@pytest.fixture(scope="module")
def figure_1() -> ParallelRegions:
    return parallel_regions(compile_file(EXAMPLES / "network_monitoring/network_monitoring.spl").application)


def test_figure_1_has_a_source_region_and_a_region_of_aggregate_and_filter(figure_1):
    assert operators(figure_1) == [("Messages",), ("Summaries", "Suspects")]
    assert [region.key for region in figure_1.regions] == [{"server"}, {"uid"}]


def test_figure_1_shuffles_between_incompatible_keys_and_merges_before_the_sink(figure_1):
    left, right = figure_1.regions
    assert (left.first_joint, left.last_joint) == (Joint.PARALLEL_SOURCE, Joint.SHUFFLE)
    assert (right.first_joint, right.last_joint) == (Joint.SHUFFLE, Joint.MERGE)
    assert end_of(figure_1, "Messages", "Summaries") == (Condition.KEYS, "Summaries")
    assert (left.routing, right.routing) == (Routing.BY_SOURCE, Routing.HASH)
    assert {left.ordering, right.ordering} == {Ordering.SEQNO_AND_PULSES}


def test_figure_1_names_the_aggregate_that_fires_by_time(figure_1):
    assert figure_1.regions[1].spontaneous == ("Summaries",)


def test_figure_1_says_why_the_sink_is_sequential(figure_1):
    assert [str(reason) for reason in figure_1.refused["Sink"]] == ["state: it is a sink"]


def bargains(extensions: Extensions = PAPER) -> ParallelRegions:
    return parallel_regions(compile_file(EXAMPLES / "bargains/bargains.spl").application, extensions)


def test_bargains_parallelizes_quotes_and_averages_but_not_the_joins():
    plan = bargains()
    group = [region for region in operators(plan) if region[0].startswith("Group0.")]
    assert sorted(group) == [("Group0.Quotes",), ("Group0.Spread",), ("Group0.Sums", "Group0.Vwap")]
    assert plan.region_of["Group0.Sums"].key == {"sym"}
    assert end_of(plan, "Group0.Vwap", "Group0.Bargains")[0] is Condition.SELECTIVITY
    assert [reason.condition for reason in plan.refused["Group0.Trades"]] == [Condition.FAN_OUT]
    assert [reason.condition for reason in plan.refused["Market"]] == [Condition.STATE]


def test_bargains_with_fan_out_replicates_each_group_from_its_trades_on():
    plan = bargains(Extensions(fan_out=True))
    region = plan.region_of["Group0.Trades"]
    assert set(region.operators) == {"Group0.Trades", "Group0.Sums", "Group0.Vwap", "Group0.Spread"}
    assert region.key == {"sym"}
    assert {(e.operator, e.receiver, e.joint) for e in region.exits} == {
        ("Group0.Vwap", "Group0.Bargains", Joint.MERGE),
        ("Group0.Spread", "Group0.Scored", Joint.MERGE),
    }


def test_twitter_cep_shuffles_between_parse_and_match():
    plan = parallel_regions(
        app(
            source("in"),
            op("parse", "in", model(forwards="")),
            op("match", "parse", model("k", selectivity=AT_MOST_ONE)),
        )
    )
    assert operators(plan) == [("parse",), ("match",)]
    assert [region.first_joint for region in plan.regions] == [Joint.SPLIT, Joint.SHUFFLE]
    assert end_of(plan, "parse", "match") == (Condition.FORWARDING, "match")


def test_network_monitoring_from_parallel_source_to_parallel_sink_only_routes():
    plan = parallel_regions(
        app(
            source("src", model("k")),
            op("left", "src", model("k", selectivity=AT_MOST_ONE)),
            op("right", "left", model("l", selectivity=AT_MOST_ONE)),
            sink("out", "right", model("l")),
        )
    )
    assert operators(plan) == [("src", "left"), ("right", "out")]
    assert {region.ordering for region in plan.regions} == {Ordering.ROUTING_ONLY}
    assert plan.regions[1].last_joint is Joint.PARALLEL_SINK
