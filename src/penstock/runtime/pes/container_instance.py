"""A container as an instance of a PE: batches of encoded values in, encoded values out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.codegen.transport.batches import FINAL, REPORT, WINDOW, Item, decode, encode
from penstock.profiler.clock import cpu_ns
from penstock.runtime.pes.container import Container

Values = Iterable[tuple[int, bytes]]
"""(edge, IPC stream) pairs, as they arrive."""

Left = Iterator[tuple[int, list[bytes]]]
"""The output of an instance: encoded values by edge, with a report first."""


class ContainerInstance:
    """A container in the place of generated code."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.snapshot, self.restore, self.close = container.snapshot, container.restore, container.close

    @property
    def may_be_kept(self) -> bool:
        """Whether it may take another batch, or the same one again: nothing has ended, and nothing acts outside."""
        return not any(node.has_ended or node.operator.model.side_effects for node in self.container.nodes)

    def rewind(self) -> None:
        """Forget the batch; what its operators have loaded stays."""
        self.container.rewind()

    def process_batch(self, values: Values) -> Left:
        """Take a batch; yields a report, and what leaves."""
        return process_batch(self.container, values)


def process_batch(container: Container, values: Values) -> Left:
    """Feed a batch to a container, in the sequential order; yields what leaves it."""
    began = cpu_ns()
    items = in_order(container, values)
    if container.signals is not None:
        container.signals.transfer("receive", cpu_ns() - began, len(items))
        container.signals.converted(cpu_ns() - began)
    container.take(items)
    container.pulse()
    began = cpu_ns()
    left = list(_encoded(container))
    if container.signals is not None:
        container.signals.converted(cpu_ns() - began)
    yield REPORT, container.report().encode()
    yield from left


def _encoded(container: Container) -> Left:
    """The items that leave a container, as encoded values by edge; they are removed from it."""
    streams = container.plan.application.streams
    for out in container.plan.out_of(container.pe):
        yield out.index, list(encode(container.leaving[out.index], streams[out.stream].schema))
        container.leaving[out.index] = []


def in_order(container: Container, values: Values) -> list[tuple[int, Item]]:
    """The items of a batch, sorted by their place; those of other PEs' edges are left out.

    Of a stream that comes from several channels only the last end counts, and window markers do not.
    """
    streams = container.plan.application.streams
    edges = {e.index: streams[e.stream].schema for e in container.plan.into(container.pe)}
    items = [(edge, item) for edge, value in values if edge in edges for item in decode(value, edges[edge])]
    items.sort(key=lambda pair: pair[1][:3])
    merged = {e.index for e in container.plan.into(container.pe) if e.senders > 1}
    if not merged:
        return items
    last = {edge: i for i, (edge, item) in enumerate(items) if item.kind == FINAL}
    dropped = {(True, WINDOW), (True, FINAL)}
    return [
        (edge, item)
        for i, (edge, item) in enumerate(items)
        if (edge in merged, item.kind) not in dropped or last.get(edge) == i
    ]
