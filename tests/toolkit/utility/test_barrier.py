"""Barrier and Pair: tuples that wait for each other."""

from __future__ import annotations

import pytest

from feeding import WINDOW, feed, items_of, program, tuples_of
from penstock.base.diagnostics import UserError
from penstock.ir.models import State


def test_the_nth_tuples_of_all_ports_meet():
    graph = "stream<int32 a, int32 b> C = Barrier(A; B) {}"
    fed = {"A": feed("int32 a", [(1,), (2,), (3,)]), "B": feed("int32 b", [None, None, (10,), WINDOW, (20,)])}
    assert items_of(graph, "C", **fed) == [(1, 10), (2, 20)]


def test_a_barrier_takes_any_number_of_ports_and_an_output_clause():
    graph = "stream<int32 sum> D = Barrier(A; B; C) { output D: sum = A.x + B.x + C.x; }"
    fed = {name: feed("int32 x", [(i,), (i * 10,)]) for i, name in enumerate("ABC")}
    assert tuples_of(graph, "D", **fed) == [(3,), (30,)]


@pytest.mark.parametrize("key", ["A.k, B.k", "A.k", "A.k, B.j"])
def test_only_tuples_of_one_partition_meet(key):
    right = "int32 j, int32 b" if "B.j" in key else "int32 k, int32 b"
    graph = f"stream<int32 a, int32 b> C = Barrier(A; B) {{ param partitionBy: {key}; }}"
    fed = {"A": feed("int32 k, int32 a", [(1, 1), (2, 2), (1, 3)]), "B": feed(right, [(2, 20), (1, 10), (1, 30)])}
    assert tuples_of(graph, "C", **fed) == [(2, 20), (1, 10), (3, 30)]


def test_each_side_may_have_a_parameter_of_its_own_for_its_key():
    graph = """stream<int32 a, int32 b> C = Barrier(A; B) {
        param partitionByLHS: A.k; partitionByRHS: B.j; bufferSize: 10u; }"""
    fed = {"A": feed("int32 k, int32 a", [(1, 1), (2, 2)]), "B": feed("int32 j, int32 b", [(2, 20), (1, 10)])}
    assert tuples_of(graph, "C", **fed) == [(2, 20), (1, 10)]


def test_a_pair_sends_the_tuples_one_after_the_other_with_a_marker():
    graph = "stream<int32 x> C = Pair(A; B) {}"
    fed = {"A": feed("int32 x", [(1,), (2,), (3,)]), "B": feed("int32 x", [None, None, (10,), (20,)])}
    assert items_of(graph, "C", **fed) == [(1,), (10,), WINDOW, (2,), (20,), WINDOW]


def test_pairs_of_a_partition_meet():
    graph = "stream<int32 k, int32 x> C = Pair(A; B) { param partitionBy: A.k, B.k; }"
    fed = {"A": feed("int32 k, int32 x", [(1, 1), (2, 2)]), "B": feed("int32 k, int32 x", [(2, 20), (1, 10)])}
    assert tuples_of(graph, "C", **fed) == [(2, 2), (2, 20), (1, 1), (1, 10)]


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("stream<int32 x> C = Barrier(A) {}", "`Barrier` has at least 2 input ports, found 1"),
        (
            "stream<int32 x> C = Barrier(A; B) { param partitionBy: A.x; }",
            "`partitionBy` gives input port 1 the key (nothing), but input port 0 has (int32)",
        ),
        ("stream<int32 x> C = Pair(A; B) {}", "`Pair` passes all its inputs on, but port 1 has"),
    ],
)
def test_a_wrong_invocation_is_explained(graph, message):
    with pytest.raises(UserError) as error:
        program(graph, A=feed("int32 x", []), B=feed("int32 y", []))
    assert message in str(error.value)


def test_meetings_are_partitioned_by_their_keys():
    fed = {"A": feed("int32 k, int32 x", []), "B": feed("int32 k, int32 x", [])}
    keyed = program("stream<A> C = Pair(A; B) { param partitionBy: A.k; }", **fed).application.operator["C"].model
    assert (keyed.state, keyed.partition_by) == (State.PARTITIONED, (frozenset({"k"}), frozenset({"k"})))
    free = program("stream<A> C = Pair(A; B) {}", **fed).application.operator["C"].model
    assert free.state is State.UNKNOWN
