"""The hosts that channels may be on: demands hold wherever they are put there, and none is refused for nothing."""

from __future__ import annotations

import random
from itertools import product

import pytest

from penstock.base.diagnostics import Infeasible
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.placement import Algorithm
from penstock.placement.live.channel_graph import ChannelGraph
from penstock.placement.live.host_rules import HostRules, Located, broken_demands, host_rules, keeps_rules
from penstock.placement.live.live_schedule import Executor, place_tasks

KINDS = ConstraintKind
TAGS = ("gpu", "ssd")


def draw_job(rng: random.Random) -> tuple[list[Located], list[Constraint], dict[str, frozenset[str]], str | None]:
    """PEs, demands, hosts and the driver's host."""
    hosts = {f"h{n}": frozenset(rng.sample(TAGS, rng.randint(0, 2))) for n in range(rng.randint(1, 4))}
    driver = rng.choice([None, "driver", "h0"])
    pes, names = [], iter("abcdefghij")
    for pe in range(rng.randint(2, 5)):
        operators = tuple(next(names) for _ in range(rng.randint(1, 2)))
        kind = rng.random()
        pes.append(
            Located(
                pe=pe,
                operators=operators,
                channels=rng.randint(1, 3),
                host=driver if kind < 0.15 else None,
                is_anywhere=kind > 0.85,
            )
        )
    every = [id_ for located in pes for id_ in located.operators]
    demands = [draw_demand(rng, every, [*hosts, *TAGS, "driver"]) for _ in range(rng.randint(1, 4))]
    return pes, demands, hosts, driver


def draw_demand(rng: random.Random, operators: list[str], names: list[str]) -> Constraint:
    kind = rng.choice(
        [
            KINDS.RESOURCE_MATCH,
            KINDS.HOST_COLOCATION,
            KINDS.HOST_EXLOCATION,
            KINDS.HIGH_AVAILABILITY,
            KINDS.HOST_DEDICATION,
        ]
    )
    drawn = rng.sample(operators, min(len(operators), rng.randint(2, 3)))
    if kind is KINDS.RESOURCE_MATCH:
        hosts = tuple(rng.sample(names, rng.randint(1, 2)))
        return Constraint(kind=kind, operators=tuple(drawn[:1]), hosts=hosts)
    if kind is KINDS.HIGH_AVAILABILITY:
        return Constraint(kind=kind, replicas=(tuple(drawn[:1]), tuple(drawn[1:])))
    return Constraint(kind=kind, operators=tuple(drawn[:1] if kind is KINDS.HOST_DEDICATION else drawn))


def can_be_kept(
    pes: list[Located], demands: list[Constraint], hosts: dict[str, frozenset[str]], sources: frozenset[str]
) -> bool:
    """Whether some hosts for the PEs keep all demands, by trying all."""
    choices = [
        [frozenset(hosts)] if p.is_anywhere else [frozenset([p.host])] if p.host else [frozenset([h]) for h in hosts]
        for p in pes
    ]
    for chosen in product(*choices):
        ran = {id_: places for located, places in zip(pes, chosen, strict=True) for id_ in located.operators}
        if next(broken_demands(demands, ran, hosts, sources), None) is None:
            return True
    return False


def test_demands_are_kept_wherever_channels_are_put_and_refused_only_if_they_cannot_be() -> None:
    rng, kept, refused = random.Random(21), 0, 0
    for _ in range(600):
        pes, demands, hosts, driver = draw_job(rng)
        sources = frozenset(id_ for p in pes if p.is_anywhere for id_ in p.operators)
        possible = can_be_kept(pes, demands, hosts, sources)
        try:
            rules = host_rules(pes, demands, hosts, driver)
        except Infeasible as error:
            assert not possible, (pes, demands, hosts, driver)
            refused += len(error.conflicts) > 0
            continue
        assert possible, (pes, demands, hosts, driver)
        kept += 1
        for _ in range(5):
            ran = {}
            bound = {
                pes_: rng.choice(sorted(rules.allowed.get(min(pes_), frozenset(hosts)))) for pes_ in rules.together
            }
            for located in pes:
                if located.is_anywhere or located.host:
                    places = frozenset([located.host]) if located.host else frozenset(hosts)
                else:
                    together = next((host for group, host in bound.items() if located.pe in group), None)
                    may = sorted(rules.allowed.get(located.pe, frozenset(hosts)))
                    drawn = [together or rng.choice(may) for _ in range(located.channels)]
                    places = frozenset(drawn)
                ran |= dict.fromkeys(located.operators, places)
            assert not list(broken_demands(demands, ran, hosts, sources)), (pes, demands, hosts, driver, rules, ran)
    assert kept > 100
    assert refused > 100


