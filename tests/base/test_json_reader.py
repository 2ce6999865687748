import math
from collections.abc import Callable

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.json_reader import JsonReader

_MISTAKES: dict[str, tuple[Callable[[JsonReader], object], str]] = {
    "no number": (lambda r: r.number({}, "cost", "`a`"), '`a` has no cost; write "cost": a number'),
    "a text": (lambda r: r.number({"cost": "1"}, "cost", "`a`"), "the cost of `a` is a string; write a number"),
    "true": (lambda r: r.number({"cost": True}, "cost", "`a`"), "the cost of `a` is true or false; write a number"),
    "null": (lambda r: r.number({"cost": None}, "cost", "`a`"), "the cost of `a` is null; write a number"),
    "negative": (lambda r: r.amount(-2, "x"), "x is negative: -2; write a number from 0 up"),
    "not a number": (lambda r: r.amount(math.nan, "x"), "x is too large or not a number; write a number up to 1e+15"),
    "too large": (lambda r: r.amount(10**400, "x"), "x is too large or not a number; write a number up to 1e+15"),
    "zero": (lambda r: r.amount(0, "x", above_zero=True), "x is 0; write a number above 0"),
    "nearly zero": (lambda r: r.amount(1e-16, "x", above_zero=True), "x is 1e-16; write a number from 1e-15 up"),
    "no list": (lambda r: r.entries({"jobs": {}}, "jobs"), "`jobs` is an object; write a list"),
    "no object": (lambda r: r.entries({"jobs": [3]}, "jobs"), "jobs[0] is a number; write an object"),
    "a list within": (lambda r: r.entries({"pes": 3}, "pes", "job `j`"), "`pes` of job `j` is a number; write a list"),
    "an entry within": (lambda r: r.entries({"pes": [3]}, "pes", "`j`"), "pes[0] of `j` is a number; write an object"),
    "no text": (lambda r: r.text({}, "id", "jobs[0]"), 'jobs[0] has no id; write "id": "name"'),
    "a text of no letters": (lambda r: r.text({"id": ""}, "id", "jobs[0]"), "the id of jobs[0] is empty; write a name"),
    "a number for a text": (lambda r: r.text({"id": 1}, "id", "`a`"), "the id of `a` is a number; write a name"),
    "no texts": (lambda r: r.texts({"t": {}}, "t", "`a`"), "`t` of `a` is an object; write a list of names"),
    "a text of another kind": (lambda r: r.texts({"t": [[]]}, "t", "`a`"), "t[0] of `a` is a list; write a name"),
    "twins": (
        lambda r: r.refuse_twins([(0, "x"), (2, "x")], "pes", "`j`"),
        "the id `x` is given to pes[0] and to pes[2] of `j`; give each its own",
    ),
    "too large a count": (lambda r: r.limit({"n": 10**16}, "n", "`a`"), "the n of `a` is 10000000000000000; write a"),
    "a count that cannot be written": (
        lambda r: r.count({"n": 10**9999}, "n", "`a`"),
        "the n of `a` is a number; write",
    ),
    "no table": (lambda r: r.points(3, "the table"), "the table is a number; write a list of [x, y]"),
    "no points": (lambda r: r.points([], "the table"), "the table is empty; write a list of [x, y]"),
    "no point": (lambda r: r.points([[1]], "the table"), "point 0 of the table is [1]; write [x, y]"),
    "a point of texts": (lambda r: r.points([[1, "2"]], "t"), "the y of point 0 of t is a string; write a number"),
    "points that stand still": (lambda r: r.points([[1, 1], [1, 2]], "t"), "t has 1 after 1; put its points in rising"),
    "points that fall": (lambda r: r.points([[1, 2], [2, 1]], "t"), "t falls from 2 at 1 to 1 at 2; more must never"),
    "no amounts": (lambda r: r.amounts([1, None], "rates", "`a`"), "rates[1] of `a` is null; write a number"),
    "no variant": (
        lambda r: r.variant({}, "rate", "`a`", ("x", "y")),
        '`a` has no rate; write {"x": ...} or {"y": ...}',
    ),
    "another variant": (
        lambda r: r.variant({"rate": {"z": 1}}, "rate", "`a`", ("x",)),
        'the rate of `a` is {"z": 1}; write {"x": ...}',
    ),
    "no kind": (lambda r: r.kind({}, ("x", "y"), "`a`"), "`a` has no kind; write one of x, y"),
    "another kind": (lambda r: r.kind({"kind": 3}, ("x", "y"), "`a`"), "`a` has an unknown kind: 3; write one of x, y"),
    "no count": (lambda r: r.count({"n": 1.5}, "n", "`a`"), "the n of `a` is 1.5; write a whole number from 1 up"),
    "no flag": (lambda r: r.flag({"on": 1}, "on", "`a`"), "the on of `a` is a number; write true or false"),
    "no word": (lambda r: r.word({"k": "c"}, "k", ("a", "b")), '`k` is "c"; write one of a, b'),
    "no name": (lambda r: r.name({"pe": []}, "pe", "`a`"), "the pe of `a` is a list; write a name"),
    "no names": (lambda r: r.names([], "tags"), "tags is empty; write a list of names"),
    "a name of another kind": (lambda r: r.names(["a", {}], "tags"), "tags[1] is an object; write a name"),
    "an unknown key": (lambda r: r.check_keys({"cots": 1}, ("cost",), "`a`"), "`a` has an unknown key `cots`"),
    "no mapping": (lambda r: r.mapping({"w": 1}, "w", "`a`"), "the w of `a` is a number; write an object"),
}


@pytest.mark.parametrize("name", _MISTAKES)
def test_a_mistake_is_named_with_its_place_and_what_to_write(name: str) -> None:
    read, message = _MISTAKES[name]
    reader = JsonReader("p.json", largest=1e15)
    read(reader)
    with pytest.raises(UserError) as caught:
        reader.raise_if_any()
    assert str(caught.value).startswith(f"error: p.json: {message}")


def test_a_whole_number_may_be_written_with_a_point() -> None:
    reader = JsonReader("p.json", largest=1e15)
    assert [reader.count({"n": n}, "n", "`a`") for n in (2, 2.0, 1e6)] == [2, 2, 1_000_000]
    reader.raise_if_any()


def test_all_mistakes_are_reported_at_once() -> None:
    reader = JsonReader()
    reader.amount(-1, "x")
    reader.amount("y", "y")
    with pytest.raises(UserError) as caught:
        reader.raise_if_any()
    assert str(caught.value).splitlines() == [
        "error: x is negative: -1; write a number from 0 up",
        "error: y is a string; write a number",
    ]


def test_keys_of_other_readers_are_left_alone_unless_they_are_nearly_ours() -> None:
    reader = JsonReader()
    reader.check_spelling({"max_mips": 1, "colour": 2}, ("max_mips",), "PE `p`")
    assert not reader.found
    reader.check_spelling({"max_mip": 1}, ("max_mips",), "PE `p`")
    assert [str(m) for m in reader.found] == ["error: PE `p` has an unknown key `max_mip`; did you mean `max_mips`?"]


def test_very_many_unknown_names_are_all_named_and_only_the_first_compared_with_what_is_known() -> None:
    reader, known = JsonReader(), [f"o{i}" for i in range(1000)]
    for number in range(200):
        assert not reader.check_name(f"oo{number}", known, "streams[0]", "operator")
    messages = [str(mistake) for mistake in reader.found]
    assert all("names operator `oo" in message for message in messages)
    assert "did you mean `o0`?" in messages[0]
    assert "did you mean" not in messages[-1]
