"""The order in which streams can be worked out: producers before readers, the PEs of a cycle together."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from penstock.scheduler.problem.admission_problem import Pe


def stream_order(pes: Sequence[Pe]) -> list[list[int]]:
    """The positions of PEs in batches: one PE behind all that produce what it reads, or the PEs of one cycle.

    Several PEs may produce a stream: the same one in the templates of a job.

    Example:
        >>> from penstock.scheduler.problem.admission_problem import Flow, Output
        >>> one = Flow(mips_per_tps=1.0, selectivity=1.0)
        >>> a = Pe(id="a", max_mips=1.0, inputs=("s", "u"), outputs=(Output(stream="t", rate=one),))
        >>> b = Pe(id="b", max_mips=1.0, outputs=(Output(stream="s", rate=one),))
        >>> c = Pe(id="c", max_mips=1.0, inputs=("t",), outputs=(Output(stream="u", rate=one),))
        >>> stream_order([a, b, c])
        [[1], [0, 2]]
    """
    producers: dict[str, list[int]] = {}
    for i, pe in enumerate(pes):
        for output in pe.outputs:
            producers.setdefault(output.stream, []).append(i)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(pes)))
    graph.add_edges_from((p, i) for i, pe in enumerate(pes) for stream in pe.inputs for p in producers.get(stream, ()))
    # Tarjan's algorithm gives the components in reverse topological order.
    return [sorted(batch) for batch in nx.strongly_connected_components(graph)][::-1]