@pytest.mark.parametrize("algorithm", ["even", "greedy", "metis"])
def test_every_algorithm_stays_within_the_rules(algorithm: Algorithm) -> None:
    rng = random.Random(3)
    for _ in range(4):
        hosts = [f"h{n}" for n in range(4)]
        executors = [Executor(id=str(n), host=hosts[n // 2]) for n in range(8)]
        channels = {pe: rng.randint(1, 4) for pe in range(1, 6)}
        tasks = tuple((pe, c) for pe in channels for c in range(4))
        flows = {
            ((pe, a), (pe + 1, b)): rng.random() ** 4 * 1e6 for pe in range(1, 5) for a in range(4) for b in range(4)
        }
        graph = ChannelGraph(tasks=tasks, flows=flows, cpu_seconds={task: rng.random() for task in tasks})
        together = (frozenset([3, 4]),)
        some = frozenset(rng.sample(hosts, 2))
        allowed = {1: frozenset(rng.sample(hosts, 2)), 3: some, 4: some, 5: frozenset(["h3"])}
        rules = HostRules(allowed=allowed, together=together, channels=channels)
        host_of = {executor.id: executor.host for executor in executors}
        found = place_tasks(graph, executors, algorithm, rules=rules)
        assert set(found) == set(tasks)
        assert keeps_rules({task: host_of[home] for task, home in found.items()}, rules)
        again = place_tasks(
            graph, executors, algorithm, rules=rules, present=found, move_costs=dict.fromkeys(tasks, 1.0)
        )
        assert keeps_rules({task: host_of[home] for task, home in again.items()}, rules)


def test_chains_go_where_one_of_their_tasks_has_to_be() -> None:
    tasks = tuple((pe, c) for pe in (1, 2, 3) for c in range(4))
    flows = {((pe, c), (pe + 1, c)): 100.0 for pe in (1, 2) for c in range(4)}
    graph = ChannelGraph(tasks=tasks, flows=flows, cpu_seconds=dict.fromkeys(tasks, 1.0))
    executors = [Executor(id=str(n), host=f"h{n}") for n in range(4)]
    # The last PE has one channel, which is to be on one host; nothing keeps its chain from being there.
    rules = HostRules(allowed={3: frozenset(["h2"])}, channels={1: 4, 2: 4, 3: 1})
    found = place_tasks(graph, executors, "metis", rules=rules)
    assert found[1, 0] == found[2, 0] == found[3, 0] == "2"
    assert graph.cut(found) == 0.0


def test_an_impossible_demand_names_the_smallest_conflict_and_the_hosts() -> None:
    pes = [Located(pe=n, operators=(name,)) for n, name in enumerate("abc")]
    pes.append(Located(pe=3, operators=("src",), is_anywhere=True))
    apart = Constraint(kind=KINDS.HOST_EXLOCATION, operators=("a", "b"))
    other = Constraint(kind=KINDS.HOST_COLOCATION, operators=("b", "c"))
    hosts = {"h1": frozenset(["gpu"]), "h2": frozenset[str]()}
    matches = [Constraint(kind=KINDS.RESOURCE_MATCH, operators=(name,), hosts=("gpu",)) for name in "ab"]
    with pytest.raises(Infeasible) as refused:
        host_rules(pes, [other, apart, *matches], hosts)
    assert refused.value.reason == (
        "demands on hosts that cannot all be kept on `h1`, `h2`: host_exlocation of `a`, `b`; "
        "resource_match of `a` to `gpu`; resource_match of `b` to `gpu`"
    )
    with pytest.raises(Infeasible, match=r"resource_match of `src` to `gpu` \(Spark reads `src` on any of them\)"):
        host_rules(pes, [Constraint(kind=KINDS.RESOURCE_MATCH, operators=("src",), hosts=("gpu",))], hosts)
