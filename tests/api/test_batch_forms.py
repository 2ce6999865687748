"""Batch functions in every form give what the same function gives tuple by tuple, on the reference and in columns."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import App, OperatorModel, State, filter_, map_, sink
from penstock.base.diagnostics import UserError
from penstock.reference.failure import OperatorFailed
from penstock.testing import feed

SCHEMA = "int64 n, float64 x, rstring s, list<int32> l"


@map_(batch="arrow")
def in_arrow(batch):
    columns = [pc.add(batch["n"], 1), pc.multiply(batch["x"], 2.0), pc.utf8_upper(batch["s"]), batch["l"]]
    return pa.RecordBatch.from_arrays(columns, names=["n", "x", "s", "l"])


@map_(batch="pandas")
def in_pandas(frame):
    return frame.assign(n=frame.n + 1, x=frame.x * 2.0, s=frame.s.str.upper())


@map_(batch="polars")
def in_polars(frame):
    return frame.with_columns(n=pl.col("n") + 1, x=pl.col("x") * 2.0, s=pl.col("s").str.to_uppercase())


@map_(batch="numpy")
def in_numpy(columns):
    return {**columns, "n": columns["n"] + 1, "x": columns["x"] * 2.0, "s": np.array([s.upper() for s in columns["s"]])}


@map_
def by_tuple(t):
    return {"n": t.n + 1, "x": t.x * 2.0, "s": t.s.upper(), "l": t.l}


@filter_(batch="arrow")
def positive_in_arrow(batch):
    return pc.greater(batch["n"], 0)


@filter_(batch="pandas")
def positive_in_pandas(frame):
    return frame.n > 0


@filter_(batch="polars")
def positive_in_polars(frame):
    return frame["n"] > 0


@filter_(batch="numpy")
def positive_in_numpy(columns):
    return columns["n"] > 0


FORMS = {
    "arrow": (in_arrow, positive_in_arrow),
    "pandas": (in_pandas, positive_in_pandas),
    "polars": (in_polars, positive_in_polars),
    "numpy": (in_numpy, positive_in_numpy),
}
ROWS = st.lists(
    st.tuples(
        st.integers(-(2**62), 2**62),
        st.floats(allow_nan=False),
        st.text("abÄ ", max_size=3),
        st.lists(st.integers(-5, 5), max_size=2),
    ),
    max_size=9,
)


def outcome(mapped, kept, rows, schema=SCHEMA, **options):
    app = App("Batches")
    return app.source(feed(rows), schema).map(mapped, schema).filter(kept).collect(**options)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=15)
@given(rows=ROWS)
def test_a_batch_function_gives_what_it_gives_tuple_by_tuple(form, rows):
    wanted = outcome(by_tuple, lambda t: t.n > 0, rows, engine="reference")
    assert outcome(*FORMS[form], rows, engine="reference") == wanted
    assert outcome(*FORMS[form], rows, engine="local") == wanted
    assert outcome(*FORMS[form], rows, engine="local", channels=3) == wanted


def test_nan_is_a_number_and_large_integers_stay_exact():
    rows = [(2**53 + 1, float("nan"), "a", [])]
    for mapped, _ in FORMS.values():
        ((n, x, _, _),) = outcome(mapped, lambda t: True, rows, engine="local")
        assert (n, x != x) == (2**53 + 2, True)


def run_one(function, schema="int64 n"):
    app = App("One")
    return app.source(feed([(1,), (2,), (3,)]), "int64 n").map(function, schema).collect(engine="local")


@pytest.mark.parametrize(
    ("batch", "function", "message"),
    [
        ("pandas", lambda f: f.n, "a batch function of pandas returns a DataFrame, got Series"),
        ("pandas", lambda f: f.rename(columns={"n": "m"}), r"expected columns \(n\), got \(m\)"),
        ("pandas", lambda f: f.assign(n=f.n + 0.5), "attribute `n` of type int64: Float value 1.5.* was truncated"),
        ("pandas", lambda f: f.assign(n=None), "attribute `n` of type int64: a value is missing"),
        ("polars", lambda f: [f], "a batch function of Polars returns a DataFrame, got list"),
        ("numpy", lambda c: {"n": c["n"][:0]}, "a map gives one row for each row, got 0 for 1"),
        ("numpy", lambda c: {"n": ["a"] * len(c["n"])}, "attribute `n` of type int64"),
        ("arrow", lambda b: b.to_pydict(), "a batch function returns a pyarrow RecordBatch, got dict"),
    ],
)
def test_what_does_not_fit_is_named(batch, function, message):
    with pytest.raises(OperatorFailed, match=message):
        run_one(map_(batch=batch)(function))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda f: f.n.to_numpy() * 2, "a batch filter gives booleans, got int64"),
        (lambda f: np.array([True, False]), "a batch filter gives one boolean for each row, got 2 for 1"),
    ],
)
def test_a_mask_that_does_not_fit_is_named(function, message):
    app = App("Masks")
    stream = app.source(feed([(1,), (2,), (3,)]), "int64 n").filter(filter_(batch="pandas")(function))
    with pytest.raises(OperatorFailed, match=message):
        stream.collect(engine="local")


@pytest.mark.parametrize(
    "function",
    [
        lambda f: f.assign(n=f.n.cumsum()),
        lambda f: f.assign(n=f.n.sum()),
        lambda f: f.assign(n=f.n.shift(fill_value=0)),
        lambda f: f.assign(n=len(f)),
        lambda f: f.sort_values("n", ascending=False),
    ],
)
def test_a_row_that_depends_on_others_is_found_on_the_first_rows(function):
    with pytest.raises(OperatorFailed, match="must not depend on other rows"):
        run_one(map_(batch="pandas")(function))


def test_with_a_model_of_unknown_state_it_gets_one_row_at_a_time_as_in_the_reference():
    summed = map_(batch="pandas", model=OperatorModel(state=State.UNKNOWN))(lambda f: f.assign(n=f.n.cumsum()))
    assert run_one(summed) == [(1,), (2,), (3,)]


def test_a_sink_takes_many_rows_at_once():
    seen = []
    app = App("Ends")
    app.source(feed([(1,), (2,), (3,)]), "int64 n").for_each(sink(batch="pandas")(lambda f: seen.append(list(f.n))))
    app.run(engine="local").wait()
    assert seen == [[1, 2, 3]]


def test_a_form_that_there_is_not_is_refused_where_it_is_named():
    with pytest.raises(UserError, match="there is no batch form `panda`"):
        map_(batch="panda")(lambda f: f)


OPTIONAL = "optional<int64> n, optional<boolean> b, list<optional<int64>> l, optional<tuple<int64 a>> t"
LARGE = 2**53 + 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("engine", ["reference", "local"])
def test_missing_values_come_and_go_without_a_change_to_those_beside_them(form, engine):
    rows = [(LARGE, True, [LARGE, None], (1,)), (None, None, [], None), (LARGE, False, [None], (2,))]

    @map_(batch=form)
    def same(batch):
        return batch

    assert App().source(feed(rows), OPTIONAL).map(same, OPTIONAL).collect(engine=engine) == rows


def columns_with(form, values, numpy_type=object):
    """A batch function that gives an attribute `v` of some values, as the form has them."""
    make = {
        "arrow": lambda found: pa.RecordBatch.from_pydict({"v": pa.array(found)}),
        "pandas": lambda found: pd.DataFrame({"v": pd.Series(found, dtype=numpy_type)}),
        "polars": lambda found: pl.DataFrame({"v": pl.Series(found)}),
        "numpy": lambda found: {"v": np.fromiter(found, numpy_type)},
    }[form]
    count = {"arrow": lambda b: b.num_rows, "numpy": lambda c: len(c["n"])}.get(form, len)
    return map_(batch=form)(lambda batch: make((values * count(batch))[: count(batch)]))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("schema", "value", "kind", "message"),
    [
        ("enum{A, B} v", "Z", object, "attribute `v` of type enum{A, B}: got 'Z'"),
        ("rstring[2] v", "abc", object, r"attribute `v` of type rstring\[2\]: got 'abc'"),
        ("list<int64>[1] v", [1, 2], object, r"got \[1, 2\]"),
        ("list<int64> v", [1, None], object, r"got \[1, None\]"),
        ("decimal64 v", "abc", object, "attribute `v` of type decimal64: a text is not a number"),
        ("int64 v", True, bool, "attribute `v` of type int64: got a column of bool"),
        ("boolean v", 2, int, "attribute `v` of type boolean: got a column of int64"),
        ("rstring v", 2, int, "attribute `v` of type rstring: got a column of int64"),
    ],
)
def test_what_is_no_value_of_the_type_is_refused(form, schema, value, kind, message):
    """An Arrow type has more values than ours, and Arrow casts what nobody meant."""
    with pytest.raises(OperatorFailed, match=message):
        run_one(columns_with(form, [value], kind), schema)


@pytest.mark.parametrize(
    ("form", "function"),
    [
        ("pandas", lambda f: pd.DataFrame({"n": pd.to_datetime(f.n).astype("datetime64[us]")})),
        ("pandas", lambda f: pd.DataFrame({"n": pd.to_datetime(f.n, utc=True).dt.tz_convert("Europe/Berlin")})),
        ("polars", lambda f: f.select(n=pl.from_epoch("n", "ns").cast(pl.Datetime("us")))),
        ("numpy", lambda c: {"n": c["n"].astype("datetime64[ns]").astype("datetime64[ms]")}),
    ],
)
def test_times_of_any_unit_are_nanoseconds(form, function):
    rows = [(1_700_000_000_000_000_000 + 5_000_000 * i,) for i in range(3)]
    stream = App().source(feed(rows), "timestamp n").map(map_(batch=form)(function), "timestamp n")
    assert stream.collect(engine="local") == rows


def test_what_numpy_masks_is_missing():
    function = map_(batch="numpy")(lambda c: {"n": np.ma.masked_array(c["n"], c["n"] > 1)})
    assert run_one(function, "optional<int64> n") == [(1,), (None,), (None,)]


def test_decimals_may_be_objects():
    function = map_(batch="pandas")(lambda f: pd.DataFrame({"n": [Decimal("1.50")] * len(f)}))
    assert run_one(function, "decimal64 n") == [(Decimal("1.50"),)] * 3


def test_a_filter_may_give_an_optional_boolean_that_is_there():
    kept = App().source(feed([(True,), (False,)]), "optional<boolean> b")
    assert kept.filter(filter_(batch="numpy")(lambda c: c["b"])).collect(engine="local") == [(True,)]
    missing = App().source(feed([(True,), (None,)]), "optional<boolean> b")
    with pytest.raises(OperatorFailed, match="a batch filter gives booleans, got None"):
        missing.filter(filter_(batch="numpy")(lambda c: c["b"])).collect(engine="local")


@pytest.mark.parametrize("form", FORMS)
def test_a_missing_float_is_not_nan(form):
    found = App().source(feed([(None,), (float("nan"),), (1.0,)]), "optional<float64> x")
    rows = found.map(map_(batch=form)(lambda batch: batch)).collect(engine="local")
    assert [str(x) for (x,) in rows] == ["None", "nan", "1.0"]
