"""`KeyedOperator`: an operator written as a class of which every key has an instance.

What an instance keeps in its attributes is the state of its key, and it never sees the tuples of another. So the state
is partitioned by construction: there is nothing to infer, and nothing to declare but the key.

Example:
    >>> from penstock.testing import apply
    >>> class Changes(KeyedOperator):
    ...     '''Passes a price on when it differs from the last one of its symbol.'''
    ...     partition_by = "sym"
    ...     def __init__(self):
    ...         self.last = None
    ...     def process(self, t):
    ...         if t.price != self.last:
    ...             self.last = t.price
    ...             yield t
    >>> apply(Changes, [("IBM", 1.0), ("HPQ", 1.0), ("IBM", 1.0)], schema="rstring sym, float64 price")
    [('IBM', 1.0), ('HPQ', 1.0)]
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from penstock.api.inference import Role, infer_model
from penstock.api.keyed.keyed_runtime import KeyedRuntime, Seat
from penstock.api.keyed.shared_state import check_keeps_apart
from penstock.api.parameters import parameters_of
from penstock.api.runtimes import parameter_values
from penstock.api.state.upgrades import upgrade_of
from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.ir.expressions import Attribute, Expression, Literal
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, OperatorModel, State, Why
from penstock.ir.types import FLOAT64, has_collection
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.windows.partition import check_keys_by_port, key_names, keys_by_port

_HOOKS = ("on_punctuation", "finish")
"""The methods that act on all keys at once."""

_BY_TIME = Why(Flag.SELECTIVITY, "it gives tuples when it wakes or expires, any number for one that came")

TTL = ParamSpec(
    name="ttl",
    kind=ParamKind.CONSTANT,
    types=(FLOAT64,),
    doc="After how many seconds without a tuple the instance of a key expires.",
)


class KeyedOperator:
    """The base of operators with an instance for each key.

    Override `process`, and if needed the other hooks; give tuples by yielding them (they leave by output 0) or by
    `self.submit(tuple, port)`. The constructor runs when the first tuple of a key comes; its keyword parameters are
    the operator's. Class attributes say what is the same for all keys:

    Attributes:
        partition_by: The key: the name of an attribute, or several; an invocation may give it instead.
        ttl: After how many seconds without a tuple an instance expires; an invocation may give it instead.
        inputs: Number of input ports.
        outputs: Number of output ports.
        namespace: As SPL's `use` names it.
        version: A number that you change when the state of an older version needs your class method `upgrade(old)`.

    Example:
        >>> from penstock import App, after, source
        >>> @source
        ... def clicks():
        ...     yield "ann"; yield "ann"; yield "bob"; yield after(20)
        ...     yield "bob"; yield after(50)
        >>> class Session(KeyedOperator):
        ...     '''Counts the clicks of a user until there is none for half a minute.'''
        ...     partition_by, ttl = "user", 30.0
        ...     def __init__(self):
        ...         self.count = 0
        ...     def process(self, t):
        ...         self.count += 1
        ...     def on_expire(self):
        ...         yield {"user": self.key.user, "clicks": self.count}
        >>> App().source(clicks, "rstring user").apply(Session, "rstring user, int32 clicks").collect()
        [Row(user='ann', clicks=2), Row(user='bob', clicks=2)]
    """

    __slots__ = ("_seat",)

    partition_by: ClassVar[str | Sequence[str] | None] = None
    ttl: ClassVar[float | None] = None
    inputs: ClassVar[int] = 1
    outputs: ClassVar[int] = 1
    namespace: ClassVar[str] = ""
    version: ClassVar[int] = 1

    _seat: Seat

    def process(self, tuple_: Any) -> Iterable[Any] | None:
        """Take one tuple of the key, of input 0.

        Example:
            >>> from penstock.testing import apply
            >>> class Numbered(KeyedOperator):
            ...     partition_by, count = "user", 0
            ...     def process(self, t):
            ...         self.count += 1
            ...         yield {"user": t.user, "n": self.count}
            >>> apply(Numbered, ["ann", "bob", "ann"], schema="rstring user", output="rstring user, int32 n")
            [('ann', 1), ('bob', 1), ('ann', 2)]
        """
        raise NotImplementedError(f"{type(self).__name__} has no process")

    def process_port(self, tuple_: Any, port: int) -> Iterable[Any] | None:
        """Take one tuple of the key, of any input; by default those of input 0 go to `process`.

        Example:
            >>> class Either(KeyedOperator):
            ...     inputs = 2
            ...     def process_port(self, t, port):
            ...         yield {"user": t.user, "is_left": port == 0}
        """
        if port == 0:
            return self.process(tuple_)
        raise NotImplementedError(f"{type(self).__name__} has {self.inputs} inputs but no process_port")

    def on_wake(self) -> Iterable[Any] | None:
        """The time has come that `wake` asked for.

        Example:
            >>> from penstock import App
            >>> class Late(KeyedOperator):
            ...     partition_by = "user"
            ...     def process(self, t):
            ...         self.wake(30.0)
            ...     def on_wake(self):
            ...         yield {"user": self.key.user}
            >>> App().from_rows(["ann"], "rstring user", every=60.0).apply(Late).collect()
            [Row(user='ann')]
        """
        return None

    def on_expire(self) -> Iterable[Any] | None:
        """No tuple of the key has come for `ttl` seconds: give last tuples; the instance is then forgotten.

        Example:
            >>> from penstock import App
            >>> class Last(KeyedOperator):
            ...     partition_by, ttl = "user", 60.0
            ...     def process(self, t):
            ...         self.last = t
            ...     def on_expire(self):
            ...         yield self.last
            >>> App().from_rows(["ann"], "rstring user", every=90.0).apply(Last).collect()
            [Row(user='ann')]
        """
        return None

    def on_punctuation(self, port: int) -> Iterable[Any] | None:
        """Take a window marker, which reaches all keys; it is passed on afterwards.

        Example:
            >>> class Marked(KeyedOperator):
            ...     def on_punctuation(self, port):
            ...         yield {"user": self.key.user, "at": self.now}
        """
        return None

    def finish(self) -> Iterable[Any] | None:
        """All inputs have ended; last tuples may be given. It comes to all keys that are left.

        Example:
            >>> from penstock.testing import apply
            >>> class Counted(KeyedOperator):
            ...     partition_by, count = "user", 0
            ...     def process(self, t):
            ...         self.count += 1
            ...     def finish(self):
            ...         yield {"user": self.key.user, "n": self.count}
            >>> apply(Counted, ["ann", "bob", "ann"], schema="rstring user", output="rstring user, int32 n")
            [('ann', 2), ('bob', 1)]
        """
        return None

    def submit(self, tuple_: Any, port: int = 0) -> None:
        """Send a tuple.

        Example:
            >>> class Twice(KeyedOperator):
            ...     def process(self, t):
            ...         self.submit(t)
            ...         self.submit(t, port=1)
        """
        self._seat.runtime.submit_value(tuple_, port)

    def wake(self, seconds: float | None) -> None:
        """Call `on_wake` after so many seconds, and not when an earlier call of `wake` said; None for not at all.

        Example:
            >>> class Late(KeyedOperator):
            ...     def process(self, t):
            ...         self.wake(None if t.is_known else 30.0)
        """
        self._seat.runtime.set_wake(self._seat, seconds)

    @property
    def key(self) -> Any:
        """The key: a row of the attributes that it is made of.

        Example:
            >>> from penstock.testing import apply
            >>> class Keys(KeyedOperator):
            ...     partition_by = ("user", "day")
            ...     def process(self, t):
            ...         yield {"user": self.key.user, "day": self.key[1]}
            >>> apply(Keys, [("ann", 7)], schema="rstring user, int32 day")
            [('ann', 7)]
        """
        seat = self._seat
        return seat.runtime.key_row(seat.key)  # type: ignore[arg-type] # a key is a tuple

    @property
    def now(self) -> float:
        """The application's time, in seconds.

        Example:
            >>> from penstock.testing import apply
            >>> class Timed(KeyedOperator):
            ...     partition_by = "user"
            ...     def process(self, t):
            ...         yield {"user": t.user, "at": self.now}
            >>> apply(Timed, ["ann"], schema="rstring user", output="rstring user, float64 at")
            [('ann', 0.0)]
        """
        return self._seat.runtime.clock.now_ns / 1e9

    def __getstate__(self) -> Any:
        state = object.__getstate__(self)
        if not isinstance(state, tuple):
            return state
        slots = {name: value for name, value in state[1].items() if name != "_seat"}
        return (state[0], slots) if slots else state[0]

    @classmethod
    def __penstock_definition__(cls, name: str) -> OperatorDefinition:
        return _definition(cls, name)


def _definition(owner: type[KeyedOperator], name: str) -> OperatorDefinition:
    _check_class(owner)
    params = (*_own_params(owner), TTL)
    return OperatorDefinition(
        name=name,
        namespace=owner.namespace,
        doc=inspect.getdoc(owner) or "",
        inputs=(owner.inputs, owner.inputs),
        outputs=(owner.outputs, owner.outputs),
        params=params,
        model=lambda operator: _model(owner, operator),
        check=lambda operator, found: _check(owner, operator, found),
        runtime=lambda operator, context: _runtime(owner, params, operator, context),
        upgrades=upgrade_of(owner) is not None,
    )


def _own_params(owner: type[KeyedOperator]) -> tuple[ParamSpec, ...]:
    params = parameters_of(owner)
    taken = next((p.name for p in params if p.name in ("ttl", "partition_by")), None)
    if taken is not None:
        message = f"the constructor of `{owner.__name__}` has a parameter `{taken}`, which every KeyedOperator has"
        raise UserError(message, hint="give it another name")
    return params


def _check_class(owner: type[KeyedOperator]) -> None:
    """Refuse a class whose declarations make no sense, or whose keys share what they change."""
    if owner.process is KeyedOperator.process and owner.process_port is KeyedOperator.process_port:
        raise UserError(f"`{owner.__name__}` has no method `process`", hint="write `def process(self, t): ...`")
    if owner.ttl is not None:
        ttl_ns(owner.ttl, owner.__name__)
    declared = owner.partition_by
    if not (declared is None or isinstance(declared, str | list | tuple)) or not all(
        isinstance(name, str) for name in _declared_key(owner)
    ):
        message = f"`partition_by` of `{owner.__name__}` is {owner.partition_by!r}"
        raise UserError(message, hint="it is the name of an attribute, or several")
    check_keeps_apart(owner, KeyedOperator)


def _has(owner: type[KeyedOperator], hook: str) -> bool:
    return getattr(owner, hook) is not getattr(KeyedOperator, hook)


def _declared_key(owner: type[KeyedOperator]) -> tuple[str, ...]:
    declared = owner.partition_by
    return (declared,) if isinstance(declared, str) else tuple(declared or ())


def ttl_ns(seconds: float, name: str) -> int:
    """A time to live in nanoseconds.

    Raises:
        UserError: It is not a time to live.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise UserError(f"`ttl` of `{name}` is {seconds!r}", hint="it is a number of seconds, more than 0")
    return max(1, round(seconds * 1e9))


