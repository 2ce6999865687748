"""Where no integer program applies, the search goes on between the points of the grid."""

from __future__ import annotations

from typing import Any

import pytest
from admission_instances import in_other_units, random_problem

from penstock.base.deadline import Deadline
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.problem.answer import Answer


def flow(cost: float, selectivity: float) -> dict[str, Any]:
    return {"flow": {"mips_per_tps": cost, "selectivity": selectivity}}


def job(name: str, pes: list[dict[str, Any]], **more: object) -> dict[str, Any]:
    return {"id": name, "templates": [{"id": "only", "pes": pes}], **more}


def pe(name: str, stream: str, rate: object, **more: object) -> dict[str, Any]:
    output = {"stream": stream, "rate": rate, **({"value": more.pop("value")} if "value" in more else {})}
    return {"id": name, "outputs": [output], **more}


def solved(mips: float, *jobs: dict[str, Any]) -> Answer:
    return solve(problem_from_json({"mips": mips, "jobs": list(jobs)}), deadline=Deadline.after(3.0))


def test_what_a_loop_leaves_over_is_given_out_to_the_last_mips() -> None:
    loop = pe("A.p", "A.s", flow(2, 1), min_mips=5, max_mips=5, inputs=["A.s", "B.s"], offered_tps=10)
    value = {"table": [[3, 0], [10, 5], [20, 10]]}
    worth = pe("B.p", "B.s", flow(1, 1.5), max_mips=40, offered_tps=10, value=value)
    answer = solved(10, job("A", [loop], required=True), job("B", [worth]))
    assert answer.importance == pytest.approx(5 / 7 * 4.5, rel=1e-6)


def test_a_join_gets_more_than_a_grid_can_give_it() -> None:
    """The rate is the product of two flows, the second twice as dear: each gets half of the mips."""
    sources = [
        pe("J.a", "a", flow(1, 1), max_mips=100, offered_tps=100),
        pe("J.b", "b", flow(2, 1), max_mips=100, offered_tps=100),
    ]
    join = {"limits": {"mips": [[0, 1000]], "products": [["a", "b", 1]]}}
    sink = pe("J.c", "c", join, max_mips=0, inputs=["a", "b"], value={"linear": 1})
    answer = solved(7.77, job("J", [*sources, sink]))
    assert answer.importance == pytest.approx(7.77**2 / 8, rel=1e-5)


def test_nothing_is_admitted_on_a_cluster_without_mips() -> None:
    value = {"table": [[0, 1], [10, 2]]}
    first = pe("A.p", "A.s", flow(1e6, 0.5), max_mips=1e10, inputs=["A.s"], offered_tps=20, value=value)
    answer = solved(0, job("A", [first]), job("B", [pe("B.p", "B.s", {"table": [[0, 2]]}, max_mips=20, min_mips=10)]))
    assert answer.mips_used == 0
    assert not any(verdict.admitted for verdict in answer.jobs.values())


def test_a_pe_that_may_take_nothing_does_not_spoil_the_proof_in_any_unit() -> None:
    problem = random_problem(100001)
    for mips, rate in ((1.0, 1.0), (1e-6, 1e9), (1e6, 1e-9)):
        answer = solve(in_other_units(problem, mips=mips, rate=rate, value=1.0), deadline=Deadline.after(3.0))
        assert answer.exact
        assert answer.bound == pytest.approx(3.0)
