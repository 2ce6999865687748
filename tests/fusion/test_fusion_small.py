"""All algorithms on small problems, against brute force."""

from __future__ import annotations

import pytest
from fusion_instances import best_by_brute_force, even_problem, varied_problem

from penstock.base.diagnostics import Infeasible
from penstock.fusion import ALGORITHMS, Settings, fuse, fusion_problem
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.random_problems import random_problem
from penstock.fusion.problem.validity import violations


def _fuse_or_none(problem, algorithm, acyclic):
    try:
        return fuse(problem, algorithm, Settings(acyclic=acyclic))
    except Infeasible:
        return None


@pytest.mark.parametrize("seed", range(12))
def test_exact_and_throughput_equal_brute_force(seed):
    problem, acyclic = varied_problem(seed, most_operators=5, most_hosts=3)
    best = best_by_brute_force(problem, acyclic)[1]["throughput"]
    exact = _fuse_or_none(problem, "exact", acyclic)
    assert (exact is not None) == (best < float("inf"))
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


@pytest.mark.parametrize(("seed", "operators"), [(5, 12), (33, 8), (63, 12)])
def test_cola_cuts_no_more_than_greedy_where_demands_or_cycles_divide_what_would_fit(seed, operators):
    problem = random_problem(seed, operators=operators, hosts=3, constraints=2, has_regions=True, slack=8.0)
    cola, greedy = (fuse(problem, algorithm, Settings(acyclic=True)) for algorithm in ("cola", "greedy"))
    assert cola.feasible
    assert greedy.feasible
    assert cola.cut <= greedy.cut


@pytest.mark.parametrize("algorithm", ["cola", "advanced-cola", "throughput", "greedy"])
def test_a_chain_that_fits_no_equal_hosts_is_refused_without_a_deadline(algorithm):
    problem = fusion_problem([1.0] * 6, [(v, v + 1, 1.0) for v in range(5)], [3.0] * 3, cores=[3, 2, 1])
    with pytest.raises(Infeasible, match="capacities of the hosts"):
        fuse(problem, algorithm)


@pytest.mark.parametrize("seed", range(24))
def test_problems_full_of_ties_end_without_a_deadline_and_fit_where_something_fits(seed):
    problem = even_problem(seed, most_operators=5, most_hosts=3)
    fits = best_by_brute_force(problem, True)[1]["cut"] < float("inf")
    for algorithm in ("cola", "advanced-cola", "throughput", "exact"):
        fusion = _fuse_or_none(problem, algorithm, acyclic=True)
        assert (fusion is not None and fusion.feasible) == fits
