"""The search over Spark plans on long chains."""

from __future__ import annotations

import tracemalloc

from penstock.base.topological_order import sort_topologically
from penstock.fusion import fusion_problem
from penstock.fusion.graph.super_graph import super_graph
from penstock.optimizer.search import _Ascent


def test_splits_of_a_long_chain_are_made_one_at_a_time(monkeypatch) -> None:
    operators = 3000
    graph = super_graph(
        fusion_problem([1.0] * operators, [(v - 1, v, 1.0) for v in range(1, operators)], [1e6]), acyclic=True
    )
    ascent = object.__new__(_Ascent)
    ascent.graph, ascent.pe_of = graph, [0] * operators
    ascent.order = sort_topologically(dict(enumerate(graph.successors)))
    monkeypatch.setattr(_Ascent, "_after", lambda self, move: len(move))
    tracemalloc.start()
    sizes = list(ascent._splits())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sizes[-1] == operators - 1
    assert len(sizes) > operators
    assert peak < 10 * 2**20
