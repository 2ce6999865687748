"""Keys whose time to live is over are dropped at the same moment, and counted, on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import App, KeyedOperator, after, agg, col, count, source, tumbling
from penstock.cli.output.summary import Summary, print_summary
from penstock.runtime.pes.reports import Report, decode_report
from penstock.runtime.sinks.writer import Totals


@source
def visits():
    """`a` is quiet for exactly two seconds, and again for less; `b` never comes back; `c` is there at the end."""
    yield from ("a", "b", after(2.0), "a", after(1.75), "a", "c")


class Counting(KeyedOperator):
    partition_by, ttl = "k", 2.0

    def __init__(self):
        self.count = 0

    def process(self, t):
        self.count += 1
        yield {"k": t.k, "n": self.count}


class Parting(Counting):
    def on_expire(self):
        yield {"k": self.key.k, "n": -self.count}


def counted(folder: Path, make: Any, **options: Any) -> dict[str, Any]:
    app = App("Main")
    make(app.source(visits, "rstring k", name="A")).for_each(lambda t: None)
    return app.run(out=folder, **options).wait().totals


MAKERS = {
    "a keyed class": lambda s: s.apply(Counting, schema="rstring k, int32 n", name="B"),
    "a keyed class that says farewell": lambda s: s.apply(Parting, schema="rstring k, int32 n", name="B"),
    "windows of two": lambda s: s.aggregate(
        tumbling(count(2), partition_age=2.0), by="k", k=agg.last(col.k), n=agg.count(), name="B"
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_what_has_expired_is_counted_alike_on_every_engine(name, tmp_path):
    wanted = counted(tmp_path, MAKERS[name], engine="reference")
    assert wanted["B"].expired == 2
    for batch in (1, 2, 200):
        for channels in (1, 3):
            found = counted(tmp_path, MAKERS[name], engine="local", channels=channels, batch=batch)
            assert found == wanted, (batch, channels)


def test_a_window_that_holds_nothing_is_not_counted_when_it_goes(tmp_path):
    found = counted(
        tmp_path,
        lambda s: s.aggregate(
            tumbling(count(1), partition_age=2.0), by="k", k=agg.last(col.k), n=agg.count(), name="B"
        ),
        engine="reference",
    )
    assert found["B"].expired == 0


def test_the_summary_of_a_run_tells_what_has_expired(capsys):
    summary = Summary(
        application="Main",
        engine="local",
        stopped="done",
        seconds=1.0,
        received={"B": [3]},
        submitted={"B": [3]},
        rejected={},
        dead_letters_file=None,
        more={},
        expired={"B": 1200},
    )
    print_summary(summary)
    assert "keys dropped, their time to live was over: 1,200 by B" in capsys.readouterr().err
    assert summary.to_json()["operators"] == {
        "B": {"received": [3], "submitted": [3], "rejected": 0, "late": 0, "expired": 1200}
    }


def test_reports_of_channels_add_up():
    totals = Totals()
    for expired in ({"A": 2}, {"A": 1, "B": 4}):
        (value,) = Report(pe=0, expired=expired).encode()
        totals.add(decode_report(value))
    assert totals.expired == {"A": 3, "B": 4}
