"""How a compiled program is run: drawn from a seed, and stable while the program gets smaller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import combinations
from random import Random
from zlib import crc32

from penstock.codegen.plan.physical import is_sink, is_source
from penstock.ir.graph import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A way to run a program.

    Attributes:
        seed: Tells which operators share a PE.
        fused: The share of pairs of operators that are put together, where that is allowed.
        channels: Of parallel regions; None leaves it to annotations.
        batches: The turns of a batch, one after the other and then again.
        crashes: Batches behind which everything in memory is lost and which then come again.
        opens_loop: Whether what goes round a loop goes through the next batch, where that is possible.
        stores_state: Whether state is stored and read back between two batches, as on Spark, or stays in memory.
        faults: If state lies in Spark's store and in files: the seed of what happens to them, and to attempts.
    """

    seed: int
    fused: float
    channels: int | None
    batches: tuple[int, ...]
    crashes: frozenset[int] = frozenset()
    opens_loop: bool = False
    stores_state: bool = True
    faults: int | None = None


def draw_setting(seed: int) -> Setting:
    """A way to run the program of a seed."""
    rng = Random(f"setting {seed}")
    return Setting(
        seed=seed,
        fused=rng.choice([0.0, 0.2, 0.5, 0.8, 1.0]),
        channels=rng.choice([1, 1, 2, 3, 3, 4, 5, None]),
        batches=tuple(rng.choice([1, 2, 3, 5, 7, 20, 200]) for _ in range(rng.choice([1, 1, 3]))),
        crashes=frozenset(rng.sample(range(8), 2)) if rng.random() < 0.3 else frozenset(),
        opens_loop=rng.random() < 0.5,
        stores_state=rng.random() < 0.7,
    )


def draw_faults(seed: int) -> Setting:
    """A way to run a program with its state in Spark's store, in which many things go wrong."""
    rng = Random(f"faults {seed}")
    return replace(
        draw_setting(seed),
        batches=tuple(rng.choice([3, 8, 8, 20, 60]) for _ in range(rng.choice([1, 3]))),
        crashes=frozenset(rng.sample(range(20), 4)),
        stores_state=True,
        faults=seed,
    )


def draw_fusion(application: Application, setting: Setting, *, loops_are_open: bool = False) -> list[list[str]]:
    """Operators in PEs: any cut in which no path leaves a PE and comes back, and no loop is cut."""
    inner = [o.id for o in application.operators if not is_source(o) and not is_sink(o)]
    home = {id_: i for i, id_ in enumerate(inner)}
    if not loops_are_open:
        _unite_loops(application, home)
    for first, second in sorted(combinations(inner, 2), key=lambda pair: _chance(setting.seed, "order", *pair)):
        if home[first] != home[second] and _chance(setting.seed, "fuse", first, second) < setting.fused:
            united = {id_: home[first] if at == home[second] else at for id_, at in home.items()}
            if _is_acyclic(application, united):
                home = united
    groups: dict[int, list[str]] = {}
    for id_, at in home.items():
        groups.setdefault(at, []).append(id_)
    return list(groups.values())


def _chance(seed: int, *words: str) -> float:
    return crc32(" ".join((str(seed), *words)).encode()) / 2**32


def _unite_loops(application: Application, home: dict[str, int]) -> None:
    """Put all operators of a loop, and what lies between them, into one PE."""
    from penstock.parallel.loops import loops

    for loop in loops(application):
        members: Sequence[str] = [id_ for id_ in loop if id_ in home]
        homes = {home[id_] for id_ in members}
        for id_, at in home.items():
            if at in homes:
                home[id_] = min(homes)


def _is_acyclic(application: Application, home: dict[str, int]) -> bool:
    graph: dict[int, set[int]] = {}
    for producer, consumer, _, feedback in application.edges():
        if not feedback and producer in home and consumer in home and home[producer] != home[consumer]:
            graph.setdefault(home[consumer], set()).add(home[producer])
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return False
    return True
