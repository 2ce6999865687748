"""A pickle that names more than data is refused before it has done anything."""

from __future__ import annotations

import os
import pickle
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.rows import row_class
from penstock.base.diagnostics import UserError
from penstock.base.plain_pickle import load_plain
from penstock.ir.types import parse_schema
from penstock.runtime.sinks.writer import Totals

DATA = [
    {"a": (1, 2.5, None, True, b"x", "y"), "b": [set(), frozenset([1]), bytearray(b"z")]},
    [deque([1], maxlen=3), OrderedDict(a=1), defaultdict(list, a=[1]), Counter("aab")],
    [date(2026, 1, 2), datetime(2026, 1, 2, tzinfo=UTC), timedelta(1), Decimal("1.50"), 1 << 200, 1 + 2j],
    Totals(received={"A": [1]}),
]


@pytest.mark.parametrize("value", DATA, ids=str)
def test_data_is_read(value):
    assert load_plain(pickle.dumps(value, protocol=5), "it") == value


@pytest.mark.parametrize("array", [np.arange(3), np.zeros((2, 2)), np.array([{1}, "x"], object), np.array(["ab"])])
def test_arrays_are_read(array):
    found = load_plain(pickle.dumps(array, protocol=5), "it")
    assert found.dtype == array.dtype
    assert found.tolist() == array.tolist()
    assert load_plain(pickle.dumps(array.dtype.type(0) if array.dtype.kind in "if" else 0), "it") == 0


@pytest.mark.parametrize("values", [[1, None], ["a"], [[1], None], [{"x": 1}], [Decimal("1.5")], [date(2026, 1, 1)]])
def test_arrow_is_read(values):
    array = pa.array(values)
    assert load_plain(pickle.dumps(array, protocol=5), "it").equals(array)


class Hostile:
    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


@pytest.mark.parametrize(
    "hostile",
    [
        Hostile(os.system, "touch {path}"),
        Hostile(eval, "open({path!r}, 'w')"),
        Hostile(exec, "open({path!r}, 'w')"),
        Hostile(open, "{path}", "w"),
        Hostile(getattr, os, "system"),
        Hostile(__import__, "antigravity"),
        Hostile(np.load, "{path}"),
        Hostile(os.mkdir, "{path}"),
    ],
    ids=lambda hostile: hostile.reduced[0].__name__,
)
@pytest.mark.parametrize("wrap", [lambda h: h, lambda h: {"a": [h]}, lambda h: np.array([h, 1], object)])
def test_code_is_not_run(hostile, wrap, tmp_path):
    path = tmp_path / "made"
    function, arguments = hostile.reduced
    arguments = [a.format(path=str(path)) if isinstance(a, str) else a for a in arguments]
    arguments = ["os" if a is os else a for a in arguments]
    with pytest.raises(UserError, match="it is not believed: it names `"):
        load_plain(pickle.dumps(wrap(Hostile(function, *arguments)), protocol=5), "it")
    assert not path.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("penstock.base.modules", "load_file"),
        ("penstock.base.plain_pickle", "pickle"),
        ("penstock.base.plain_pickle", "pickle.loads"),
        ("penstock.service.client", "Client"),
        ("os", "system"),
    ],
)
@pytest.mark.parametrize("protocol", [0, 4])
def test_functions_of_ours_and_what_they_import_are_no_data(module, name, protocol):
    by_name = f"c{module}\n{name}\n.".encode()
    stacked = b"\x80\x04" + b"".join(b"\x8c" + bytes([len(s)]) + s.encode() for s in (module, name)) + b"\x93."
    with pytest.raises(UserError):
        load_plain(stacked if protocol else by_name, "it")


@given(st.binary(max_size=60), st.integers(0, 10_000))
def test_damage_is_told(noise, at):
    whole = pickle.dumps(DATA[:3], protocol=5)
    place = at % len(whole)
    for data in (noise, whole[:place], whole[:place] + noise + whole[place + 1 :]):
        # Another error would be a traceback.
        with suppress(UserError):
            load_plain(data, "it")


def test_rows_are_read():
    row = row_class(parse_schema("int32 x, rstring y"))(1, "a")
    assert load_plain(pickle.dumps(row), "it") == row
