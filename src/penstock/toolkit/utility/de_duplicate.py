"""DeDuplicate: drops tuples whose key has been seen a short while ago.

How long a key is remembered is given in seconds (`timeOut`, 600 by default), in tuples (`count`) or as a difference
of an attribute (`deltaAttribute` and `delta`). A tuple passes if its key is not remembered, or if the time, the
number of tuples or the difference since then is greater than that. A duplicate makes the operator remember its key
from then on, unless `resetOnDuplicate` is false; it leaves by the second output port, if there is one. A key with a
NaN in it is never a duplicate. Window markers are passed on, and make it forget everything if `flushOnPunctuation` is
true.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity, State
from penstock.ir.types import (
    BOOLEAN,
    FLOAT64,
    UINT64,
    TupleType,
    TypedName,
    is_complex,
    is_decimal,
    is_float,
    is_numeric,
)
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.analysis.logic_analysis import not_parallel, stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Keyed, same_nan
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.windows.partition import key_names


class _Seen(OrderedDict[Hashable, Any], Keyed):
    """Where each key was last seen, the oldest first.

    Attributes:
        is_ascending: Whether the marks never fall, so that the oldest is the least.
    """

    def __init__(self, names: tuple[str, ...] | None, *, is_ascending: bool) -> None:
        super().__init__()
        self.names = names
        self.is_ascending = is_ascending

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The mark of each key."""
        return dict(self)

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Remember the same keys; those that come from several places are put in order."""
        entries = sorted(parts.items(), key=lambda entry: entry[1]) if self.is_ascending else parts.items()
        self.update((same_nan(key), mark) for key, mark in entries)


class DeDuplicateRuntime(LogicRuntime):
    """Remembers keys with the time, tuple number or attribute value at which they were seen; the oldest first."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        counts, measures = bool(operator.param("count")), bool(operator.param("deltaAttribute"))
        self.remembers = ("_seen", "_received") if counts else ("_seen",)
        names = None if counts or measures else key_names(_key_expressions(operator))
        self._seen = _Seen(names, is_ascending=not measures)
        self._resets = self.constant("resetOnDuplicate", True)
        self._flushes = self.constant("flushOnPunctuation", False)
        self._received = 0

    def taker(self, port: int) -> Submit:
        """A function that passes a tuple on unless it is a duplicate."""
        key, mark, limit = self._key(), self._mark(), self._limit()
        seen, submit, make = self._seen, self.submit[0], self.output_row(0)
        duplicate = self.submit[1] if len(self.submit) > 1 else None

        def take(tuple_: Tuple) -> None:
            identity, now = key(tuple_), mark(tuple_)
            if identity is None:
                submit(make(tuple_))
                return
            before = seen.get(identity)
            is_duplicate = before is not None and now - before <= limit
            if not is_duplicate or self._resets:
                seen[identity] = now
                seen.move_to_end(identity)
            if not is_duplicate:
                submit(make(tuple_))
            elif duplicate is not None:
                duplicate(tuple_)
            self._forget(now, limit)

        return take

    def take_window_marker(self, port: int) -> None:
        """Pass the marker on."""
        if self._flushes:
            self._seen.clear()
        super().take_window_marker(port)

    def _forget(self, now: Any, limit: Any) -> None:
        while self._seen and now - next(iter(self._seen.values())) > limit:
            self._seen.popitem(last=False)

    def _key(self) -> Callable[[Tuple], Hashable | None]:
        values = _key_expressions(self.operator)
        make = self.row(values)
        identity = identity_of(TupleType(tuple(TypedName(f"_{i}", v.type) for i, v in enumerate(values))))
        floats = [i for i, v in enumerate(values) if is_float(v.type) or is_complex(v.type) or is_decimal(v.type)]
        if identity is None:
            return make
        convert = identity

        def key(tuple_: Tuple) -> Hashable | None:
            row = make(tuple_)
            return None if any(row[i] != row[i] for i in floats) else convert(row)

        return key

    def _mark(self) -> Callable[[Tuple], Any]:
        attribute = self.operator.param("deltaAttribute")
        if attribute:
            return self.scalar(attribute[0])
        if self.operator.param("count"):
            return self._number
        clock = self.context.environment.clock
        return lambda tuple_: clock.now_ns

    def _number(self, tuple_: Tuple) -> int:
        self._received += 1
        return self._received

    def _limit(self) -> Any:
        if self.operator.param("deltaAttribute"):
            return self.constant("delta")
        return self.constant("count") if self.operator.param("count") else self.duration_ns("timeOut", 600.0)


