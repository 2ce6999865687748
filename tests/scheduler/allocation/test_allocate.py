"""Fox, Galil-Megiddo and dynamic programming against each other and against the textbook program."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.scheduler.allocation import dynamic_program as allocation_dp
from penstock.scheduler.allocation.allocate import allocate, is_concave
from penstock.scheduler.allocation.dynamic_program import allocate_by_dp
from penstock.scheduler.allocation.fox import merge_concave
from penstock.scheduler.allocation.galil_megiddo import allocate_by_galil_megiddo

Array = np.ndarray

steps = st.lists(st.integers(min_value=0, max_value=9), max_size=8)
budgets = st.integers(min_value=0, max_value=25)


def curve(start: int, rises: Sequence[int]) -> Array:
    return np.concatenate([[float(start)], rises]).cumsum()


any_curves = st.lists(st.builds(curve, st.integers(0, 3), steps), min_size=1, max_size=6)
concave_curves = st.lists(
    st.builds(lambda start, rises: curve(start, sorted(rises, reverse=True)), st.integers(0, 3), steps),
    min_size=1,
    max_size=6,
)


def textbook(curves: Sequence[Array], budget: int) -> float:
    """The plain dynamic program over all budgets."""
    best = np.full(budget + 1, -np.inf)
    best[0] = 0.0
    for values in curves:
        after = np.full(budget + 1, -np.inf)
        for units, value in enumerate(values[: budget + 1]):
            after[units:] = np.maximum(after[units:], best[: budget + 1 - units] + value)
        best = after
    return float(best.max())


def total(curves: Sequence[Array], units: Array) -> float:
    return float(sum(values[u] for values, u in zip(curves, units, strict=True)))


@given(any_curves, budgets)
@settings(max_examples=300, deadline=None)
def test_any_curves_are_divided_as_well_as_the_textbook_does(curves: list[Array], budget: int) -> None:
    found = allocate(curves, budget)
    assert found.units.sum() <= budget
    assert found.exact
    assert found.importance == pytest.approx(total(curves, found.units))
    assert found.importance == pytest.approx(textbook(curves, budget))


@given(concave_curves, budgets)
@settings(max_examples=300, deadline=None)
def test_the_three_methods_agree_on_concave_curves(curves: list[Array], budget: int) -> None:
    cut = [values[: budget + 1] for values in curves]
    merged = merge_concave(cut, budget)
    by_fox = merged.curve[min(budget, len(merged.curve) - 1)]
    by_galil_megiddo = allocate_by_galil_megiddo(cut, budget)
    by_dp, exact = allocate_by_dp(cut, budget)
    assert exact
    assert by_galil_megiddo.sum() <= budget
    assert total(cut, by_galil_megiddo) == pytest.approx(by_fox)
    assert total(cut, by_dp) == pytest.approx(by_fox)
    assert by_fox == pytest.approx(textbook(curves, budget))


@given(concave_curves, budgets)
@settings(max_examples=100, deadline=None)
def test_fox_gives_the_best_sum_for_every_budget_on_the_way(curves: list[Array], budget: int) -> None:
    merged = merge_concave(curves, budget)
    for units in range(len(merged.curve)):
        assert merged.curve[units] == pytest.approx(textbook(curves, units))
        assert total(curves, merged.units_at(units)) == pytest.approx(float(merged.curve[units]))


def test_the_method_follows_the_shape_of_the_curves() -> None:
    concave, jump = np.array([0.0, 3.0, 4.0]), np.array([0.0, 0.0, 9.0])
    assert allocate([concave, concave], 2).method == "galil-megiddo"
    assert allocate([jump, jump], 2).method == "dp"
    assert allocate([concave, jump], 2).method == "fox-dp"


def test_rounding_does_not_make_a_straight_line_bend() -> None:
    assert is_concave(np.arange(50) * 0.1)
    assert not is_concave(np.array([0.0, 1.0, 2.1]))


def test_no_curves_take_no_units() -> None:
    assert allocate([], 5).importance == 0.0


def test_out_of_time_dynamic_programming_still_divides_within_the_budget() -> None:
    rng = np.random.default_rng(3)
    curves = [np.concatenate([np.zeros(7), rng.random(9) + 5]).cumsum() for _ in range(20)]
    units, exact = allocate_by_dp(curves, 93, Deadline.after(0.0))
    assert not exact
    assert units.sum() <= 93
    assert 0.9 * textbook(curves, 93) <= total(curves, units) <= textbook(curves, 93)


def test_dynamic_programming_that_grows_too_large_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocation_dp, "WORK_LIMIT", 1)
    jumps = [np.concatenate([np.zeros(n), [float(3 * n)]]) for n in (3, 4, 5)]
    units, exact = allocate_by_dp(jumps, 8)
    assert not exact
    assert units.sum() <= 8
