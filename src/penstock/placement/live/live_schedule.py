"""Places the tasks of a running job on its executors.

Introduction:
    The schedulers of the paper, on the communication graph that the job itself reports.

Formulation:
    Minimize the bytes between hosts, those between racks counted twice; among the executors of one host, the bytes
    between executors. The load of an executor is kept within the limit for each stage on its own: the stages of a batch
    run one after the other, so a stage that lies on one executor lets all others wait, however even the sum is.

Example:
    >>> graph = ChannelGraph(
    ...     tasks=((1, 0), (1, 1), (2, 0), (2, 1)),
    ...     flows={((1, 0), (2, 1)): 9.0, ((1, 1), (2, 0)): 9.0},
    ...     cpu_seconds={(1, 0): 1.0, (1, 1): 1.0, (2, 0): 1.0, (2, 1): 1.0},
    ... )
    >>> executors = [Executor(id="0", host="a"), Executor(id="1", host="b")]
    >>> found = place_tasks(graph, executors, "metis")
    >>> found[1, 0] == found[2, 1] != found[1, 1] == found[2, 0]
    True

When it does not apply:
    A task without state has no place of its own: Spark runs it where most of its input lies. It counts with the task
    before it that sends it the most.

Algorithm:
    1. Tasks without state join those that they follow, and those that are to be on one host join each other.
    2. `even` deals tasks out in the order of a hash, as Storm 0.9 does; `greedy` and `metis` solve the placement
       problem of hosts, then, for each host with several executors, that of its executors.
    3. Where demands say on which hosts tasks may be, the answer is brought within them (`within_rules`).

Reference:
    Fischer and Bernstein, BigData 2015, section III-C and IV-B. There all tasks run at once, so one load is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import numpy as np

from penstock.placement import Algorithm, PlacementProblem, communication_graph, place, sized_machines
from penstock.placement.live.channel_graph import ChannelGraph, Task
from penstock.placement.live.host_rules import HostRules
from penstock.placement.live.within_rules import keep_within
from penstock.placement.problem import Ints
from penstock.placement.stay import NOWHERE, present_placement

IMBALANCE = 1.1
"""How many times its share of a stage an executor may carry: processor times vary by as much from batch to batch."""

_DEADLINE_SECONDS = 2.0
_LEAST_SHARE = 0.05
"""A task counts at least so much of the mean of its stage: starting it costs something, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """An executor of a job.

    Attributes:
        id: Spark's number.
        host: Where it is.
        rack: Where its host stands.
        cores: How many tasks it runs at a time.
    """

    id: str
    host: str
    rack: str = ""
    cores: int = 1


Homes = dict[Task, str]
"""The executor of each task."""


def place_tasks(
    graph: ChannelGraph,
    executors: Sequence[Executor],
    algorithm: Algorithm,
    *,
    stateless: Iterable[int] = (),
    present: Mapping[Task, str] | None = None,
    move_costs: Mapping[Task, float] | None = None,
    rules: HostRules | None = None,
) -> Homes:
    """The executor of each task.

    Args:
        graph: The tasks.
        executors: All that there are.
        algorithm: `even`, `greedy` or `metis`.
        stateless: The PEs whose tasks follow others.
        present: Where tasks are, if what they gain by a move has to be worth it; those on executors that are gone, or
            that are not named, are placed for free.
        move_costs: What the move of a task costs, in bytes.
        rules: On which hosts tasks may be.
    """
    rules = rules or HostRules()
    leaders = bind(follow(graph, frozenset(stateless)), rules)
    merged = merge(graph, leaders)
    if not merged.tasks or not executors:
        return {}
    allowed = {task: hosts for task in merged.tasks if (hosts := rules.hosts_of(task)) is not None}
    if algorithm == "even":
        found = deal_out(merged.tasks, executors, allowed)
    else:
        found = _by_hosts(merged, executors, algorithm, present, move_costs or {}, allowed)
    return {task: found[leader] for task, leader in leaders.items() if leader in found}


def deal_out(
    tasks: Sequence[Task], executors: Sequence[Executor], allowed: Mapping[Task, frozenset[str]] | None = None
) -> Homes:
    """Tasks dealt out to executors in the order of a hash; an executor with more cores gets more.

    Args:
        tasks: Which.
        executors: That there are.
        allowed: The hosts of those tasks that may not be on any.
    """
    slots = [
        executor.id for n in range(max(e.cores for e in executors)) for executor in executors if executor.cores > n
    ]
    order = sorted(tasks, key=lambda task: blake2b(f"{task[0]}.{task[1]}".encode(), digest_size=8).digest())
    if not allowed:
        return {task: slots[i % len(slots)] for i, task in enumerate(order)}
    fill = {executor.id: 0 for executor in executors}
    found: Homes = {}
    for task in sorted(order, key=lambda task: len(allowed[task]) if task in allowed else len(executors)):
        may = [e for e in executors if task not in allowed or e.host in allowed[task]]
        found[task] = min(may, key=lambda e: (fill[e.id] / e.cores, slots.index(e.id))).id
        fill[found[task]] += 1
    return found


def bind(leaders: Mapping[Task, Task], rules: HostRules) -> dict[Task, Task]:
    """For each task the one that decides where it is, where tasks of some PEs are all on one host."""
    first: dict[Task, Task] = {}
    for together in rules.together:
        bound = [task for task in dict.fromkeys(leaders.values()) if task[0] in together and rules.is_ruled(task)]
        first |= dict.fromkeys(bound, bound[0]) if bound else {}
    return {task: first.get(leader, leader) for task, leader in leaders.items()}


