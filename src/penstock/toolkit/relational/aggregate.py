"""Aggregate: computes output functions over the tuples of a window.

A tumbling window fires when it is full and a sliding one on its trigger, but not before it has first been full, unless
`aggregateIncompleteWindows` is set. A firing submits one tuple for each group (`groupBy`; without it the window is one
group), in order of the groups' first tuples, and then a window marker. An empty window, which time and punctuation can
bring about, gives the marker alone. The window markers and the end of the input do not go through: what a tumbling
window holds at the end is not aggregated.

With `partitionAge` in the window clause a partition is forgotten, with all that it holds, when no tuple has come for so
many seconds; with `aggregateEvictedPartitions` a tumbling window fires then, whatever it holds.

What an output function's argument says is read off a tuple when it comes in, so a state variable of the logic clause
counts with the value it had then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Expression, Literal, OutputCall
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator, PolicyKind, Window, WindowKind
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Selectivity, State, Why
from penstock.ir.types import BOOLEAN
from penstock.toolkit.aggregates.output_expressions import check_outputs, column_of, plan_outputs
from penstock.toolkit.aggregates.output_functions import CUSTOM_FUNCTION, OUTPUT_FUNCTIONS, Rows, Whole
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec, WindowUse
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Punctuation, Submit
from penstock.toolkit.windows.age import AgingPartitions, IdlePartitions, IdleWindow
from penstock.toolkit.windows.partition import (
    Partitions,
    check_keys,
    group_function,
    key_attributes,
    key_function,
    key_names,
)
from penstock.toolkit.windows.policy import check_window, ready_age_ns, ready_window
from penstock.toolkit.windows.sliding import Sliding, sliding
from penstock.toolkit.windows.tumbling import WindowOfPartition, tumbling


def never(key: Hashable) -> bool:
    """Without an age no partition is forgotten."""
    return False


class AggregateRuntime(LogicRuntime):
    """An Aggregate at work."""

    remembers = ("partitions",)
    asks_by_key = True
    is_forgotten: Callable[[Hashable], bool] = staticmethod(never)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        (port,) = operator.inputs
        assert port.window is not None
        grouping = operator.param("groupBy")
        outputs = [a.value for a in operator.outputs[0].assignments]
        self.plan = plan_outputs(outputs, port.schema, keep=grouping)
        self.row_of = self.plan.row(self.row)
        self.finish_row = self.plan.finish(context.evaluator, self._state)
        self.wholes = self.plan.wholes(context.evaluator, self._state)
        self.customs = self.plan.customs(context.evaluator, self._state)
        columns = [column_of(self.plan, port.schema, e) for e in grouping]
        self.group = group_function(columns, [e.type for e in grouping]) if grouping else None
        self.window = ready_window(port.window, context.evaluator, self.scalar)
        self.takes_incomplete = self.constant("aggregateIncompleteWindows", False)
        self.partitions: Partitions[Any] = self._make_partitions(port.window)

    def taker(self, port: int) -> Submit:
        """Insert each tuple's row into the window of its partition."""
        row_of, of = self.row_of, self.partitions.of
        if self.partitions.key is None:
            insert = self.partitions.of(()).insert
            if row_of is None:
                return lambda tuple_: insert(tuple_, tuple_)
            return lambda tuple_: insert(tuple_, row_of(tuple_))
        if row_of is None:
            return lambda tuple_: of(tuple_).insert(tuple_, tuple_)
        return lambda tuple_: of(tuple_).insert(tuple_, row_of(tuple_))

    def take_window_marker(self, port: int) -> None:
        """Only windows that are made by markers care for them."""
        for window in self.partitions if self.window.eviction.kind is PolicyKind.PUNCTUATION else ():
            window.on_punctuation()

    def _make_partitions(self, window: Window) -> Partitions[Any]:
        by = self.operator.param("partitionBy")
        key, names = key_function(by, self.row), key_names(by)
        age_ns = ready_age_ns(window, self.context.evaluator)
        if key is None or age_ns is None:
            return Partitions(key, self._make_window, names)
        if self.constant("aggregateEvictedPartitions", False):
            return IdlePartitions(key, lambda of: self._make_idle_window(of, age_ns), names)
        clock = self.context.environment.clock
        aging = AgingPartitions(key, self._make_window, names, age_ns=age_ns, clock=clock)
        self.is_forgotten = aging.forget_if_old
        return aging

    def _make_idle_window(self, key: Hashable, age_ns: int) -> IdleWindow:
        def evict() -> None:
            self.partitions.parts.pop(key).cease()
            self.partitions.expired += 1
            self._fire(window.items, self.wholes)

        window = tumbling(self.window.eviction, self.context, lambda rows: self._fire(rows, self.wholes))
        return IdleWindow(window, age_ns=age_ns, evict=evict, context=self.context)

    def _make_window(self, key: Hashable) -> WindowOfPartition:
        def fire_all(rows: list[Tuple]) -> None:
            if not self.is_forgotten(key):
                self._fire(rows, self.wholes)

        if self.window.kind is WindowKind.TUMBLING:
            return tumbling(self.window.eviction, self.context, fire_all)
        running = self.plan.running() if self.group is None else []
        values = list(self.wholes)
        for position, _, aggregate in running:
            values[position] = _current(aggregate.value)
        columns = [(column, aggregate) for _, column, aggregate in running]

        def inserted(row: Tuple) -> None:
            for column, aggregate in columns:
                aggregate.insert(row[column])

        def evicted(row: Tuple) -> None:
            for column, aggregate in columns:
                aggregate.evict(row[column])

        def fire(window: Sliding) -> None:
            if (self.takes_incomplete or window.has_been_full) and not self.is_forgotten(key):
                self._fire(window.items, values)

        return sliding(self.window, self.context, fire, inserted=inserted, evicted=evicted)

    def _fire(self, rows: list[Tuple] | deque[Tuple], values: Sequence[Whole]) -> None:
        if rows:
            submit, finish_row = self.submit[0], self.finish_row
            groups: Sequence[Rows] = (rows,) if self.group is None else self.group(rows)
            for group in groups:
                if self.customs is not None:
                    self.customs(group)
                submit(finish_row(*[value(group, groups) for value in values]))
        self.punctuate[0](Punctuation.WINDOW)