def key_expressions(owner: type[KeyedOperator], operator: Operator) -> list[list[Expression]]:
    """The key of each input port: what the invocation gives, or else what the class declares."""
    if operator.param("partitionBy"):
        return keys_by_port(operator, "partitionBy")
    return [
        [
            Attribute(type=port.schema.attribute(name).type, name=name, port=i, span=operator.span)
            for name in _declared_key(owner)
            if name in port.schema.position
        ]
        for i, port in enumerate(operator.inputs)
    ]


def _check(owner: type[KeyedOperator], operator: Operator, found: Diagnostics) -> None:
    name = operator.kind.rpartition("::")[2]
    if not operator.param("partitionBy"):
        _check_declared(owner, operator, name, found)
    elif operator.inputs:
        check_keys_by_port(operator, ["partitionBy"], found)
    for value in operator.param("ttl"):
        if isinstance(value, Literal) and isinstance(value.value, float) and not value.value > 0:
            found.error(f"`ttl` is {value.value!r}", value.span or operator.span, hint="it is a number above 0")
    if _has(owner, "on_expire") and owner.ttl is None and not operator.param("ttl"):
        message = f"`{name}` has `on_expire`, but nothing expires without a `ttl`"
        found.error(message, operator.span, hint="give the seconds, as a parameter or as an attribute of the class")


