"""Large fusion problems of different shapes, with every kind of constraint: what solvers must take in their stride.

Example:
    >>> problem = shaped_problem("star", operators=200, hosts=8)
    >>> problem.operators, len({constraint.kind for constraint in problem.constraints})
    (200, 8)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from penstock.fusion.problem.fusion_problem import FusionProblem, fusion_problem
from penstock.ir.constraints import Constraint, ConstraintKind

SHAPES = ("star", "chain", "tree", "layered", "random")

Edge = tuple[int, int]


def shaped_problem(
    shape: str, *, operators: int, hosts: int, is_constrained: bool = True, slack: float = 2.0, seed: int = 1
) -> FusionProblem:
    """A problem of a shape.

    Args:
        shape: One of `SHAPES`.
        operators: How many there are.
        hosts: How many there are; their sizes differ.
        is_constrained: Whether it has constraints of all kinds.
        slack: The capacity of all hosts together, as a multiple of the cost of all operators.
        seed: What the choices start from.
    """
    rng = np.random.default_rng(seed)
    edges = list(_EDGES[shape](operators, rng))
    costs = rng.integers(5, 20, operators).astype(float)
    shares = rng.integers(2, 5, hosts).astype(float)
    capacities = shares / shares.sum() * costs.sum() * slack
    # The hub of a star pays for all of its streams, and must still fit on a host.
    unit = 0.1 * capacities.min() / operators if shape == "star" else 1.0
    return fusion_problem(
        costs,
        [(u, v, unit * float(rng.integers(1, 6))) for u, v in edges],
        capacities,
        tags=[("fast",) if host % 2 else () for host in range(hosts)],
        constraints=_constraints(operators, edges, hosts, rng) if is_constrained else (),
    )


def _star(operators: int, rng: np.random.Generator) -> Iterator[Edge]:
    yield from ((0, leaf) for leaf in range(1, operators))


def _chain(operators: int, rng: np.random.Generator) -> Iterator[Edge]:
    yield from ((v - 1, v) for v in range(1, operators))


def _tree(operators: int, rng: np.random.Generator) -> Iterator[Edge]:
    yield from (((v - 1) // 3, v) for v in range(1, operators))


def _layered(operators: int, rng: np.random.Generator) -> Iterator[Edge]:
    """Layers of 50 operators, each with two inputs from the layer before."""
    width = 50
    for v in range(width, operators):
        first = v // width * width - width
        yield from ((int(u), v) for u in rng.choice(np.arange(first, first + width), 2, replace=False))


def _random(operators: int, rng: np.random.Generator) -> Iterator[Edge]:
    for v in range(1, operators):
        yield from ((int(u), v) for u in rng.choice(v, min(v, int(rng.integers(1, 4))), replace=False))


_EDGES = {"star": _star, "chain": _chain, "tree": _tree, "layered": _layered, "random": _random}


def _constraints(operators: int, edges: list[Edge], hosts: int, rng: np.random.Generator) -> list[Constraint]:
    """Constraints of all kinds that can hold together, because no operator is in two of them."""
    free = set(range(1, operators))
    found = list(_colocations(edges, operators // 100, free))

    def take(count: int) -> tuple[str, ...]:
        chosen = rng.choice(sorted(free), count, replace=False).tolist()
        free.difference_update(chosen)
        return tuple(f"o{v}" for v in chosen)

    many, replica = operators // 200, operators // 20
    for kind, count, size in (
        (ConstraintKind.PE_EXLOCATION, many, 3),
        (ConstraintKind.HOST_COLOCATION, many, 3),
        (ConstraintKind.HOST_EXLOCATION, many, 3),
        (ConstraintKind.PE_DEDICATION, many, 1),
        (ConstraintKind.HOST_DEDICATION, min(2, hosts // 4), 1),
    ):
        found += [Constraint(kind=kind, operators=take(size)) for _ in range(count)]
    found.append(Constraint(kind=ConstraintKind.RESOURCE_MATCH, operators=take(many), hosts=("fast",)))
    for is_isomorphic in (True, False):
        replicas = (take(replica), take(replica))
        found.append(Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=replicas, isomorphic=is_isomorphic))
    return found


def _colocations(edges: list[Edge], count: int, free: set[int]) -> Iterator[Constraint]:
    """Ends of a stream that is the only way to its receiver, so that nothing lies between the two."""
    inputs = Counter(v for _, v in edges)
    for u, v in edges:
        if count and u in free and v in free and inputs[v] == 1:
            free.difference_update((u, v))
            count -= 1
            yield Constraint(kind=ConstraintKind.PE_COLOCATION, operators=(f"o{u}", f"o{v}"))
    # In a star nothing but the hub has two ends; leaves share a PE with one another.
    while count and len(free) > 2:
        u, v = free.pop(), free.pop()
        count -= 1
        yield Constraint(kind=ConstraintKind.PE_COLOCATION, operators=(f"o{u}", f"o{v}"))
