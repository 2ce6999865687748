"""Routing: equal keys go to one channel, over columns and over single values, in every process."""

from __future__ import annotations

import math
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expr.value_strategies import typed_columns, typed_values, types, values
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.ir.types import parse_type
from penstock.parallel.routing import group_of, group_of_values


@given(typed_columns(), st.integers(1, 1000))
def test_columns_and_values_agree(column: tuple[object, list[object]], channels: int) -> None:
    type_, rows = column
    found = group_of([to_arrow_array(rows, type_)], channels, [type_])
    assert found.tolist() == [group_of_values((value,), channels) for value in rows]


@given(
    st.lists(types(), min_size=2, max_size=3).flatmap(lambda ts: st.tuples(st.just(ts), st.tuples(*map(values, ts))))
)
def test_keys_of_several_parts_agree(key: tuple[list[object], tuple[object, ...]]) -> None:
    parts, row = key
    columns = [to_arrow_array([value], type_) for value, type_ in zip(row, parts, strict=True)]
    assert group_of(columns, 1000, parts).tolist() == [group_of_values(row, 1000)]


@given(typed_values())
def test_slices_and_copies_go_where_the_value_goes(typed: tuple[object, object]) -> None:
    type_, value = typed
    column = to_arrow_array([value, value, value], type_).slice(1, 1)
    assert group_of([column], 1000, [type_]).tolist() == [group_of_values((value,), 1000)]
    (copied,) = from_arrow_array(column, type_)
    assert group_of_values((copied,), 1000) == group_of_values((value,), 1000)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (math.nan, -math.nan),
        (math.nan, math.inf - math.inf),
        (Decimal("1.5"), Decimal("1.50")),
        (Decimal("0"), Decimal("-0.00")),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({1, 9, 17}, {17, 9, 1}),
        ([(0.0, None)], [(-0.0, None)]),
    ],
)
def test_equal_keys_have_one_channel(one: object, other: object) -> None:
    assert group_of_values((one,), 1 << 30) == group_of_values((other,), 1 << 30)


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_an_integer_has_one_channel_whatever_its_width(name: str) -> None:
    assert group_of([np.array([7], name)], 1 << 30).tolist() == [group_of_values((7,), 1 << 30)]
    assert group_of([pa.array([7], name)], 1 << 30).tolist() == [group_of_values((7,), 1 << 30)]


def test_a_nan_of_any_bits_and_width_is_one_key() -> None:
    bits = np.array([0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000001], np.uint64)
    found = group_of([bits.view(np.float64)], 1 << 30).tolist()
    assert {*found, *group_of([np.array([np.nan], np.float32)], 1 << 30).tolist()} == {found[0]}


def test_null_is_a_key_of_its_own() -> None:
    type_ = parse_type("optional<int64>")
    null, zero = group_of([pa.array([None, 0])], 1 << 30, [type_]).tolist()
    assert null == group_of_values((None,), 1 << 30) != zero


def test_dictionaries_and_chunks_are_the_strings_they_hold() -> None:
    plain = pa.array(["a", "b", None, "a"])
    expected = group_of([plain], 1 << 30).tolist()
    assert group_of([plain.dictionary_encode()], 1 << 30).tolist() == expected
    assert group_of([pa.chunked_array([plain[:1], plain[1:]])], 1 << 30).tolist() == expected


@pytest.mark.parametrize(
    "column", [pa.array([], pa.string()), np.zeros(0, np.int64), pa.array([], pa.list_(pa.int8()))]
)
def test_no_rows_have_no_channels(column: object) -> None:
    assert group_of([column], 8).tolist() == []


KEYS = {
    "counted": np.arange(10_000),
    "multiples": np.arange(10_000) << 32,
    "floats": np.arange(10_000) / 8,
    "names": pa.array([f"user{i}" for i in range(10_000)]),
    "long names": pa.array([f"https://example.org/page/{i:08}/index.html" for i in range(10_000)]),
    "lists": pa.array([[i, i + 1] for i in range(10_000)]),
}


@pytest.mark.parametrize("name", KEYS)
@pytest.mark.parametrize("channels", [2, 3, 8])
def test_keys_are_spread_evenly(name: str, channels: int) -> None:
    load = np.bincount(group_of([KEYS[name]], channels), minlength=channels)
    assert load.max() <= 1.1 * 10_000 / channels


def test_channels_are_the_same_in_another_process() -> None:
    key = ("ä", b"\x00", 1.5, (True, [None]), {"k": {1}})
    code = f"from penstock.parallel.routing import group_of_values as c; print(c({key!r}, 1 << 30))"
    answers = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert answers == {f"{group_of_values(key, 1 << 30)}\n"}


def test_what_is_no_spl_value_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be part of a key"):
        group_of_values((object(),), 2)
