"""Entries of stored state come back as they were, and are small."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.runtime.pes.entry_bytes import decode_entry, encode_entry

ARRAYS = [
    np.array([], np.int64),
    np.array([2**63 - 1, -(2**63), 0]),
    np.array([np.nan, -0.0, np.inf]),
    np.array([True, False]),
    np.arange(12, dtype=np.int16).reshape(3, 4),
    np.arange(12, dtype=np.float64).reshape(2, 2, 3)[:, :, ::2],
    np.zeros((3, 0)),
    np.array([1 + 2j]),
    np.array(["2026-11-18"], "datetime64[ns]"),
    np.array([("a", 1)], [("name", "S4"), ("n", "<i8")]),
    np.array([{"a": 1}, None], object),
    np.array(7),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: f"{array.dtype} {array.shape}")
def test_an_array_comes_back(array):
    found = decode_entry(encode_entry({"codes": array, "rows": {"n": [array]}}))
    for mine in (found["codes"], found["rows"]["n"][0]):
        assert (mine.dtype, mine.shape) == (array.dtype, array.shape)
        assert mine.tolist() == array.tolist() or mine.tobytes() == array.tobytes()


def test_what_is_no_array_stays():
    assert decode_entry(encode_entry({"names": None, "keys": [b"\0\xff"], "count": 7})) == {
        "names": None,
        "keys": [b"\0\xff"],
        "count": 7,
    }


def test_small_numbers_of_large_types_take_little():
    counts = np.random.default_rng(1).integers(0, 50, 20_000)
    assert len(encode_entry({"n": counts})) < 20_000