def _current(value: Callable[[], Any]) -> Whole:
    return lambda rows, groups: value()


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    (port,) = operator.inputs
    window = port.window
    assert window is not None
    check_window(operator, port, found)
    size = window.eviction.size
    if window.kind is WindowKind.SLIDING and isinstance(size, Literal) and size.value == 0:
        found.error("a sliding window of count(0) has nothing to aggregate", size.span or operator.span)
    check_keys(operator, ("partitionBy", "groupBy"), found)
    check_partitioned(operator, window, "partitionBy", found)
    check_outputs((a.value for a in operator.outputs[0].assignments), operator.span, found)
    if operator.param("aggregateIncompleteWindows") and window.kind is WindowKind.TUMBLING:
        message = "`aggregateIncompleteWindows` speaks of sliding windows, but this one is tumbling"
        found.error(message, operator.span, hint="remove it")
    if operator.param("aggregateEvictedPartitions") and not (
        window.kind is WindowKind.TUMBLING and window.partition_age is not None
    ):
        message = "`aggregateEvictedPartitions` speaks of tumbling windows whose partitions have an age"
        found.error(message, operator.span, hint="write `tumbling, ..., partitioned, partitionAge(60.0)`, or remove it")


def check_partitioned(operator: Operator, window: Window, param: str, found: Diagnostics) -> None:
    """Report a partitioned window without its key, or a key without a partitioned window."""
    keys = operator.param(param)
    if window.partitioned and not keys:
        found.error("a partitioned window needs a key", operator.span, hint=f"add `param {param}: ...`")
    if keys and not window.partitioned:
        message = f"`{param}` needs a partitioned window"
        found.error(message, keys[0].span or operator.span, hint="write `partitioned` in the window clause")


