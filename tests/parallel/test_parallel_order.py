"""What leaves a parallel program is what leaves the sequential one, in order: plans tried out on toy operators."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from parallel.channels import TOYS, run_on_channels, run_sequentially, toy_chain
from parallel.graphs import MANY
from penstock.parallel.extensions import PAPER, Extensions
from penstock.parallel.region_plan import Joint, Ordering
from penstock.parallel.regions import parallel_regions

PROLIFIC = Extensions(prolific=True)
ROWS = st.lists(
    st.fixed_dictionaries({"k": st.integers(0, 2), "l": st.integers(0, 2), "m": st.integers(0, 9)}), max_size=25
)


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(sorted(TOYS)), min_size=1, max_size=6), ROWS, st.integers(1, 8), st.booleans())
def test_the_plan_keeps_the_tuples_and_their_order_on_any_number_of_channels(kinds, rows, width, prolific):
    plan = parallel_regions(toy_chain(kinds), PROLIFIC if prolific else PAPER)
    event(f"regions: {len(plan.regions)}")
    for region in plan.regions:
        event(region.ordering.value)
    assert run_on_channels(kinds, plan, rows, width) == run_sequentially(kinds, rows)


ROW = [{"k": i % 3, "l": i % 2, "m": i} for i in range(20)]


@pytest.mark.parametrize(
    ("kinds", "ordering"),
    [
        (["add"], Ordering.ROUND_ROBIN),
        (["counted_k"], Ordering.SEQNO),
        (["changed_k"], Ordering.SEQNO_AND_PULSES),
        (["burst_k"], Ordering.SEQNO_AND_SECOND_LEVEL),
    ],
)
def test_without_the_merges_order_the_result_differs(kinds, ordering, monkeypatch):
    plan = parallel_regions(toy_chain(kinds), PROLIFIC)
    assert [region.ordering for region in plan.regions] == [ordering]
    expected = run_sequentially(kinds, ROW)
    assert run_on_channels(kinds, plan, ROW, 3) == expected
    monkeypatch.setattr("parallel.channels.merge", lambda region, found: [row for c in found for _, row in c])
    unordered = run_on_channels(kinds, plan, ROW, 3)
    assert unordered != expected
    assert sorted(map(repr, unordered)) == sorted(map(repr, expected))


def test_each_prolific_region_in_a_row_of_shuffles_adds_a_level():
    kinds = ["burst_k", "burst_l", "counted_k", "multiply"]
    plan = parallel_regions(toy_chain(kinds), PROLIFIC)
    assert [region.last_joint for region in plan.regions][:-1] == [Joint.SHUFFLE] * (len(plan.regions) - 1)
    prolific = [region.selectivity is MANY for region in plan.regions]
    assert [region.levels for region in plan.regions] == [sum(prolific[: i + 1]) for i in range(len(prolific))]
    assert run_on_channels(kinds, plan, ROW, 4) == run_sequentially(kinds, ROW)
