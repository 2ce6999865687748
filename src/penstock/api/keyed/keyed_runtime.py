"""Operators with an instance for each key at work.

Formulation:
    The runtime holds an entry for each key: a `Seat` with the instance, or what a snapshot says of it. An instance is
    made by the first tuple of its key, and made again from a snapshot when something first asks for it; so a batch
    costs what it touches. A key whose time to live has passed is as good as gone: whoever asks for it next, a tuple, a
    wake or its own timer, finds it expired. Where nobody wants to know of that (`on_expire`), nothing waits for it:
    entries stand in the order of their last tuples, and old ones go from the front.

Preserves:
    Order. A wake and an expiry are timers of the engine, one of each for a key, so of those that are due at one time
    the one that was set last fires last. What reaches all keys reaches them in the order of their first tuples.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import deepcopy
from inspect import signature
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from penstock.api.instances import dump_state, given_by, load_state, set_state
from penstock.api.keyed.key_timers import KeyTimers
from penstock.api.rows import conformer, row_maker
from penstock.api.state.upgrades import (
    INSTANCE,
    Stamp,
    bring_up_to_date,
    holds_instances,
    refuse_other_form,
    stamp_in,
    stamp_of,
    upgrade_of,
)
from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.ir.graph import Operator
from penstock.ir.types import Schema, TupleType
from penstock.toolkit.aggregates.distinct import identity_of
from penstock.toolkit.core.memory import Parts, Whole, same_nan
from penstock.toolkit.core.runtime import Context, Runtime, Submit

if TYPE_CHECKING:
    from penstock.api.keyed.operator import KeyedOperator

_PLAIN = frozenset({int, float, str, bytes, bool, type(None)})

NOT_KEPT = -1
"""The last time of an instance that does not expire: if its class gets a `ttl`, its time begins when it is restored."""


class Seat:
    """The engine's side of an instance.

    Attributes:
        runtime: Runs it.
        key: Whose it is.
        born: Its number among all instances.
        last_ns: When the last tuple came.
        instance: Of the user's class.
        is_restored: Whether it is being made from a snapshot, which knows when it is to wake.
        is_gone: Whether it has expired.
    """

    __slots__ = ("born", "instance", "is_gone", "is_restored", "key", "last_ns", "runtime")

    def __init__(self, runtime: KeyedRuntime, key: Hashable, born: int, last_ns: int) -> None:
        self.runtime = runtime
        self.key = key
        self.born = born
        self.last_ns = last_ns
        self.instance: KeyedOperator
        self.is_restored = self.is_gone = False


Stored = tuple[Hashable, int, int, Any, Any, Any]
"""An instance in a snapshot: its key, number and last time, its attributes, its wake, its expiry."""


class Apart(Protocol):
    """Holds the instances of keys for which nothing has come; a runtime fetches what it needs."""

    def fetch(self, key: Hashable) -> None:
        """Give the runtime the instance of a key, if there is one."""

    def fetch_all(self) -> None:
        """Give it all."""

    def is_whole(self) -> bool:
        """Give it all for a snapshot, unless that is to leave out what is held."""


class KeyedRuntime(Runtime):
    """Runs the instances of a user's subclass of `KeyedOperator`.

    Args:
        owner: The class.
        operator: What this is an instance of.
        context: The interpreter's side.
        parameters: What the constructor is given.
        keys: The attributes of the key, by input port.
        ttl_ns: After how long without a tuple an instance expires.
        hooks: The methods beside `process` that the class has.

    Attributes:
        apart: Holds the instances that are not loaded, if there are any.
    """

    def __init__(
        self,
        owner: type[KeyedOperator],
        operator: Operator,
        context: Context,
        *,
        parameters: dict[str, Any],
        keys: list[list[str]],
        ttl_ns: int | None,
        hooks: frozenset[str],
    ) -> None:
        super().__init__(operator, context)
        self.owner, self.parameters = owner, parameters
        self.copied = _changeable(owner, parameters)
        self.clock = context.environment.clock
        self.names, self.key_names, self.ttl_ns, self.hooks = tuple(keys[0]), keys, ttl_ns, hooks
        self.says_farewell = "on_expire" in hooks
        schemas = [_key_schema(port.schema, names) for port, names in zip(operator.inputs, keys, strict=True)]
        self.key_row = row_maker(schemas[0])
        self.key_of = [_key_function(port.schema, names) for port, names in zip(operator.inputs, keys, strict=True)]
        self.conforms = [conformer(port.schema) for port in operator.outputs]
        self.entries: OrderedDict[Hashable, Seat | Stored] = OrderedDict()
        self.wakes = KeyTimers(context, self._wake)
        # Whoever looks at what is old finds it expired.
        self.expiries = KeyTimers(context, self._live)
        self.born = 0
        self.apart: Apart | None = None
        self.has_floats = identity_of(schemas[0]) is not None
        self.stamp = stamp_of(owner)
        self.shapes: dict[tuple[str, ...], tuple[str, ...]] = {}
        # Attributes that are plain data need no pickle of their own, unless the class has a say in it.
        self.is_plain = not hasattr(owner, "__setstate__") and _getstate_of(owner) == "KeyedOperator"

    # Tuples.

    def receiver(self, port: int) -> Submit:
        """A closure over the port's key."""
        key_of, make, is_only = self.key_of[port], row_maker(self.operator.inputs[port].schema), len(self.key_of) == 1

        def receive(tuple_: Tuple) -> None:
            instance = self.instance_for(key_of(tuple_))
            row = make(tuple_)
            self._submit_all(instance.process(row) if is_only else instance.process_port(row, port))

        return receive

    def instance_for(self, key: Hashable) -> KeyedOperator:
        """The instance that a tuple has come for."""
        seat = self._live(key) or self._make(key)
        if self.ttl_ns is not None:
            self._live_on(seat, self.ttl_ns)
        return seat.instance

    def _make(self, key: Hashable) -> Seat:
        seat = Seat(self, key, self.born, NOT_KEPT if self.ttl_ns is None else self.clock.now_ns)
        self._construct(seat)
        self.born += 1
        self.entries[key] = seat
        return seat

    def _construct(self, seat: Seat) -> None:
        seat.instance = self.owner.__new__(self.owner)
        seat.instance._seat = seat
        own = {name: deepcopy(value) for name, value in self.copied.items()}
        seat.instance.__init__(**{**self.parameters, **own})  # type: ignore[misc] # the instance needs its seat before

    def submit_value(self, value: Any, port: int = 0) -> None:
        """Send what an instance gives."""
        self.submit[port](self.conforms[port](value))

    def _submit_all(self, values: Iterable[Any] | None) -> None:
        for value in values or ():
            self.submit[0](self.conforms[0](value))

    # Time.

    def _live_on(self, seat: Seat, ttl_ns: int) -> None:
        """A tuple has come: the instance lives longer."""
        seat.last_ns = self.clock.now_ns
        self.entries.move_to_end(seat.key)
        if not self.says_farewell:
            self.forget_expired()
            return
        self.expiries.set(seat.key, seat.last_ns + ttl_ns)

    def _live(self, key: Hashable) -> Seat | None:
        """The seat of a key; none if there is none, or not any more."""
        entry = self.entries.get(key)
        if entry is None and self.apart is not None:
            self.apart.fetch(key)
            entry = self.entries.get(key)
        if entry is None:
            return None
        if self.is_old(entry):
            self._expire(entry)
            return None
        return self._restore(entry, self.stamp) if isinstance(entry, tuple) else entry

    def is_old(self, entry: Seat | Stored) -> bool:
        """Whether the time of an instance is over."""
        if self.ttl_ns is None:
            return False
        last_ns = entry[2] if isinstance(entry, tuple) else entry.last_ns
        return last_ns != NOT_KEPT and self.clock.now_ns - last_ns >= self.ttl_ns

    def _expire(self, entry: Seat | Stored) -> None:
        if not self.says_farewell:
            self.forget(entry[0] if isinstance(entry, tuple) else entry.key)
            return
        seat = self._restore(entry, self.stamp) if isinstance(entry, tuple) else entry
        self.forget(seat.key)
        seat.is_gone = True
        self._submit_all(seat.instance.on_expire())

    def forget(self, key: Hashable) -> None:
        """Let an instance go whose time is over."""
        self.expired += 1
        del self.entries[key]
        self.wakes.cancel(key)
        self.expiries.cancel(key)

    def forget_expired(self) -> None:
        """Forget what nobody asks for any more, where nothing waits for that."""
        while self.entries and not self.says_farewell:
            key = next(iter(self.entries))
            if not self.is_old(self.entries[key]):
                return
            self.forget(key)

    def set_wake(self, seat: Seat, seconds: float | None) -> None:
        """Wake an instance after a while.

        Raises:
            EvaluationError: It cannot wait, or that is no time.
        """
        if seat.is_gone:
            raise EvaluationError("an instance that has expired cannot be woken")
        if "on_wake" not in self.hooks:
            raise EvaluationError(f"{self.owner.__name__} calls wake, but has no on_wake")
        if seat.is_restored:
            return
        if seconds is not None and not 0 < seconds < math.inf:
            raise EvaluationError(f"wake takes a number of seconds above 0, or None, got {seconds!r}")
        if seconds is None:
            self.wakes.cancel(seat.key)
        else:
            self.wakes.set(seat.key, self.clock.now_ns + max(1, round(seconds * 1e9)))

    def _wake(self, key: Hashable) -> None:
        if (seat := self._live(key)) is not None:
            self._submit_all(seat.instance.on_wake())

    # What reaches all keys.

    def on_window_punctuation(self, port: int) -> None:
        """Let every instance act, then pass the marker on."""
        for seat in self._all() if "on_punctuation" in self.hooks else ():
            self._submit_all(seat.instance.on_punctuation(port))
        super().on_window_punctuation(port)

    def finish(self) -> None:
        """Submit the last tuples of every instance."""
        for seat in self._all() if "finish" in self.hooks else ():
            self._submit_all(seat.instance.finish())

    def _all(self) -> Iterator[Seat]:
        """The seats in the order of their first tuples."""
        if self.apart is not None:
            self.apart.fetch_all()
        for key in sorted(self.entries, key=self._born):
            seat = self._live(key)
            if seat is not None:
                yield seat

    def _born(self, key: Hashable) -> int:
        entry = self.entries[key]
        return entry[1] if isinstance(entry, tuple) else entry.born

    # Memory.

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add what every instance needs to go on."""
        self.forget_expired()
        if (self.apart is None or self.apart.is_whole()) and self.entries:
            stored = {key: self.stored(entry) for key, entry in self.entries.items()}
            parts[self.stamp.keys] = self.names, stored

    def stored(self, entry: Seat | Stored) -> Stored:
        """What a snapshot says of an instance; the timers of one that is not made may be others by now."""
        if isinstance(entry, tuple):
            key, born, last_ns, state, *_ = entry
        else:
            key, born, last_ns, state = entry.key, entry.born, entry.last_ns, self._state(entry.instance)
        return key, born, last_ns, state, self.wakes.snapshot(key), self.expiries.snapshot(key)

    def _state(self, instance: KeyedOperator) -> Any:
        """The attributes of an instance: names and values if they are plain data, else pickled."""
        if self.is_plain:
            state = instance.__getstate__()
            if type(state) is dict and _PLAIN.issuperset(map(type, state.values())):
                names = tuple(state)
                # One object for all instances, which a pickle holds once.
                return self.shapes.setdefault(names, names), tuple(state.values())
        return dump_state(instance, self._given(instance._seat), self.operator)

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Know of every instance, and wait for what it waited for; what another version has left is renewed at once."""
        refuse_other_form(INSTANCE not in whole and all(map(holds_instances, parts)), self.operator)
        stored = [own for _, values in parts.values() for own in values.values()]
        if self.ttl_ns is not None:
            now_ns = self.clock.now_ns
            stored = [(key, born, now_ns if ns == NOT_KEPT else ns, *rest) for key, born, ns, *rest in stored]
            stored.sort(key=itemgetter(2))
        if self.has_floats:
            stored = [(same_nan(key), *rest) for key, *rest in stored]
        self.entries.update(zip(map(itemgetter(0), stored), stored, strict=True))
        self.born = 1 + max(map(itemgetter(1), stored), default=-1)
        if "on_wake" in self.hooks:
            self.wakes.restore(map(itemgetter(0, 4), stored))
        if self.says_farewell:
            self.expiries.restore(map(itemgetter(0, 5), stored))
            # The class may have another time to live than the one that has left them.
            for key, _, last_ns, *_ in stored if self.ttl_ns is not None else ():
                self.expiries.set(key, last_ns + self.ttl_ns)
        self._renew(parts)

    def _renew(self, parts: Parts) -> None:
        """Make the instances that another version of the class has left: the next snapshot is of this one."""
        for name, (_, values) in parts.items():
            written = stamp_in(name)
            if written != self.stamp and (written is not None or upgrade_of(self.owner) is not None):
                for key in values:
                    own = self.entries[same_nan(key) if self.has_floats else key]
                    assert isinstance(own, tuple)
                    self._restore(own, written)

    def _restore(self, stored: Stored, written: Stamp | None) -> Seat:
        """The instance of a snapshot: made like a new one, with the attributes that it had.

        Args:
            stored: What the snapshot says of it.
            written: The stamp of the class that has left it, if it is known.
        """
        key, born, last_ns, state, _, _ = stored
        seat = Seat(self, key, born, last_ns)
        seat.is_restored = True
        self._construct(seat)
        if not isinstance(state, tuple):
            load_state(seat.instance, state, self._given(seat), self.operator, written)
        elif written == self.stamp:
            vars(seat.instance).clear()
            vars(seat.instance).update(zip(*state, strict=True))
        else:
            old = dict(zip(*state, strict=True))
            set_state(seat.instance, bring_up_to_date(seat.instance, old, written, self._given(seat), self.operator))
        seat.instance._seat, seat.is_restored = seat, False
        self.entries[key] = seat
        return seat

    def _given(self, seat: Seat) -> dict[str, Any]:
        """The objects that the engine gives an instance; they are never part of its state."""
        given = given_by(self.context.environment) if "environment" in self.parameters else {}
        return {"seat": seat, **given}


def _key_schema(schema: Schema, names: list[str]) -> Schema:
    return TupleType(tuple(schema.attribute(name) for name in names))


def _key_function(schema: Schema, names: list[str]) -> Callable[[Tuple], Hashable]:
    """The function that gives the key of a tuple: every NaN is the same."""
    identity = identity_of(_key_schema(schema, names))
    positions = [schema.position[name] for name in names]
    pick: Callable[[Tuple], Any] = itemgetter(*positions)
    if len(positions) == 1:
        place = positions[0]
        pick = lambda tuple_: (tuple_[place],)  # noqa: E731 # a tuple of one
    return pick if identity is None else lambda tuple_: identity(pick(tuple_))


def _changeable(owner: type, parameters: dict[str, Any]) -> dict[str, Any]:
    """The mutable arguments and defaults of the constructor, of which every instance gets its own copy."""
    defaults = {name: parameter.default for name, parameter in signature(owner).parameters.items()}
    return {n: v for n, v in {**defaults, **parameters}.items() if isinstance(v, list | dict | set)}


def _getstate_of(owner: type) -> str:
    """The name of the class whose `__getstate__` instances have."""
    return next(c.__name__ for c in owner.__mro__ if "__getstate__" in vars(c))
