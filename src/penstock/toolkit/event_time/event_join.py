"""EventJoin: pairs tuples of two streams whose event times are near each other.

Both inputs are in the order of event time, each by itself. A left and a right tuple match if the time of the right one,
less that of the left one, is at least `lower` and at most `upper` seconds, if their `equality` values are equal, and if
`match` holds. A tuple meets those of the other side that have come before it, in order of arrival, and each match gives
an output tuple. So what leaves is in the order in which the later tuple of each pair has come.

A tuple is held until the other side has come to a time that is too late for it; which tuples are held does not change
what leaves. Window markers of the inputs do not go through.

A stream that is not in order ends the run when two tuples that come to one channel show it; so where there are several
channels, the disorder of tuples with other keys may stay unseen.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, State, Why
from penstock.ir.types import BOOLEAN, FLOAT64
from penstock.toolkit.analysis.logic_analysis import forwarded_by_output_clause
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Keyed, same_nan
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.event_time.event_times import RESOLUTION, check_times, read_times
from penstock.toolkit.windows.partition import Key, check_keys, key_function, key_names, of_port

SIDES = ("LHS", "RHS")

Held = deque[tuple[int, Tuple]]
"""The tuples of a key on one side, each with its event time, in order."""


class HeldTuples(Keyed):
    """What both sides hold, by equality key."""

    def __init__(self, names: tuple[str, ...] | None) -> None:
        self.names = names
        self.sides: tuple[dict[Hashable, Held], dict[Hashable, Held]] = ({}, {})
        # By side, in order of time: what may be let go when the other side has come far enough.
        self._order: tuple[deque[tuple[int, Hashable]], deque[tuple[int, Hashable]]] = (deque(), deque())

    def of(self, side: int, key: Hashable) -> Iterable[tuple[int, Tuple]]:
        """What a side holds of a key."""
        return self.sides[side].get(key, ())

    def hold(self, side: int, key: Hashable, time_ns: int, tuple_: Tuple) -> None:
        """Hold one more tuple of a side."""
        found = self.sides[side].get(key)
        if found is None:
            found = self.sides[side][key] = deque()
        found.append((time_ns, tuple_))
        self._order[side].append((time_ns, key))

    def forget(self, side: int, before_ns: int) -> None:
        """Let go of what a side holds from before a time."""
        order, held = self._order[side], self.sides[side]
        while order and order[0][0] < before_ns:
            _, key = order.popleft()
            found = held[key]
            found.popleft()
            if not found:
                del held[key]

    def snapshot_parts(self) -> dict[Hashable, list[list[tuple[int, Tuple]]]]:
        """What both sides hold of each key."""
        keys = dict.fromkeys((*self.sides[0], *self.sides[1]))
        return {key: [list(self.of(side, key)) for side in (0, 1)] for key in keys}

    def restore_parts(self, parts: Mapping[Hashable, list[list[tuple[int, Tuple]]]]) -> None:
        """Hold the same."""
        for side in (0, 1):
            found = [
                (time_ns, i, same_nan(key), tuple_)
                for i, (key, held) in enumerate(parts.items())
                for time_ns, tuple_ in held[side]
            ]
            # Stable, so that the tuples of one key and time keep their order.
            for time_ns, _, key, tuple_ in sorted(found, key=lambda entry: entry[:2]):
                self.hold(side, key, time_ns, tuple_)


class EventJoinRuntime(LogicRuntime):
    """An EventJoin at work."""

    remembers = ("held",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        match = operator.param("match")
        self._match = self.scalar(match[0]) if match else None
        self._output = self.output_row()
        # By how much a tuple of the other side may be before one of this side, and behind it.
        lower, upper = round(self.constant("lower") * 1e9), round(self.constant("upper") * 1e9)
        self._reach = ((-lower, upper), (upper, -lower))
        self._latest: list[int | None] = [None, None]
        self.held = HeldTuples(key_names(operator.param("equalityLHS")))

    def taker(self, port: int) -> Submit:
        """Send the matches of each tuple, and hold it for those that come."""
        time, key, held = self._read_time(port), self._key(port), self.held
        before_ns, behind_ns = self._reach[port]
        match, output, submit = self._match, self._output, self.submit[0]

        def take(tuple_: Tuple) -> None:
            time_ns = time(tuple_)
            self._advance(port, time_ns)
            held.forget(1 - port, time_ns - before_ns)
            equal = None if key is None else key(tuple_)
            for other_ns, other in list(held.of(1 - port, equal)):
                if time_ns - before_ns <= other_ns <= time_ns + behind_ns:
                    pair = (tuple_, other) if port == 0 else (other, tuple_)
                    if match is None or match(*pair):
                        submit(output(*pair))
            reached = self._latest[1 - port]
            if reached is None or reached <= time_ns + behind_ns:
                held.hold(port, equal, time_ns, tuple_)

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the inputs stop here."""

    def _advance(self, port: int, time_ns: int) -> None:
        latest = self._latest[port]
        if latest is not None and time_ns < latest:
            message = f"a tuple of the event time {time_ns} ns comes behind one of {latest} ns"
            raise UserError(message, hint="put both streams in order by EventOrder, in Python `by_event_time`")
        self._latest[port] = time_ns

    def _read_time(self, port: int) -> Callable[[Tuple], int]:
        (expression,) = self.operator.param(f"time{SIDES[port]}")
        read, ns = of_port(self.scalar(expression), port, 2), read_times(self.operator, expression.type)
        return lambda tuple_: ns(read(tuple_))

    def _key(self, port: int) -> Key | None:
        expressions = self.operator.param(f"equality{SIDES[port]}")
        return key_function(expressions, lambda e: of_port(self.row(e), port, 2))


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    times = {name: operator.param(name) for name in ("timeLHS", "timeRHS")}
    check_times(operator, {name: value[0] if value else None for name, value in times.items()}, found)
    check_keys(operator, ("equalityLHS", "equalityRHS"), found)
    sides = [[e.type for e in operator.param(f"equality{side}")] for side in SIDES]
    if sides[0] != sides[1]:
        message = "`equalityLHS` and `equalityRHS` must agree"
        found.error(message, operator.span, hint="give both the same number of expressions, of the same types")
    bounds: list[Any] = [v.value for n in ("lower", "upper") for v in operator.param(n) if isinstance(v, Literal)]
    if len(bounds) == 2 and not -4e9 < bounds[0] <= bounds[1] < 4e9:
        message = f"`lower` is {bounds[0]} and `upper` is {bounds[1]}: no time lies between them"
        found.error(message, operator.span, hint="give seconds, the smaller one first")


