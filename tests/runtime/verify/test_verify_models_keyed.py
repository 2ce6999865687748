"""Models are verified of what NaN goes through, and of keyed operators, whose claim is that instances share nothing."""

from __future__ import annotations

import json
import sys

import pytest

from penstock import App, KeyedOperator, col
from penstock.base.diagnostics import UserError
from penstock.reference import run
from penstock.runtime.verify.verify_models import verify_models, verify_some
from penstock.testing import feed, outputs
from spark_session import environment

ROWS = [(i % 4, i) for i in range(20)]


def test_a_nan_that_is_forwarded_is_the_same(tmp_path):
    app = App("Nan")
    rows = [(float("nan"),), (1.0,)]
    app.source(feed(rows), "float64 f", name="A").filter(col.f != 2.0, name="B").write_file("out.csv", name="S")
    found = run(verify_models(app.program()), environment=environment(tmp_path, tmp_path))
    assert found.submitted["B"] == (2,)


COUNTS: list[int] = []


class Sneaky(KeyedOperator):
    """Counts the tuples of all keys, under another name."""

    partition_by = "k"

    def process(self, t):
        counts = sys.modules[__name__].COUNTS
        counts.append(1)
        yield {"k": t.k, "x": len(counts)}


def test_a_keyed_operator_whose_instances_share_what_they_change_is_caught(tmp_path):
    COUNTS.clear()
    app = App("Sneaky")
    app.source(feed(ROWS), "int32 k, int32 x", name="A").apply(Sneaky, name="B").write_file("out.csv", name="S")
    with pytest.raises(UserError, match="its model says that it has state partitioned by k"):
        run(verify_models(app.program()), environment=environment(tmp_path, tmp_path))


@pytest.mark.parametrize("type_", ["float64", "float32", "optional<float32>", "list<float32>", "tuple<float64 a>"])
def test_a_nan_that_a_function_hands_on_is_the_same(type_):
    nan = {"list<float32>": [float("nan")], "tuple<float64 a>": (float("nan"),)}.get(type_, float("nan"))

    def called(t):
        return {"n": len(json.dumps(t.n)), "f": t.f}

    app = App("Nan")
    given = app.source(feed([(i, nan) for i in range(3)]), f"int64 n, {type_} f", name="A")
    made = given.map(called, f"int64 n, {type_} f", name="F")
    assert [n for n, _ in outputs(app, made)] == [1, 1, 1]


def test_a_value_that_is_changed_after_it_was_given_counts_as_it_was_while_a_function_is_checked():
    def counted(t):
        value = {"n": 0}
        for i in range(t.n):
            value["n"] = i
            yield value

    app = App("Again")
    made = app.source(feed([(3,), (2,)]), "int64 n", name="A").flat_map(counted, "int64 n", name="F")
    expected = [(0,), (1,), (2,), (0,), (1,)]
    assert outputs(app, made) == outputs(app, made, engine="reference") == expected
    assert run(verify_some(app.program()), collect=[made.id]).tuples_of(made.id) == expected
