"""Models are verified of what NaN goes through, and of keyed operators, whose claim is that instances share nothing."""

from __future__ import annotations

import sys

import pytest

from penstock import App, KeyedOperator, col
from penstock.base.diagnostics import UserError
from penstock.reference import run
from penstock.runtime.verify.verify_models import verify_models
from penstock.testing import feed
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
