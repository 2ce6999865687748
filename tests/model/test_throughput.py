from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_strategies import chain_profile, profiles, scale_by_definition, scenes

from penstock.base.diagnostics import UserError
from penstock.model import (
    Cost,
    Hosts,
    Limit,
    PlacedPE,
    Plan,
    StreamProfile,
    ThroughputModel,
    Transfer,
    channels_auto,
    equal_hosts,
    plan_of,
)
from penstock.model.demand import flow
from penstock.model.transfer import CROSSING

FREE = Transfer(mips=1000.0)


def _close(a, b):
    return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


@given(scenes())
@settings(max_examples=300, deadline=None)
def test_the_prediction_is_what_the_definitions_say(scene):
    model, plan = scene
    assert _close(model.evaluate(plan).scale, scale_by_definition(model, plan))


@given(profiles(), st.sampled_from([0.5, 3.0]))
@settings(max_examples=100, deadline=None)
def test_flow_is_conserved_and_grows_with_the_sources(profile, factor):
    taken, rates = flow(profile)
    for i, o in enumerate(profile.operators):
        entering = sum(r * s.consumers.count(o.id) for r, s in zip(rates, profile.streams, strict=True))
        assert _close(taken[i], o.rate_tps if o.id in profile.sources else entering)
    for rate, s in zip(rates, profile.streams, strict=True):
        assert _close(rate, s.rate_tps)
    more, _ = flow(profile, {id_: factor * rate for id_, rate in profile.source_rates.items()})
    assert all(_close(a * factor, b) for a, b in zip(taken, more, strict=True))


@given(scenes())
@settings(max_examples=100, deadline=None)
def test_nothing_is_busier_than_all_the_time(scene):
    model, plan = scene
    prediction = model.evaluate(plan)
    busy = [
        *prediction.pe_utilization,
        *prediction.host_utilization.values(),
        *prediction.link_utilization.values(),
        *prediction.uplink_utilization.values(),
        *(stage.bottleneck.share for stage in prediction.stages),
        prediction.bottleneck.share,
    ]
    assert all(-1e-12 <= share <= 1 + 1e-9 for share in busy)


@given(scenes(), st.data())
@settings(max_examples=200, deadline=None)
def test_more_cores_faster_cores_and_wider_links_never_lower_the_rate(scene, data):
    model, plan = scene
    hosts = [*model.hosts.hosts]
    at = data.draw(st.integers(0, len(hosts) - 1))
    host = hosts[at]
    hosts[at] = data.draw(
        st.sampled_from(
            [
                replace(host, cores=host.cores + 1, capacity_mips=host.core_mips * (host.cores + 1)),
                replace(host, capacity_mips=host.capacity_mips * 1.5),
                replace(host, link_bytes=host.link_bytes * 2),
            ]
        )
    )
    better = Hosts(hosts=tuple(hosts), uplinks=model.hosts.uplinks)
    improved = ThroughputModel(model.profile, better, model.transfer)
    improved.batch_limit = model.batch_limit
    assert improved.evaluate(plan).scale >= model.evaluate(plan).scale * (1 - 1e-12)


@given(scenes())
@settings(max_examples=300, deadline=None)
def test_removing_a_crossing_never_lowers_the_rate_unless_the_larger_pe_is_the_bottleneck(scene):
    model, plan = scene
    before = model.state(plan)
    for chain in before.order:
        for p, q in itertools.pairwise(chain):
            one, other = plan.pes[p], plan.pes[q]
            if one.in_jvm or other.in_jvm:
                continue
            pes = [*plan.pes]
            pes[p] = replace(one, operators=one.operators + other.operators)
            del pes[q]
            after = model.state(Plan(pes=tuple(pes)))
            merged = next(c for c in after.order if p - (q < p) in c)
            stage = after.stages[merged]
            # Where its channels take turns on the cores of a host, the larger PE is what they wait for.
            in_turns = stage.load.busiest * stage.spread.in_turns >= stage.seconds
            if stage.limit is not Limit.PE and not in_turns:
                assert model.scale(after) >= model.scale(before) * (1 - 1e-12)


@given(scenes(), st.data())
@settings(max_examples=300, deadline=None)
def test_a_changed_plan_is_predicted_as_if_it_were_new(scene, data):
    model, plan = scene
    asked = model.what_if(plan)
    hosts = [host.id for host in model.hosts.hosts]
    for _ in range(3):
        pe = st.integers(0, len(plan.pes) - 1)
        operators = st.sampled_from([o.id for o in model.profile.operators])
        moves = data.draw(st.dictionaries(operators, pe, max_size=2))
        places = data.draw(st.dictionaries(pe, st.tuples(st.sampled_from(hosts)), max_size=1))
        before, delta = asked.scale, asked.delta(moves, places)
        asked.change(moves, places)
        if asked.scale == 0:
            with pytest.raises(UserError, match="form a cycle"):
                model.evaluate(asked.plan())
            return
        assert _close(asked.scale, model.evaluate(asked.plan()).scale)
        if math.isfinite(before):
            assert delta == math.inf == asked.scale or _close(before + delta, asked.scale)


