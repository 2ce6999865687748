"""Barrier: waits for a tuple from every input port and makes one output tuple of them.

The n-th tuple of each port meets the n-th tuples of the others; with `partitionBy`, the n-th of its partition. Tuples
without partners wait; those that still wait at the end are not sent, nor are those of a partition into which no tuple
has come by any port for `partitionAge` seconds. The output clause speaks of all ports. The window markers of the inputs
do not go through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, State, Why
from penstock.ir.types import UINT32
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Queues
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.windows.age import partitions_by
from penstock.toolkit.windows.partition import (
    check_keys_by_port,
    key_attributes,
    key_function,
    key_names,
    keys_by_port,
    of_port,
)
from penstock.toolkit.windows.policy import AGE, check_param_age, param_age_ns

KEYS = ("partitionBy", "partitionByLHS", "partitionByRHS")
"""The parameters that give keys; an expression belongs to the port that it speaks of, whichever it stands in."""

PARAMS = (
    ParamSpec(
        name="partitionBy", many=True, doc="Only tuples with equal values of these meet; attributes of each port."
    ),
    ParamSpec(name="partitionByLHS", many=True, ports=(0,), doc="The part of `partitionBy` for the first port."),
    ParamSpec(name="partitionByRHS", many=True, doc="The part of `partitionBy` for the last port."),
    ParamSpec(
        name="bufferSize",
        kind=ParamKind.CONSTANT,
        types=(UINT32,),
        doc="How many tuples of a port may wait before it is held up; the order of the results is the same without it.",
    ),
    AGE,
)


class MeetingRuntime(LogicRuntime):
    """The base of operators that wait for a tuple from every port."""

    remembers = ("waiting",)
    asks_by_key = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        ports = len(operator.inputs)
        by = keys_by_port(operator, *KEYS)
        self.keys = [
            key_function(expressions, lambda e, port=port: of_port(self.row(e), port, ports))  # type: ignore[misc]
            for port, expressions in enumerate(by)
        ]
        age_ns, clock = param_age_ns(operator, context.evaluator), context.environment.clock
        self.waiting = partitions_by(None, lambda key: Queues(ports), key_names(by[0]), age_ns, clock)

    def process(self, port: int, tuple_: Tuple) -> None:
        """Let a tuple wait, and send the meeting that it completes."""
        key_of = self.keys[port]
        key = None if key_of is None else key_of(tuple_)
        queues = self.waiting.reach(key)
        queues[port].append(tuple_)
        if all(queues):
            met = [queue.popleft() for queue in queues]
            if not any(queues):
                self.waiting.drop(key)
            self.send(met)

    def send(self, met: Sequence[Tuple]) -> None:
        """Send what a meeting gives, one tuple from each port."""
        raise NotImplementedError

    def take_window_marker(self, port: int) -> None:
        """Markers of the inputs stop here."""


class BarrierRuntime(MeetingRuntime):
    """A Barrier at work."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self.output = self.output_row()

    def send(self, met: Sequence[Tuple]) -> None:
        """Send one tuple made of all."""
        self.submit[0](self.output(*met))


def check_meeting(operator: Operator, found: Diagnostics) -> None:
    """Report keys that do not fit each other."""
    check_keys_by_port(operator, KEYS, found)
    check_param_age(operator, [key for name in KEYS for key in operator.param(name)], found)


def meeting_model(operator: Operator, why: str, markers: Markers) -> OperatorModel:
    """Partitioned by its key; how many tuples leave depends on what has come by other ports."""
    forwards = forwarded_by_output_clause(operator)
    many = Why(Flag.SELECTIVITY, why)
    base = OperatorModel(forwarding=Forwarding.ALWAYS, forwards=forwards, markers=markers, why=(many,))
    keys = [key_attributes(expressions) for expressions in keys_by_port(operator, *KEYS)]
    plain = tuple(key for key in keys if key is not None)
    if len(plain) < len(keys):
        reason = "it counts the tuples of all partitions; give it a `partitionBy` of plain attributes"
        return replace(base, why=(Why(Flag.STATE, reason), many))
    return replace(base, state=State.PARTITIONED, partition_by=plain)


def model(operator: Operator) -> OperatorModel:
    """The model of an instance."""
    return meeting_model(operator, "a tuple waits for those of the other ports", Markers.NONE)


DEFINITION = OperatorDefinition(
    name="Barrier",
    doc="Waits for a tuple from every input port and makes one output tuple of them.",
    inputs=(2, None),
    outputs=(1, 1),
    params=PARAMS,
    output=OutputClause.ASSIGN,
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=model,
    check=check_meeting,
    runtime=BarrierRuntime,
)
