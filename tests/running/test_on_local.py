"""`app.run(engine="local")`: in this process, in the background."""

from __future__ import annotations

import pytest

from penstock import App, UserError
from penstock.testing import feed


def numbers(tuples) -> App:
    app = App("Numbers")
    app.source(feed(tuples), "int32 x", name="A").write_file("out.csv", name="S")
    return app


def test_a_run_ends_with_its_totals(tmp_path):
    run = numbers(range(10)).run(engine="local", out=tmp_path, data=tmp_path, batch=4).wait()
    assert run.status == "done"
    assert run.totals["A"].submitted == 10
    assert (tmp_path / "out.csv").read_text().split() == [str(n) for n in range(10)]


def test_a_run_is_stopped_between_two_batches(tmp_path):
    app = App("Endless")
    app.beacon("int64 x", name="A").write_file("out.csv", name="S")
    run = app.run(engine="local", out=tmp_path, data=tmp_path, batch=1000)
    run.stop()
    run.wait()
    assert run.status == "interrupted"
    assert (tmp_path / "out.csv").read_text().count("\n") % 1000 == 0


@pytest.mark.parametrize("option", [{"checkpoint": "c"}, {"spark": object()}], ids=["checkpoint", "spark"])
def test_what_is_for_spark_is_refused(option, tmp_path):
    (name,) = option
    with pytest.raises(UserError, match=f"`{name}` is for Spark: the local engine keeps nothing"):
        numbers([1]).run(engine="local", out=tmp_path, data=tmp_path, **option)
