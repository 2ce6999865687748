"""The loops of a graph."""

from __future__ import annotations

from penstock.ir.graph import Application


def loops(application: Application) -> list[set[str]]:
    """The sets of operators from each of which a path leads to all others of its set, and back.

    Example:
        >>> loops(Application(name="Empty"))
        []
    """
    if not any(port.feedback for operator in application.operators for port in operator.inputs):
        return []
    # Here, because the processes of a query that plan nothing would import it, too, for a quarter of a second each.
    import networkx as nx

    graph = nx.DiGraph((producer, consumer) for producer, consumer, _, _ in application.edges())
    return [part for part in nx.strongly_connected_components(graph) if len(part) > 1]
