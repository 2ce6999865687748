"""Values are values: no two owners ever see each other's changes."""

from __future__ import annotations

import pickle

import pytest
from logic_harness import run

LIST = "list<int32> xs"
NESTED = "list<list<int32>> xs"


def submitted_unchanged(
    clauses: str, tuples: list[tuple[object, ...]], *, into: str, out: str, more: str = ""
) -> list[object]:
    """What was submitted, checked to have stayed as it was at that moment, and the input to be untouched."""
    before = pickle.dumps(tuples)
    found = run(clauses, tuples, into=into, out=out, more=more)
    assert [pickle.loads(s) for s in found.snapshots] == found.submitted
    assert pickle.loads(before) == tuples
    return found.submitted


CHANGES = [
    ("mutable list<int32> a = [1]; mutable list<int32> b = a; appendM(b, 2);", "a", [1]),
    ("mutable list<int32> a = [1]; list<int32> b = a; appendM(a, 2);", "b", [1]),
    ("mutable list<int32> a = xs; appendM(a, 9);", "a", [5, 9]),
    ("appendM(xs, 9);", "xs", [5, 9]),
    ("In.xs[0] = 6;", "In.xs", [6]),
    ("mutable list<int32> a = [1]; mutable list<int32> b = true ? a : [2]; appendM(b, 3);", "a", [1]),
    ("mutable list<int32> a = [1]; a += a; a += [3];", "a", [1, 1, 3]),
    ("mutable tuple<list<int32> l> t = {l = xs}; appendM(t.l, 3);", "t.l", [5, 3]),
    ("mutable list<list<int32>> a = [xs, xs]; appendM(a[0], 1);", "a[1]", [5]),
    ("mutable list<list<int32>> a = [[1]]; mutable list<int32> b = a[0]; appendM(b, 2);", "a[0]", [1]),
    ("mutable map<int32, list<int32>> m = {}; m[1] = xs; appendM(m[1], 2);", "m[1]", [5, 2]),
    ("mutable list<list<int32>> a = []; mutable list<int32> b = [1]; appendM(a, b); appendM(b, 2);", "a[0]", [1]),
    (
        "mutable list<list<int32>> a = [[1]]; for (list<int32> e in a) { mutable list<int32> c = e; appendM(c, 2); }",
        "a[0]",
        [1],
    ),
    ("mutable optional<list<int32>> o = xs; mutable list<int32> b = o!; appendM(b, 1);", "o!", [5]),
]


@pytest.mark.parametrize(("statements", "value", "expected"), CHANGES)
def test_a_change_is_seen_by_its_owner_alone(statements: str, value: str, expected: list[int]) -> None:
    clauses = f"onTuple In: {{ {statements} submit({{xs = {value}}}, Out); }}"
    assert submitted_unchanged(clauses, [([5],)], into=LIST, out=LIST) == [(expected,)]


@pytest.mark.parametrize("owner", ["xs", "In.xs", "local", "t.l", "n[0]", "s", "m[1]"])
def test_a_change_after_a_submission_does_not_reach_what_was_submitted(owner: str) -> None:
    clauses = f"""state: {{ mutable list<int32> s = [5]; mutable map<int32, list<int32>> m = {{1: [5]}}; }}
        onTuple In: {{ mutable list<int32> local = xs; mutable tuple<list<int32> l> t = {{l = xs}};
        mutable list<list<int32>> n = [xs];
        submit({{xs = {owner}}}, Out); appendM({owner}, 1); {owner}[0] = 7; submit({{xs = {owner}}}, Out); }}"""
    assert submitted_unchanged(clauses, [([5],)], into=LIST, out=LIST) == [([5],), ([7, 1],)]


def test_state_that_is_submitted_is_copied() -> None:
    clauses = "state: mutable list<int32> l = []; onTuple In: { appendM(l, xs[0]); submit({xs = l}, Out); }"
    assert submitted_unchanged(clauses, [([1],), ([2],)], into=LIST, out=LIST) == [([1],), ([1, 2],)]


def test_state_that_takes_from_the_input_is_its_own() -> None:
    clauses = "state: mutable list<int32> l = []; onTuple In: { l = xs; appendM(l, 0); submit({xs = xs}, Out); }"
    assert submitted_unchanged(clauses, [([1],)], into=LIST, out=LIST) == [([1],)]


def test_nested_collections_are_copied_to_the_bottom() -> None:
    clauses = """state: mutable list<list<int32>> l = []; onTuple In: { 
        l = xs; appendM(l[0], 0); submit({xs = l}, Out); l[0][0] = 9; }"""
    assert submitted_unchanged(clauses, [([[1]],)], into=NESTED, out=NESTED) == [([[1, 0]],)]


def test_a_function_cannot_reach_its_callers_value_through_its_result() -> None:
    more = "list<int32> same(list<int32> l) { return l; } list<int32> first(list<list<int32>> l) { return l[0]; }"
    clauses = """state: { mutable list<int32> a = [1]; mutable list<list<int32>> n = [[2]]; }
        onTuple In: { mutable list<int32> b = same(a); appendM(b, 5); submit({xs = a}, Out);
        mutable list<int32> c = first(n); appendM(c, 5); submit({xs = n[0]}, Out);
        submit({xs = same(a)}, Out); appendM(a, 7); }"""
    found = submitted_unchanged(clauses, [([0],)], into=LIST, out=LIST, more=more)
    assert found == [([1],), ([2],), ([1],)]


def test_an_update_used_as_a_value_gives_a_copy_to_its_user() -> None:
    clauses = """onTuple In: { mutable list<int32> a = [1]; mutable list<int32> b = [2]; b = (a = xs); appendM(a, 3);
        submit({xs = b}, Out); }"""
    assert submitted_unchanged(clauses, [([5],)], into=LIST, out=LIST) == [([5],)]


def test_reading_the_input_costs_no_copy() -> None:
    value = [1, 2, 3]
    found = run("onTuple In: submit({xs = xs}, Out);", [(value,)], into=LIST, out=LIST)
    (submitted,) = found.submitted
    assert submitted[0] is value  # type: ignore[index]