def model(operator: Operator) -> OperatorModel:
    """Partitioned by its equality keys."""
    why = Why(Flag.SELECTIVITY, "a tuple may match any number of others")
    pairs = zip(operator.param("equalityLHS"), operator.param("equalityRHS"), strict=False)
    keys = [(a.name, b.name) for a, b in pairs if isinstance(a, Attribute) and isinstance(b, Attribute)]
    is_known = bool(keys) and len(keys) == len(operator.param("equalityLHS"))
    reason = Why(Flag.STATE, "its equality keys are computed, or it has none")
    return OperatorModel(
        state=State.PARTITIONED if is_known else State.UNKNOWN,
        partition_by=(frozenset(a for a, _ in keys), frozenset(b for _, b in keys)) if is_known else (),
        forwarding=Forwarding.ALWAYS,
        forwards=forwarded_by_output_clause(operator),
        markers=Markers.NONE,
        why=(why,) if is_known else (reason, why),
    )


def _side(name: str, port: int, doc: str, **more: Any) -> ParamSpec:
    return ParamSpec(name=name, ports=(port,), doc=doc, **more)


def _seconds(name: str, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(FLOAT64,), required=True, doc=doc)


DEFINITION = OperatorDefinition(
    name="EventJoin",
    doc="Pairs tuples of two streams whose event times are near each other.",
    inputs=(2, 2),
    outputs=(1, 1),
    params=(
        _side("timeLHS", 0, "The event time of the left stream, by which it is in order.", required=True),
        _side("timeRHS", 1, "The event time of the right stream, by which it is in order.", required=True),
        RESOLUTION,
        _seconds("lower", "How many seconds a right tuple is behind its left one, at least; may be negative."),
        _seconds("upper", "How many seconds a right tuple is behind its left one, at most."),
        ParamSpec(name="match", types=(BOOLEAN,), doc="What a pair must fulfil besides."),
        _side("equalityLHS", 0, "What must equal `equalityRHS` in a match.", many=True),
        _side("equalityRHS", 1, "What must equal `equalityLHS` in a match.", many=True),
    ),
    output=OutputClause.ASSIGN,
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=model,
    check=check,
    runtime=EventJoinRuntime,
)
