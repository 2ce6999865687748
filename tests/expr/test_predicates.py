from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.expr.predicates import parse_predicate

VALUES = {
    "a": "hi",
    "b": ["x", "y"],
    "g": [1.0, 7.5],
    "id": 11,
    "on": True,
    "negative": -7,
    "t": {"a": 1, "b": {"c": ["z"]}},
    "m": {"k": 5},
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('a == "hi"', True),
        ("a == 'hi'", True),
        ('a != "hi"', False),
        ('a == "hi"r', True),
        ("id == 11l", True),
        ("id >= 11 && id <= 11", True),
        ("id < 11 || id > 11", False),
        ("id % 8l == 3l", True),
        ("g[1] > 6.7", True),
        ("g[5] > 6.7", False),
        ("t.a == 1 && t.b.c[0] == 'z'", True),
        ("t.b.d == 1", False),
        ("m['k'] == 5", True),
        ("m['l'] == 5", False),
        ('"x" in b', True),
        ('"z" in b', False),
        ("on", True),
        ("!on", False),
        ("!missing", True),
        ("missing == 5", False),
        ('id == "hi"', False),
        ('id < "hi"', False),
        ('(a == "hi") && ("z" in b || g[1] > 6.7 || id % 8l == 3l)', True),
        ('a == "hi" || on && id == 0', True),
        ("5 < id", True),
        ("id == -11", False),
        ("id + 1 == 12", True),
        ("id -1 == 10", True),
        ("id - 1 == 10", True),
        ("id * 2 == 22", True),
        ("id / 2 == 5", True),
        ("negative / 2 == -3", True),
        ("negative % 4 == -3", True),
        ("id & 3 == 3", True),
        ("id | 4 == 15", True),
        ("id ^ 1 == 10", True),
        ("id << 1 == 22", True),
        ("id >> 1 == 5", True),
        ("~id == -12", True),
        ("(id + 1) * 2 == 24", True),
        ("~(id + 1) == -13", True),
        ("((id + 1)) / 5 > 1 && (on)", True),
        ("(id > 10) && ((a == 'hi') || (id + 1) == 0)", True),
        ("g[1] * 2 > 14.9", True),
        ("id / 0 == 1", False),
        ("id << -1 == 1", False),
        ("a + 1 == 2", False),
    ],
)
def test_predicates(text, holds):
    assert parse_predicate(text)(VALUES) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a name or a literal, found `the end`"),
        ("a ==", "expected a name or a literal, found `the end`"),
        ("(a", "expected `)`, found `the end`"),
        ("a b", "expected the end, found `b`"),
        ("a[x]", "expected an integer, found `x`"),
        ("(a + ) == 1", "expected an integer, found `)`"),
        ("~5 == 1", "expected a name or a literal, found `5`"),
        ("a ; b", "unexpected `; b`"),
    ],
)
def test_what_is_no_predicate_is_explained(text, message):
    with pytest.raises(UserError, match="is no predicate") as raised:
        parse_predicate(text)
    assert message in str(raised.value)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(["a", "g[1]", "5", '"x"', "in", "==", "<", "&&", "||", "!", "(", ")", "%", "["])))
def test_any_text_is_a_predicate_or_explained(words):
    with suppress(UserError):
        assert parse_predicate(" ".join(words))(VALUES) in (True, False)
