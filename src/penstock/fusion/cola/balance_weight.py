"""Learning how much balance should count against communication.

Advanced COLA minimizes f(U, C), a weighted average of the largest utilization and the communication cost; the paper
leaves open how to choose the weight and expects that it can be learned from the effect on throughput. That is what this
does: every candidate weight is tried on sample problems, and the one with the best throughput is taken.

Reference:
    Khandekar et al., Middleware 2009, section 5, second item.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from penstock.base.diagnostics import Infeasible
from penstock.fusion.problem.fusion_problem import Fusion, FusionProblem
from penstock.fusion.problem.settings import Settings

CANDIDATES = (0.0, 0.25, 0.5, 0.75, 1.0)


def learn_balance_weight(
    problems: Sequence[FusionProblem],
    solve: Callable[[FusionProblem, Settings], Fusion],
    settings: Settings | None = None,
    *,
    candidates: Iterable[float] = CANDIDATES,
) -> float:
    """The weight with the largest geometric mean of `throughput_scale`; the smallest of equals.

    Args:
        problems: Samples of what will be solved; those without a solution are left out.
        solve: Usually `fuse` with `advanced-cola`.
        settings: What else is set.
        candidates: The weights to try.

    Example:
        >>> from penstock.fusion import fuse, fusion_problem
        >>> chain = fusion_problem([8, 4, 4, 4], [(0, 1, 1), (1, 2, 3), (2, 3, 1)], [19, 19, 19])
        >>> solve = lambda problem, settings: fuse(problem, "advanced-cola", settings)
        >>> learn_balance_weight([chain], solve, Settings(threshold=5.0))
        0.75
    """
    base = settings or Settings()

    def score(weight: float) -> float:
        scales = [_scale(problem, solve, replace(base, balance_weight=weight)) for problem in problems]
        return sum(math.log(scale) for scale in scales if 0 < scale < math.inf)

    return max(sorted(candidates), key=score)


def _scale(problem: FusionProblem, solve: Callable[[FusionProblem, Settings], Fusion], settings: Settings) -> float:
    try:
        return solve(problem, settings).throughput_scale
    except Infeasible:
        return math.inf
