"""What people who come from PySpark and Polars try first: it works, or the message says what to write."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest

from penstock import App, Stream, UserError, agg, col, count, fn, lhs, rhs, sliding, tumbling, when
from penstock.api.streams import _ELSEWHERE
from penstock.testing import feed, outputs, run

ROWS = [(3, "a"), (1, "b"), (2, "a")]


def numbers(app: App, name: str = "A") -> Stream:
    return app.source(feed(ROWS), {"x": "int32", "s": str}, name=name)


def test_a_schema_may_be_a_dict_of_types():
    assert str(numbers(App()).schema) == "tuple<int32 x, rstring s>"


def test_a_choice_is_written_as_in_polars_or_in_one_call():
    app = App()
    a = numbers(app)
    chained = a.select(size=when(col.x > 1).then("big").otherwise("small"))
    called = a.select(size=when(col.x > 1, "big", "small"))
    assert outputs(app, chained) == outputs(app, called) == [("big",), ("small",), ("big",)]


def test_a_name_is_an_attribute_to_sort_by():
    app = App()
    assert outputs(app, numbers(app).sort("s", "x", window=tumbling(count(3)))) == [(2, "a"), (3, "a"), (1, "b")]


def test_output_functions_are_found_by_their_names_in_snake_case():
    app = App()
    made = numbers(app).aggregate(
        tumbling(count(3)), best=agg.arg_max(col.x, col.s), all=agg.collect_set(col.s), n=agg.count_all()
    )
    assert outputs(app, made) == [("a", ["a", "b"], 3)]


@pytest.mark.parametrize("on", ["s", ["s"], (lhs.s, rhs.s)])
def test_a_join_looks_up_by_names_or_by_columns(on):
    app = App()
    a, b = numbers(app), app.source(feed([("a", 10)]), "rstring s, int32 y", name="B")
    joined = a.join(b, on=on, windows=(sliding(count(5)), sliding(count(5))), x=lhs.x, y=rhs.y)
    assert sorted(outputs(app, joined)) == [(2, 10), (3, 10)]


@pytest.mark.parametrize(("how", "algorithm"), [("left", "leftOuter"), ("full", "outer"), ("outer", "outer")])
def test_kinds_of_join_have_their_usual_names(how, algorithm):
    app = App()
    windows = (sliding(count(1)), sliding(count(1)))
    numbers(app).join(numbers(app, "B"), on="s", how=how, windows=windows, x=lhs.x, name="J")
    assert app.program().application.operator["J"].param("algorithm")[0].name == algorithm


WRONG = {
    "a policy for a window": (
        lambda a: a.aggregate(count(3), n=agg.count()),
        "a window is tumbling(...) or sliding(...), found count(3)",
    ),
    "a number for a policy": (lambda a: a.aggregate(tumbling(3), n=agg.count()), "tumbling takes a policy, found 3"),
    "an attribute to drop": (lambda a: a.drop("y"), "`A` has no attribute `y`; its schema is {x, s}"),
    "an attribute to partition by": (lambda a: a.parallel(2, by="y"), "`A` has no attribute `y`"),
    "a stream of another application": (
        lambda a: a.union(numbers(App("Other"))),
        "`A` is a stream of the application `Other`, not of `Main`",
    ),
    "something that is no function": (lambda a: a.map(5), "an operator is a name, a function or a class, found 5"),
    "no names": (lambda a: a.split(col.x), "split needs the names of its streams"),
    "a schema of unknown types": (lambda a: a.to("int23 x"), "there is no type `int23`"),
    "a schema that is none": (lambda a: a.to(5), "5 is not a schema"),
    "three columns to look up by": (
        lambda a: a.join(a, on=(lhs.x, rhs.x, rhs.s), windows=(sliding(count(1)),) * 2, x=lhs.x),
        "`on` takes names, or one expression for each side, found 3",
    ),
    "a value that is none of ours": (lambda a: a.select(y=object), "<class 'object'> cannot stand in an expression"),
    "a folder instead of a file": (
        lambda a: a.app.read_parquet(Path(__file__).parent),
        "cannot be inferred: it is a folder; name a file in it",
    ),
    "an unknown function": (lambda a: a.select(y=fn.lowr(col.s)), "there is no function `lowr`; did you mean `lower`?"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_call_is_explained_where_it_stands(what):
    call, message = WRONG[what]
    with pytest.raises(UserError) as caught:
        call(numbers(App()))
    text = str(caught.value)
    assert message in text
    assert text.partition(":")[0].endswith("test_api_first_contact.py")


def test_a_row_that_does_not_fit_is_explained_without_names_of_our_classes():
    app = App()
    with pytest.raises(UserError, match=r"failed on \('q',\): attribute `x` is int32, got 'q'"):
        outputs(app, app.source(feed([("q",)]), "int32 x"))


def test_a_file_is_named_by_a_path_object_as_well(tmp_path):
    (tmp_path / "in.csv").write_text("1\n2\n")
    app = App()
    read = app.read_csv(tmp_path / "in.csv")
    read.write_csv(tmp_path / "out.csv")
    read.apply("Functor").write_file(tmp_path / "again.csv")
    run(app)
    assert (tmp_path / "out.csv").read_text() == (tmp_path / "again.csv").read_text() == "1\n2\n"


def test_a_function_that_returns_other_attributes_is_told_of_the_schema():
    app = App()
    with pytest.raises(UserError, match=r"expected attributes \(x\), got \(y\); give the schema of what is returned"):
        outputs(app, app.source(feed([(1,)]), "int32 x").map(lambda t: {"y": t.x}))


def test_a_name_that_others_have_for_it_is_answered_with_ours():
    stream = numbers(App())
    with pytest.raises(AttributeError, match=r"a stream has no `where`; write `filter\(\.\.\.\)`"):
        stream.where(col.x > 1)
    with pytest.raises(AttributeError, match="a stream has no `fliter`; did you mean `filter`"):
        stream.fliter(col.x > 1)
    assert not hasattr(stream, "nothing_of_the_kind")
    assert copy.copy(stream).id == stream.id


def test_what_we_propose_for_the_names_of_others_exists():
    for here in _ELSEWHERE.values():
        for method in re.findall(r"^(\w+)|`(\w+)", here):
            assert hasattr(numbers(App()), "".join(method))
