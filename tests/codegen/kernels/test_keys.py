"""The numbers of keys, against a dictionary."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.codegen.kernels import keys as keys_module
from penstock.codegen.kernels.key_index import KeyIndex
from penstock.codegen.kernels.keys import Keys
from penstock.toolkit.core.memory import same_nan

PART = {
    "int64": (st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)]) | st.integers(0, 30), lambda v: np.array(v, np.int64)),
    "float64": (st.sampled_from([0.0, -0.0, math.nan, math.inf, 1.5, -1.5]), lambda v: np.array(v, np.float64)),
    "boolean": (st.booleans(), lambda v: np.array(v, bool)),
    "rstring": (st.sampled_from(["", "a", "b", "aa", "\0", "a" * 9]), lambda v: pa.array(v, pa.string())),
    "optional<rstring>": (st.none() | st.sampled_from(["", "a"]), lambda v: pa.array(v, pa.string())),
}


class Model:
    """Keys in a dictionary."""

    def __init__(self):
        self.numbers = {}

    def codes(self, rows, known):
        keys = [same_nan(row) for row in rows]
        return [self.numbers.get(k, -1) if known else self.numbers.setdefault(k, len(self.numbers)) for k in keys]


@given(data=st.data())
def test_a_key_keeps_its_number(data):
    names = data.draw(st.lists(st.sampled_from(list(PART)), min_size=1, max_size=3))
    keys, model = Keys(names), Model()
    for _ in range(data.draw(st.integers(1, 5))):
        rows = data.draw(st.lists(st.tuples(*(PART[name][0] for name in names)), max_size=20))
        known = data.draw(st.booleans())
        columns = [PART[name][1]([row[i] for row in rows]) for i, name in enumerate(names)]
        assert keys.codes(columns, known=known).tolist() == model.codes(rows, known)
        if data.draw(st.booleans()):
            stored, keys = keys.columns(), Keys(names)
            keys.restore(stored)
    assert len(keys) == len(model.numbers)


def test_keys_with_one_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(keys_module, "code_of", lambda columns: np.full(len(columns[0]), 7, np.uint64))
    keys = Keys(["int64"])
    assert keys.codes([np.array([5, 6, 5, 7])]).tolist() == [0, 1, 0, 2]
    assert keys.codes([np.array([7, 8, 6])]).tolist() == [2, 3, 1]
    assert keys.codes([np.array([9])], known=True).tolist() == [-1]


@pytest.mark.parametrize("step", [1, 1 << 40])
def test_an_index_finds_what_it_knows_however_much_it_has_grown(step):
    index, hashes = KeyIndex(), np.arange(5000, dtype=np.uint64) * np.uint64(step)
    for begin in range(0, 5000, 37):
        index.add(hashes[begin : begin + 37])
    everything = lambda rows, codes: hashes[codes] == hashes[rows]  # noqa: E731
    assert index.find(hashes, everything).tolist() == list(range(5000))
