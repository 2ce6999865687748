"""Rows that leave columns: integers outside of 64 bits, among few rows and among many."""

from __future__ import annotations

import operator
import random

import numpy as np
import pytest

from penstock.codegen.functions.left import GREATEST, LEAST, Left

METHODS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul}
CORNERS = (LEAST, LEAST + 1, GREATEST, GREATEST - 1, 2**62, -(2**62), 3037000500, -3037000500, 2**32, -1, 0, 1)


@pytest.mark.parametrize("rows", [1, 7, 5000])
@pytest.mark.parametrize("name", METHODS)
def test_what_is_outside_of_64_bits_leaves_and_the_rest_is_exact(name, rows):
    rng = random.Random(rows)
    for turn in range(60):
        # Mostly small numbers, so that extremes decide; a corner, somewhere, now and then on either side.
        a, b = ([rng.randint(-(10**9), 10**9) for _ in range(rows)] for _ in range(2))
        for side in (a, b)[: turn % 3]:
            side[rng.randrange(rows)] = rng.choice(CORNERS)
        right = rng.choice(CORNERS) if turn % 5 == 0 else np.array(b)
        wanted = [METHODS[name](x, right if isinstance(right, int) else y) for x, y in zip(a, b, strict=True)]
        left = Left(rows)
        made = getattr(left, name)(np.array(a), right)
        for at, value in enumerate(wanted):
            assert left.rows[at] or int(made[at]) == value
            assert left.rows[at] or LEAST <= value <= GREATEST
        if all(abs(value) < 2**62 for value in wanted):
            assert not left.rows.any()


@pytest.mark.parametrize("name", METHODS)
def test_what_leaves_on_a_path_of_few_rows_leaves_no_others(name):
    values = np.full(5000, GREATEST)
    values[100:] = 3
    where = np.zeros(5000, bool)
    where[4000:] = True
    left = Left(5000)
    getattr(left, name)(values, -2 if name == "subtract" else 2, where)
    assert not left.rows.any()
