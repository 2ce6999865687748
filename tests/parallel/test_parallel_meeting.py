"""Streams that meet inside a region: which do, which do not and why, and what an operator then forwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from parallel.graphs import AT_MOST_ONE, NOT_PARALLEL, SCHEMA, app, model, op, sink, source
from penstock.ir.facts import NO_FACTS
from penstock.ir.graph import InputPort, Operator
from penstock.ir.types import parse_schema
from penstock.lang import compile_file, compile_text
from penstock.parallel.extensions import BEYOND, PAPER
from penstock.parallel.reasons import Condition
from penstock.parallel.region_plan import Joint, Ordering, ParallelRegions
from penstock.parallel.regions import parallel_regions
from penstock.parallel.report import pretty_regions, regions_json
from penstock.toolkit.core.operator_registry import standard

EXAMPLES = Path(__file__).parents[2] / "examples"


def two_ports(id_: str, left: str, right: str, *keys: str, kind: str = "Join", forwards: str = "klm") -> Operator:
    """An operator with two input ports, each partitioned by the attributes of a key; of a kind that may be unknown."""
    known = standard().find(kind)
    made = op(id_, left, model(keys[0] if keys else "", selectivity=AT_MOST_ONE, forwards=forwards))
    ports = tuple(InputPort(streams=(stream,), schema=SCHEMA) for stream in (left, right))
    given = replace(
        made.model,
        partition_by=tuple(frozenset(key) for key in keys),
        facts=NO_FACTS if known is None else known.facts,
    )
    return replace(made, kind=kind, inputs=ports, model=given)


def regions(*operators: Operator, **more: object) -> ParallelRegions:
    return parallel_regions(app(*operators, **more), BEYOND)  # type: ignore[arg-type]


def members(plan: ParallelRegions) -> list[set[str]]:
    return [set(region.operators) for region in plan.regions]


def why_apart(plan: ParallelRegions, stream: str, receiver: str) -> Condition:
    return plan.crossing[stream, receiver].reason.condition


def test_in_bargain_detection_each_group_is_one_region_with_two_entries():
    application = compile_file(EXAMPLES / "bargains/bargains.spl").application
    plan = parallel_regions(application, BEYOND)
    assert [len(region.operators) for region in plan.regions] == [7, 7, 7, 7]
    for region in plan.regions:
        assert (region.key, region.ordering) == ({"sym"}, Ordering.PLACES)
        assert [(e.stream, e.joint) for e in region.entries] == [("Ticks", Joint.SPLIT), ("Ticks", Joint.SPLIT)]
        assert [e.joint for e in region.exits] == [Joint.MERGE]
    assert max(len(r.operators) for r in parallel_regions(application, PAPER).regions) < 7


def test_two_sequential_streams_may_meet_in_a_region():
    plan = regions(
        source("a"), source("b"), two_ports("j", "a", "b", "k", "k"), op("c", "j", model("k")), sink("z", "c")
    )
    assert members(plan) == [{"j", "c"}]
    (region,) = plan.regions
    assert {(e.stream, e.receiver) for e in region.entries} == {("a", "j"), ("b", "j")}


def test_regions_with_the_same_key_become_one_where_they_meet():
    left, right = op("l", "a", model("kl")), op("r", "b", model("km"))
    plan = regions(source("a"), source("b"), left, right, two_ports("j", "l", "r", "k", "k"), sink("z", "j"))
    assert members(plan) == [{"l", "r", "j"}]
    assert plan.regions[0].key == {"k"}


def test_a_region_with_another_key_is_shuffled_to_what_it_meets():
    left, right = op("l", "a", model("l")), op("r", "b", model("k"))
    plan = regions(source("a"), source("b"), left, right, two_ports("j", "l", "r", "k", "k"), sink("z", "j"))
    assert members(plan) == [{"l"}, {"r", "j"}]
    assert why_apart(plan, "l", "j") is Condition.KEYS
    assert {e.joint for e in plan.regions[1].entries} == {Joint.SHUFFLE, Joint.SPLIT}
    assert {region.ordering for region in plan.regions} == {Ordering.PLACES}


def test_a_region_that_changes_the_key_stays_apart():
    plan = regions(
        source("a"), source("b"), op("l", "a", model(forwards="l")), two_ports("j", "l", "b", "k", "k"), sink("z", "j")
    )
    assert members(plan) == [{"l"}, {"j"}]
    assert why_apart(plan, "l", "j") is Condition.FORWARDING


@pytest.mark.parametrize("keys", [("k", "l"), ("kl", "kl"), ("k",)])
def test_ports_whose_keys_may_not_meet_keep_an_operator_sequential(keys):
    plan = regions(source("a"), source("b"), two_ports("j", "a", "b", *keys), sink("z", "j"))
    assert not plan.regions
    assert plan.refused["j"][0].condition is Condition.FAN_IN


def test_ports_with_a_key_of_different_types_do_not_share_it():
    other = replace(source("b"), outputs=(replace(source("b").outputs[0], schema=parse_schema("int64 k, int32 l")),))
    join = two_ports("j", "a", "b", "k", "k")
    join = replace(join, inputs=(join.inputs[0], InputPort(streams=("b",), schema=parse_schema("int64 k, int32 l"))))
    plan = regions(source("a"), other, join, op("c", "j", model("k")), sink("z", "c"))
    assert {"j", "c"} not in members(plan)


def test_what_an_operator_of_unknown_kind_forwards_from_its_other_ports_is_not_believed():
    def plan(kind: str) -> ParallelRegions:
        meets = two_ports("j", "a", "b", kind=kind)
        meets = replace(meets, model=model(selectivity=AT_MOST_ONE, facts=meets.facts))
        return regions(source("a"), source("b"), meets, op("c", "j", model("k")), sink("z", "c"))

    assert members(plan("Union")) == [{"j", "c"}]
    assert members(plan("my::Own")) == [{"j"}, {"c"}]


def test_a_path_out_of_a_region_and_back_in_keeps_regions_apart():
    plan = regions(
        source("a"),
        op("l", "a", model("k")),
        op("x", "l", NOT_PARALLEL),
        op("r", "x", model("k")),
        two_ports("j", "l", "r", "k", "k"),
        sink("z", "j"),
    )
    assert {"l", "r", "j"} not in members(plan)
    assert any("come back" in b.reason.text for b in plan.boundaries)


def test_a_parallel_source_stays_apart_from_what_it_meets():
    plan = regions(source("a", model("k")), source("b"), two_ports("j", "a", "b", "k", "k"), sink("z", "j"))
    assert members(plan) == [{"a"}, {"j"}]


def test_a_loop_and_a_fusion_dependency_keep_an_operator_sequential():
    loop = regions(source("a"), op("u", "a c", feedback="c"), op("c", "u", NOT_PARALLEL), sink("z", "u"))
    assert "u" in loop.refused
    fused = regions(
        source("a"), source("b"), two_ports("j", "a", "b", "k", "k"), op("c", "j"), sink("z", "c"), fused=["j c"]
    )
    assert "j" in fused.refused


def test_a_key_that_some_entry_does_not_have_is_not_taken_later():
    narrow = parse_schema("int32 l, int32 m")
    other = replace(source("b"), outputs=(replace(source("b").outputs[0], schema=narrow),))
    widens = replace(op("r", "b"), inputs=(InputPort(streams=("b",), schema=narrow),))
    plan = regions(
        source("a"),
        other,
        source("d"),
        op("l", "a"),
        op("x", "l"),
        widens,
        op("u", "l r"),
        op("v", "x d"),
        op("c", "v", model("k")),
        sink("z", "c u"),
    )
    assert members(plan) == [{"l", "x", "r", "u", "v"}, {"c"}]
    assert not plan.regions[0].key


def test_the_report_names_every_entry():
    application = app(source("a"), source("b"), two_ports("j", "a", "b", "k", "k"), sink("z", "j"))
    plan = parallel_regions(application, BEYOND)
    text = pretty_regions(application, plan)
    assert "split, hash of the key {k}, behind `a`, to `j`" in text
    assert "split, hash of the key {k}, behind `b`, to `j`" in text
    assert [e["stream"] for e in regions_json(application, plan)["regions"][0]["entries"]] == ["a", "b"]


def test_six_thousand_operators_that_meet_again_and_again_are_one_region():
    steps = [op("s0", "in"), op("t0", "in")]
    for i in range(1, 3000):
        steps += [op(f"s{i}", f"s{i - 1} t{i - 1}", model("k")), op(f"t{i}", f"s{i - 1}", model("k"))]
    plan = regions(source("in"), *steps)
    assert [len(region.operators) for region in plan.regions] == [6000]


def test_a_union_of_keyed_branches_goes_on_with_the_key():
    text = """composite Main { graph
      stream<int32 k, int32 x> A = Beacon() { }
      stream<A> B = Filter(A) { param filter: x > 0; }
      stream<A> C = Filter(A) { param filter: x <= 0; }
      stream<A> U = Union(B; C) { }
      stream<A> D = DeDuplicate(U) { param key: k; }
      () as Z = FileSink(D) { param file: "z"; } }"""
    (region,) = parallel_regions(compile_text(text).application, BEYOND).regions
    assert set(region.operators) == {"B", "C", "U", "D"}
    assert region.key == {"k"}
