"""The PEs of a fusion on hosts: which channel of which PE runs where.

Formulation:
    A task is one channel of a PE; its weight is the work of the PE's operators, by the profile, in equal shares. What
    two tasks send each other is what the streams between their PEs carry: from channel to channel where tuples stay on
    their own, otherwise from every channel to every channel in equal shares. Hosts have the capacities and racks of
    their file. That is the problem of the graph-partitioning paper, and `placement` solves it. Sinks run in the driver,
    so they have no host.

When it does not apply:
    Spark places tasks on its own, wherever a core is free. The placement says what a cluster of these hosts can do with
    the plan, and `explain --stage placed` shows it; it is no instruction.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.codegen.plan.physical import Edge, PhysicalPlan, Route
from penstock.model import Plan, Prediction
from penstock.model.demand import demand
from penstock.optimizer.prediction import as_model_plan, throughput_model
from penstock.optimizer.spark_problem import Setting
from penstock.placement import Algorithm, PlacementProblem, communication_graph, place, sized_machines
from penstock.placement.measure import cut

Task = tuple[int, int]
"""A PE and one of its channels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A fusion with its hosts.

    Attributes:
        plan: The PEs.
        host_of: The host of each channel of each PE but the sinks.
        work_mips: What each of them takes.
        between_bytes: What crosses between hosts in a second, at the profile's rates.
        prediction: What the plan will sustain there.
    """

    plan: PhysicalPlan
    host_of: dict[Task, str]
    work_mips: dict[Task, float]
    between_bytes: float
    prediction: Prediction


def place_plan(setting: Setting, plan: PhysicalPlan, algorithm: Algorithm = "metis") -> Placed:
    """Place the PEs of a plan on the hosts of a setting."""
    tasks = [(pe.index, channel) for pe in plan.pes if pe.role != "sink" for channel in range(pe.channels)]
    number = {task: i for i, task in enumerate(tasks)}
    wanted = demand(setting.profile, setting.transfer)
    work = dict(zip(wanted.ids, wanted.work_mips, strict=True))
    weights = {task: sum(work[id_] for id_ in plan.pes[task[0]].operators) / _channels(plan, task) for task in tasks}
    flows = [(number[a], number[b], flow) for a, b, flow in _flows(setting, plan) if a in number and b in number]
    hosts = setting.hosts.hosts
    graph = communication_graph(
        list(weights.values()), [a for a, _, _ in flows], [b for _, b, _ in flows], [flow for _, _, flow in flows]
    )
    machines = sized_machines(
        [host.capacity_mips for host in hosts],
        hard=False,
        racks=[host.rack for host in hosts],
        ids=[host.id for host in hosts],
    )
    found = place(PlacementProblem(graph=graph, machines=machines), algorithm)
    host_of = {task: hosts[int(machine)].id for task, machine in zip(tasks, found.machine_of, strict=True)}
    return Placed(
        plan=plan,
        host_of=host_of,
        work_mips=weights,
        between_bytes=cut(graph, found.machine_of),
        prediction=throughput_model(setting).evaluate(_on_hosts(as_model_plan(plan, setting), host_of)),
    )


def _channels(plan: PhysicalPlan, task: Task) -> int:
    return plan.pes[task[0]].channels


def _flows(setting: Setting, plan: PhysicalPlan) -> Iterator[tuple[Task, Task, float]]:
    """The flows between tasks, in bytes a second."""
    carried = {stream.id: stream.rate_bytes for stream in setting.profile.streams}
    for edge in plan.edges:
        pairs = list(_pairs(plan, edge))
        for pair in pairs:
            yield *pair, carried.get(edge.stream, 0.0) / len(pairs)


def _pairs(plan: PhysicalPlan, edge: Edge) -> Iterator[tuple[Task, Task]]:
    for sender in range(plan.pes[edge.producer].channels):
        for receiver in range(plan.pes[edge.consumer].channels):
            if edge.route is not Route.SAME or sender == receiver:
                yield (edge.producer, sender), (edge.consumer, receiver)


def _on_hosts(plan: Plan, host_of: dict[Task, str]) -> Plan:
    """The model's plan with the hosts of its channels; a source may be read in more tasks than it has channels."""
    return replace(plan, pes=tuple(replace(pe, hosts=_hosts(i, host_of) or pe.hosts) for i, pe in enumerate(plan.pes)))


def _hosts(pe: int, host_of: dict[Task, str]) -> tuple[str, ...]:
    return tuple(host for (index, _), host in host_of.items() if index == pe)
