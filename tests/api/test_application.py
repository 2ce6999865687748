"""The fluent API: what each method builds, and what it refuses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock import (
    App,
    Output,
    UserError,
    agg,
    col,
    count,
    delta,
    fn,
    lhs,
    record,
    rhs,
    sliding,
    submission_value,
    time,
    tumbling,
    when,
)
from penstock.expr.environment import Environment
from penstock.ir.constraints import ConstraintKind
from penstock.testing import feed, outputs, run

TRADES = [("IBM", 10.0, 1), ("HPQ", 20.0, 2), ("IBM", 30.0, 3), ("HPQ", 40.0, 4)]
TRADE = "rstring sym, float64 price, int32 volume"


@pytest.fixture
def app() -> App:
    return App("Test")


@pytest.fixture
def trades(app):
    return app.source(feed(TRADES, every=1.0), TRADE, name="Trades")


def test_filter_and_partition(app, trades):
    dear, cheap = trades.partition(col.price > 15.0, names=("Dear", "Cheap"))
    result = run(app, collect=[dear, cheap, trades.filter((col.sym == "IBM") & ~(col.volume == 1), name="F")])
    assert [t[2] for t in result.tuples_of("Dear")] == [2, 3, 4]
    assert [t[2] for t in result.tuples_of("Cheap")] == [1]
    assert [t[2] for t in result.tuples_of("F")] == [3]


def test_select_with_columns_and_drop(app, trades):
    chosen = trades.select("sym", amount=col.price * col.volume)
    assert str(chosen.schema) == "tuple<rstring sym, float64 amount>"
    added = trades.with_columns(volume=col.volume + 1, note=fn.lower(col.sym))
    assert added.schema.names == ("sym", "price", "volume", "note")
    assert added.drop("price", "note").schema.names == ("sym", "volume")
    assert outputs(app, chosen)[0] == ("IBM", 10.0)
    assert outputs(app, added)[1] == ("HPQ", 20.0, 3, "hpq")


def test_expressions_of_every_kind(app, trades):
    made = trades.select(
        a=when(col.volume % 2 == 0, "even", "odd"),
        b=[col.volume, 7],
        c={"x": col.price},
        d=record(p=col.price, v=col.volume),
        e=-col.volume,
        f=col.price.cast("int32") << 1,
        g=col.sym.is_in(["IBM", "SAP"]),
        h=col.sym[0:2],
        i=(col.volume & 1) | 2,
        j=100 - col.volume,
    )
    assert outputs(app, made)[2] == ("odd", [3, 7], {"x": 30.0}, (30.0, 3), -3, 60, True, "IB", 3, 97)


def test_optional_values(app):
    source = app.source(feed([(1,), (None,)]), "optional<int32> x")
    made = source.select(a=col.x.or_else(0), b=col.x.is_null())
    assert outputs(app, made) == [(1, False), (0, True)]


def test_windows_of_every_kind(app, trades):
    by_count = trades.aggregate(tumbling(count(2)), by="sym", total=agg.sum(col.volume), name="C")
    by_time = trades.aggregate(tumbling(time(timedelta(seconds=2))), n=agg.count(), name="T")
    by_delta = trades.aggregate(tumbling(delta(col.price, 15.0)), last=agg.last(col.volume), name="D")
    slides = trades.aggregate(sliding(count(2), every=count(2)), mean=agg.avg(col.price), name="S")
    grouped = trades.aggregate(tumbling(count(4)), group_by="sym", top=agg.max(col.price), name="G")
    result = run(app, collect=[by_count, by_time, by_delta, slides, grouped])
    assert result.tuples_of("C") == [("IBM", 4), ("HPQ", 6)]
    assert result.tuples_of("T") == [(2,), (2,)]
    assert result.tuples_of("D") == [(2,)]
    assert result.tuples_of("S") == [(15.0,), (35.0,)]
    assert result.tuples_of("G") == [("IBM", 30.0), ("HPQ", 40.0)]


def test_joins(app, trades):
    limits = app.source(feed([("IBM", 25.0)]), "rstring sym, float64 limit", name="Limits")
    over = trades.join(
        limits,
        lhs.price > rhs.limit,
        windows=(sliding(count(0)), sliding(count(10))),
        on=(lhs.sym, rhs.sym),
        sym=lhs.sym,
        over=lhs.price - rhs.limit,
        name="Over",
    )
    assert outputs(app, over) == [("IBM", 5.0)]


def test_sort_union_split_and_combine(app, trades):
    ordered = trades.sort(col.price, window=tumbling(count(4)), order="descending", name="Sorted")
    doubled = trades.union(trades, name="Union")
    odd, even = trades.split(col.volume % 2, "Even", "Odd")
    merged = trades.combine(trades.filter(col.volume > 2, name="Big"), by="volume", name="Merged")
    result = run(app, collect=[ordered, doubled, odd, even, merged])
    assert [t[2] for t in result.tuples_of("Sorted")] == [4, 3, 2, 1]
    assert len(result.tuples_of("Union")) == 8
    assert [t[2] for t in result.tuples_of("Even")] == [2, 4]
    assert [t[2] for t in result.tuples_of("Odd")] == [1, 3]
    assert [t[2] for t in result.tuples_of("Merged")] == [1, 2, 3, 3, 4, 4]


def test_files_go_in_and_out(app, tmp_path):
    (tmp_path / "in.csv").write_text("IBM,1.5\nHPQ,2.5\n")
    app.read_file("in.csv", "rstring sym, float64 price").write_file("out.csv")
    run(app, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
    assert (tmp_path / "out.csv").read_text() == '"IBM",1.5\n"HPQ",2.5\n'


def test_submission_values(app):
    made = app.beacon("int32 n", iterations=1, n=submission_value("n", 5, type="int32"))
    assert outputs(app, made) == [(5,)]
    assert outputs(app, made, environment=Environment(submission_values={"n": ["9"]})) == [(9,)]


def test_export_reaches_an_import_of_another_application():
    first, second = App("First"), App("Second")
    first.source(feed([1, 2]), "int32 x").export(streamId="numbers")
    taken = second.import_("int32 x", applicationName="First", streamId="numbers", name="Taken")
    from penstock.reference import run as run_together

    result = run_together([first.program(), second.program()], collect=[f"Second.{taken.id}"])
    assert result.tuples_of("Second.Taken") == [(1,), (2,)]


def test_a_feedback_loop_is_closed_later(app, trades):
    loop = app.feedback(TRADE)
    (merged,) = app.invoke("Union", trades, loop, outputs=[Output(schema=TRADE, name="Merged")])
    back = merged.filter(col.volume < 10, name="Small").with_columns(volume=col.volume * 10, name="Back")
    loop.connect(back)
    program = app.program()
    assert program.application.operator["Merged"].inputs[1].feedback == {"Back"}
    assert [t[2] for t in outputs(program, "Merged")] == [1, 10, 2, 20, 3, 30, 4, 40]


def test_a_loop_that_is_never_closed_is_an_error(app, trades):
    trades.union(app.feedback(TRADE))
    with pytest.raises(UserError, match="the feedback stream `Feedback` is never connected"):
        app.program()


def test_placement_in_the_words_of_the_papers(app, trades):
    a = trades.filter(col.volume > 0, name="A").colocate("x").on_hosts("gpu").parallel(4, by="sym")
    a.filter(col.volume > 1, name="B").colocate("x").exlocate_host("y").isolate_host()
    trades.filter(col.volume > 2, name="C").isolate().exlocate_host("y")
    application = app.program().application
    found = {(c.kind, c.operators, c.hosts) for c in application.constraints}
    assert found == {
        (ConstraintKind.PE_COLOCATION, ("A", "B"), ()),
        (ConstraintKind.HOST_EXLOCATION, ("B", "C"), ()),
        (ConstraintKind.RESOURCE_MATCH, ("A",), ("gpu",)),
        (ConstraintKind.HOST_DEDICATION, ("B",), ()),
        (ConstraintKind.PE_DEDICATION, ("C",), ()),
    }
    (annotation,) = application.operator["A"].annotations
    assert annotation.name == "parallel"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda s: s.filter(col.prise > 1), "there is no attribute `prise`.*did you mean `price`"),
        (lambda s: s.filter(col.price), "boolean"),
        (lambda s: s.filter(col.sym > 1), "rstring"),
        (lambda s: s.select(), "no output attributes are given"),
        (lambda s: s.select(x=object()), "cannot stand in an expression"),
        (lambda s: s.select(x=fn.lowr(col.sym)), "did you mean `lower`"),
        (lambda s: s.select(x=agg.sum(col.price)), "`Functor` has no output functions"),
        (lambda s: s.aggregate(tumbling(count(1)), x=agg.sm(col.price)), "did you mean `Sum`"),
        (lambda s: s.aggregate(tumbling(count(1)), by="simbol", x=agg.count()), "did you mean `sym`"),
        (lambda s: s.to("rstring sym, int32 x"), "x"),
        (lambda s: s.to("rstring sym", symb=col.sym), "there is no output attribute `symb`.*did you mean `sym`"),
        (lambda s: s.apply("Filtr"), "there is no operator `Filtr`; did you mean `Filter`"),
        (lambda s: s.select("sym", name="Trades"), "there is an operator `Trades` already"),
        (lambda s: s.to("rsting sym"), "there is no type `rsting`"),
        (lambda s: s.join(s, windows=(sliding(count(1)),) * 2, x=col.sym), "both inputs have an attribute `sym`"),
    ],
)
def test_mistakes_are_reported_at_once_and_located(trades, build, message):
    with pytest.raises(UserError, match=message) as caught:
        build(trades)
    assert caught.value.diagnostics[0].span is None or "test_application.py" in str(caught.value)


def test_a_column_has_no_truth_value():
    with pytest.raises(TypeError, match="combine conditions with `&`"):
        bool(col.price > 1 and col.volume > 1)


def test_names_are_made_up_where_none_is_given(app, trades):
    for _ in range(2):
        trades.filter(col.volume > 0)
    trades.map(lambda t: t)
    assert [o.id for o in app.program().application.operators] == ["Trades", "Filter", "Filter_2", "function"]


def test_replicas_are_of_high_availability_alone():
    app = App()
    a, b = (app.beacon("int32 x", iterations=1) for _ in range(2))
    app.constrain("high_availability", replicas=[[a], [b]])
    (found,) = app.program().application.constraints
    assert found.replicas == (("Beacon",), ("Beacon_2",))
    for kind, streams, replicas in (
        ("high_availability", [], [[a]]),
        ("high_availability", [], [[a], []]),
        ("high_availability", [a], [[a], [b]]),
        ("host_exlocation", [a, b], [[a], [b]]),
    ):
        with pytest.raises(UserError, match=f"`{kind}` takes"):
            app.constrain(kind, *streams, replicas=replicas)
