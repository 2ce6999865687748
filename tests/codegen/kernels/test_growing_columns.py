"""Columns with a row for each key, against a plain dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.codegen.kernels.growing_columns import growing_column
from penstock.expr.values import from_arrow_array, to_arrow_array
from penstock.expr.vector.frame import dtype_of
from penstock.ir.types import parse_type

VALUES = {
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(),
    "boolean": st.booleans(),
    "rstring": st.text(max_size=12),
    "blob": st.binary(max_size=12),
    "optional<rstring>": st.none() | st.text(max_size=3),
    "list<int32>": st.lists(st.integers(-5, 5), max_size=3),
}
PUTS = st.lists(st.dictionaries(st.integers(0, 40), st.integers(0, 30), min_size=1), max_size=8)


def column_of(values, type_):
    made = to_arrow_array(values, type_)
    return made if dtype_of(type_) is None else made.to_numpy(zero_copy_only=False)


def listed(column, type_):
    return from_arrow_array(pa.array(column) if isinstance(column, np.ndarray) else column, type_)


@pytest.mark.parametrize("name", VALUES)
@given(data=st.data())
def test_a_column_holds_what_was_put_last(name, data):
    type_, column, held = parse_type(name), growing_column(parse_type(name)), {}
    pool = data.draw(st.lists(VALUES[name], min_size=31, max_size=31))
    for put in data.draw(PUTS):
        rows = list(put)
        column.reserve(max([*held, *rows]) + 1)
        column.put(np.array(rows), column_of([pool[i] for i in put.values()], type_))
        held |= {row: pool[i] for row, i in put.items()}
    rows = sorted(held, reverse=True)
    wanted = [held[row] for row in rows]
    found = column.take(np.array(rows, np.int64))
    assert repr(listed(found, type_)) == repr(listed(column_of(wanted, type_), type_))


def test_texts_that_were_replaced_take_no_room():
    column, rows = growing_column(parse_type("rstring")), np.arange(50)
    column.reserve(50)
    for turn in range(200):
        column.put(rows, pa.array([f"{turn}-{row}" * 20 for row in rows]))
    assert sum(array.array.nbytes for array in column.arrays) < 600_000
    assert column.take(rows[::7]).to_pylist() == [f"199-{row}" * 20 for row in rows[::7]]


def test_a_column_goes_on_in_another_place(tmp_path):
    first, second = (growing_column(parse_type("rstring")) for _ in range(2))
    first.reserve(2)
    first.put(np.arange(2), pa.array(["a", "long text"]))
    for number, array in enumerate(first.arrays):
        array.move_to(tmp_path / str(number))
    first.put(np.array([0]), pa.array(["other"]))
    sizes = first.sizes()
    for number, array in enumerate(second.arrays):
        array.attach(tmp_path / str(number))
    second.restore_sizes(sizes)
    second.reserve(1000)
    second.put(np.array([999]), pa.array(["end"]))
    assert second.take(np.array([0, 1, 999])).to_pylist() == ["other", "long text", "end"]
