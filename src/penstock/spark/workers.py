"""What runs in Spark's Python workers: an instance of a PE, fed with one batch."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from penstock.codegen.loaded_module import LoadedModule
from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.transport import REPORT, Item, decode, rows, values_as_rows
from penstock.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.spark.container import Container
from penstock.spark.generated import GeneratedContainer, loaded_module, may_be_kept
from penstock.spark.sources import load
from penstock.toolkit.program import Program

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import TimerValues

STATE_VERSION = 1

Values = Iterable[tuple[int, bytes]]
"""(edge, IPC stream) pairs, as they arrive."""


class Instance(Protocol):
    """One instance of a PE: generated code, or a container."""

    def process_batch(self, values: Values) -> Iterator[pa.RecordBatch]:
        """Take a batch; yields a report, what was meant for others, and what leaves."""

    def remember(self) -> dict[str, Any]:
        """The state, as plain data."""

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped."""


class ContainerInstance:
    """A container in the place of generated code."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.remember, self.recall = container.remember, container.recall

    def process_batch(self, values: Values) -> Iterator[pa.RecordBatch]:
        """Take a batch; yields a report, what was meant for others, and what leaves."""
        return process_batch(self.container, values)


def stateless_pe(program: str, pe: int) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a stateless PE for `mapInArrow`."""

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        arriving = [pair for batch in batches for pair in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
        if arriving:
            yield from load_instance(program, pe).process_batch(arriving)

    return process


class StatefulPE(StatefulProcessor):
    """The processor of a stateful PE for `transformWithState`; its state is one versioned value."""

    def __init__(self, program: str, pe: int) -> None:
        self.program = program
        self.pe = pe

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.state = handle.getValueState("pe", "version int, form string, data binary")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Process a batch: recall, feed, remember."""
        instance = load_instance(self.program, self.pe)
        form = type(instance).__name__
        before = self.state.get()
        if before is not None:
            check_form(before[0], before[1], form)
            instance.recall(pickle.loads(before[2]))
        arriving = [(int(e), bytes(v)) for frame in rows for e, v in zip(frame["edge"], frame["tuples"], strict=True)]
        for batch in instance.process_batch(arriving):
            yield batch.to_pandas()
        self.state.update((STATE_VERSION, form, pickle.dumps(instance.remember(), protocol=5)))

    def close(self) -> None:
        """Nothing is held open."""


def check_form(version: int, form: str, wanted: str) -> None:
    """Refuse state that another version, or another kind of instance, has stored.

    Raises:
        UserError: The state cannot be read.
    """
    if (version, form) != (STATE_VERSION, wanted):
        raise UserError(
            f"the state is of version {version} by a {form}, this is version {STATE_VERSION} by a {wanted}",
            hint="resume it with the version of penstock that wrote it, or start with a new checkpoint folder",
        )


_modules: dict[tuple[str, int], LoadedModule | None] = {}


def load_instance(path: str, pe: int) -> Instance:
    """A fresh instance of a PE of a pickled program; generated modules are loaded once for a worker."""
    program, plan, environment = load(path)
    if (path, pe) in _modules:
        return _instance(_modules[path, pe], program, plan, pe, environment)
    module = loaded_module(program, plan, pe, environment)
    if module is None or may_be_kept(module):
        _modules[path, pe] = module
    return _instance(module, program, plan, pe, environment)


def make_instance(program: Program, plan: PhysicalPlan, pe: int, environment: Environment) -> Instance:
    """A fresh instance of a PE: generated code where there is any, else a container."""
    return _instance(loaded_module(program, plan, pe, environment), program, plan, pe, environment)


def _instance(
    module: LoadedModule | None, program: Program, plan: PhysicalPlan, pe: int, environment: Environment
) -> Instance:
    if module is None:
        return ContainerInstance(Container(program, plan, pe, environment))
    return GeneratedContainer(module, lambda v: process_batch(Container(program, plan, pe, environment), v))


def process_batch(container: Container, values: Values) -> Iterator[pa.RecordBatch]:
    """Feed a batch to a container, in the sequential order; yields what leaves it, and what was meant for others."""
    arriving = list(values)
    mine = {e.index for e in container.plan.into(container.pe)}
    container.take(in_order(container, arriving))
    container.pulse()
    yield values_as_rows(REPORT, [container.report().encode()])
    for edge, value in arriving:
        if edge not in mine:
            yield values_as_rows(edge, [value])
    streams = container.plan.application.streams
    for out in container.plan.out_of(container.pe):
        yield rows(out.index, container.leaving[out.index], streams[out.stream].schema)
        container.leaving[out.index] = []


def in_order(container: Container, values: Values) -> list[tuple[int, Item]]:
    """The items of a batch, sorted by their place; those of other PEs' edges are left out."""
    streams = container.plan.application.streams
    edges = {e.index: streams[e.stream].schema for e in container.plan.into(container.pe)}
    items = [(edge, item) for edge, value in values if edge in edges for item in decode(value, edges[edge])]
    items.sort(key=lambda pair: pair[1][:3])
    return items
