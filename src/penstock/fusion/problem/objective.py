"""The objectives of a fusion: cut, balance and throughput.

Introduction:
    The COLA paper has two problems and we add a third. An answer names the one that it was judged by, and is called
    optimal only with regard to that one.

Formulation:
    All three are subject to every demand and to the capacities of the hosts.

    - `cut`: the least communication, expression ii (the paper counts every stream twice, we once).
    - `balance`: the least f(U, C) = weight U + (1 - weight) C, a weighted average. U is the largest utilization of a
      host, or of a PE against the cores that it can use; C is what is cut as a part of all streams, so that both are
      without unit.
    - `throughput`: the least bottleneck, which is one over `throughput_scale`.

Example:
    Operators of 9 and 9 mips with a stream of 1 on a host of 40 with two cores. By `cut` they are best together. By
    `throughput` they are best apart: PEs of 10 on two cores of 20 rather than one of 18 on one of them.

Reference:
    Khandekar et al., Middleware 2009, sections 2.1 and 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from penstock.fusion.problem.costs import Measures, measure
from penstock.fusion.problem.fusion_problem import Assignment, FusionProblem, Objective

OBJECTIVES: tuple[Objective, ...] = get_args(Objective)


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """The function of a fusion that is minimized.

    Attributes:
        objective: Which of the three.
        balance_weight: How much U counts in f(U, C), from 0 to 1.
    """

    objective: Objective = "throughput"
    balance_weight: float = 0.5

    def value(self, problem: FusionProblem, measures: Measures) -> float:
        """How good a fusion is; smaller is better.

        Example:
            >>> from penstock.fusion.problem.fusion_problem import fusion_problem
            >>> import numpy as np
            >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
            >>> apart = measure(problem, Assignment(pe_of=np.array([0, 1]), host_of=np.array([0, 1])))
            >>> [Goal(objective=objective).value(problem, apart) for objective in OBJECTIVES]
            [3.0, 0.85, 0.7]
        """
        if self.objective == "cut":
            return measures.cut
        if self.objective == "throughput":
            return measures.bottleneck
        return self.weigh(measures.balance_utilization, measures.cut, float(problem.stream_costs.sum()))

    def weigh(self, utilization: float, cut: float, streams: float) -> float:
        """The paper's f(U, C)."""
        return self.balance_weight * utilization + (1 - self.balance_weight) * (cut / streams if streams else 0.0)

    def rank(self, problem: FusionProblem, assignment: Assignment) -> tuple[bool, float, float]:
        """The sort key of a fusion: those that fit first, by value and then by cut; then the others, by overload."""
        measures = measure(problem, assignment)
        value = self.value(problem, measures) if measures.fits else measures.max_utilization
        return not measures.fits, value, measures.cut
