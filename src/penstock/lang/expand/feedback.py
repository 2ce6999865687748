"""Marks the subscriptions that close a loop.

Introduction:
    SPL lets a stream be used before it is declared, so graphs may have loops. The reference interpreter and every later
    stage need to know which subscription of a loop carries tuples back.

Formulation:
    Choose a set of subscriptions, minimal in the sense that none can be taken out of it, without which the graph has no
    loop. Candidates are those whose consumer is declared before, or is itself, the producer.

Example:
    `A = F(In, B); B = G(A);`: the subscription of `A` to `B` is feedback.

When it does not apply:
    A stream that is used before it is declared, but lies on no loop, is not feedback.

Algorithm:
    All candidates are cut, which leaves only edges in order of declaration and so no loop. Then each is put back, the
    consumer that is declared last first, unless it closes a loop. So a loop is cut where the operator of it that is
    declared first receives it. One search for each candidate: O(candidates * edges).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from penstock.ir.graph import InputPort, Operator

Edge = tuple[int, int]
"""Producer and consumer, as positions in the order of declaration."""


def mark_feedback(operators: Sequence[Operator]) -> tuple[Operator, ...]:
    """The operators with the feedback of their input ports marked; the same objects where there is none."""
    producer = {port.stream: i for i, o in enumerate(operators) for port in o.outputs}
    edges = {
        (producer[stream], consumer)
        for consumer, o in enumerate(operators)
        for port in o.inputs
        for stream in port.streams
        if stream in producer
    }
    closing = _closing(edges)
    return tuple(_marked(o, i, producer, closing) for i, o in enumerate(operators))


def _closing(edges: set[Edge]) -> set[Edge]:
    backward = sorted((e for e in edges if e[1] <= e[0]), key=lambda e: (e[1], e[0]), reverse=True)
    successors: dict[int, set[int]] = defaultdict(set)
    for start, end in edges.difference(backward):
        successors[start].add(end)
    closing = set()
    for start, end in backward:
        if _reaches(end, start, successors):
            closing.add((start, end))
        else:
            successors[start].add(end)
    return closing


def _reaches(start: int, goal: int, successors: dict[int, set[int]]) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        current = waiting.pop()
        if current == goal:
            return True
        fresh = successors[current] - seen
        seen |= fresh
        waiting.extend(fresh)
    return False


def _marked(operator: Operator, index: int, producer: dict[str, int], closing: set[Edge]) -> Operator:
    def mark(port: InputPort) -> InputPort:
        back = frozenset(s for s in port.streams if (producer.get(s, -1), index) in closing)
        return replace(port, feedback=back) if back else port

    inputs = tuple(map(mark, operator.inputs))
    return operator if inputs == operator.inputs else replace(operator, inputs=inputs)
