"""Every way to fuse small problems, all kinds of constraints, against what the algorithms answer and prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fusion_instances import best_by_brute_force, varied_problem

from penstock.base.diagnostics import Infeasible
from penstock.fusion import OBJECTIVES, Settings, fuse
from penstock.fusion.problem.conflicts import CAPACITIES
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_problem import Fusion, FusionProblem, describe
from penstock.fusion.problem.validity import violations

_PROBLEMS, _PACKS = 520, 13
_NONE = float("inf")


def _tight(seed: int) -> tuple[FusionProblem, bool]:
    """Half of the problems have hosts that are nearly too small."""
    problem, acyclic = varied_problem(seed, most_operators=4, most_hosts=3)
    if seed % 2:
        factor = np.random.default_rng(seed).uniform(0.3, 0.9)
        problem = replace(problem, hosts=replace(problem.hosts, capacities=problem.hosts.capacities * factor))
    return problem, acyclic


@pytest.mark.parametrize("pack", range(_PACKS))
def test_nothing_is_invalid_and_nothing_called_optimal_or_infeasible_that_is_not(pack: int) -> None:
    for seed in range(pack, _PROBLEMS, _PACKS):
        problem, acyclic = _tight(seed)
        is_valid, best = best_by_brute_force(problem, acyclic)
        for objective in OBJECTIVES:
            exact, refused = _fuse(problem, Settings(acyclic=acyclic, objective=objective))
            if exact is None:
                assert best[objective] == _NONE, (seed, refused)
                assert not is_valid or CAPACITIES in refused, (seed, refused)
                continue
            assert exact.feasible, seed
            assert exact.optimal, (seed, objective)
            assert _value(exact) == pytest.approx(best[objective], rel=1e-6, abs=1e-9), (seed, objective)
            _check(problem, exact, acyclic, best, seed)


@pytest.mark.parametrize("algorithm", ["none", "all", "greedy", "cola", "advanced-cola", "throughput"])
def test_every_algorithm_is_valid_and_honest(algorithm: str) -> None:
    quick = ("none", "all", "greedy", "cola")
    for seed in range(1000, 1000 + (80 if algorithm in quick else 30)):
        problem, acyclic = _tight(seed)
        _, best = best_by_brute_force(problem, acyclic)
        try:
            found = fuse(problem, algorithm, Settings(acyclic=acyclic))
        except Infeasible:
            assert best["cut"] == _NONE, seed
            continue
        _check(problem, found, acyclic, best, seed)
        if algorithm not in ("none", "all", "greedy"):
            assert found.feasible == (best["cut"] < _NONE), seed


def _fuse(problem: FusionProblem, settings: Settings) -> tuple[Fusion | None, tuple[str, ...]]:
    """The answer of the exact algorithm, or what it says is in conflict."""
    try:
        return fuse(problem, "exact", settings), ()
    except Infeasible as error:
        return None, error.conflicts


def _check(problem: FusionProblem, found: Fusion, acyclic: bool, best: dict[str, float], seed: int) -> None:
    assert list(violations(problem, found.assignment, acyclic=acyclic)) == [], seed
    assert found.feasible == measure(problem, found.assignment).fits
    if found.feasible:
        assert _value(found) >= best[found.objective] * (1 - 1e-6) - 1e-9, seed
    if found.optimal:
        assert _value(found) == pytest.approx(best[found.objective], rel=1e-6, abs=1e-9), (seed, found.algorithm)


def _value(found: Fusion) -> float:
    """As brute force has it: smaller is better."""
    if found.objective == "throughput":
        return 1 / found.objective_value
    return found.objective_value


def test_conflicts_are_in_conflict_and_minimal() -> None:
    explained = 0
    for seed in range(300, 420):
        problem, acyclic = varied_problem(seed, most_operators=4, most_hosts=2)
        try:
            fuse(problem, "exact", Settings(acyclic=acyclic))
        except Infeasible as error:
            names = set(error.conflicts)
            if any("mips" in name for name in names):
                continue
            explained += 1
            assert best_by_brute_force(*_only(problem, acyclic, names))[1]["cut"] == _NONE
            for name in names:
                fewer = _only(*_without(problem, acyclic, name), names - {name})
                assert best_by_brute_force(*fewer)[1]["cut"] < _NONE, (seed, name)
    assert explained >= 20


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