def model(operator: Operator) -> OperatorModel:
    """Partitioned by its key; at most one tuple out for one in, unless groups or a time trigger make more."""
    window = operator.inputs[0].window
    assert window is not None
    selectivity, why = _selectivity(operator, window)
    key = key_attributes(operator.param("partitionBy"))
    base = OperatorModel(
        selectivity=selectivity,
        forwarding=Forwarding.FUNCTION_ANY,
        forwards=picks_key(operator, key or frozenset()),
        spontaneous=fires_by_time(window) or bool(operator.param("aggregateEvictedPartitions")),
        markers=Markers.OWN,
        waits_for_markers=window.eviction.kind is PolicyKind.PUNCTUATION,
        why=why,
    )
    if not window.partitioned:
        reason = "its window holds the tuples of all partitions; add `partitioned` and `partitionBy`"
    elif key is None:
        reason = "its key is computed; partition by plain attributes"
    elif window.eviction.kind is PolicyKind.PUNCTUATION:
        reason = "its window waits for punctuation, which has no partition"
    else:
        return replace(base, state=State.PARTITIONED, partition_by=(key,))
    return replace(base, why=(Why(Flag.STATE, reason), *why))


def fires_by_time(window: Window) -> bool:
    """Whether a timer makes the window fire, and not a tuple."""
    trigger = window.eviction if window.kind is WindowKind.TUMBLING else window.trigger
    return trigger is not None and trigger.kind is PolicyKind.TIME


def _selectivity(operator: Operator, window: Window) -> tuple[Selectivity, tuple[Why, ...]]:
    if operator.param("groupBy"):
        return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, "`groupBy` gives a tuple for each group"),)
    if operator.param("aggregateEvictedPartitions"):
        why = "a tuple may fire its window after the eviction of the one before"
        return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, why),)
    if window.kind is WindowKind.SLIDING and fires_by_time(window):
        why = "its window fires by time, however few tuples come"
        return Selectivity.UNKNOWN, (Why(Flag.SELECTIVITY, why),)
    return Selectivity.AT_MOST_ONE, ()


def picks_key(operator: Operator, key: frozenset[str]) -> frozenset[str]:
    """The attributes of a key that the output clause copies from some tuple of the window."""
    outputs = operator.outputs[0].assignments
    return frozenset(a.attribute for a in outputs if a.attribute in key and _picks(a.value, a.attribute))


def _picks(value: Expression, name: str) -> bool:
    """Whether a value is an attribute, unchanged, of some tuple of the window."""
    match value:
        case OutputCall(function="Any" | "First" | "Last", arguments=(Attribute(name=attribute),)):
            return attribute == name
    return False


DEFINITION = OperatorDefinition(
    name="Aggregate",
    doc="Computes sums, counts and other output functions over the tuples of a window.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="partitionBy", many=True, doc="The key of a partitioned window."),
        ParamSpec(name="groupBy", many=True, doc="One output tuple for each value of these, at each firing."),
        ParamSpec(
            name="aggregateIncompleteWindows",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether a sliding window fires before it has first been full.",
        ),
        ParamSpec(
            name="aggregateEvictedPartitions",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether a tumbling window fires when its partition reaches its `partitionAge`.",
        ),
    ),
    windows=WindowUse.REQUIRED,
    output=OutputClause.AGGREGATE,
    output_functions=(*OUTPUT_FUNCTIONS, CUSTOM_FUNCTION),
    facts=Facts(reads=Reads.EXPRESSIONS, is_repeatable=True),
    model=model,
    check=check,
    runtime=AggregateRuntime,
)
