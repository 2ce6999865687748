"""Windows over arrays: each aggregate to the bit what the output function of Aggregate gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codegen.kernels.count_windows import Windows
from penstock.expr.vector.frame import dtype_of
from penstock.ir.types import Primitive
from penstock.toolkit.aggregates.output_functions import BY_NAME
from strategies import values

TYPES = ["int8", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]
UNEVEN = [0.1, 0.7, 1e16, -1e16, 1.0, -0.0, 0.0, float("nan"), float("inf"), -2.5]


def numbers(type_: Primitive) -> st.SearchStrategy[object]:
    if not type_.name.startswith("float"):
        return values(type_)
    dtype = dtype_of(type_)
    assert dtype is not None
    return st.sampled_from([float(dtype.type(x)) for x in UNEVEN])


def computed(windows: Windows, function: str, type_: Primitive) -> list[object]:
    is_float = type_.name.startswith("float")
    match function:
        case "Sum":
            return (windows.float_sum() if is_float else windows.integer_sum(windows.long.dtype)).tolist()
        case "Average":
            return (windows.float_average() if is_float else windows.integer_average()).tolist()
    return windows.extreme(greatest=function == "Max").tolist()


@pytest.mark.parametrize("function", ["Sum", "Average", "Min", "Max"])
@pytest.mark.parametrize("name", TYPES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_windows_hold_what_the_output_function_gives_for_their_values(function, name, data):
    type_ = Primitive(name)
    size = data.draw(st.integers(1, 9))
    long = data.draw(st.lists(numbers(type_), min_size=size, max_size=20))
    ends = np.array(data.draw(st.lists(st.integers(size - 1, len(long) - 1), max_size=30)), np.int64)
    is_full = data.draw(st.booleans())
    lengths = np.array([size if is_full else data.draw(st.integers(1, size)) for _ in ends], np.int64)
    whole = BY_NAME[function].whole([type_], [0])
    expected = []
    for end, length in zip(ends.tolist(), lengths.tolist(), strict=True):
        rows = [(value,) for value in long[end - length + 1 : end + 1]]
        expected.append(whole(rows, [rows]))
    with np.errstate(all="ignore"):
        found = computed(Windows(np.array(long, dtype_of(type_)), ends, lengths, size), function, type_)
    assert list(map(repr, found)) == list(map(repr, expected))
