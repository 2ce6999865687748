"""Fusions for Spark: what every algorithm must keep, and which is the best under the model."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from optimizer_settings import branches, setting

from penstock.base.diagnostics import Infeasible, UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.fusion import ALGORITHMS
from penstock.lang import compile_text
from penstock.optimizer import fused_by, inner_operators, predict, ranked, throughput_model, without_profile

INNER = ["Light", "Left", "Right", "LeftMore", "RightMore", "Both"]


def partitions(items):
    """All ways to put items into groups."""
    if not items:
        yield []
        return
    first, *rest = items
    for groups in partitions(rest):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


def test_sources_and_sinks_are_left_out():
    assert inner_operators(branches()) == INNER


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("gamma", [0.5, 1.0])
def test_every_algorithm_gives_a_fusion_that_can_be_planned(algorithm, gamma):
    application = branches()
    groups = fused_by(algorithm, setting(application, {"Left": 300.0, "RightMore": 200.0}), gamma=gamma)
    assert sorted(itertools.chain(*groups)) == sorted(INNER)
    physical_plan(application, groups)


def test_without_a_profile_all_is_one_pe_and_none_is_one_for_each():
    application = branches()
    blank = replace(setting(application), profile=without_profile(application))
    assert len(fused_by("all", blank)) == 1
    assert len(fused_by("none", blank)) == len(INNER)


def test_manual_follows_the_placement_of_the_program():
    text = """composite Main { graph
      stream<int32 a> In = Beacon() { param iterations: 3; }
      stream<In> A = Functor(In) { config placement: partitionColocation("x"); }
      stream<In> B = Functor(A) { config placement: partitionColocation("x"); }
      stream<In> C = Functor(B) {}
      () as Out = FileSink(C) { param file: "out"; config placement: partitionColocation("x"); } }"""
    application = compile_text(text).application
    assert fused_by("manual", setting(application)) == (("A", "B"), ("C",))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_what_must_be_apart_stays_apart(algorithm):
    text = """composite Main { graph
      stream<int32 a> In = Beacon() { param iterations: 3; }
      stream<In> A = Functor(In) { config placement: partitionExlocation("x"); }
      stream<In> B = Functor(A) { config placement: partitionExlocation("x"); }
      stream<In> C = Functor(B) {}
      () as Out = FileSink(C) { param file: "out"; } }"""
    groups = fused_by(algorithm, setting(compile_text(text).application))
    assert all(not {"A", "B"} <= set(group) for group in groups)


def test_demands_that_contradict_each_other_are_refused():
    text = """composite Main { graph
      stream<int32 a> In = Beacon() { param iterations: 3; }
      stream<In> A = Functor(In) { config placement: partitionExlocation("x"), partitionColocation("y"); }
      stream<In> B = Functor(A) { config placement: partitionExlocation("x"), partitionColocation("y"); }
      () as Out = FileSink(B) { param file: "out"; } }"""
    with pytest.raises(Infeasible, match="pe_exlocation"):
        fused_by("all", setting(compile_text(text).application))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_pe_never_spans_the_boundary_of_a_region(algorithm):
    text = """composite Main { graph
      stream<int32 a, int32 b> In = Beacon() { param iterations: 3; }
      stream<In> First = Functor(In) {}
      stream<In> Keyed = Aggregate(First) {
        window First: tumbling, count(2), partitioned; param partitionBy: a; output Keyed: a = Any(a), b = Max(b); }
      stream<In> Between = Functor(Keyed) {}
      stream<In> Other = Aggregate(Between) {
        window Between: tumbling, count(2), partitioned; param partitionBy: b; output Other: a = Max(a), b = Any(b); }
      () as Out = FileSink(Other) { param file: "out"; } }"""
    given = setting(compile_text(text).application, channels=2)
    regions = given.regions.region
    assert len(set(regions.values())) == 2
    groups = fused_by(algorithm, given)
    assert all(len({regions.get(id_) for id_ in group}) == 1 for group in groups)


@pytest.mark.parametrize("heavy", [{}, {"Left": 40.0, "LeftMore": 40.0}, {"Light": 30.0, "Both": 30.0, "Right": 20.0}])
def test_the_search_for_throughput_finds_the_best_of_all_fusions(heavy):
    given = setting(branches(), heavy)
    model = throughput_model(given)
    scales = []
    for partition in partitions(INNER):
        try:
            scales.append(predict(model, given, tuple(map(tuple, partition))).scale)
        except UserError:
            continue  # its PEs form a cycle
    found = max(predict(model, given, groups).scale for groups, _ in ranked(given))
    assert found == pytest.approx(max(scales), rel=1e-6)
    assert predict(model, given, fused_by("throughput", given)).scale >= 0.99 * max(scales)


def test_fusions_are_ranked_by_what_is_predicted_and_by_fewer_pes_where_that_is_much_the_same():
    given = setting(branches(), {"Left": 40.0})
    order = ranked(given)
    model = throughput_model(given)
    assert len(order) > 1
    best = max(tps for _, tps in order)
    near = [len(groups) for groups, tps in order if tps >= 0.99 * best]
    assert near == sorted(near)
    behind = [tps for _, tps in order[len(near) :]]
    assert behind == sorted(behind, reverse=True)
    assert all(tps < 0.99 * best for tps in behind)
    rate = sum(model.source_rates.values())
    assert order[0][1] == pytest.approx(rate * predict(model, given, order[0][0]).scale)


def test_a_smaller_gamma_makes_cola_split_what_would_fit_on_one_core():
    given = setting(branches(), {"Left": 400.0, "RightMore": 300.0})
    assert len(fused_by("cola", given, gamma=1.0)) == 1
    assert len(fused_by("cola", given, gamma=0.5)) > 1


def test_an_application_of_a_source_and_a_sink_has_nothing_to_fuse():
    text = 'composite Main { graph stream<int32 a> In = Beacon() {} () as Out = FileSink(In) { param file: "out"; } }'
    given = setting(compile_text(text).application)
    assert fused_by("throughput", given) == ()
    ((groups, tps),) = ranked(given)
    assert groups == ()
    assert tps > 0