def _check_declared(owner: type[KeyedOperator], operator: Operator, name: str, found: Diagnostics) -> None:
    """The class declares a key, and every port has it."""
    declared = _declared_key(owner)
    if not declared:
        hint = "write `partitionBy` in the invocation (in Python `partition_by`), or `partition_by` in the class"
        found.error(f"`{name}` has an instance for each key, but no key is given", operator.span, hint=hint)
    for i, port in enumerate(operator.inputs):
        for attribute in declared:
            if attribute not in port.schema.position:
                message = f"`{name}` is partitioned by `{attribute}`, which input port {i} does not have"
                found.error(message, operator.span, hint=did_you_mean(attribute, port.schema.names))
            elif has_collection(type_ := port.schema.attribute(attribute).type):
                found.error(f"`{attribute}` cannot be a key: it is of type {type_}", operator.span)
    types = [[str(key.type) for key in keys] for keys in key_expressions(owner, operator)]
    if not found and any(other != types[0] for other in types[1:]):
        found.error(f"the keys of the input ports of `{name}` are of different types", operator.span)


def _model(owner: type[KeyedOperator], operator: Operator) -> OperatorModel:
    """Partitioned by its key; how much leaves, and what is copied, is inferred where only `process` gives tuples."""
    keys = [key_names(port) or () for port in key_expressions(owner, operator)]
    spontaneous = _has(owner, "on_wake") or _has(owner, "on_expire")
    base = OperatorModel(why=(_BY_TIME,)) if spontaneous else _inferred(owner, operator)
    base = replace(base, spontaneous=spontaneous, waits_for_markers=_has(owner, "on_punctuation"))
    why = [f"it acts in `{hook}`, which reaches all keys at once" for hook in _HOOKS if _has(owner, hook)]
    if any(names != keys[0] for names in keys[1:]):
        why.append("the keys of its input ports have different names; give them the same")
    if why:
        return replace(base, why=(*base.why, *(Why(Flag.STATE, text) for text in why)))
    return replace(base, state=State.PARTITIONED, partition_by=tuple(frozenset(names) for names in keys))


