"""Entries of the maps of a Custom are forgotten when nobody has used them for a while."""

from __future__ import annotations

import pytest

from feeding import after, feed, program, run_graph, tuples_of
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Clock
from penstock.toolkit.windows.aging_map import AgingMap

VISITS = [("a",), after(1), ("a",), ("b",), after(2), ("a",), after(1), ("a",), after(1.75), ("a",), ("b",)]


def counting(body: str, ttl: str = "ttl: 2.0;", state: str = "mutable map<rstring, int32> seen = {};") -> str:
    logic = f"logic state: {{ {state} }} onTuple A: {{ {body} }}"
    return f"stream<rstring k, int32 n> B = Custom(A) {{ {logic} param {ttl} }}"


COUNT = "if (!(A.k in seen)) seen[A.k] = 0; seen[A.k]++; submit({k = A.k, n = seen[A.k]}, B);"


def test_an_entry_is_gone_when_its_time_is_over_and_a_tuple_of_that_very_time_starts_anew():
    given = feed("rstring k", VISITS)
    assert tuples_of(counting(COUNT), "B", A=given) == [
        ("a", 1),
        ("a", 2),
        ("b", 1),
        ("a", 1),
        ("a", 2),
        ("a", 3),
        ("b", 1),
    ]
    assert run_graph(counting(COUNT), A=given).expired == {"B": 2}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # To ask whether there is a key is no use of it; to look its value up is.
        ("if (!(A.k in seen)) seen[A.k] = 1; submit({k = A.k, n = size(seen)}, B);", [1, 1, 2, 1, 1, 1, 2]),
        ("if (!has(seen, A.k)) insertM(seen, A.k, 1); submit({k = A.k, n = size(seen)}, B);", [1, 1, 2, 1, 1, 1, 2]),
        (
            'seen[A.k] = getOrElse(seen, A.k, 0) + 1; removeM(seen, A.k == "b" ? A.k : ""); '
            "submit({k = A.k, n = size(seen)}, B);",
            [1, 1, 1, 1, 1, 1, 1],
        ),
        # What is stored as a whole is new in all its entries.
        ("seen[A.k] = 1; seen = seen; submit({k = A.k, n = size(seen)}, B);", [1, 1, 2, 1, 1, 1, 2]),
    ],
)
def test_what_counts_as_use(body, expected):
    assert [n for _, n in tuples_of(counting(body), "B", A=feed("rstring k", VISITS))] == expected


def test_a_map_keeps_its_order_while_entries_are_used():
    clock = Clock()
    seen = AgingMap({"a": 1, "b": 2, "c": 3}, ttl_ns=10, clock=clock)
    clock.advance_to(5)
    assert seen["a"] == 1
    again = AgingMap({}, ttl_ns=10, clock=clock)
    again.restore(seen.aged())
    for each in (seen, again):
        assert list(each) == ["a", "b", "c"]
    clock.advance_to(10)
    for each in (seen, again):
        assert each.forget_old() == 2
        assert each == {"a": 1}


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (counting(COUNT, "ttl: 0.0;"), "the `ttl` is a number of seconds above 0, found 0.0"),
        (counting("submit({k = A.k, n = 1}, B);", state="mutable int32 n = 0;"), "there is none that changes"),
        (
            counting(COUNT, state='mutable map<rstring, int32> seen = {"a" : 1};'),
            "`seen` does not begin empty",
        ),
        (
            "stream<rstring k, int32 n> B = Custom() { logic state: { mutable map<rstring, int32> seen = {}; } "
            'onProcess: { seen["a"] = 1; submit({k = "a", n = 1}, B); } param ttl: 1.0; }',
            "a Custom without input ports remembers where its code stands",
        ),
    ],
)
def test_a_wrong_time_to_live_is_explained(graph, message):
    with pytest.raises(UserError) as error:
        program(graph, A=feed("rstring k", []))
    assert message in str(error.value)
