"""The tuples of a stream in Python: only what it is made of runs."""

from __future__ import annotations

import pytest

from penstock import App, UserError, agg, col

ENGINES = ["local", "reference"]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_named_tuples_in_order(engine):
    app = App()
    rows = app.from_rows([(1, "a"), (2, "b")], "int32 x, rstring class").collect(engine=engine)
    assert rows == [(1, "a"), (2, "b")]
    assert (rows[0].x, rows[1][1], rows[0]._asdict()["x"]) == (1, "b", 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_no_other_sink_writes_anything(engine, tmp_path, capsys):
    app = App("Test", directory=tmp_path)
    numbers = app.from_rows([(1,), (2,)], "int32 x")
    numbers.write_csv("numbers.csv")
    numbers.print()
    other = app.from_rows([(0,)], "int32 x").map(lambda t: (1 // t.x,))
    other.for_each(lambda t: None)
    assert numbers.filter(col.x > 1).collect(engine=engine, out=tmp_path) == [(2,)]
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("limit", [0, 1, 7])
def test_an_endless_stream_is_collected_up_to_a_limit(engine, limit):
    numbers = App().beacon("uint64 n", n=agg.iteration_count())
    assert numbers.collect(limit, engine=engine) == [(n,) for n in range(limit)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_stream_of_a_loop_is_collected_with_its_loop(engine):
    app = App()
    again = app.feedback("int32 x")
    numbers = app.from_rows([(0,)], "int32 x").union(again).with_columns(x=col.x + 1)
    again.connect(numbers.filter(col.x < 4))
    assert numbers.collect(engine=engine) == [(1,), (2,), (3,), (4,)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_goes_wrong_is_raised(engine):
    wrong = App().from_rows([(0,)], "int32 x").map(lambda t: (1 // t.x,))
    with pytest.raises(UserError, match="ZeroDivisionError"):
        wrong.collect(engine=engine)


def test_a_wrong_limit_is_refused():
    with pytest.raises(UserError, match="the number of tuples to collect is 0 or more, found -1"):
        App().from_rows([], "int32 x").collect(-1)


def test_a_stream_shows_its_first_tuples(capsys):
    App().from_rows([("a" * 99, None)], "rstring s, optional<int32> n").show()
    shown = capsys.readouterr().out
    assert "a" * 30 in shown
    assert "there are more" not in shown


def test_an_operator_may_be_called_like_the_sink_that_collects():
    numbers = App().from_rows([(1,)], "int32 x", name="Collected")
    assert numbers.collect() == [(1,)]
