"""Fusions for Spark by each algorithm, the optimizer's own among them.

Introduction:
    One way in for `run --fusion ALG`, for the loop of `optimize` and for the benchmark: a name and a setting go in, the
    operators of each PE come out.

Formulation:
    `gamma` scales the capacities of the hosts, as in section 4 of the COLA paper: 0.5 says that the profile is taken to
    show half of what a host will have to carry. COLA and GreedyFuse then make smaller PEs.

Example:
    >>> from penstock.ir.graph import Application
    >>> from penstock.model import Profile, Transfer, equal_hosts
    >>> setting = Setting(application=Application(name="Empty"), profile=Profile(mips=1.0), transfer=Transfer(mips=1.0),
    ...                   hosts=equal_hosts(1))
    >>> fused_by("all", setting)
    ()

When it does not apply:
    A profile may show more work than the hosts have room for (an unfused run is a slow run). Algorithms that look at
    capacities then solve the problem at the highest of a few lower rates at which something fits.

Algorithm:
    `throughput` improves the good answers of all others under the throughput model (`search`) and takes the best
    (`ranked`).

Reference:
    Khandekar et al., Middleware 2009, section 4, for gamma.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.fusion import Algorithm, FusionProblem, Settings, fuse
from penstock.fusion.graph.super_graph import super_graph
from penstock.fusion.problem.fusion_problem import with_rates
from penstock.optimizer.prediction import predict, throughput_model
from penstock.optimizer.search import improve
from penstock.optimizer.spark_problem import Groups, Setting, spark_problem

Answer = TypeVar("Answer")

STARTS: tuple[Algorithm, ...] = ("all", "greedy", "cola", "advanced-cola", "manual")
"""The starts of the throughput search, besides the fusion for throughput on the papers' machines."""

_LOWER_RATES = (1.0, 0.5, 0.2, 0.05, 0.01)
_ANY_RATE = (1e-6,)
_BLIND: tuple[Algorithm, ...] = ("none", "all", "manual")
"""Those that do not look at rates or capacities."""

_DEADLINE_SECONDS = 10.0
_AS_GOOD = 0.99
_WORTH_CLIMBING = 0.5
"""From a start that is worse than this part of the best the way up is long, and mostly ends below."""


def fused_by(
    algorithm: Algorithm, setting: Setting, *, gamma: float = 1.0, deadline_seconds: float = _DEADLINE_SECONDS
) -> Groups:
    """The operators of each PE; sources and sinks are left out.

    Raises:
        Infeasible: No fusion keeps the constraints.
    """
    problem = spark_problem(setting)
    if not problem.operators:
        return ()
    if algorithm == "throughput":
        return ranked(setting, gamma=gamma, deadline_seconds=deadline_seconds)[0][0]
    return _solved(problem, algorithm, gamma, Deadline.after(deadline_seconds))


def ranked(
    setting: Setting, *, gamma: float = 1.0, deadline_seconds: float = _DEADLINE_SECONDS
) -> list[tuple[Groups, float]]:
    """The fusions of all algorithms, and what the search makes of them, with what the model predicts for each.

    Returns:
        Fusions with the tuples that the sources will give in a second, the best first. The model is not so exact that a
        percent would tell: of those that are as good as the best the one with the fewest PEs is first (`best_first`).

    Raises:
        Infeasible: No fusion keeps the constraints.
    """
    problem, deadline = spark_problem(setting), Deadline.after(deadline_seconds)
    model = throughput_model(setting)
    if not problem.operators:
        return [((), predict(model, setting, ()).scale * sum(model.source_rates.values()))]
    graph = super_graph(problem, acyclic=True)
    found = {start: predict(model, setting, start).scale for start in _starts(problem, gamma, deadline)}
    for start in sorted(found, key=found.__getitem__, reverse=True):
        if deadline.has_passed() or found[start] < _WORTH_CLIMBING * max(found.values()):
            break
        better = improve(graph, model, setting, start, deadline)
        found[better] = predict(model, setting, better).scale
    total = sum(model.source_rates.values())
    return [(groups, scale * total) for groups, scale in best_first(found, lambda groups: (len(groups),))]


def best_first(found: Mapping[Answer, float], size: Callable[[Answer], tuple[int, ...]]) -> list[tuple[Answer, float]]:
    """Answers by what is predicted for them; of those within `_AS_GOOD` of the best the smallest is first.

    Example:
        >>> best_first({"three": 1.0, "two": 0.995, "one": 0.5}, lambda word: (len(word),))
        [('two', 0.995), ('three', 1.0), ('one', 0.5)]
    """
    best = max(found.values())

    def rank(answer: Answer) -> tuple[bool, tuple[int, ...], float]:
        is_behind = found[answer] < _AS_GOOD * best
        return is_behind, () if is_behind else size(answer), -found[answer]

    return [(answer, found[answer]) for answer in sorted(found, key=rank)]


def _starts(problem: FusionProblem, gamma: float, deadline: Deadline) -> Iterator[Groups]:
    for number, algorithm in enumerate((*STARTS, "throughput")):
        if number and deadline.has_passed():
            return
        share = 0.5 * deadline.left() / (len(STARTS) + 1 - number)
        try:
            yield _solved(problem, algorithm, gamma, deadline.sooner(max(share, 0.05)))
        except Infeasible:
            if algorithm == "all":
                raise


def _solved(problem: FusionProblem, algorithm: Algorithm, gamma: float, deadline: Deadline) -> Groups:
    """The fusion of an algorithm at the highest of the tried rates at which it fits."""
    rates = _ANY_RATE if algorithm in _BLIND else _LOWER_RATES
    for factor in rates:
        try:
            left = max(deadline.left() / 2, 0.05)
            slower = with_rates(problem, factor / gamma)
            answer = fuse(slower, algorithm, Settings(acyclic=True), deadline_seconds=left)
        except Infeasible:
            if factor == rates[-1]:
                raise
            continue
        if answer.feasible:
            break
    return tuple(tuple(problem.ids[operator] for operator in pe) for pe in answer.assignment.members())
