"""All algorithms on small problems, against brute force."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fusion_instances import best_by_brute_force, varied_problem

from penstock.diagnostics import Infeasible
from penstock.fusion import ALGORITHMS, Settings, fuse
from penstock.fusion.conflicts import CAPACITIES
from penstock.fusion.evaluate import measure
from penstock.fusion.problem import FusionProblem, describe
from penstock.fusion.validity import violations


def _fuse_or_none(problem, algorithm, acyclic):
    try:
        return fuse(problem, algorithm, Settings(acyclic=acyclic))
    except Infeasible:
        return None


@pytest.mark.parametrize("seed", range(36))
def test_exact_and_throughput_equal_brute_force(seed):
    problem, acyclic = varied_problem(seed, most_operators=5, most_hosts=3)
    is_valid, best = best_by_brute_force(problem, acyclic)
    exact = _fuse_or_none(problem, "exact", acyclic)
    assert (exact is not None) == (is_valid and best < float("inf"))
    if exact is not None:
        assert exact.feasible
        assert exact.optimal
        assert 1 / exact.throughput_scale == pytest.approx(best, rel=1e-6)
        found = fuse(problem, "throughput", Settings(acyclic=acyclic))
        assert 1 / found.throughput_scale == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("seed", range(100, 124))
def test_every_algorithm_answers_validly(seed):
    problem, acyclic = varied_problem(seed, most_operators=12, most_hosts=4)
    for algorithm in (a for a in ALGORITHMS if a != "exact"):
        fusion = _fuse_or_none(problem, algorithm, acyclic)
        if fusion is None:
            continue
        measures = measure(problem, fusion.assignment)
        assert list(violations(problem, fusion.assignment, acyclic=acyclic)) == []
        assert fusion.feasible == measures.fits
        assert fusion.cut == pytest.approx(measures.cut)


@pytest.mark.parametrize("seed", range(200, 220))
def test_cola_fits_wherever_something_fits(seed):
    problem, acyclic = varied_problem(seed, most_operators=8, most_hosts=3)
    exact = _fuse_or_none(problem, "exact", acyclic)
    for algorithm in ("cola", "advanced-cola", "throughput"):
        fusion = _fuse_or_none(problem, algorithm, acyclic)
        assert (fusion is None) == (exact is None)
        if fusion is not None and exact is not None:
            assert fusion.feasible
            assert fusion.throughput_scale <= exact.throughput_scale * (1 + 1e-6)


def _without(problem: FusionProblem, acyclic: bool, name: str) -> tuple[FusionProblem, bool]:
    """The problem with one named rule taken away."""
    if name == CAPACITIES:
        hosts = replace(problem.hosts, capacities=problem.hosts.capacities * 1e9)
        return replace(problem, hosts=hosts), acyclic
    if name == "the demand for an acyclic plan":
        return problem, False
    if name == "the regions of the operators":
        return replace(problem, regions=(None,) * problem.operators), acyclic
    kept = list(problem.constraints)
    del kept[[describe(constraint) for constraint in kept].index(name)]
    return replace(problem, constraints=tuple(kept)), acyclic


def _only(problem: FusionProblem, acyclic: bool, names: set[str]) -> tuple[FusionProblem, bool]:
    """The problem with nothing but the named rules."""
    if CAPACITIES not in names:
        problem, _ = _without(problem, acyclic, CAPACITIES)
    if "the regions of the operators" not in names:
        problem = replace(problem, regions=(None,) * problem.operators)
    kept = tuple(constraint for constraint in problem.constraints if describe(constraint) in names)
    return replace(problem, constraints=kept), "the demand for an acyclic plan" in names


def test_conflicts_are_in_conflict_and_minimal():
    explained = 0
    for seed in range(300, 360):
        problem, acyclic = varied_problem(seed, most_operators=5, most_hosts=2)
        try:
            fuse(problem, "exact", Settings(acyclic=acyclic))
        except Infeasible as error:
            names = set(error.conflicts)
            if any("mips" in name for name in names):
                continue
            explained += 1
            assert best_by_brute_force(*_only(problem, acyclic, names))[1] == float("inf")
            for name in names:
                fewer = _only(*_without(problem, acyclic, name), names - {name})
                assert best_by_brute_force(*fewer)[1] < float("inf"), (seed, name)
    assert explained >= 10
