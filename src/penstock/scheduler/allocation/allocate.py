"""Divide units of resource among components whose importance functions are known.

Introduction. Line 12 to 19 of figure 6 of the SODA paper: once each weak component's best importance is known for each
number of units, what remains is a separable resource allocation problem, and how hard it is depends on concavity.

Formulation. Given curves v_1 .. v_n, where v_c[u] is the importance of component c with u units above its minimum and
never falls, choose whole u_c in 0 .. len(v_c) - 1 with sum u_c <= budget (all the methods keep it), maximizing the sum
of v_c[u_c].

Example: three units for the curves [0, 5, 6] and [0, 3, 4] give two to the first and one to the second: 9.

When it does not apply. Curves that fall; `penstock.scheduler.macroq.component` makes them rise by construction.

Algorithm. All curves concave: Galil and Megiddo (`galil_megiddo`), O(n log^2 units). None: dynamic
programming (`dynamic_program`). Some: Fox (`fox`) merges the concave ones into one concave curve, since it
gives every intermediate value, and dynamic programming finishes with that curve and the others.

Preserves. The budget, exactly; the answer is optimal with each method, which the tests check against each other, except
where `exact` says that dynamic programming was cut short.

Reference. Wolf et al., "Job admission and resource allocation in distributed streaming systems", JSSPP 2009, section
4.3; Ibaraki and Katoh, "Resource allocation problems", 1988. We depart in the dynamic program, see `dynamic_program`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.base.deadline import Deadline
from penstock.scheduler.allocation.dynamic_program import allocate_by_dp
from penstock.scheduler.allocation.fox import merge_concave
from penstock.scheduler.allocation.galil_megiddo import allocate_by_galil_megiddo
from penstock.scheduler.problem.resource_functions import FloatArray

Method = Literal["galil-megiddo", "dp", "fox-dp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """How the units were divided.

    Attributes:
        units: Units for each curve.
        importance: The sum over the curves.
        method: Which algorithm divided them.
        exact: Whether it is proved that no division is better.
    """

    units: NDArray[np.int64]
    importance: float
    method: Method
    exact: bool


def allocate(curves: Sequence[FloatArray], budget: int, deadline: Deadline | None = None) -> Allocation:
    """The best division of `budget` units among the curves.

    Example:
        >>> allocate([np.array([0.0, 5.0, 6.0]), np.array([0.0, 3.0, 4.0])], 3).units.tolist()
        [2, 1]
        >>> allocate([np.array([0.0, 5.0, 6.0]), np.array([0.0, 0.0, 9.0])], 3).method
        'fox-dp'
    """
    deadline = deadline or Deadline.after(None)
    curves = [curve[: budget + 1] for curve in curves]
    concave = np.array([is_concave(curve) for curve in curves], dtype=bool)
    method: Method
    exact = True
    if concave.all():
        method, units = "galil-megiddo", allocate_by_galil_megiddo(curves, budget)
    elif not concave.any():
        method, (units, exact) = "dp", allocate_by_dp(curves, budget, deadline)
    else:
        method, (units, exact) = "fox-dp", _allocate_mixed(curves, concave, budget, deadline)
    importance = float(sum(curve[u] for curve, u in zip(curves, units, strict=True)))
    return Allocation(units=units, importance=importance, method=method, exact=exact)


def is_concave(curve: FloatArray) -> bool:
    """Whether no step up is higher than the one before, apart from rounding.

    Example:
        >>> is_concave(np.array([0.0, 5.0, 6.0])), is_concave(np.array([0.0, 1.0, 9.0]))
        (True, False)
    """
    if len(curve) < 3:
        return True
    slack = 1e-12 * float(abs(curve[-1]))
    return bool((np.diff(curve, 2) <= slack).all())


def _allocate_mixed(
    curves: Sequence[FloatArray], concave: NDArray[np.bool_], budget: int, deadline: Deadline
) -> tuple[NDArray[np.int64], bool]:
    merged = merge_concave([curve for curve, is_in in zip(curves, concave, strict=True) if is_in], budget)
    others = [curve for curve, is_in in zip(curves, concave, strict=True) if not is_in]
    division, exact = allocate_by_dp([*others, merged.curve], budget, deadline)
    units = np.zeros(len(curves), dtype=np.int64)
    units[~concave] = division[:-1]
    units[concave] = merged.units_at(int(division[-1]))
    return units, exact
