"""Windows, in SPL's words: `tumbling(count(4))`, `sliding(time(60), every=count(1))`.

`from penstock import windows as w` gives them names that hide nothing else: `w.tumbling(w.count(4))`.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> window = sliding(count(4), every=count(1)).build(parse_schema("int32 x"), partitioned=True, span=None)
    >>> window.kind.value, window.eviction.size.value, window.partitioned
    ('sliding', 4, True)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from penstock.api.columns import Column, Scope, lift
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.base.durations import read_seconds
from penstock.expr import typing
from penstock.ir.graph import Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import FLOAT64, INT32, Schema

Duration = float | timedelta | Column

EventDuration = float | str | timedelta
"""A number of seconds, or text such as `"30 minutes"`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySpec:
    """A policy whose expressions are not bound to a stream yet."""

    kind: PolicyKind
    size: Any = None
    attribute: Column | None = None

    def __repr__(self) -> str:
        given = [v.text if isinstance(v, Column) else repr(v) for v in (self.attribute, self.size) if v is not None]
        return f"{self.kind.value}({', '.join(given)})"

    def build(self, schema: Schema, span: Span | None) -> Policy:
        """The policy over a schema."""
        scope = Scope(schemas=(schema,), span=span)
        attribute = None if self.attribute is None else self.attribute.build(scope)
        size = None if self.size is None else lift(self.size).build(scope)
        if size is not None and self.kind is PolicyKind.COUNT:
            size = typing.convert(size, INT32, span)
        elif size is not None and self.kind is PolicyKind.TIME:
            size = typing.convert(size, FLOAT64, span)
        elif size is not None and attribute is not None:
            size = typing.convert(size, attribute.type, span)
        return Policy(kind=self.kind, size=size, attribute=attribute)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpec:
    """A window whose expressions are not bound to a stream yet."""

    kind: WindowKind
    eviction: PolicySpec
    trigger: PolicySpec | None = None
    partition_age: PolicySpec | None = None

    def __repr__(self) -> str:
        every = "" if self.trigger is None else f", every={self.trigger!r}"
        age = "" if self.partition_age is None else f", partition_age={self.partition_age.size!r}"
        return f"{self.kind.value}({self.eviction!r}{every}{age})"

    def build(self, schema: Schema, *, partitioned: bool, span: Span | None) -> Window:
        """The window over a schema."""
        return Window(
            kind=self.kind,
            eviction=self.eviction.build(schema, span),
            trigger=None if self.trigger is None else self.trigger.build(schema, span),
            partitioned=partitioned,
            partition_age=None if self.partition_age is None else self.partition_age.build(schema, span).size,
        )


def count(tuples: Any) -> PolicySpec:
    """So many tuples.

    Example:
        >>> tumbling(count(4))
        tumbling(count(4))
    """
    return PolicySpec(kind=PolicyKind.COUNT, size=tuples)


def time(duration: Duration) -> PolicySpec:
    """So many seconds.

    Example:
        >>> tumbling(time(60)), tumbling(time(timedelta(minutes=1)))
        (tumbling(time(60)), tumbling(time(60.0)))
    """
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return PolicySpec(kind=PolicyKind.TIME, size=seconds)


def delta(attribute: Column, difference: Any) -> PolicySpec:
    """As long as an attribute has grown by no more than a difference.

    Example:
        >>> from penstock import col
        >>> tumbling(delta(col.at, 5))
        tumbling(delta(col.at, 5))
    """
    return PolicySpec(kind=PolicyKind.DELTA, size=difference, attribute=attribute)


def punct() -> PolicySpec:
    """Up to the next window punctuation.

    Example:
        >>> tumbling(punct())
        tumbling(punct())
    """
    return PolicySpec(kind=PolicyKind.PUNCTUATION)


def tumbling(policy: PolicySpec, *, partition_age: Duration | None = None) -> WindowSpec:
    """A window that fires when it is full and then starts empty.

    With `partition_age` the window of a key is forgotten when no tuple has come for so many seconds.

    Example:
        >>> from penstock import App, agg, col
        >>> from penstock import windows as w
        >>> numbers = App().from_rows([(1,), (2,), (3,), (4,)], "int32 x")
        >>> numbers.aggregate(w.tumbling(w.count(2)), total=agg.sum(col.x)).collect()
        [Row(total=3), Row(total=7)]
    """
    _check_policies("tumbling", policy)
    return WindowSpec(kind=WindowKind.TUMBLING, eviction=policy, partition_age=_age(partition_age))