def _inferred(owner: type[KeyedOperator], operator: Operator) -> OperatorModel:
    if len(operator.inputs) != 1:
        return OperatorModel(why=(Why(Flag.SELECTIVITY, "it has several inputs"),))
    schemas = tuple(port.schema for port in operator.outputs)
    found = infer_model(owner.process, Role.PROCESS, inputs=operator.inputs[0].schema, outputs=schemas, owner=owner)
    return OperatorModel(
        selectivity=found.selectivity,
        forwarding=found.forwarding,
        forwards=found.forwards,
        side_effects=found.side_effects,
        why=tuple(why for why in found.why if why.flag is Flag.SELECTIVITY),
    )


def _runtime(owner: type[KeyedOperator], params: Sequence[ParamSpec], operator: Operator, context: Context) -> Runtime:
    parameters = parameter_values(owner, tuple(params), operator, context)
    seconds = parameters.pop("ttl", owner.ttl)
    keys = [[str(key_names([key])[0]) for key in port] for port in key_expressions(owner, operator)]  # type: ignore[index]
    return KeyedRuntime(
        owner,
        operator,
        context,
        parameters=parameters,
        keys=keys,
        ttl_ns=None if seconds is None else ttl_ns(seconds, operator.id),
        hooks=frozenset(hook for hook in ("on_wake", "on_expire", *_HOOKS) if _has(owner, hook)),
    )
