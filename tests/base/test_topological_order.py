"""The one topological order."""

from __future__ import annotations

from graphlib import TopologicalSorter
from heapq import heappop, heappush

from hypothesis import given
from hypothesis import strategies as st

from penstock.base.topological_order import sort_topologically, turn_edges

EDGES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=40)


def after(edges):
    graph = {node: [] for node in range(13)}
    for one, other in edges:
        graph[one].append(other)
    return graph


@given(edges=EDGES)
def test_every_node_stands_behind_those_that_lead_to_it(edges):
    graph = after([(min(pair), max(pair)) for pair in edges if pair[0] != pair[1]])
    for how in ({}, {"take": list.pop}, {"put": heappush, "take": heappop}):
        order = sort_topologically(graph, **how)
        assert sorted(order) == list(graph)
        assert all(order.index(one) < order.index(other) for one in graph for other in graph[one])


@given(edges=EDGES)
def test_what_is_on_a_cycle_or_behind_one_is_left_out_and_nothing_else(edges):
    graph = after(edges)
    reached = {node: reachable(graph, node) for node in graph}
    stuck = {node for node in graph if node in reached[node]}
    stuck |= {following for node in stuck for following in reached[node]}
    assert set(sort_topologically(graph)) == set(graph) - stuck


@given(edges=EDGES)
def test_without_a_choice_the_order_is_the_standard_library_s(edges):
    graph = turn_edges(after([(max(pair), min(pair)) for pair in edges if pair[0] != pair[1]]))
    before = {node: sorted({one for one in graph if node in graph[one]}) for node in graph}
    assert sort_topologically(turn_edges(before)) == list(TopologicalSorter(before).static_order())


@given(edges=EDGES)
def test_a_heap_gives_the_least_node_that_is_ready(edges):
    graph = after([(min(pair), max(pair)) for pair in edges if pair[0] != pair[1]])
    # Every edge leads to a larger number here, so the numbers in order are the least order that there is.
    assert sort_topologically(graph, put=heappush, take=heappop) == list(graph)


def reachable(graph, start):
    found, left = set(), list(graph[start])
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += graph[node]
    return found
