"""EventAggregate: computes output functions over windows by event time, as EventWindows closes them.

The input has three attributes that EventWindows has added: `start`, `end`, `closes`. A tuple that does not close is
held in the window of its key; one that closes gives an output tuple of those that came before it, and is not held.
Where windows overlap, `slide` says by how many seconds they do not: what no later window holds is let go. An output
function of `start` or of `end` gives those of the window.

All that a key needs comes with the key, so this is partitioned by it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, OutputCall
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Selectivity, State, Why
from penstock.ir.types import BOOLEAN, FLOAT64, TIMESTAMP
from penstock.toolkit.aggregates.output_expressions import check_outputs, plan_outputs
from penstock.toolkit.aggregates.output_functions import CUSTOM_FUNCTION, OUTPUT_FUNCTIONS
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.relational.aggregate import picks_key
from penstock.toolkit.windows.partition import Partitions, check_keys, key_attributes, key_function, key_names

_BOUNDS = {"start": TIMESTAMP, "end": TIMESTAMP, "closes": BOOLEAN}


class HeldRows(deque[tuple[int, Tuple]], Remembering):
    """The rows of a key, each with its event time, in order.

    Example:
        >>> held, again = HeldRows([(5, ("a",))]), HeldRows()
        >>> again.restore(held.snapshot())
        >>> again == held, again.is_blank()
        (True, False)
    """

    def snapshot(self) -> list[tuple[int, Tuple]]:
        """The rows as plain data."""
        return list(self)

    def restore(self, state: list[tuple[int, Tuple]]) -> None:
        """Hold the same rows."""
        self.clear()
        self.extend(state)

    def is_blank(self) -> bool:
        """Whether nothing is held."""
        return not self


class EventAggregateRuntime(LogicRuntime):
    """An EventAggregate at work."""

    remembers = ("held",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = operator.inputs[0].schema
        outputs = [a.value for a in operator.outputs[0].assignments]
        self._plan = plan_outputs(outputs, schema)
        self._row_of = self._plan.row(self.row)
        self._close_of = self._read_close(operator)
        self._finish_row = self._plan.finish(context.evaluator, self._state)
        self._wholes = self._plan.wholes(context.evaluator, self._state)
        self._customs = self._plan.customs(context.evaluator, self._state)
        bounds = {name: operator.param(name)[0] for name in _BOUNDS}
        self._at = {name: schema.position[e.name] for name, e in bounds.items() if isinstance(e, Attribute)}
        self._is_bound = [_reads_only(call, bounds["start"], bounds["end"]) for call in self._plan.calls]
        self._slide_ns = self.duration_ns("slide") if operator.param("slide") else None
        by = operator.param("partitionBy")
        self.held: Partitions[HeldRows] = Partitions(key_function(by, self.row), self._make, key_names(by))

    def taker(self, port: int) -> Submit:
        """Hold a tuple, or let its window fire."""
        of, row_of, close_of, key = self.held.of, self._row_of, self._close_of, self.held.key
        start, closes, end = self._at["start"], self._at["closes"], self._at["end"]

        def take(tuple_: tuple[Any, ...]) -> None:
            held = of(tuple_)
            if not tuple_[closes]:
                held.append((tuple_[start], tuple_ if row_of is None else row_of(tuple_)))
                return
            self._fire(held, close_of(tuple_), tuple_[start], tuple_[end])
            if not held:
                del self.held.parts[None if key is None else key(tuple_)]

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the input stop here."""

    def _fire(self, held: HeldRows, close: Tuple, start: int, end: int) -> None:
        slide_ns = self._slide_ns
        rows = [row for time_ns, row in held if slide_ns is None or start <= time_ns < end]
        if self._customs is not None:
            self._customs(rows)
        own, whole = [close], [rows]
        values = [
            value(own, [own]) if is_bound else value(rows, whole)
            for value, is_bound in zip(self._wholes, self._is_bound, strict=True)
        ]
        if slide_ns is None:
            held.clear()
        while held and slide_ns is not None and held[0][0] < start + slide_ns:
            held.popleft()
        self.submit[0](self._finish_row(*values))

    def _read_close(self, operator: Operator) -> Callable[[Tuple], Tuple]:
        """The function that makes a row of a close: nothing is evaluated over its default values."""
        arguments = self._plan.arguments
        if arguments is None:
            return lambda tuple_: tuple_
        names = {operator.param(name)[0] for name in ("start", "end")}
        position = operator.inputs[0].schema.position
        at = [position[a.name] if isinstance(a, Attribute) and a in names else None for a in arguments]
        return lambda tuple_: tuple([None if i is None else tuple_[i] for i in at])

    def _make(self, key: Hashable) -> HeldRows:
        return HeldRows()


def _reads_only(call: OutputCall, *bounds: Any) -> bool:
    names = {b.name for b in bounds if isinstance(b, Attribute)}
    return bool(call.arguments) and all(isinstance(a, Attribute) and a.name in names for a in call.arguments)


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    check_keys(operator, ("partitionBy",), found)
    check_outputs((a.value for a in operator.outputs[0].assignments), operator.span, found)
    for name, type_ in _BOUNDS.items():
        for value in operator.param(name):
            if not isinstance(value, Attribute) or value.type != type_:
                message = f"`{name}` names an attribute of type {type_} that EventWindows has added"
                found.error(message, value.span or operator.span)


def model(operator: Operator) -> OperatorModel:
    """Partitioned by its key; a close gives one tuple, any other none."""
    key = key_attributes(operator.param("partitionBy"))
    base = OperatorModel(
        selectivity=Selectivity.AT_MOST_ONE,
        forwarding=Forwarding.FUNCTION_ANY,
        forwards=picks_key(operator, key or frozenset()),
        markers=Markers.NONE,
    )
    if key is None:
        return replace(base, why=(Why(Flag.STATE, "its windows hold the tuples of all keys"),))
    return replace(base, state=State.PARTITIONED, partition_by=(key,))


def _attribute(name: str, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.ATTRIBUTES, required=True, doc=doc)


DEFINITION = OperatorDefinition(
    name="EventAggregate",
    doc="Computes output functions over the windows that EventWindows closes.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="partitionBy", many=True, doc="The key, as EventWindows has it."),
        _attribute("start", "The start of a window; of a tuple that closes none, its event time."),
        _attribute("end", "The end of a window."),
        _attribute("closes", "Whether a tuple closes a window."),
        ParamSpec(
            name="slide",
            kind=ParamKind.CONSTANT,
            types=(FLOAT64,),
            doc="For windows that overlap: how many seconds after a window the next one starts.",
        ),
    ),
    output=OutputClause.AGGREGATE,
    output_functions=(*OUTPUT_FUNCTIONS, CUSTOM_FUNCTION),
    facts=Facts(reads=Reads.EXPRESSIONS, is_repeatable=True),
    model=model,
    check=check,
    runtime=EventAggregateRuntime,
)
