"""A job with windows, a join and a keyed class, which the tests of savepoints stop and start again in other ways."""

from __future__ import annotations

from pathlib import Path
from random import Random

from penstock import App, KeyedOperator, agg, col, count, lhs, rhs, sliding, time, tumbling


class Numbering(KeyedOperator):
    """Numbers the tuples of a key."""

    partition_by = "k"

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield t.k, self.n


app = App("Changing")
_lines = app.read_csv("in.csv", "rstring k, int32 v, float64 x", name="Lines")
_sums = _lines.aggregate(tumbling(count(3)), by="k", c=agg.count(), s=agg.sum(col.x), name="Sums")
_highs = _lines.aggregate(sliding(count(4), every=count(1)), by="k", h=agg.max(col.x), name="Highs")
_met = _lines.join(
    _sums,
    windows=(sliding(count(1)), sliding(count(1))),
    by=("k", "k"),
    on="k",
    k=lhs.k,
    v=lhs.v,
    s=rhs.s,
    name="Met",
)
_late = _lines.aggregate(tumbling(time(5.0)), by="k", t=agg.sum(col.v), name="Late")
_met.write_file("met.csv", name="MetFile")
_late.write_file("late.csv", name="LateFile")
_sums.write_file("sums.csv", name="SumsFile")
_highs.write_file("highs.csv", name="HighsFile")
_lines.apply(Numbering, "rstring k, int64 n", name="Numbers").write_file("numbers.csv", name="NumbersFile")


def write_input(folder: Path, rows: int = 400) -> None:
    rng = Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{rng.choice('abcdefghij')},{i},{rng.random():.3f}\n" for i in range(rows)]
    (folder / "in.csv").write_text("".join(lines))
