"""Decimals that are not a number do not stop the functions that compare them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.expr.functions.registry import resolve
from penstock.ir.types import DECIMAL64, ListType

NAN, ONE, TWO = Decimal("NaN"), Decimal(1), Decimal(2)


@pytest.mark.parametrize("name", ["min", "max"])
def test_the_first_of_two_wins_if_one_is_not_a_number(name):
    pick = resolve(name, [DECIMAL64, DECIMAL64]).bind()
    assert pick(ONE, NAN) == ONE
    assert pick(NAN, ONE).is_nan()


def test_the_extremes_of_a_list_pass_over_what_is_not_a_number():
    values = ListType(DECIMAL64)
    assert resolve("min", [values]).bind()([TWO, NAN, ONE]) == ONE
    assert resolve("max", [values]).bind()([ONE, NAN, TWO]) == TWO