def _key_expressions(operator: Operator) -> tuple[Expression, ...]:
    whole = tuple(Attribute(type=a.type, name=a.name) for a in operator.inputs[0].schema.attributes)
    return operator.param("key") or whole


def _check(operator: Operator, found: Diagnostics) -> None:
    given = [p for p in ("timeOut", "count", "deltaAttribute") if operator.param(p)]
    if len(given) > 1:
        found.error(f"a DeDuplicate has one of `timeOut`, `count` and `deltaAttribute`, found {given}", operator.span)
    if bool(operator.param("delta")) != bool(operator.param("deltaAttribute")):
        found.error("`delta` and `deltaAttribute` of a DeDuplicate go together", operator.span)
    for attribute, delta in zip(operator.param("deltaAttribute"), operator.param("delta"), strict=False):
        if not is_numeric(attribute.type) or not is_numeric(delta.type):
            message = f"`deltaAttribute` and `delta` are numbers, found {attribute.type} and {delta.type}"
            found.error(message, attribute.span or operator.span)
    if len(operator.outputs) > 1 and operator.outputs[1].schema != operator.inputs[0].schema:
        found.error("the second output port of a DeDuplicate has the schema of its input", operator.span)


def _model(operator: Operator) -> OperatorModel:
    keys = _key_expressions(operator)
    if operator.param("flushOnPunctuation"):
        sequential = not_parallel(operator, "a window marker makes it forget the keys of all tuples")
        return replace(sequential, waits_for_markers=True)
    if operator.param("count") or operator.param("deltaAttribute"):
        return not_parallel(operator, "it counts, or measures, over all tuples how long to remember a key")
    if not all(isinstance(key, Attribute | InputTuple) for key in keys):
        return not_parallel(operator, "its key is computed, so it is not known which tuples share one")
    names = frozenset(name for key in keys for name in _names(key))
    both = len(operator.outputs) > 1
    model = stateless(operator, Selectivity.EXACTLY_ONE if both else Selectivity.AT_MOST_ONE)
    return replace(model, state=State.PARTITIONED, partition_by=(names,))


def _names(key: Expression) -> tuple[str, ...]:
    if isinstance(key, InputTuple) and isinstance(key.type, TupleType):
        return key.type.names
    return (key.name,) if isinstance(key, Attribute) else ()


def _constant(name: str, type_: object, doc: str) -> ParamSpec:
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=(type_,), doc=doc)  # type: ignore[arg-type]


DEFINITION = OperatorDefinition(
    name="DeDuplicate",
    doc="Drops tuples whose key was seen a short while ago. The second output port, if there is one, receives them.",
    inputs=(1, 1),
    outputs=(1, 2),
    params=(
        ParamSpec(name="key", many=True, doc="What makes two tuples duplicates; all attributes without it."),
        _constant("timeOut", FLOAT64, "Seconds for which a key is remembered; 600 without any of the three."),
        _constant("count", UINT64, "The number of tuples for which a key is remembered."),
        ParamSpec(
            name="deltaAttribute",
            kind=ParamKind.ATTRIBUTES,
            doc="The attribute whose difference tells how long a key is remembered.",
        ),
        ParamSpec(name="delta", kind=ParamKind.CONSTANT, doc="The greatest difference for which it is remembered."),
        _constant("resetOnDuplicate", BOOLEAN, "Whether a duplicate starts the count again; true without it."),
        _constant("flushOnPunctuation", BOOLEAN, "Whether a window marker makes it forget all keys; false without it."),
    ),
    output=OutputClause.ASSIGN,
    facts=Facts(is_repeatable=True),
    model=_model,
    check=_check,
    runtime=DeDuplicateRuntime,
)
