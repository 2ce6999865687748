"""Seeded fusion problems for tests and experiments: small ones with every kind of constraint, and large ones.

Example:
    >>> problem = random_problem(3, operators=6, hosts=2)
    >>> problem.operators, problem.hosts.count, bool((problem.costs >= 0).all())
    (6, 2, True)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from penstock.fusion.problem.fusion_problem import FusionProblem, fusion_problem
from penstock.ir.constraints import Constraint, ConstraintKind

_SETS = tuple(
    kind for kind in ConstraintKind if kind not in (ConstraintKind.RESOURCE_MATCH, ConstraintKind.HIGH_AVAILABILITY)
)

_REGIONS = (None, None, "left", "right")


def random_problem(
    seed: int,
    *,
    operators: int,
    hosts: int,
    constraints: int = 0,
    is_dag: bool = True,
    has_regions: bool = False,
    has_links: bool = False,
    slack: float = 3.0,
) -> FusionProblem:
    """A small problem with costs, rates and demands drawn at random.

    Args:
        seed: What the choices start from.
        operators: How many there are.
        hosts: How many there are; their sizes and cores differ.
        constraints: How many there are, of any kind.
        is_dag: Whether streams only go from operators listed first to later ones.
        has_regions: Whether some operators are in parallel regions.
        has_links: Whether links are limited.
        slack: The capacity of all hosts together, as a multiple of the cost of all operators.
    """
    rng = np.random.default_rng(seed)
    costs = rng.integers(1, 20, operators).astype(float)
    streams = _streams(rng, operators, is_dag)
    shares = rng.integers(1, 4, hosts).astype(float)
    names = [f"o{i}" for i in range(operators)]
    regions = [_REGIONS[int(rng.integers(len(_REGIONS)))] for _ in names] if has_regions else None
    widths = {None: 1, "left": 2, "right": 3}
    return fusion_problem(
        costs,
        streams,
        np.maximum(shares / shares.sum() * costs.sum() * slack, costs.max() + 1),
        regions=regions,
        channels=None if regions is None else [widths[region] for region in regions],
        stream_bytes=rng.integers(0, 1000, len(streams)),
        cores=rng.integers(1, 4, hosts),
        link_bytes=rng.integers(1000, 6000, hosts) if has_links else None,
        tags=[("fast",) if host % 2 else () for host in range(hosts)],
        constraints=_constraints(rng, names, hosts, constraints),
    )


def _streams(rng: np.random.Generator, operators: int, is_dag: bool) -> list[tuple[int, int, float]]:
    found = []
    for target in range(1, operators):
        for source in rng.choice(target, min(target, int(rng.integers(1, 3))), replace=False).tolist():
            found.append((int(source), target, float(rng.integers(0, 12))))
    if not is_dag:
        for _ in range(1 + operators // 5):
            source, target = rng.integers(0, operators, 2).tolist()
            found.append((source, target, float(rng.integers(0, 12))))
    return found


def _constraints(rng: np.random.Generator, names: Sequence[str], hosts: int, count: int) -> list[Constraint]:
    makers = (_resource_match, _high_availability, *(_set_of(kind) for kind in _SETS))
    chosen = (makers[int(rng.integers(len(makers)))] for _ in range(count))
    made = (make(rng, names, hosts) for make in chosen)
    return _without_second_isomorphic([constraint for constraint in made if constraint is not None])


def _without_second_isomorphic(constraints: list[Constraint]) -> list[Constraint]:
    """Replicas of two isomorphic constraints must not overlap; one is enough here."""
    isomorphic = [constraint for constraint in constraints if constraint.isomorphic]
    return [constraint for constraint in constraints if constraint not in isomorphic[1:]]


def _resource_match(rng: np.random.Generator, names: Sequence[str], hosts: int) -> Constraint:
    wanted = ["fast"] if hosts > 1 and rng.random() < 0.3 else [f"h{h}" for h in rng.choice(hosts, max(1, hosts // 2))]
    return Constraint(
        kind=ConstraintKind.RESOURCE_MATCH, operators=_some(rng, names, 2), hosts=tuple(dict.fromkeys(wanted))
    )


def _high_availability(rng: np.random.Generator, names: Sequence[str], hosts: int) -> Constraint | None:
    size = int(rng.integers(1, 4))
    if hosts < 2 or len(names) < 2 * size:
        return None
    chosen = _some(rng, names, 2 * size)
    replicas = (chosen[:size], chosen[size:])
    return Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=replicas, isomorphic=bool(rng.random() < 0.5))


def _set_of(kind: ConstraintKind) -> Callable[[np.random.Generator, Sequence[str], int], Constraint]:
    dedicates = kind in (ConstraintKind.PE_DEDICATION, ConstraintKind.HOST_DEDICATION)

    def make(rng: np.random.Generator, names: Sequence[str], hosts: int) -> Constraint:
        return Constraint(kind=kind, operators=_some(rng, names, 1 if dedicates else int(rng.integers(2, 4))))

    return make


def _some(rng: np.random.Generator, names: Sequence[str], count: int) -> tuple[str, ...]:
    return tuple(str(name) for name in rng.choice(names, min(count, len(names)), replace=False))
