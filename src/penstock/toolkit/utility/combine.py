"""Combine: merges streams that are each in order of time into one stream in order of time.

`orderBy` gives, for each port, the expression to merge by; a plain attribute of the first port means those of the same
name of the others too. The earliest tuple that waits is sent once every other port has a tuple waiting or has ended;
of equal ones that of the lower port goes first, and tuples of one port keep their order. So the output does not depend
on how fast the inputs are. All ports have one schema. A port that is not itself in order is not sorted: each of its
tuples is merged as soon as those before it are gone. The window markers of the inputs do not go through.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Why
from penstock.ir.types import TIMESTAMP, is_numeric
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Queues
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.utility.pair import check_equal_schemas
from penstock.toolkit.windows.partition import keys_by_port, of_port


class CombineRuntime(LogicRuntime):
    """A Combine at work."""

    remembers = ("waiting", "is_open")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        ports = len(operator.inputs)
        self.time_of: list[Callable[[Tuple], Any]] = [
            of_port(self.scalar(expressions[0]), port, ports)
            for port, expressions in enumerate(keys_by_port(operator, "orderBy"))
        ]
        self.waiting = Queues(ports)
        self.is_open = [True] * ports

    def process(self, port: int, tuple_: Tuple) -> None:
        """Let a tuple wait, and send what need not wait any longer."""
        self.waiting[port].append((self.time_of[port](tuple_), port, tuple_))
        self._release()

    def take_window_marker(self, port: int) -> None:
        """Markers of the inputs stop here."""

    def take_final_marker(self, port: int) -> None:
        """Nobody has to wait for this port any more."""
        self.is_open[port] = False
        self._release()

    def _release(self) -> None:
        waiting, is_open, submit = self.waiting, self.is_open, self.submit[0]
        while all(queue or not is_open[port] for port, queue in enumerate(waiting)):
            heads = [queue[0] for queue in waiting if queue]
            if not heads:
                return
            _, port, tuple_ = min(heads, key=lambda head: head[:2])
            waiting[port].popleft()
            submit(tuple_)


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    check_equal_schemas(operator, found)
    ports = keys_by_port(operator, "orderBy")
    wanted = ports[0][0].type if ports[0] else None
    for i, expressions in enumerate(ports):
        if len(expressions) != 1 or expressions[0].type != wanted:
            message = f"`orderBy` must give one expression of one type for each port; port {i} has {len(expressions)}"
            found.error(message, operator.span, hint="write `orderBy: A.ts, B.ts`")
    if wanted is not None and wanted != TIMESTAMP and not is_numeric(wanted):
        found.error(f"`orderBy` must be a timestamp or a number, found {wanted}", operator.span)


def model(operator: Operator) -> OperatorModel:
    """Not parallelizable: each tuple waits for those of all other ports, whatever their keys."""
    return OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=forwarded_by_output_clause(operator),
        markers=Markers.NONE,
        why=(
            Why(Flag.STATE, "it merges all tuples of its inputs in order of time"),
            Why(Flag.SELECTIVITY, "a tuple may free any number of others"),
        ),
    )


DEFINITION = OperatorDefinition(
    name="Combine",
    doc="Merges streams that are in order of time into one stream in order of time.",
    inputs=(2, None),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="orderBy", required=True, many=True, doc="What to merge by: one expression for each input port."
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=model,
    check=check,
    runtime=CombineRuntime,
)
