"""Reasons of macroW against brute force: what is named is in conflict, and no part of it is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macrow.conflict import _rules, _Setting
from penstock.scheduler.macrow.macrow import choose_candidates
from penstock.scheduler.macrow.metrics import broken_rules
from penstock.scheduler.macrow.task import build_task
from penstock.scheduler.problem.admission_problem import Flow, Output, Pe
from penstock.scheduler.problem.nodes import KINDS, Cluster, Constraint, Needs, Node, Rules

PROBLEMS, PACKS = 520, 4


def small_problem(seed: int) -> _Setting:
    """Up to five PEs on up to three nodes, with every kind of rule; a third of the problems in another unit."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-5, 6) if seed % 3 == 0 else 1.0
    pe_ids, node_ids = [f"p{i}" for i in range(rng.integers(2, 6))], [f"n{i}" for i in range(rng.integers(1, 4))]

    def some(names: list[str], most: int) -> tuple[str, ...]:
        return tuple(sorted(rng.choice(names, size=min(int(rng.integers(1, most + 1)), len(names)), replace=False)))

    def constraint() -> Constraint:
        kind = KINDS[rng.integers(len(KINDS))]
        nodes = {"fixed": some(node_ids, 1), "resource_match": some(node_ids, 3)}.get(kind, ())
        return Constraint(kind=kind, pes=some(pe_ids, 1 if kind in ("fixed", "exclusive") else 3), nodes=nodes)

    def node(id_: str) -> Node:
        return Node(
            id=id_,
            mips=float(rng.integers(60, 200)) * scale,
            memory_mb=float(rng.choice([1500.0, 2500.0, np.inf])),
            max_pes=[None, 2, 3][rng.integers(3)],
            tags=frozenset(tag for tag in ("gpu", "ssd") if rng.random() < 0.6),
            licences={"m": int(rng.integers(0, 3))},
        )

    def need() -> Needs:
        tags = frozenset(tag for tag in ("gpu", "ssd") if rng.random() < 0.15)
        licences = frozenset({"m"} if rng.random() < 0.3 else set())
        return Needs(memory_mb=float(rng.choice([0.0, 700.0, 900.0])), tags=tags, licences=licences)

    cluster = Cluster(
        nodes=tuple(map(node, node_ids)),
        constraints=tuple(dict.fromkeys(constraint() for _ in range(rng.integers(0, 4)))),
        needs={id_: need() for id_ in pe_ids},
        current={id_: {str(rng.choice(node_ids)): scale} for id_ in pe_ids if rng.random() < 0.4},
        rules=Rules(max_moves=[None, 1, 2][rng.integers(3)], max_moves_per_node=[None, None, 1][rng.integers(3)]),
    )
    return _Setting(pes=tuple(pe(id_, float(rng.integers(10, 70)) * scale) for id_ in pe_ids), cluster=cluster)


def pe(id_: str, mips: float) -> Pe:
    out = Output(stream=f"{id_}.out", rate=Flow(mips_per_tps=1.0, selectivity=1.0))
    return Pe(id=id_, min_mips=mips, max_mips=mips, offered_tps=mips, outputs=(out,))


def can_be_placed(setting: _Setting) -> bool:
    """Whether some way to put each unit whole on one node keeps every rule."""
    task = build_task(setting.pes, {pe.id: pe.min_mips for pe in setting.pes}, setting.cluster)
    for where in product(range(len(task.nodes)), repeat=len(task.units)):
        fractions = np.zeros(task.allowed.shape)
        fractions[range(len(task.units)), where] = 1.0
        if not broken_rules(task, fractions > 0, fractions):
            return True
    return False


@pytest.mark.parametrize("pack", range(PACKS))
def test_a_reason_is_in_conflict_and_no_part_of_it_can_be_spared(pack: int) -> None:
    explained = 0
    for seed in range(pack, PROBLEMS, PACKS):
        setting = small_problem(seed)
        goals = {pe.id: pe.min_mips for pe in setting.pes}
        if can_be_placed(setting):
            choose_candidates(setting.pes, goals, setting.cluster)
            continue
        with pytest.raises(Infeasible) as error:
            choose_candidates(setting.pes, goals, setting.cluster)
        explained += 1
        named = [rule for rule in _rules(setting) if rule.name in error.value.conflicts]
        alone = setting
        for rule in _rules(setting):
            alone = alone if rule.name in error.value.conflicts else rule.without(alone)
        assert named, (seed, error.value.reason)
        assert not can_be_placed(alone), (seed, error.value.conflicts)
        for rule in named:
            assert can_be_placed(rule.without(alone)), (seed, rule.name, error.value.conflicts)
    assert explained >= PROBLEMS // PACKS // 3
