"""The settings of the algorithms that a user can choose."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.fusion.problem.fusion_problem import Objective
from penstock.fusion.problem.objective import Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of the algorithms.

    Attributes:
        acyclic: Whether the graph of the PEs must have no cycle, as plans for Spark demand.
        objective: The measure of answers, which `exact` minimizes; by default the one that the algorithm is made for.
        threshold: The paper's T: by which fraction Advanced COLA may exceed the communication cost of its first
            feasible solution in search of a better balance.
        balance_weight: How much the utilization U counts in f(U, C) beside the communication cost C, from 0 to 1.
        max_frac: GreedyFuse's MaxFrac: the largest part of a core that a PE may use.
        min_util: GreedyFuse's MinUtil: the least part of a PE's load that should be its operators' own work.
        fewer_hosts: Whether to leave hosts out as long as that lowers no rates.
        seed: The seed of random choices.
    """

    acyclic: bool = False
    objective: Objective | None = None
    threshold: float = 0.5
    balance_weight: float = 0.5
    max_frac: float = 0.5
    min_util: float = 0.95
    fewer_hosts: bool = False
    seed: int = 1

    @property
    def goal(self) -> Goal:
        """The goal that answers are judged by."""
        return Goal(objective=self.objective or "throughput", balance_weight=self.balance_weight)
