"""Sort: sends the tuples of a window in order.

A tumbling window is sorted and sent when it is full, followed by a window marker; what it holds at the end of the input
is not sent. A sliding window of `count(n)` sorts progressively: it holds back n tuples, and each tuple that comes after
them first makes room: the first in order of those n is sent. At the end the rest follow, in order. Tuples that compare
equal keep their order of arrival. With `partitionBy` each partition sorts for itself; with `partitionAge` in the window
clause one is dropped, with what it holds, when no tuple has come into it for so many seconds. The window markers of the
input do not go through.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.values.order import order_key
from penstock.ir.expressions import Symbol
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator, PolicyKind, WindowKind
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, State, Why
from penstock.ir.types import Type, has_collection
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec, WindowUse
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.core.runtime import Context, Punctuation, Submit
from penstock.toolkit.relational.aggregate import check_partitioned, fires_by_time
from penstock.toolkit.windows.age import partitions_by
from penstock.toolkit.windows.partition import check_keys, key_attributes, key_function, key_names
from penstock.toolkit.windows.policy import check_window, fires_on_every_tuple, ready_age_ns, ready_window
from penstock.toolkit.windows.tumbling import WindowOfPartition, tumbling

Rank = tuple[Any, ...]


class Descending:
    """A value that sorts backwards."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Descending) and bool(self.value == other.value)

    __hash__ = None  # type: ignore[assignment]  # ranks are compared, never looked up


def rank_function(types: Sequence[Type], descends: Sequence[bool]) -> Callable[[Tuple], Rank]:
    """The function that makes the values of the sort expressions comparable.

    Args:
        types: Of the expressions.
        descends: Which of them sort from high to low.
    """
    makers = [_rank_maker(type_, down) for type_, down in zip(types, descends, strict=True)]
    return lambda values: tuple([make(value) for make, value in zip(makers, values, strict=True)])


def _rank_maker(type_: Type, descends: bool) -> Callable[[Any], Any]:
    key = order_key(type_) or (lambda value: value)
    return (lambda value: Descending(key(value))) if descends else key


class Progressive(Remembering):
    """Holds back `size` tuples; before one more comes in, the first in order goes.

    Attributes:
        heap: What is held back: the rank, the number of its arrival, the values it is sorted by, the tuple.
    """

    def __init__(self, size: int, rank: Callable[[Tuple], Rank], send: Submit) -> None:
        self.size = size
        self.rank = rank
        self.send = send
        self.heap: list[tuple[Rank, int, Tuple, Tuple]] = []
        self.arrived = 0

    def insert(self, values: Tuple, tuple_: Tuple) -> None:
        """Take a tuple with the values that it is sorted by."""
        self.arrived += 1
        entry = (self.rank(values), self.arrived, values, tuple_)
        if len(self.heap) < self.size:
            heapq.heappush(self.heap, entry)
        else:
            self.send(heapq.heapreplace(self.heap, entry)[3] if self.size else tuple_)

    def is_blank(self) -> bool:
        """Whether nothing is held back."""
        return not self.heap

    def flush(self) -> None:
        """Let all go, in order."""
        while self.heap:
            self.send(heapq.heappop(self.heap)[3])

    def snapshot(self) -> tuple[int, list[tuple[int, Tuple, Tuple]]]:
        """How many have come, and what is held back; ranks are made again."""
        return self.arrived, [entry[1:] for entry in self.heap]

    def restore(self, state: tuple[int, list[tuple[int, Tuple, Tuple]]]) -> None:
        """Hold back what another one held back."""
        self.arrived, held = state
        self.heap = [(self.rank(values), number, values, tuple_) for number, values, tuple_ in held]


