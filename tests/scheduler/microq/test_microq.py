"""microQ: as good as trying everything on small cases, within the candidates and the nodes that are up."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.base.integer_program import IntegerProgram
from penstock.scheduler.microq.linear_pieces import at_most_function, concave_hull, is_concave
from penstock.scheduler.microq.microq import refine_goals
from penstock.scheduler.problem.admission_problem import Flow, Linear, Output, Pe, Table
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.nodes import Cluster, Needs, Node


def pe(name: str, weight: float, *, inputs: tuple[str, ...] = (), low: float = 0.0, price: float = 1.0) -> Pe:
    out = Output(
        stream=f"{name}.s",
        rate=Flow(mips_per_tps=price, selectivity=0.5),
        value=Linear(slope=1.0) if weight else None,
        weight=weight or 1.0,
    )
    offered = 0.0 if inputs else 60.0
    return Pe(id=name, min_mips=low, max_mips=80.0, inputs=inputs, offered_tps=offered, outputs=(out,))


def cluster(*mips: float) -> Cluster:
    return Cluster(nodes=tuple(Node(id=f"n{i}", mips=m) for i, m in enumerate(mips)))


def try_everything(pes: list[Pe], candidates: dict[str, list[str]], where: Cluster, step: float) -> float:
    """The best importance over all divisions of each node among its candidates, in whole steps."""
    per_node = []
    for node in where.live_nodes:
        here = [p.id for p in pes if node.id in candidates[p.id]]
        steps = range(int(node.mips / step) + 1)
        per_node.append(
            [dict(zip(here, d, strict=True)) for d in product(steps, repeat=len(here)) if sum(d) * step <= node.mips]
        )
    best = 0.0
    for division in product(*per_node):
        got = {p.id: min(sum(part.get(p.id, 0) for part in division) * step, p.max_mips) for p in pes}
        best = max(best, sum(float(v) for v in compose(pes, got).importance.values()))
    return best


tables = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=3).map(
    lambda steps: Table(
        points=(
            (0.0, 0.0),
            *zip(
                np.cumsum([dx for dx, _ in steps]).astype(float).tolist(),
                np.cumsum([dy for _, dy in steps]).astype(float).tolist(),
                strict=True,
            ),
        )
    )
)


@settings(max_examples=40, deadline=None)
@given(tables, tables, st.integers(1, 3), st.integers(2, 6), st.integers(2, 6))
def test_goals_are_at_least_as_good_as_any_division_in_steps(
    rate: Table, value: Table, weight: int, left: int, right: int
) -> None:
    first = Pe(id="a", max_mips=90.0, outputs=(Output(stream="a.s", rate=rate, value=value, weight=float(weight)),))
    pes = [first, pe("b", 1.0), pe("c", 2.0, inputs=("b.s",), price=2.0)]
    candidates = {"a": ["n0"], "b": ["n0", "n1"], "c": ["n1"]}
    where = cluster(left * 10.0, right * 10.0)
    goals = refine_goals(pes, candidates, where)
    assert goals.is_optimal
    assert goals.importance >= try_everything(pes, candidates, where, 10.0) * (1 - 1e-4) - 1e-6


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 100), min_size=3, max_size=3), st.integers(0, 7))
def test_goals_can_be_carried_by_the_candidates_that_are_up(mips: list[int], down: int) -> None:
    pes = [pe("a", 1.0, low=5.0), pe("b", 2.0), pe("c", 3.0)]
    candidates = {"a": ["n0", "n1"], "b": ["n1", "n2"], "c": ["n0", "n2"]}
    gone = frozenset(f"n{i}" for i in range(3) if down >> i & 1)
    where = cluster(*(float(m) for m in mips)).with_down(gone)
    goals = refine_goals(pes, candidates, where).mips
    live = {node.id: node.mips for node in where.live_nodes}
    for group in (["a"], ["b"], ["c"], ["a", "b"], ["b", "c"], ["a", "c"], ["a", "b", "c"]):
        reach = {node for name in group for node in candidates[name]} & live.keys()
        # Hall's condition of the transport problem; a PE of degree 1 reaches its largest candidate only.
        assert sum(goals[name] for name in group) <= sum(live[node] for node in reach) + 1e-6
        assert goals[group[0]] <= max((live[n] for n in candidates[group[0]] if n in live), default=0.0) + 1e-6


def test_revised_weights_move_mips_to_what_matters_now() -> None:
    candidates = {"a": ["n0"], "b": ["n0"]}
    before = refine_goals([pe("a", 3.0), pe("b", 1.0)], candidates, cluster(60.0))
    after = refine_goals([pe("a", 1.0), pe("b", 3.0)], candidates, cluster(60.0))
    assert before.mips == pytest.approx({"a": 60.0, "b": 0.0})
    assert after.mips == pytest.approx({"a": 0.0, "b": 60.0})


def test_minimums_come_before_importance() -> None:
    goals = refine_goals([pe("a", 0.0, low=20.0), pe("b", 5.0)], {"a": ["n0"], "b": ["n0"]}, cluster(60.0))
    assert goals.mips == pytest.approx({"a": 20.0, "b": 40.0})


def test_a_pe_whose_candidates_are_all_down_gets_nothing_and_the_rest_goes_on() -> None:
    where = cluster(50.0, 50.0).with_down(frozenset({"n1"}))
    goals = refine_goals([pe("a", 1.0), pe("b", 1.0, low=10.0)], {"a": ["n0"], "b": ["n1"]}, where)
    assert goals.mips == pytest.approx({"a": 50.0, "b": 0.0})


def test_a_pe_that_nobody_feeds_gets_nothing() -> None:
    goals = refine_goals([pe("b", 1.0, inputs=("gone.s",))], {"b": ["n0"]}, cluster(50.0))
    assert goals.mips["b"] == pytest.approx(0.0)


def test_the_degree_of_parallelism_limits_what_a_pe_can_ask_for() -> None:
    wide = Cluster(nodes=cluster(30.0, 30.0).nodes, needs={"a": Needs(max_nodes=2)})
    one, two = cluster(30.0, 30.0), wide
    both = {"a": ["n0", "n1"]}
    assert refine_goals([pe("a", 1.0)], both, one).mips["a"] == pytest.approx(30.0)
    assert refine_goals([pe("a", 1.0)], both, two).mips["a"] == pytest.approx(60.0)


@settings(max_examples=60, deadline=None)
@given(tables, st.floats(0, 120))
def test_rows_of_a_function_say_what_the_function_says(table: Table, x: float) -> None:
    program = IntegerProgram()
    at = program.columns(1, lower=x, upper=x)[0]
    top = program.columns(1, cost=-1.0)[0]
    at_most_function(program, top, at, table.points, 120.0, hull=False)
    values = program.solve().values
    assert values is not None
    expected = np.interp(x, *zip(*table.points, strict=True))
    assert values[top] == pytest.approx(expected, abs=1e-4)


@settings(max_examples=60, deadline=None)
@given(tables)
def test_a_concave_hull_is_concave_and_above(table: Table) -> None:
    hull = concave_hull(table.points)
    assert is_concave(hull)
    for x, y in table.points:
        assert np.interp(x, *zip(*hull, strict=True)) >= y - 1e-9
