"""The costs of a fusion: SIZE of its PEs, the cut, the load of hosts, and how far all rates could grow.

Introduction:
    Every algorithm is measured by the same few lines, so that their answers can be compared.

Formulation:
    SIZE(S) = w(S) + w(delta(S)) (equation 1 of the COLA paper): a PE pays for its operators and for every stream that
    enters or leaves it. Three things can be full:

    - a host: the sizes of its PEs against its capacity (expression i of the paper, `host_loads`);
    - a PE: a process uses one core, or as many as it has channels (`pe_utilizations`);
    - a link: the bytes that leave or enter a host in a second (`link_utilizations`).

    All of them grow in proportion to the rates, so `throughput_scale` is one over the largest of these ratios.

Example:
    Two operators of 4 and 2 mips with a stream of 3 mips on two hosts of 10: apart, their PEs have sizes 7 and 5, and
    rates can grow by 10 / 7. Together the one PE has size 6, and rates can grow by 10 / 6.

When it does not apply:
    Costs that do not grow in proportion to the rates (batching effects, caches) are outside of this model.

Algorithm:
    Sums over columns: linear in operators and streams.

Reference:
    Khandekar et al., Middleware 2009, equation 1, expressions i and ii. The cut counts a stream once, expression ii
    twice. Cores and links are ours: the paper names cores as future work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.fusion.problem.fusion_problem import Assignment, Floats, FusionProblem, Ints

TOLERANCE = 1e-9
"""How far beyond its capacity a host may be, as a fraction: rounding of sums, nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measures:
    """All that is known of a fusion.

    Attributes:
        sizes: SIZE of each PE.
        loads: What each host carries.
        cut: The cost of the streams between PEs.
        max_utilization: The largest ratio of a load to a capacity.
        balance_utilization: The same, or the largest ratio of a PE to the cores that it can use if that is larger.
        bottleneck: The largest ratio of anything that can be full; `throughput_scale` is one over it.
    """

    sizes: Floats
    loads: Floats
    cut: float
    max_utilization: float
    balance_utilization: float
    bottleneck: float

    @property
    def throughput_scale(self) -> float:
        """By how much all rates could grow; infinite where nothing costs anything."""
        return 1.0 / self.bottleneck if self.bottleneck > 0 else float("inf")

    @property
    def fits(self) -> bool:
        """Whether no host is loaded beyond its capacity."""
        return self.max_utilization <= 1.0 + TOLERANCE


def measure(problem: FusionProblem, assignment: Assignment) -> Measures:
    """Measure a fusion.

    Example:
        >>> from penstock.fusion.problem.fusion_problem import fusion_problem
        >>> problem = fusion_problem([4, 2], [(0, 1, 3)], [10, 10])
        >>> apart = measure(problem, Assignment(pe_of=np.array([0, 1]), host_of=np.array([0, 1])))
        >>> apart.sizes.tolist(), apart.cut, apart.max_utilization
        ([7.0, 5.0], 3.0, 0.7)
    """
    sizes = pe_sizes(problem, assignment.pe_of)
    loads = host_loads(problem, assignment, sizes)
    utilization = float((loads / problem.hosts.capacities).max())
    balance = max(utilization, float(pe_utilizations(problem, assignment, sizes).max(initial=0.0)))
    return Measures(
        sizes=sizes,
        loads=loads,
        cut=cut(problem, assignment.pe_of),
        max_utilization=utilization,
        balance_utilization=balance,
        bottleneck=max(balance, float(link_utilizations(problem, assignment).max(initial=0.0))),
    )


def pe_sizes(problem: FusionProblem, pe_of: Ints) -> Floats:
    """SIZE of each PE."""
    count = int(pe_of.max()) + 1
    sizes = np.bincount(pe_of, weights=problem.costs, minlength=count)
    ends = pe_of[problem.sources], pe_of[problem.targets]
    paid = np.where(ends[0] != ends[1], problem.stream_costs, 0.0)
    for end in ends:
        sizes = sizes + np.bincount(end, weights=paid, minlength=count)
    return np.asarray(sizes, np.float64)


def cut(problem: FusionProblem, pe_of: Ints) -> float:
    """The cost of the streams between PEs, each counted once."""
    return float(problem.stream_costs[pe_of[problem.sources] != pe_of[problem.targets]].sum())


def host_loads(problem: FusionProblem, assignment: Assignment, sizes: Floats) -> Floats:
    """The load of each host: the sizes of its PEs."""
    loads = np.bincount(assignment.host_of, weights=sizes, minlength=problem.hosts.count)
    return np.asarray(loads, np.float64)


def pe_utilizations(problem: FusionProblem, assignment: Assignment, sizes: Floats) -> Floats:
    """The ratio of each PE's size to the cores that it can use on its host."""
    width = np.full(assignment.pes, np.iinfo(np.int64).max)
    np.minimum.at(width, assignment.pe_of, problem.channels)
    usable = np.minimum(width, problem.hosts.cores[assignment.host_of])
    return np.asarray(sizes / (problem.hosts.core_mips[assignment.host_of] * usable), np.float64)


def link_utilizations(problem: FusionProblem, assignment: Assignment) -> Floats:
    """The ratio of what leaves or enters each host in a second to what its link carries each way."""
    host_of = assignment.host_of[assignment.pe_of]
    ends = host_of[problem.sources], host_of[problem.targets]
    crossing = np.where(ends[0] != ends[1], problem.stream_bytes, 0.0)
    flows = [np.bincount(end, weights=crossing, minlength=problem.hosts.count) for end in ends]
    return np.asarray(np.maximum(*flows) / problem.hosts.link_bytes, np.float64)
