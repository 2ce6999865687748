"""From a document to mips on nodes, through all four models."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.macro import admitted_pes
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.macrow.macrow import choose_candidates
from penstock.scheduler.microq.microq import refine_goals
from penstock.scheduler.microw.microw import assign
from penstock.scheduler.pipeline import Placement, admit_and_place, place
from penstock.scheduler.simulation.audit import audit


def document(jobs: int = 3, **changes: Any) -> dict[str, Any]:
    return {
        "mips": 300,
        "jobs": [_job(f"J{i}", 1 + i) for i in range(jobs)],
        "nodes": [{"id": f"n{i}", "mips": 100, "memory_mb": 1000, "bandwidth_mbps": 100} for i in range(3)],
        **changes,
    }


def _job(name: str, weight: float) -> dict[str, Any]:
    flow = {"flow": {"mips_per_tps": 1.0, "selectivity": 1.0}}
    return {
        "id": name,
        "rank": 1,
        "templates": [
            {
                "id": "only",
                "pes": [
                    {
                        "id": f"{name}.in",
                        "max_mips": 90,
                        "offered_tps": 60,
                        "memory_mb": 100,
                        "outputs": [{"stream": f"{name}.a", "rate": flow}],
                    },
                    {
                        "id": f"{name}.out",
                        "max_mips": 90,
                        "inputs": [f"{name}.a"],
                        "memory_mb": 100,
                        "outputs": [{"stream": f"{name}.b", "rate": flow, "value": {"linear": 1}, "weight": weight}],
                    },
                ],
            }
        ],
    }


def placed(doc: dict[str, Any], **options: Any) -> Placement:
    problem = problem_from_json(doc)
    return place(problem, solve(problem), cluster_from_json(doc), **options)


def test_a_document_becomes_mips_on_nodes_that_keep_every_rule() -> None:
    doc = document(constraints=[{"kind": "exlocation", "pes": ["J0.in", "J1.in", "J2.in"]}])
    problem, cluster = problem_from_json(doc), cluster_from_json(doc)
    answer = solve(problem)
    result = place(problem, answer, cluster)
    assert list(audit(admitted_pes(problem, answer), result.candidates.nodes, result.mips, cluster)) == []
    assert result.importance == pytest.approx(sum(result.importance_by_job.values()))
    assert 0 < result.importance <= answer.importance + 1e-6


def test_what_fits_in_the_sum_but_not_in_the_nodes_is_refined_by_microq() -> None:
    # Six PEs of 50 mips each fill 300; with one PE fixed on a node that is too small, its chain is cut to balance.
    doc = document(
        nodes=[{"id": "n0", "mips": 20}, {"id": "n1", "mips": 140}, {"id": "n2", "mips": 140}],
        constraints=[{"kind": "fixed", "pes": ["J2.in"], "nodes": ["n0"]}],
    )
    result = placed(doc)
    assert sum(result.mips["J2.in"].values()) == pytest.approx(20.0)
    assert result.goals["J2.out"] == pytest.approx(20.0)
    assert result.goals["J1.out"] == pytest.approx(60.0)


def test_the_answer_is_json() -> None:
    result = json.loads(json.dumps(placed(document()).to_json()))
    assert set(result) == {
        "importance",
        "jobs",
        "pes",
        "metrics",
        "objective",
        "optimal",
        "moves",
        "left_out",
        "seconds",
    }
    assert set(result["pes"]["J0.in"]) == {"candidates", "goal", "mips", "missed"}
    assert len(result["metrics"]) == 6


def test_a_short_deadline_still_gives_a_placement() -> None:
    doc = document(jobs=12)
    doc["mips"] = 1200
    doc["nodes"] = [{"id": f"n{i}", "mips": 100} for i in range(12)]
    result = placed(doc, deadline_seconds=0.01)
    assert result.importance > 0


def _many(jobs: int, nodes: int) -> dict[str, Any]:
    """Jobs whose streams are worth something late, so that microQ needs a binary for each piece."""
    late = {"table": [[0, 0], [10, 1], [20, 15], [30, 16], [60, 60]]}
    doc = document(jobs=jobs, mips=60 * jobs, nodes=[{"id": f"n{i}", "mips": 60 * jobs / nodes} for i in range(nodes)])
    for job in doc["jobs"]:
        for pe in job["templates"][0]["pes"]:
            pe["outputs"][0] |= {"rate": late, "value": late}
    return doc


def test_thousands_of_pes_are_on_their_nodes_in_time() -> None:
    # By the time of this process, so that it does not matter who else is at work.
    doc = _many(jobs=1500, nodes=20)
    problem, cluster = problem_from_json(doc), cluster_from_json(doc)
    deadline = Deadline.after(0.5, clock=time.process_time)
    answer, placement = admit_and_place(problem, cluster, deadline)
    assert deadline.elapsed() < 3
    assert placement.importance > 0.5 * answer.importance
    assert not list(audit(admitted_pes(problem, answer), placement.candidates.nodes, placement.mips, cluster))


@pytest.mark.parametrize("jobs", [4, 40])
def test_what_is_handed_out_without_any_time_keeps_every_limit(jobs: int) -> None:
    doc = _many(jobs=jobs, nodes=3)
    doc["jobs"][0]["required"] = True
    doc["jobs"][0]["templates"][0]["pes"][0]["min_mips"] = 50
    doc["nodes"][0]["mips"] += 50
    problem, cluster = problem_from_json(doc), cluster_from_json(doc)
    answer = solve(problem, deadline=Deadline.after(1.0))
    pes, asked = admitted_pes(problem, answer), {pe: m for job in answer.jobs.values() for pe, m in job.pes.items()}
    candidates = choose_candidates(pes, asked, cluster, exact=False).nodes
    now = Deadline.after(0.0)
    goals = refine_goals(pes, candidates, cluster, planned=asked, deadline=now)
    assert goals.mips.keys() == asked.keys()
    assert not goals.is_optimal
    tight = replace(cluster, nodes=tuple(replace(node, mips=0.7 * node.mips) for node in cluster.nodes))
    given = assign(pes, asked, candidates, tight, deadline=now)
    assert not list(audit(pes, candidates, given.mips, tight))
    assert given.total_mips()["J0.in"] >= 50
    assert sum(given.total_mips().values()) > 0.5 * sum(asked.values())


def _in_units(mips: float, tps: float, value: float) -> dict[str, Any]:
    """Three jobs that want more than the nodes have, one of them with a value that jumps."""
    doc = document(mips=180 * mips, nodes=[{"id": f"n{i}", "mips": 60 * mips} for i in range(3)])
    for number, job in enumerate(doc["jobs"]):
        for pe in job["templates"][0]["pes"]:
            pe |= {"max_mips": 90 * mips, "min_mips": 5 * mips, "offered_tps": pe.get("offered_tps", 0) * tps}
            (output,) = pe["outputs"]
            output["rate"] = {"flow": {"mips_per_tps": mips / tps, "selectivity": 1}}
            if "value" in output:
                jump = {"table": [[0, 0], [20 * tps, value], [25 * tps, 30 * value], [60 * tps, 35 * value]]}
                output["value"] = jump if number else {"linear": value / tps}
    return doc


@pytest.mark.parametrize("exponents", [(9, 0, 0), (-9, 0, 0), (0, 9, 0), (0, -9, 0), (0, 0, 9), (0, 0, -9)])
def test_what_is_placed_does_not_depend_on_units(exponents: tuple[int, int, int]) -> None:
    mips, tps, value = (10.0**exponent for exponent in exponents)
    plain, scaled = (placed(doc, deadline_seconds=5) for doc in (_in_units(1, 1, 1), _in_units(mips, tps, value)))
    assert plain.importance > 50
    # Of placements that are equally good to macroW either may come out, and microQ makes a little more of one.
    assert scaled.importance / value == pytest.approx(plain.importance, rel=0.02)


def test_rules_that_cannot_hold_exit_with_the_reason() -> None:
    doc = document(
        constraints=[
            {"kind": "colocation", "pes": ["J0.in", "J0.out"]},
            {"kind": "exlocation", "pes": ["J0.in", "J0.out"]},
        ]
    )
    with pytest.raises(Infeasible, match=r"colocation of J0\.in, J0\.out; exlocation of J0\.in, J0\.out"):
        placed(doc)


def test_no_admitted_job_is_an_empty_placement() -> None:
    doc = document(jobs=1)
    doc["mips"] = 0
    for pe in doc["jobs"][0]["templates"][0]["pes"]:
        pe["min_mips"] = 10
    result = placed(doc)
    assert result.mips == {}
    assert result.importance == 0


def test_a_job_that_cannot_be_placed_is_left_out_with_its_reason() -> None:
    doc = document(constraints=[{"kind": "resource_match", "pes": ["J2.in"], "nodes": ["n0"]}])
    doc["nodes"][0]["memory_mb"] = 50
    answer, result = admit_and_place(problem_from_json(doc), cluster_from_json(doc), Deadline.after(20.0))
    assert list(result.left_out) == ["J2"]
    assert "resource_match of J2.in on n0" in result.left_out["J2"]
    assert {job: verdict.admitted for job, verdict in answer.jobs.items()} == {"J0": True, "J1": True, "J2": False}
    assert result.importance_by_job.keys() == {"J0", "J1"}


def test_a_required_job_that_cannot_be_placed_is_infeasible() -> None:
    doc = document(constraints=[{"kind": "resource_match", "pes": ["J2.in"], "nodes": ["n0"]}])
    doc["nodes"][0]["memory_mb"] = 50
    doc["jobs"][2]["required"] = True
    with pytest.raises(Infeasible, match=r"resource_match of J2\.in on n0"):
        admit_and_place(problem_from_json(doc), cluster_from_json(doc), Deadline.after(20.0))


def test_infeasibility_is_explained_in_time_however_many_rules_there_are() -> None:
    doc = document(jobs=60, constraints=[{"kind": "exlocation", "pes": [f"J{i}.in" for i in range(60)]}])
    for job in doc["jobs"]:
        job["required"] = True
        for pe in job["templates"][0]["pes"]:
            pe["min_mips"] = 0.5
    deadline = Deadline.after(1.0)
    with pytest.raises(Infeasible, match="no placement"):
        admit_and_place(problem_from_json(doc), cluster_from_json(doc), deadline)
    # Three times the deadline leaves room for a busy machine; without looking at the clock it was fourteen.
    assert deadline.elapsed() < 3.0
