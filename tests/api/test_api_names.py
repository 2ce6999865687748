"""An attribute can have any name, an operator gets one by `named`, and everything is in snake_case."""

from __future__ import annotations

import pytest

from penstock import App, Stream, UserError, agg, col, count, fn, lhs, record, rhs, sliding, tumbling
from penstock import windows as w
from penstock.api.naming import snake_case
from penstock.expr.functions.registry import names as function_names
from penstock.testing import feed, outputs
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.output_calls import output_function_names

OPTIONS = ["name", "by", "filter", "schema", "window", "windows", "params", "count", "time", "format", "on", "how"]
OPTIONS += ["group_by", "iterations", "period", "self", "columns", "named", "match", "other", "attributes", "function"]
ROWS = [(3, "a"), (1, "b"), (2, "a")]
BOTH = (w.sliding(w.count(9)), w.sliding(w.count(9)))


def numbers(app: App, name: str | None = None) -> Stream:
    return app.source(feed(ROWS), "int32 x, rstring s", name=name)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_output_attribute_can_be_called_like_an_option(name):
    app = App()
    s = numbers(app)
    double, other = (col.x * 2).alias(name), numbers(app)
    made = [
        s.select({name: col.x * 2}),
        s.select(double),
        s.with_columns({name: col.x * 2}).select(name),
        s.to({name: "int32"}, {name: col.x * 2}),
        s.aggregate(w.tumbling(w.count(1)), {name: agg.max(col.x) * 2}),
        s.aggregate(w.tumbling(w.count(1)), (agg.max(col.x) * 2).alias(name)),
        s.select(r=record({name: col.x * 2})).select(col.r.field(name).alias(name)),
    ]
    assert [one.schema.names for one in made] == [(name,)] * len(made)
    assert [outputs(app, one) for one in made] == [[(6,), (2,), (4,)]] * len(made)
    joined = s.join(other, {name: lhs.x}, rhs.s.alias(name + "_2"), on="x", windows=BOTH)
    assert sorted(outputs(app, joined)) == [(1, "b"), (2, "a"), (3, "a")]
    assert app.beacon({name: "int32"}, {name: 7}, iterations=1).collect() == [(7,)]


def test_the_old_keyword_forms_keep_working():
    app = App()
    s = numbers(app, "Numbers")
    made = s.aggregate(tumbling(count(2)), by="s", total=agg.sum(col.x), name="Totals")
    assert (made.id, made.schema.names) == ("Totals", ("s", "total"))
    joined = s.join(made, lhs.x == rhs.total, windows=(sliding(count(3)), sliding(count(3))), x=lhs.x, name="J")
    assert joined.schema.names == ("x",)


def test_a_boolean_attribute_is_a_condition_of_a_join_and_no_column():
    app = App()
    a = app.source(feed([(True, 1), (False, 2)]), "boolean ok, int32 x")
    b = app.source(feed([("b",)]), "rstring s")
    assert a.join(b, lhs.ok, windows=BOTH, x=lhs.x).collect() == [(1,)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s.with_columns(name=col.s), 'for an output attribute that is called `name`, write {"name": value}'),
        (lambda s: s.aggregate(tumbling(count(2)), by=agg.sum(col.x)), 'write {"by": value}'),
        (lambda s: s.aggregate(tumbling(count(2)), by=(col.x * 2).alias("k")), "an attribute is given by its name"),
        (lambda s: s.select(col.x * 2), "`col.x * 2` has no name to become an attribute by; add .alias"),
        (lambda s: s.select(7), "an output attribute is a name, a column with an alias, or a dict of columns, found 7"),
        (lambda s: s.select("x", x=col.x), "the output attribute `x` is given twice"),
        (lambda s: s.select({"a b": col.x}), "field `a b`: its name is not one that a stream can have"),
    ],
)
def test_a_wrong_name_is_explained(call, message):
    with pytest.raises(UserError) as caught:
        call(numbers(App()))
    assert message in str(caught.value)
    assert "test_api_names.py" in str(caught.value)


def test_a_key_may_be_a_column():
    app = App()
    assert numbers(app).aggregate(w.tumbling(w.count(2)), by=col.s, n=agg.count()).collect() == [("a", 2)]
    assert numbers(app).drop(col.s).schema.names == ("x",)


def test_a_column_is_not_iterable():
    with pytest.raises(TypeError):
        list(col.x)