def sliding(
    policy: PolicySpec, *, every: PolicySpec | None = None, partition_age: Duration | None = None
) -> WindowSpec:
    """A window that always holds the latest tuples and fires as `every` says, by default on each tuple.

    With `partition_age` the window of a key is forgotten when no tuple has come for so many seconds.

    Example:
        >>> from penstock import App, agg, col
        >>> from penstock import windows as w
        >>> numbers = App().from_rows([(1,), (2,), (3,), (4,)], "int32 x")
        >>> numbers.aggregate(w.sliding(w.count(2), every=w.count(1)), total=agg.sum(col.x)).collect()
        [Row(total=3), Row(total=5), Row(total=7)]
    """
    _check_policies("sliding", *((policy,) if every is None else (policy, every)))
    return WindowSpec(kind=WindowKind.SLIDING, eviction=policy, trigger=every, partition_age=_age(partition_age))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWindowSpec:
    """A window by event time, in seconds: aligned to the clock with a `size`, a session with a `gap`.

    Attributes:
        size: How long it is.
        slide: How long after a window the next one starts.
        offset: By how much windows start later than at multiples of `slide` since 1970.
        gap: How long no tuple comes behind a session.
        on: The attribute with the event time; by default that of `by_event_time`.
    """

    size: float | None = None
    slide: float | None = None
    offset: float = 0.0
    gap: float | None = None
    on: str | None = None

    def __repr__(self) -> str:
        if self.gap is not None:
            return f"session({self.gap})"
        return f"tumbling_time({self.size})" if self.slide is None else f"sliding_time({self.size}, {self.slide})"


def tumbling_time(size: EventDuration, *, offset: EventDuration = 0, on: str | None = None) -> EventWindowSpec:
    """Windows by event time, one after the other, aligned to the clock: those of a minute start with the minute.

    For streams in the order of event time (`by_event_time`). A window fires when the first tuple behind it comes, of
    whatever key, and at the end; its output also says `window_start` and `window_end`.

    Args:
        size: Such as `"1 minute"`.
        offset: By how much they start later than at multiples of the size since 1970.
        on: The attribute with the event time, if it is not that of `by_event_time`.

    Example:
        >>> from penstock import App, agg
        >>> from penstock import windows as w
        >>> hits = App().from_rows([(3.0, "a"), (61.0, "a"), (59.0, "a")], "float64 at, rstring page")
        >>> in_order, late = hits.by_event_time("at", lateness="5 s")
        >>> counts = in_order.aggregate(w.tumbling_time("1 minute"), by="page", hits=agg.count())
        >>> [(row.page, row.window_start // 10**9, row.hits) for row in counts.collect()]
        [('a', 0, 2), ('a', 60, 1)]
    """
    return EventWindowSpec(size=_seconds("tumbling_time", size), offset=_seconds("tumbling_time", offset, 0.0), on=on)


def sliding_time(
    size: EventDuration, slide: EventDuration, *, offset: EventDuration = 0, on: str | None = None
) -> EventWindowSpec:
    """Windows by event time that overlap: one of `size` begins every `slide`, aligned to the clock.

    Like `tumbling_time`, but a tuple is in several windows.

    Example:
        >>> from penstock import App, agg
        >>> from penstock import windows as w
        >>> hits = App().from_rows([(3.0,), (61.0,)], "float64 at")
        >>> in_order, late = hits.by_event_time("at")
        >>> counts = in_order.aggregate(w.sliding_time("2 minutes", "1 minute"), hits=agg.count())
        >>> [(row.window_start // 10**9, row.hits) for row in counts.collect()]
        [(-60, 1), (0, 2), (60, 1)]
    """
    seconds, step = _seconds("sliding_time", size), _seconds("sliding_time", slide)
    return EventWindowSpec(size=seconds, slide=step, offset=_seconds("sliding_time", offset, 0.0), on=on)


def session(gap: EventDuration, *, on: str | None = None) -> EventWindowSpec:
    """Windows by event time that last as long as no two tuples of a key are more than `gap` apart.

    Example:
        >>> from penstock import App, agg
        >>> from penstock import windows as w
        >>> clicks = App().from_rows([(0.0, "ann"), (900.0, "ann"), (7200.0, "ann")], "float64 at, rstring user")
        >>> in_order, late = clicks.by_event_time("at")
        >>> sessions = in_order.aggregate(w.session("30 minutes"), by="user", clicks=agg.count())
        >>> [(row.user, row.clicks) for row in sessions.collect()]
        [('ann', 2), ('ann', 1)]
    """
    return EventWindowSpec(gap=_seconds("session", gap), on=on)


def duration_seconds(duration: EventDuration) -> float:
    """The seconds of a duration; what is none is reported at the caller's line.

    Example:
        >>> duration_seconds("2 minutes")
        120.0
    """
    try:
        return read_seconds(duration)
    except UserError as error:
        (found,) = error.diagnostics
        raise UserError(replace(found, span=caller_span())) from None


def _seconds(window: str, duration: EventDuration, least: float = 1e-9) -> float:
    seconds = duration_seconds(duration)
    if least and seconds < least:
        message = f"{window} takes a duration above 0, found {duration!r}"
        raise UserError(Diagnostic(message=message, span=caller_span()))
    return seconds


def _age(duration: Duration | None) -> PolicySpec | None:
    return None if duration is None else time(duration)


def _check_policies(window: str, *given: object) -> None:
    for policy in given:
        if not isinstance(policy, PolicySpec):
            hint = f"write {window}(count(10)), {window}(time(60)) or {window}(delta(col.at, 5))"
            message = f"{window} takes a policy, found {policy!r}"
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
