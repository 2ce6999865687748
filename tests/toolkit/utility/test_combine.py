"""Combine: a merge in order of time that does not depend on how fast its inputs are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import feed, program, tuples_of
from penstock.base.diagnostics import UserError

SCHEMA = "int64 t, rstring s"
GRAPH = "stream<A> C = Combine(A; B) { param orderBy: A.t, B.t; }"


def test_streams_are_merged_in_order_of_time_the_lower_port_first():
    fed = {"A": feed(SCHEMA, [(1, "a"), (4, "a"), (5, "a")]), "B": feed(SCHEMA, [(1, "b"), (2, "b"), (9, "b")])}
    assert tuples_of(GRAPH, "C", **fed) == [(1, "a"), (1, "b"), (2, "b"), (4, "a"), (5, "a"), (9, "b")]


def test_a_port_that_has_ended_is_not_waited_for():
    fed = {"A": feed(SCHEMA, []), "B": feed(SCHEMA, [(1, "b"), (2, "b")])}
    assert tuples_of(GRAPH, "C", **fed) == [(1, "b"), (2, "b")]


def test_the_attribute_of_the_first_port_serves_all():
    fed = {"A": feed(SCHEMA, [(2, "a")]), "B": feed(SCHEMA, [(1, "b")])}
    graph = "stream<A> C = Combine(A; B) { param orderBy: A.t; }"
    assert tuples_of(graph, "C", **fed) == [(1, "b"), (2, "a")]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 5), max_size=8).map(sorted), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_the_merge_is_sorted_and_stable_whatever_the_pace(times, late):
    names = "ABDE"[: len(times)]
    items = [[(t, f"{name}{i}") for i, t in enumerate(own)] for name, own in zip(names, times, strict=True)]
    fed = {name: feed(SCHEMA, [None] * pause + own) for name, own, pause in zip(names, items, late, strict=False)}
    graph = f"stream<A> C = Combine({'; '.join(names)}) {{ param orderBy: A.t; }}"
    expected = sorted((t for own in items for t in own), key=lambda t: (t[0], names.index(t[1][0])))
    assert tuples_of(graph, "C", **fed) == expected


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ("orderBy: A.t, A.t, B.t;", "`orderBy` must give one expression of one type for each port; port 0 has 2"),
        ("orderBy: A.s;", "`orderBy` must be a timestamp or a number, found rstring"),
        ("", "`Combine` needs the parameter `orderBy`"),
    ],
)
def test_a_wrong_invocation_is_explained(param, message):
    with pytest.raises(UserError) as error:
        program(f"stream<A> C = Combine(A; B) {{ param {param} }}", A=feed(SCHEMA, []), B=feed(SCHEMA, []))
    assert message in str(error.value)


def test_a_combine_is_not_parallelizable():
    model = program(GRAPH, A=feed(SCHEMA, []), B=feed(SCHEMA, [])).application.operator["C"].model
    assert not model.is_parallelizable
    assert model.forwards == {"t", "s"}