def test_asking_does_not_change_the_plan():
    model = ThroughputModel(chain_profile([0.1, 0.2, 0.1]), equal_hosts(1, cores=4), FREE)
    plan = plan_of([["o0", "o1"], ["o2"]], hosts=["h0"])
    asked = model.what_if(plan)
    assert asked.delta({"o1": 1}) == pytest.approx(0.0)
    assert asked.delta({"o0": 1, "o1": 1}) < 0
    assert model.delta(plan, {"o0": 1, "o1": 1}) == asked.delta({"o0": 1, "o1": 1})
    assert asked.plan() == plan


def test_pes_of_one_task_work_at_the_same_time():
    profile = chain_profile([0.001, 0.001, 0.001])
    model = ThroughputModel(profile, equal_hosts(1, cores=3), FREE)
    assert model.evaluate(plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"])).scale == pytest.approx(1.0)
    assert model.evaluate(plan_of([["o0", "o1", "o2"]], hosts=["h0"])).scale == pytest.approx(1 / 3)


def test_an_exchange_makes_the_next_stage_wait():
    profile = chain_profile([0.001, 0.001])
    model = ThroughputModel(profile, equal_hosts(2, cores=2), FREE)
    apart = Plan(pes=(PlacedPE(operators=("o0",), hosts=("h0",)), PlacedPE(operators=("o1",), hosts=("h1",))))
    prediction = model.evaluate(apart)
    assert [stage.pes for stage in prediction.stages] == [(0,), (1,)]
    assert prediction.scale == pytest.approx(0.5)


def test_a_keyed_pe_starts_a_stage():
    profile = chain_profile([0.0, 0.0, 0.0])
    pes = [PlacedPE(operators=(f"o{i}",), hosts=("h0",), keyed=i == 1) for i in range(3)]
    prediction = ThroughputModel(profile, equal_hosts(1), FREE).evaluate(Plan(pes=tuple(pes)))
    assert [stage.pes for stage in prediction.stages] == [(0,), (1, 2)]


def test_the_sequential_operator_is_named_when_it_is_what_the_plan_waits_for():
    model = ThroughputModel(chain_profile([0.0001, 0.001, 0.0001]), equal_hosts(1, cores=4), FREE)
    prediction = model.evaluate(plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"]))
    assert (prediction.bottleneck.limit, prediction.bottleneck.name) == (Limit.OPERATOR, "o1")
    assert prediction.pe_utilization == pytest.approx((0.1, 1.0, 0.1))
    assert prediction.host_utilization["h0"] == pytest.approx(0.3)


def test_a_pe_of_many_operators_is_named_as_a_whole():
    model = ThroughputModel(chain_profile([0.001] * 4), equal_hosts(1, cores=4), FREE)
    assert str(model.evaluate(plan_of([["o0"], ["o1", "o2", "o3"]], hosts=["h0"])).bottleneck) == "PE 1"


def test_a_crossing_is_named_when_the_jvm_works_more_than_python():
    transfer = Transfer(mips=1000.0, jvm_drain=Cost(seconds_per_tuple=0.01))
    model = ThroughputModel(chain_profile([0.001, 0.001]), equal_hosts(1, cores=8), transfer)
    assert str(model.evaluate(plan_of([["o0"], ["o1"]], hosts=["h0"])).bottleneck) == "crossing of PE 0"


def test_a_link_and_an_uplink_are_named():
    profile = chain_profile([0.0, 0.0], rate_tps=1000.0, tuple_bytes=125.0)
    pes = (PlacedPE(operators=("o0",), hosts=("h0",)), PlacedPE(operators=("o1",), hosts=("h1",)))
    narrow = ThroughputModel(profile, equal_hosts(2, link_mbps=0.5), FREE).evaluate(Plan(pes=pes))
    assert (narrow.bottleneck.limit, narrow.scale) == (Limit.LINK, pytest.approx(0.5))
    assert narrow.link_utilization == {"h0": pytest.approx(1.0), "h1": pytest.approx(1.0)}
    racks = ThroughputModel(profile, equal_hosts(2, racks=2, link_mbps=2.0, uplink_mbps=0.5), FREE)
    assert (racks.evaluate(Plan(pes=pes)).bottleneck.limit, racks.evaluate(Plan(pes=pes)).scale) == (
        Limit.UPLINK,
        pytest.approx(0.5),
    )


def test_independent_stages_share_a_host():
    profile = chain_profile([0.0, 0.001, 0.001])
    fan_out = replace(
        profile,
        streams=(StreamProfile(id="s", producer="o0", consumers=("o1", "o2"), rate_tps=1000.0, tuple_bytes=8.0),),
    )
    plan = plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"])
    alone = ThroughputModel(fan_out, equal_hosts(1, cores=1), FREE).evaluate(plan)
    assert (alone.bottleneck.limit, alone.scale) == (Limit.HOST, pytest.approx(0.5))
    assert ThroughputModel(fan_out, equal_hosts(1, cores=2), FREE).evaluate(plan).scale == pytest.approx(1.0)


def test_fan_out_writes_a_stream_once_and_reads_it_for_each_consumer():
    transfer = Transfer(
        mips=1000.0, exchange_write=Cost(seconds_per_tuple=1.0), exchange_read=Cost(seconds_per_tuple=1.0)
    )
    profile = replace(
        chain_profile([0.0, 0.0, 0.0], rate_tps=1.0),
        streams=(StreamProfile(id="s", producer="o0", consumers=("o1", "o2"), rate_tps=1.0, tuple_bytes=8.0),),
    )
    prediction = ThroughputModel(profile, equal_hosts(1, cores=1), transfer).evaluate(
        plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"])
    )
    assert prediction.load_seconds == pytest.approx(3.0)


def test_micro_batches_that_are_small_are_held_up_by_their_overhead():
    transfer = Transfer(mips=1000.0, batch_seconds=0.9, pe_seconds=0.1)
    profile = chain_profile([1e-6], rate_tps=1000.0)
    plan = plan_of([["o0"]], hosts=["h0"])
    large = ThroughputModel(profile, equal_hosts(1), transfer).evaluate(plan)
    small = ThroughputModel(profile, equal_hosts(1), transfer, batch_tuples=1000).evaluate(plan)
    assert large.scale == pytest.approx(1000.0)
    assert small.scale == pytest.approx(1 / 1.001)
    assert small.bottleneck.limit is Limit.OVERHEAD
    assert small.batch_seconds(0.5) == pytest.approx(1 / (1 - 0.0005))
    assert small.batch_seconds(1.0) == math.inf
    assert small.latency_seconds(0.5) == pytest.approx(1.5 * small.batch_seconds(0.5))


@given(scenes(), st.floats(0.1, 0.99))
@settings(max_examples=100, deadline=None)
def test_a_micro_batch_takes_in_what_came_during_the_one_before(scene, part):
    model, plan = scene
    prediction = model.evaluate(plan)
    if prediction.load_seconds > 0:
        scale = prediction.scale * part
        seconds = prediction.batch_seconds(scale)
        assert _close(seconds, prediction.fixed_seconds + prediction.load_seconds * scale * seconds)
        assert scale * seconds <= prediction.batch_limit * (1 + 1e-9)


def test_a_loop_has_the_rates_of_its_steady_state():
    base = chain_profile([0.0, 0.001])
    back = StreamProfile(
        id="back",
        producer="o1",
        consumers=("o1",),
        feedback=frozenset({"o1"}),
        rate_tps=0.0,
        tuple_bytes=8.0,
    )
    half = replace(base.operators[1], selectivity=(0.5,))
    loop = replace(base, operators=(base.operators[0], half), streams=(*base.streams, back))
    assert flow(loop)[0].tolist() == pytest.approx([1000.0, 2000.0])
    whole = replace(loop, operators=(base.operators[0], base.operators[1]))
    with pytest.raises(UserError, match="a loop over `back` gives back at least as many tuples as it takes"):
        flow(whole)
    growing = replace(loop, operators=(base.operators[0], replace(half, selectivity=(1.5,))))
    with pytest.raises(UserError, match="gives back at least as many"):
        flow(growing)


def test_feedback_between_pes_costs_an_exchange_but_orders_no_stages():
    base = chain_profile([0.0, 0.0, 0.0], rate_tps=1.0)
    last = replace(base.operators[2], selectivity=(0.5,))
    back = StreamProfile(
        id="back", producer="o2", consumers=("o1",), feedback=frozenset({"o1"}), rate_tps=1.0, tuple_bytes=8.0
    )
    profile = replace(base, operators=(*base.operators[:2], last), streams=(*base.streams, back))
    transfer = Transfer(mips=1000.0, exchange_write=Cost(seconds_per_tuple=1.0))
    prediction = ThroughputModel(profile, equal_hosts(1, cores=9), transfer).evaluate(
        plan_of([["o0"], ["o1"], ["o2"]], hosts=["h0"])
    )
    assert [stage.pes for stage in prediction.stages] == [(0,), (1, 2)]
    assert prediction.load_seconds == pytest.approx(2.0)


def test_pes_that_form_a_cycle_are_refused():
    model = ThroughputModel(chain_profile([0.0] * 3), equal_hosts(1), FREE)
    with pytest.raises(UserError, match="the PEs form a cycle"):
        model.evaluate(plan_of([["o0", "o2"], ["o1"]], hosts=["h0"]))


def test_every_mistake_of_a_plan_is_named():
    model = ThroughputModel(chain_profile([0.0] * 3), equal_hosts(1), FREE)
    pes = (
        PlacedPE(operators=("o0", "o9"), hosts=("h7",)),
        PlacedPE(operators=("o0",), hosts=(), channels=0),
        PlacedPE(operators=("o1",), hosts=("h0",), channels=2, shares=(0.9, 0.9)),
    )
    with pytest.raises(UserError) as caught:
        model.evaluate(Plan(pes=pes))
    for culprit in (
        "PE 0 holds operator `o9`, which the profile does not know",
        "PE 0 runs on host `h7`, which does not exist",
        "operator `o0` is in PE 0 and in PE 1",
        "PE 1 has no host",
        "PE 1 has 0 channels",
        "the shares of PE 2 are [0.9, 0.9] for 2 channels",
        "operator `o2` of the profile is in no PE",
    ):
        assert culprit in str(caught.value)


def _region(channels_of=1, cores=4, costs=(0.0001, 0.001)):
    model = ThroughputModel(chain_profile(costs), equal_hosts(1, cores=cores), FREE)
    pes = (
        PlacedPE(operators=("o0",), hosts=("h0",)),
        PlacedPE(operators=("o1",), hosts=("h0",), channels=channels_of, region="r"),
    )
    return model, Plan(pes=pes)


def test_the_number_of_channels_is_the_smallest_that_gains():
    model, plan = _region(cores=8)
    best, scale = channels_auto(model, plan)
    scales = {n: model.evaluate(plan.widened(n)).scale for n in range(1, 9)}
    assert scale == scales[best] == max(scales.values())
    assert all(scales[n] < 0.99 * scale for n in range(1, best))


def test_a_sequential_operator_leaves_nothing_for_channels_to_gain():
    model, plan = _region(cores=8, costs=(0.01, 0.0))
    assert channels_auto(model, plan)[0] == 1


def test_a_plan_without_regions_keeps_one_channel():
    model = ThroughputModel(chain_profile([0.001]), equal_hosts(1, cores=8), FREE)
    assert channels_auto(model, plan_of([["o0"]], hosts=["h0"]))[0] == 1


def test_five_channels_on_four_cores_run_in_two_turns():
    model, plan = _region(cores=4, costs=(0.0, 0.001))
    four, five = (model.evaluate(plan.widened(n)) for n in (4, 5))
    assert four.scale == pytest.approx(4.0)
    assert five.scale == pytest.approx(2.5)
    assert five.bottleneck.limit is Limit.HOST


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_the_answer_can_be_written_as_json(data):
    model, plan = data.draw(scenes())
    written = json.loads(json.dumps(model.evaluate(plan).to_json(), allow_nan=False))
    assert set(written["utilization"]) == {"pes", "hosts", "links", "uplinks"}


def test_crossings_scale_with_the_speed_of_the_host():
    transfer = Transfer(mips=1000.0, **dict.fromkeys(CROSSING, Cost(seconds_per_tuple=1e-4)))
    profile, plan = chain_profile([0.0, 0.0]), plan_of([["o0"], ["o1"]], hosts=["h0"])
    slow, fast = (ThroughputModel(profile, equal_hosts(1, core_mips=m), transfer) for m in (1000.0, 3000.0))
    assert fast.evaluate(plan).scale == pytest.approx(3 * slow.evaluate(plan).scale)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_scales_are_relative_to_the_rates_of_the_sources(data):
    model, plan = data.draw(scenes())
    double = {id_: 2 * rate for id_, rate in model.profile.source_rates.items()}
    other = ThroughputModel(model.profile, model.hosts, model.transfer, source_rates=double)
    other.batch_limit = model.batch_limit / 2
    one, two = model.evaluate(plan).sustained_rates, other.evaluate(plan).sustained_rates
    assert all(_close(one[id_], two[id_]) for id_ in one)


def test_the_strategies_make_plans_with_several_stages_and_with_chains():
    lengths = set()

    @given(scenes())
    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    def collect(scene):
        model, plan = scene
        for chain in model.state(plan).order:
            lengths.add(len(chain))

    collect()
    assert {1, 2, 3} <= lengths
