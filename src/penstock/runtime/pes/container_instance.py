"""A container as an instance of a piece of a PE, or of a whole one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.codegen.kernels.key_tables import KeyTable
from penstock.codegen.run.arriving import arriving
from penstock.codegen.transport.batches import REPORT, Item
from penstock.codegen.transport.placed_frames import PlacedFrame, PlacedFrames, encode_frame, frame_of, read_frames
from penstock.profiler.clock import cpu_ns
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.reports import Report

Values = Iterable[tuple[int, bytes]]
"""(edge, IPC stream) pairs, as they arrive."""

Left = Iterator[tuple[int, list[bytes]]]
"""The output of an instance: encoded values by edge, with a report first."""


class ContainerInstance:
    """A container in the place of generated code."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.snapshot, self.restore, self.close = container.snapshot, container.restore, container.close
        self.outline = container.outline

    @property
    def tables(self) -> dict[str, KeyTable]:
        """The tables of operators, by name."""
        return self.container.tables

    @property
    def may_be_kept(self) -> bool:
        """Whether it may take another batch, or the same one again: nothing has ended, and nothing acts outside."""
        return not any(node.has_ended or node.operator.model.side_effects for node in self.container.nodes)

    def rewind(self) -> None:
        """Forget the batch; what its operators have loaded stays."""
        self.container.rewind()

    def take(self, frames: PlacedFrames, receive_ns: int = 0) -> dict[int, PlacedFrame]:
        """Process a batch, in the sequential order; returns what leaves, by edge."""
        container, began = self.container, cpu_ns() - receive_ns
        items = in_order(container, frames)
        if container.signals is not None:
            container.signals.transfer("receive", cpu_ns() - began, len(items))
            container.signals.converted(cpu_ns() - began)
        container.take(items)
        container.flush_blocks()
        container.pulse()
        began = cpu_ns()
        left = {
            edge: frame_of(container.leaving[edge], schema)
            for edge, schema in container.plan.schemas(container.plan.out_of(container.pe)).items()
        }
        for edge in left:
            container.leaving[edge] = []
        self.sent(cpu_ns() - began)
        return left

    def sent(self, took_ns: int, tuples: int = 0) -> None:
        """Note what it took to make columns of what leaves, or to encode it for other PEs."""
        if self.container.signals is not None:
            self.container.signals.converted(took_ns)

    def report(self) -> Report:
        """The report since the last one."""
        return self.container.report()


def process_batch(container: Container, values: Values) -> Left:
    """Feed a batch to a container that is a whole PE; yields a report, and what leaves, encoded."""
    instance = ContainerInstance(container)
    left = instance.take(read_frames(values, container.plan.schemas(container.plan.into(container.pe))))
    yield REPORT, instance.report().encode()
    for edge, schema in container.plan.schemas(container.plan.out_of(container.pe)).items():
        yield edge, encode_frame(left[edge], schema)


def in_order(container: Container, frames: PlacedFrames) -> list[tuple[int, Item]]:
    """The items of a batch, sorted by their place."""
    schemas = container.plan.schemas(container.plan.into(container.pe))
    merged = {e.index for e in container.plan.into(container.pe) if e.senders > 1}
    return arriving(frames, schemas, merged).items(schemas)