def follow(graph: ChannelGraph, stateless: frozenset[int]) -> dict[Task, Task]:
    """For each task the one that decides where it is: itself, or the one that it follows."""
    most: dict[Task, tuple[float, Task]] = {}
    for (sender, receiver), size in graph.flows.items():
        most[receiver] = max(most.get(receiver, (0.0, receiver)), (size, sender))
    leaders: dict[Task, Task] = {}
    for task in graph.tasks:
        if task[0] not in stateless:
            leaders[task] = task
        elif task in most and most[task][1] in leaders:
            leaders[task] = leaders[most[task][1]]
    return leaders


def merge(graph: ChannelGraph, leaders: Mapping[Task, Task]) -> ChannelGraph:
    """The graph of those that lead, with the loads and flows of those that follow them."""
    flows: dict[tuple[Task, Task], float] = {}
    cpu: dict[Task, float] = {}
    for (sender, receiver), size in graph.flows.items():
        pair = leaders.get(sender), leaders.get(receiver)
        if pair[0] is not None and pair[1] is not None and pair[0] != pair[1]:
            flows[pair[0], pair[1]] = flows.get((pair[0], pair[1]), 0.0) + size
    for task, leader in leaders.items():
        cpu[leader] = cpu.get(leader, 0.0) + graph.cpu_seconds.get(task, 0.0)
    tasks = tuple(task for task in graph.tasks if leaders.get(task) == task)
    return replace(graph, tasks=tasks, flows=flows, cpu_seconds=cpu)


def _by_hosts(
    graph: ChannelGraph,
    executors: Sequence[Executor],
    algorithm: Algorithm,
    present: Mapping[Task, str] | None,
    move_costs: Mapping[Task, float],
    allowed: Mapping[Task, frozenset[str]],
) -> Homes:
    host_of = {executor.id: executor.host for executor in executors}
    hosts = list(dict.fromkeys(host_of.values()))
    groups = {host: [executor for executor in executors if executor.host == host] for host in hosts}
    sizes = [sum(executor.cores for executor in groups[host]) for host in hosts]
    racks = [groups[host][0].rack for host in hosts]
    here = None if present is None else {task: host_of.get(where, "") for task, where in present.items()}
    chosen = _solve(graph, hosts, sizes, racks, algorithm, here, move_costs)
    sized = dict(zip(hosts, sizes, strict=True))
    chosen = keep_within(graph, chosen, _stage_weights(graph), sized, allowed, IMBALANCE)
    found: Homes = {}
    for host, group in groups.items():
        inside = tuple(task for task in graph.tasks if chosen[task] == host)
        if len(group) == 1:
            found |= dict.fromkeys(inside, group[0].id)
            continue
        part = replace(graph, tasks=inside)
        names, cores = [executor.id for executor in group], [executor.cores for executor in group]
        found |= _solve(part, names, cores, [""] * len(group), algorithm, present, move_costs)
    return found


def _solve(
    graph: ChannelGraph,
    places: Sequence[str],
    sizes: Sequence[int],
    racks: Sequence[str],
    algorithm: Algorithm,
    present: Mapping[Task, str] | None,
    move_costs: Mapping[Task, float],
) -> Homes:
    """The place of each task, by one of the algorithms for graphs."""
    if len(places) == 1 or not graph.tasks:
        return dict.fromkeys(graph.tasks, places[0])
    number = {task: i for i, task in enumerate(graph.tasks)}
    pairs = [(number[a], number[b], size) for (a, b), size in graph.flows.items() if a in number and b in number]
    weights = _stage_weights(graph)
    problem = PlacementProblem(
        graph=communication_graph(
            weights, [a for a, _, _ in pairs], [b for _, b, _ in pairs], [size for _, _, size in pairs]
        ),
        machines=sized_machines(np.repeat(np.array(sizes)[:, None], weights.shape[1], axis=1), hard=False, racks=racks),
        imbalance=IMBALANCE,
    )
    index = {place_: i for i, place_ in enumerate(places)}
    known = None
    if present is not None:
        where: Ints = np.array([index.get(present.get(task, ""), NOWHERE) for task in graph.tasks])
        prices = np.array([move_costs.get(task, 0.0) for task in graph.tasks])
        known = present_placement(problem, where, weights=prices, move_cost=1.0)
    found = place(problem, algorithm, present=known, deadline_seconds=_DEADLINE_SECONDS)
    return {task: places[int(machine)] for task, machine in zip(graph.tasks, found.machine_of, strict=True)}


def _stage_weights(graph: ChannelGraph) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The load of each task, a row a task, a column a stage."""
    stages = list(dict.fromkeys(pe for pe, _ in graph.tasks))
    found = np.zeros((len(graph.tasks), len(stages)))
    for row, task in enumerate(graph.tasks):
        found[row, stages.index(task[0])] = graph.cpu_seconds.get(task, 0.0)
    of_stage = found > 0
    for row, task in enumerate(graph.tasks):
        of_stage[row, stages.index(task[0])] = True
    least = np.maximum(found.sum(axis=0) / of_stage.sum(axis=0) * _LEAST_SHARE, 1e-6)
    return np.where(of_stage, np.maximum(found, least), 0.0)