class SortRuntime(LogicRuntime):
    """A Sort at work."""

    remembers = ("windows", "progressive")
    asks_by_key = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        (port,) = operator.inputs
        assert port.window is not None
        by, partition_by = operator.param("sortBy"), operator.param("partitionBy")
        self.values = self.row(by)
        self.rank = rank_function([e.type for e in by], _descends(operator))
        self.window = ready_window(port.window, context.evaluator, self.scalar)
        key, names = key_function(partition_by, self.row), key_names(partition_by)
        age_ns, clock = ready_age_ns(port.window, context.evaluator), context.environment.clock
        self.windows = partitions_by(key, self._make_window, names, age_ns, clock)
        self.progressive = partitions_by(key, self._make_progressive, names, age_ns, clock)

    def taker(self, port: int) -> Submit:
        """Insert each tuple with what it is sorted by into the window of its partition."""
        values = self.values
        if self.window.kind is WindowKind.SLIDING:
            held = self.progressive.of
            return lambda tuple_: held(tuple_).insert(values(tuple_), tuple_)
        of = self.windows.of
        if self.windows.key is None:
            of(())
        return lambda tuple_: of(tuple_).insert(tuple_, (values(tuple_), tuple_))

    def take_window_marker(self, port: int) -> None:
        """Only windows that are made by markers care for them."""
        for window in self.windows if self.window.eviction.kind is PolicyKind.PUNCTUATION else ():
            window.on_punctuation()

    def take_final_marker(self, port: int) -> None:
        """Let go what progressive sorting holds back."""
        for held in self.progressive:
            held.flush()

    def _make_window(self, key: Hashable) -> WindowOfPartition:
        def fire(held: list[tuple[Tuple, Tuple]]) -> None:
            self.windows.forget_old()
            if self.windows.find(key) is not None:
                self._fire(held)

        return tumbling(self.window.eviction, self.context, fire)

    def _make_progressive(self, key: Hashable) -> Progressive:
        return Progressive(self.window.eviction.size, self.rank, self.submit[0])

    def _fire(self, held: list[tuple[Tuple, Tuple]]) -> None:
        submit, rank = self.submit[0], self.rank
        for _, tuple_ in sorted(held, key=lambda entry: rank(entry[0])):
            submit(tuple_)
        self.punctuate[0](Punctuation.WINDOW)


def _descends(operator: Operator) -> list[bool]:
    """For each sort expression, whether it sorts from high to low."""
    words = [v.name == "descending" for v in operator.param("order") if isinstance(v, Symbol)]
    count = len(operator.param("sortBy"))
    return words * count if len(words) == 1 else words or [False] * count


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    (port,) = operator.inputs
    window = port.window
    assert window is not None
    check_window(operator, port, found)
    check_keys(operator, ("partitionBy",), found)
    check_partitioned(operator, window, "partitionBy", found)
    for value in operator.param("sortBy"):
        if has_collection(value.type):
            found.error(f"`sortBy` cannot be of type {value.type}: it has no order", value.span or operator.span)
    if window.kind is WindowKind.SLIDING:
        if window.eviction.kind is not PolicyKind.COUNT:
            what = window.eviction.kind.value
            found.error(f"a sliding Sort holds back a number of tuples, found {what}", operator.span, hint="use count")
        if not fires_on_every_tuple(window):
            message = "a sliding Sort sends on every tuple, so its window has no trigger but count(1)"
            found.error(message, operator.span)
    given, wanted = len(operator.param("order")), len(operator.param("sortBy"))
    if given not in (0, 1, wanted):
        message = f"`order` gives {given} directions for {wanted} expressions of `sortBy`"
        found.error(message, operator.span, hint="give one for all of them, or one for each")


def model(operator: Operator) -> OperatorModel:
    """Partitioned by its key; it holds tuples back and sends several at a time, in another order."""
    forwards = forwarded_by_output_clause(operator)
    why = Why(Flag.SELECTIVITY, "it sends the tuples of a window in another order")
    key = key_attributes(operator.param("partitionBy"))
    window = operator.inputs[0].window
    assert window is not None
    waits = window.eviction.kind is PolicyKind.PUNCTUATION
    base = OperatorModel(
        forwarding=Forwarding.ALWAYS,
        forwards=forwards,
        # A sliding Sort lets go of what it holds when its input ends.
        spontaneous=window.kind is WindowKind.SLIDING or fires_by_time(window),
        markers=Markers.OWN,
        waits_for_markers=waits,
        why=(why,),
    )
    if key is None or waits:
        reason = "its window holds the tuples of all partitions; add `partitioned` and `partitionBy`"
        return replace(base, why=(Why(Flag.STATE, reason), why))
    if window.kind is WindowKind.SLIDING:
        reason = "when its input ends it lets go of what it holds, all partitions at once"
        return replace(base, why=(Why(Flag.STATE, reason), why))
    return replace(base, state=State.PARTITIONED, partition_by=(key,))


DEFINITION = OperatorDefinition(
    name="Sort",
    doc="Sends the tuples of a window in order.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="sortBy", many=True, required=True, doc="What to sort by, the most important first."),
        ParamSpec(
            name="order",
            kind=ParamKind.SYMBOLS,
            symbols=("ascending", "descending"),
            many=True,
            doc="The direction of each, or of all.",
        ),
        ParamSpec(name="partitionBy", many=True, doc="The key of a partitioned window."),
    ),
    windows=WindowUse.REQUIRED,
    output=OutputClause.FORWARD,
    facts=Facts(fires_at_end_only=True, is_repeatable=True),
    model=model,
    check=check,
    runtime=SortRuntime,
)
