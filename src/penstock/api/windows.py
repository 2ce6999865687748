"""Windows, in SPL's words: `tumbling(count(4))`, `sliding(time(60), every=count(1))`.

`from penstock import windows as w` gives them names that hide nothing else: `w.tumbling(w.count(4))`.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> window = sliding(count(4), every=count(1)).build(parse_schema("int32 x"), partitioned=True, span=None)
    >>> window.kind.value, window.eviction.size.value, window.partitioned
    ('sliding', 4, True)
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from penstock.api.columns import Column, Scope, lift
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.expr import typing
from penstock.ir.graph import Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import FLOAT64, INT32, Schema

Duration = float | timedelta | Column


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


def _age(duration: Duration | None) -> PolicySpec | None:
    return None if duration is None else time(duration)


def _check_policies(window: str, *given: object) -> None:
    for policy in given:
        if not isinstance(policy, PolicySpec):
            hint = f"write {window}(count(10)), {window}(time(60)) or {window}(delta(col.at, 5))"
            message = f"{window} takes a policy, found {policy!r}"
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