def test_an_operator_gets_its_name_afterwards_wherever_it_is_spoken_of():
    app = App()
    s = numbers(app)
    again = app.feedback("int32 x, rstring s")
    kept, others = s.union(again).partition(col.x > 1)
    again.connect(others.with_columns(x=col.x + 1))
    big = kept.filter(col.x > 2).parallel(2)
    app.constrain("pe_exlocation", s, kept)
    kept.colocate("t")
    big.colocate("t")
    big.write_csv("big.csv")
    for stream, name in ((s, "Numbers"), (kept, "Kept"), (again, "Again"), (big, "Big")):
        assert stream.named(name) is stream
    application = app.program().application
    assert list(application.operator) == ["Numbers", "Union", "Kept", "Functor", "Big", "FileSink"]
    assert (kept.id, others.id, others.operator) == ("Kept", "Kept_1", "Kept")
    assert {c.operators for c in application.constraints} == {("Numbers", "Kept"), ("Kept", "Big")}
    assert big.collect() == [(3, "a")]
    others.named("Others")
    assert list(app.program().application.streams) == ["Numbers", "Union", "Kept", "Others", "Functor", "Big"]


def test_a_name_that_is_taken_is_refused():
    app = App()
    a, b = numbers(app, "A"), numbers(app, "B")
    with pytest.raises(UserError, match="there is an operator `A` already"):
        b.named("A")
    even, _ = a.split(col.x % 2, "Even", "Odd")
    with pytest.raises(UserError, match="there is a stream `Odd` already"):
        b.named("Odd")
    assert even.named("Even").operator == "Split_Even"


def test_a_name_is_free_again_when_its_operator_got_another():
    app = App()
    s = numbers(app)
    assert [s.filter(col.x > 0).named(n).id for n in ("A", "B")] == ["A", "B"]
    assert s.filter(col.x > 0).id == "Filter"


def test_every_function_has_a_name_in_snake_case():
    app = App()
    spelled = [snake_case(name) for name in function_names()]
    assert len(set(spelled)) == len(spelled), "two functions of SPL would have one name in Python"
    assert set(dir(fn)) == set(spelled)
    times = app.beacon("rstring s", iterations=1)
    assert times.select(n=fn.find_first(col.s, "a")).schema == times.select(n=fn.findFirst(col.s, "a")).schema


def test_every_output_function_has_a_name_in_snake_case():
    for kind in standard().names():
        names = output_function_names(standard().get(kind))
        assert len({snake_case(name) for name in names}) == len(names)
    s = numbers(App())
    made = s.aggregate(w.tumbling(w.count(3)), a=agg.CountDistinct(col.s), b=agg.count_distinct(col.s))
    assert made.collect() == [(2, 2)]


def test_parameters_are_in_snake_case_or_as_spl_spells_them(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1,extra\n")
    for spelled in ({"has_header_line": True, "ignore_extra_csv_values": True},
                    {"hasHeaderLine": True, "ignoreExtraCSVValues": True}):  # fmt: skip
        assert App().read_file(str(tmp_path / "a.csv"), "int32 x", **spelled).collect() == [(1,)]


def test_every_parameter_of_a_standard_operator_has_its_own_name_in_snake_case():
    for kind in standard().names():
        names = [param.name for param in standard().get(kind).params]
        assert len({snake_case(name) for name in names}) == len(names), kind


def test_parameters_of_a_function_can_be_called_like_options():
    def shout(t, *, name: str, on_error: str):
        return {"s": t.s + name + on_error}

    made = numbers(App()).map(shout, "rstring s", params={"name": "!", "on_error": "?"}, name="Shout")
    assert (made.id, made.collect()[0]) == ("Shout", ("a!?",))


def test_each_thing_says_what_it_is_in_one_line():
    app = App("Shop")
    s = numbers(app, "Numbers")
    shown = [app, s, col.x + 1 > 2, fn.upper(col["class"]), w.sliding(w.time(60), every=w.count(1)), col, fn, agg]
    assert [repr(one) for one in shown] == [
        "<App Shop: 1 operators, 1 streams>",
        "<Stream Numbers: int32 x, rstring s>",
        "<Column (col.x + 1) > 2>",
        "<Column fn.upper(col['class'])>",
        "sliding(time(60), every=count(1))",
        "<the attributes of the input, as in col.price>",
        "<the standard functions, as in fn.upper(col.sym)>",
        "<the output functions of a window, as in agg.sum(col.price)>",
    ]
