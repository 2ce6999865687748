"""The streams around each operator, and the order from sources to sinks."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.base.topological_order import sort_topologically
from penstock.ir.graph import Application

Connection = tuple[str, str]
"""A stream and an operator that receives it."""


@dataclass(slots=True, kw_only=True)
class Neighbourhood:
    """Who sends to whom.

    Attributes:
        before: From each operator to those that send to it, one for each subscription.
        after: From each operator to the connections that it feeds, in order of declaration.
        feedback: The connections that close a loop.
    """

    before: dict[str, list[str]]
    after: dict[str, list[Connection]]
    feedback: set[Connection] = field(default_factory=set)

    def order(self) -> list[str]:
        """The operators with producers before consumers, feedback aside; declaration order breaks ties."""
        return sort_topologically(
            {id_: [c[1] for c in connections if c not in self.feedback] for id_, connections in self.after.items()}
        )


def neighbourhood(application: Application) -> Neighbourhood:
    """The neighbourhood of every operator of an application.

    Example:
        >>> from penstock.ir.graph import InputPort, Operator, OutputPort
        >>> from penstock.ir.types import parse_schema
        >>> x = parse_schema("int32 x")
        >>> around = neighbourhood(Application(name="Main", operators=(
        ...     Operator(id="B", kind="FileSink", inputs=(InputPort(streams=("A",), schema=x),)),
        ...     Operator(id="A", kind="Beacon", outputs=(OutputPort(stream="A", schema=x),)),
        ... )))
        >>> around.order(), around.after["A"]
        (['A', 'B'], [('A', 'B')])
    """
    ids = [o.id for o in application.operators]
    found = Neighbourhood(before={i: [] for i in ids}, after={i: [] for i in ids})
    for producer, consumer, stream, feedback in application.edges():
        found.before[consumer].append(producer)
        found.after[producer].append((stream, consumer))
        if feedback:
            found.feedback.add((stream, consumer))
    return found
