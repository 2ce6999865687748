"""`stream.lookup`: what a table says of each tuple, on the reference and on the local engine, however it is cut."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from equivalence.test_keyed_operators import cut_and_run, written
from penstock import App, agg, col
from penstock import windows as w
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.reference import run

TRADES = "rstring sym, int32 n"
NAMES = "rstring sym, rstring title"
TITLES = [("IBM", "Big Blue"), ("HPQ", "Hewlett"), ("IBM", "Blue Big")]


def rows(stream: Any, **options: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in stream.collect(**options)]


def test_a_tuple_is_joined_with_every_row_of_its_key_in_the_order_of_the_table() -> None:
    trades = App().from_rows([("IBM", 1), ("XYZ", 2), ("HPQ", 3)], TRADES)
    inner = trades.lookup(TITLES, on="sym", schema=NAMES)
    left = trades.lookup(TITLES, on="sym", schema=NAMES, how="left")
    wanted = [("IBM", 1, "Big Blue"), ("IBM", 1, "Blue Big"), ("HPQ", 3, "Hewlett")]
    for engine in ("reference", "local"):
        assert rows(inner, engine=engine) == wanted
        assert rows(left, engine=engine) == [*wanted[:2], ("XYZ", 2, None), wanted[2]]


def test_tables_of_all_kinds_are_alike(tmp_path: Path) -> None:
    table = pa.table({"title": [t for _, t in TITLES], "sym": [s for s, _ in TITLES], "other": [1, 2, 3]})
    parquet.write_table(table, tmp_path / "one.parquet")
    (tmp_path / "many").mkdir()
    parquet.write_table(table.slice(0, 1), tmp_path / "many" / "a.parquet")
    parquet.write_table(table.slice(1), tmp_path / "many" / "b.parquet")
    for given in (table, table.to_pandas(), str(tmp_path / "one.parquet"), tmp_path / "many", lambda: table):
        stream = App().from_rows([("HPQ", 3)], TRADES).lookup(given, on="sym", schema=NAMES)
        assert rows(stream) == [("HPQ", 3, "Hewlett")]
    whole = App().from_rows([("HPQ", 3)], TRADES).lookup(tmp_path / "many", on="sym")
    assert rows(whole) == [("HPQ", 3, "Hewlett", 2)]


def draw_program(rng: Random) -> tuple[App, list[str]]:
    """A program that looks tuples up in two tables, and what it writes according to a loop."""
    keys = [None, "a", "b", "c"]
    data = [(rng.choice(keys), rng.randrange(3), n) for n in range(rng.choice([0, 3, 40]))]
    first = [(rng.choice(keys[1:]), rng.randrange(3), x) for x in range(rng.choice([0, 1, 6]))]
    second = [(rng.randrange(3), x / 2) for x in range(rng.choice([0, 4]))]
    how = rng.choice(["inner", "left"])
    app = App("Looked")
    stream = app.from_rows(data, "optional<rstring> k, int32 m, int32 n").filter(col.n >= 0)
    found = stream.lookup(first, on=("k", "m"), schema="rstring k, int32 m, int32 x", how=how)
    found.lookup(second, on="m", schema="int32 m, float64 y").write_json("out.json")
    wanted = []
    for k, m, n in data:
        matches = [x for a, b, x in first if k is not None and (a, b) == (k, m)]
        for x in matches or ([None] if how == "left" else []):
            wanted += [{"k": k, "m": m, "n": n, "x": x, "y": y} for b, y in second if b == m]
    return app, [{name: value for name, value in row.items() if value is not None} for row in wanted]


@pytest.mark.parametrize("seed", range(25))
def test_lookups_give_what_a_loop_gives_however_they_are_cut(seed: int) -> None:
    rng = Random(seed)
    app, wanted = draw_program(rng)
    program = app.program()
    files = written(lambda surroundings: run(program, environment=surroundings))
    assert files is not None
    lines = [json.loads(line) for line in files["out.json"].splitlines()]
    assert [{name: value for name, value in line.items() if value is not None} for line in lines] == wanted
    assert cut_and_run(rng, program) == files


def test_a_lookup_is_partitioned_by_its_key() -> None:
    app = App()
    trades = app.from_rows([("IBM", 1)], TRADES)
    found = trades.lookup(TITLES, on="sym", schema=NAMES)
    found.aggregate(w.tumbling(w.count(2)), by="sym", sym=agg.any(col.sym)).for_each(print)
    plan = physical_plan(app.program().application, [[o.id] for o in app.operators], 3)
    assert plan.pes[plan.home[found.operator]].channels == 3


def test_a_lookup_keeps_the_order_of_event_time() -> None:
    in_order, _ = App().from_rows([(1.0, "IBM"), (12.0, "IBM")], "float64 at, rstring sym").by_event_time("at")
    counts = in_order.lookup(TITLES, on="sym", schema=NAMES).aggregate(w.tumbling_time("10 s"), n=agg.count())
    assert [row.n for row in counts.collect()] == [2, 2]


def refused(**given: Any) -> str:
    table = given.pop("table", TITLES)
    with pytest.raises(UserError) as caught:
        App().from_rows([("IBM", 1)], TRADES).lookup(table, **{"on": "sym", "schema": NAMES, **given}).collect()
    return str(caught.value)


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    assert "the attributes of the table are not known" in refused(schema=None)
    assert "the stream has no attribute `smy`; it has sym, n; did you mean `sym`?" in refused(on="smy")
    assert "the table has no attribute `n`" in refused(on="n")
    assert "a lookup needs a key" in refused(on=())
    assert "both the stream and the table have `n`" in refused(schema="rstring sym, int32 n")
    assert "`sym` is rstring in the stream and int32 in the table" in refused(schema="int32 sym, rstring title")
    assert "`sym` is list<int32>, which is no key" in refused(schema="list<int32> sym, rstring title")
    assert "`how` is 'outer'" in refused(how="outer")
    assert "a table at hand does not change" in refused(every="1 s")
    assert "`every` is 0" in refused(table=lambda: TITLES, every=0)
    assert "there is no table `nowhere.parquet`" in refused(table="nowhere.parquet")
    assert "the table has no column `title`" in refused(table=pd.DataFrame({"sym": ["IBM"]}))
