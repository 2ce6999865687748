"""Kinds of sinks of a job: files written from columns, batches committed by their id, or one tuple at a time.

Every sink is an operator of one container, which knows when its input has ended. Its tuples come by one of three ways:

- *batch sinks* (exported streams, Kafka, PostgreSQL, the end of an open loop) take whole batches and commit each under
  its id. In the container an outlet stands for them.
- *column sinks* (FileSink in most of its forms) take Arrow columns. What they have written is part of the container's
  state.
- the others take one tuple at a time, in one order over all of them, because what they do may show in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.facts import NO_FACTS
from penstock.ir.graph import Operator
from penstock.ir.models import UNKNOWN_MODEL
from penstock.reference.node import Node
from penstock.runtime.sinks.order import Chunk
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Runtime, Submit

OUTLET = "pe::Outlet"


class BatchSink(Protocol):
    """A sink that commits batches by their id; a batch that it has committed before changes nothing."""

    def begin(self, batch: int) -> None:
        """A batch comes."""

    def take(self, chunk: Chunk) -> None:
        """Take items of the batch, in order."""

    def commit(self, *, has_ended: bool) -> None:
        """The batch is complete; with it the stream may have ended."""

    def close(self) -> None:
        """Let go of files and connections."""


@runtime_checkable
class TakesBatches(Protocol):
    """A runtime that may be fed with columns."""

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """Takes the tuples of a batch; None if tuples must come one at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutput:
    """The job that a batch sink writes for.

    Attributes:
        application: Its name.
        id: A unique id; it stays the same over restarts.
        folder: The folder under the checkpoint where a sink may keep notes.
        environment: Files, settings and the clock of the run.
        evaluator: For parameters.
    """

    application: str
    id: str
    folder: Path
    environment: Environment
    evaluator: Evaluator


BatchSinks = Mapping[str, Callable[[Operator, JobOutput], BatchSink]]
"""The batch sinks that an engine has, by the kind of their operators."""


def make_batch_sinks(kinds: BatchSinks, operators: Iterable[Operator], output: JobOutput) -> dict[str, BatchSink]:
    """The batch sinks among operators, by id.

    Raises:
        UserError: One has code of its own, which nobody would run.
    """
    found = [operator for operator in operators if operator.kind in kinds]
    for operator in found:
        if operator.logic is not None:
            message = f"`{operator.id}` has a logic clause, which the sinks of a job do not run"
            raise UserError(message, hint="move the clause to a Custom before it")
    return {operator.id: kinds[operator.kind](operator, output) for operator in found}


class _Outlet(Runtime):
    """Stands for a batch sink in the container, and lets tuples go by."""

    def receiver(self, port: int) -> Submit:
        return lambda tuple_: None


def _outlet(operator: Operator) -> Operator:
    return replace(operator, kind=OUTLET, model=replace(operator.model, facts=NO_FACTS))


def with_outlets(program: Program, plan: PhysicalPlan, sinks: Collection[str]) -> tuple[Program, PhysicalPlan]:
    """The program and the plan with outlets in the place of some sinks."""
    definition = OperatorDefinition(
        name="Outlet",
        namespace="pe",
        doc="Stands for a sink that takes whole batches.",
        inputs=(1, None),
        outputs=(0, 0),
        any_params=True,
        model=lambda operator: UNKNOWN_MODEL,
        runtime=_Outlet,
    )
    operators = tuple(_outlet(o) if o.id in sinks else o for o in plan.application.operators)
    application = replace(plan.application, operators=operators)
    registry = program.registry.extended([definition])
    return replace(program, registry=registry), replace(plan, application=application)


def column_takers(nodes: Mapping[str, Node]) -> dict[str, Callable[[pa.RecordBatch], None]]:
    """The functions of the sinks that can be fed with columns, by operator."""
    found = {}
    for id_, node in nodes.items():
        taker = node.runtime.batch_taker() if isinstance(node.runtime, TakesBatches) else None
        if taker is not None:
            found[id_] = taker
    return found


def fed_by_tuple(plan: PhysicalPlan, pe: int, columnar: frozenset[str]) -> frozenset[int]:
    """The edges into the sinks whose tuples come one at a time.

    An edge that leads to a sink without columns is one, and so are all edges of the other sinks that it leads to: a
    sink takes all its tuples by one way, to have them in order.

    Args:
        plan: Of the job.
        pe: The sinks' PE.
        columnar: The sinks that take columns; outlets among them, which take nothing from the container.
    """
    edges = plan.into(pe)
    slow = {id_ for edge in edges for id_, _ in edge.subscribers} - columnar
    while True:
        found = frozenset(e.index for e in edges if any(id_ in slow for id_, _ in e.subscribers))
        wider = slow | {id_ for e in edges if e.index in found for id_, _ in e.subscribers}
        if wider == slow:
            return found
        slow = wider
