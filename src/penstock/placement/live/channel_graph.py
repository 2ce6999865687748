"""The communication graph of a running job: its tasks, what each costs, and what they send each other.

A task is a partition of a PE: channel c of a PE runs in partition c, and a partition beyond a PE's channels only passes
rows on. PEs stand in one line, so what leaves a PE goes to the next one, whoever it is for. What a source sends is left
out of the graph: Spark runs the task of a source wherever a core is free, so no placement changes what crosses there.

Example:
    >>> graph = ChannelGraph(tasks=((1, 0), (2, 0)), flows={((1, 0), (2, 0)): 300.0})
    >>> graph.cut({(1, 0): "a", (2, 0): "b"}), graph.cut({(1, 0): "a", (2, 0): "a"})
    (300.0, 0.0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.placement.problem import CommunicationGraph, communication_graph

Task = tuple[int, int]
"""A PE and a partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelGraph:
    """What the tasks of a job cost and send in a batch, in the mean over a window.

    Attributes:
        tasks: All tasks but those of sources and sinks, in the order of the line.
        flows: The bytes that cross from task to task.
        cpu_seconds: The processor time of each task.
        state_bytes: The size of each task's state.
        tuples: By edge, sender and receiver, the tuples and the bytes that the application sends.
        source_bytes: What sources send.
        batches: How many batches were counted.
    """

    tasks: tuple[Task, ...] = ()
    flows: Mapping[tuple[Task, Task], float] = field(default_factory=dict)
    cpu_seconds: Mapping[Task, float] = field(default_factory=dict)
    state_bytes: Mapping[Task, int] = field(default_factory=dict)
    tuples: Mapping[tuple[int, Task, Task], tuple[float, float]] = field(default_factory=dict)
    source_bytes: float = 0.0
    batches: int = 0

    def cut(self, place_of: Mapping[Task, str]) -> float:
        """The bytes that cross between places; a task without a place sends nothing."""
        known = ((place_of.get(a), place_of.get(b), size) for (a, b), size in self.flows.items())
        return sum((size for here, there, size in known if None not in (here, there) and here != there), 0.0)

    def stage_loads(self, place_of: Mapping[Task, str]) -> dict[int, dict[str, float]]:
        """For each PE the processor time of each place."""
        found: dict[int, dict[str, float]] = {}
        for task in self.tasks:
            if task in place_of:
                loads = found.setdefault(task[0], {})
                loads[place_of[task]] = loads.get(place_of[task], 0.0) + self.cpu_seconds.get(task, 0.0)
        return found

    def as_communication_graph(self) -> CommunicationGraph:
        """The graph for the algorithms, and for METIS: processor time in microseconds, traffic in bytes."""
        number = {task: i for i, task in enumerate(self.tasks)}
        pairs = [(number[a], number[b], size) for (a, b), size in self.flows.items() if a in number and b in number]
        return communication_graph(
            [max(1.0, self.cpu_seconds.get(task, 0.0) * 1e6) for task in self.tasks],
            [a for a, _, _ in pairs],
            [b for _, b, _ in pairs],
            [size for _, _, size in pairs],
            ids=[f"{pe}.{partition}" for pe, partition in self.tasks],
        )


def format_metis(graph: CommunicationGraph) -> str:
    """A graph as a METIS file, with whole weights of at least 1; the names of tasks are comments.

    Example:
        >>> found = ChannelGraph(tasks=((1, 0), (2, 0)), flows={((1, 0), (2, 0)): 300.0})
        >>> print(format_metis(found.as_communication_graph()), end="")
        % 1.0 2.0
        2 1 011
        1 2 300
        1 1 300
    """
    names = " ".join(graph.task_id(task) for task in range(graph.tasks))
    lines = [f"% {names}", f"{graph.tasks} {graph.edges} 011"]
    for task in range(graph.tasks):
        pairs = zip(graph.neighbours(task).tolist(), graph.neighbour_traffic(task).tolist(), strict=True)
        ends = (f"{other + 1} {max(1, round(size))}" for other, size in pairs)
        lines.append(" ".join([str(max(1, round(float(graph.weights[task].sum())))), *ends]))
    return "\n".join(lines) + "\n"
