"""The watcher around an operator whose model is verified: see `verify_models` for what it checks and why."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from penstock.expr.environment import Environment, Tuple
from penstock.expr.evaluate import Evaluator
from penstock.expr.values import text_form
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity, State
from penstock.parallel.routing import group_of_values
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.verify.checked_calls import comparable
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Submit

REPLICAS = 3
CHANNELS_OF_ONE = 2
"""With a single replica, every other tuple goes to it."""

WATCHED_STATE = "watched"

Sent = list[tuple[int, Tuple]]
"""Output port and tuple."""


class Watcher(Runtime):
    """An instance of an operator, with replicas of it, and its claims.

    Args:
        operator: Under its own kind.
        context: The interpreter's side.
        make: Makes an instance.
        limit: How many tuples are looked at; None for all.
        replicas: How many instances see a part of the tuples.
    """

    def __init__(
        self,
        operator: Operator,
        context: Context,
        make: Callable[[Operator, Context], Runtime],
        *,
        limit: int | None = None,
        replicas: int = REPLICAS,
    ) -> None:
        super().__init__(operator, context)
        self._left = math.inf if limit is None else limit
        self._channels = replicas if replicas > 1 else CHANNELS_OF_ONE
        self._sent: Sent = []
        self._in_hand: tuple[int, Tuple] | None = None
        self._turn = 0
        self._model = _resolved(operator)
        self._inner = make(operator, context)
        self._connect(self._inner, self._send, self._punctuate)
        self._replicas = [_Replica(operator, context, make) for _ in range(replicas if _may_replicate(operator) else 0)]
        self._same = [comparable(port.schema) for port in operator.outputs]

    def _connect(self, runtime: Runtime, send: Callable[[int, Tuple], None], punctuate: Callable[..., None]) -> None:
        for port in range(len(self.operator.outputs)):
            runtime.submit.append(lambda tuple_, port=port: send(port, tuple_))  # type: ignore[misc]
            runtime.punctuate.append(lambda mark, port=port: punctuate(port, mark))  # type: ignore[misc]

    def _send(self, port: int, tuple_: Tuple) -> None:
        if self._left < 0:
            pass
        elif self._in_hand is None:
            if not self._model.spontaneous and self._model.state is not State.UNKNOWN:
                made = text_form(self.operator.outputs[port].schema)(tuple_)
                raise OperatorFailed(
                    self.operator, _says("only submits while a tuple comes in", f"it submitted {made}")
                )
        else:
            self._sent.append((port, tuple_))
            self._check_count()
            self._check_forwarding(port, tuple_)
        self.submit[port](tuple_)

    def _punctuate(self, port: int, mark: Punctuation) -> None:
        self.punctuate[port](mark)

    @property
    def to_check(self) -> float:
        """How many tuples are still to be checked."""
        return max(0, self._left)

    @property
    def inner(self) -> Runtime:
        """The instance."""
        return self._inner

    @property
    def settled(self) -> Runtime:
        """The instance alone, once it has been checked."""
        assert self._left <= 0
        self._left = -1
        self._replicas.clear()
        return self._inner

    def receiver(self, port: int) -> Submit:
        """The instance's own function, between two looks at what it does."""
        take = self._inner.receiver(port)
        for replica in self._replicas:
            replica.open(port)

        def receive(tuple_: Tuple) -> None:
            if self._left <= 0:
                self._left = -1
                self._replicas.clear()
                take(tuple_)
                return
            self._left -= 1
            outer = self._in_hand, self._sent
            self._in_hand, self._sent = (port, tuple_), []
            try:
                self._take(take, port, tuple_)
            finally:
                self._in_hand, self._sent = outer

        return receive

    def _take(self, take: Submit, port: int, tuple_: Tuple) -> None:
        try:
            take(tuple_)
        except Exception:
            # What the instance has seen of a tuple that it cannot process, its replica sees, too.
            self._replicate(port, tuple_)
            raise
        self._check_exactly_one()
        self._check_state(port, tuple_)

    def _check_count(self) -> None:
        if self._model.selectivity is not Selectivity.UNKNOWN and len(self._sent) > 1:
            self._fail(f"submits {self._model.selectivity.value} for one", f"it submitted {len(self._sent)}")

    def _check_exactly_one(self) -> None:
        if self._model.selectivity is Selectivity.EXACTLY_ONE and not self._sent:
            self._fail("submits exactly one for one", "it submitted none")

    def _check_forwarding(self, port: int, tuple_: Tuple) -> None:
        if len(self.operator.inputs) > 1 or self._in_hand is None:
            return
        came, left = self.operator.inputs[0].schema, self.operator.outputs[port].schema
        for name in sorted(self._copied()):
            if name in came.position and name in left.position:
                before, after = self._in_hand[1][came.position[name]], tuple_[left.position[name]]
                same = comparable(left.attribute(name).type)
                # In a tuple, because there one NaN is equal to itself.
                if (same(before),) != (same(after),):
                    self._fail(f"forwards `{name}` unchanged", f"it made {after!r} of {before!r}")

    def _copied(self) -> frozenset[str]:
        if self._model.state is State.STATELESS:
            return self._model.forwards
        keys = self._model.partition_by
        return self._model.forwards & keys[0] if self._model.state is State.PARTITIONED and keys else frozenset()

    def _check_state(self, port: int, tuple_: Tuple) -> None:
        taken = self._replicate(port, tuple_)
        if taken is None:
            return
        found, failure = taken
        if failure is not None:
            self._fail(self._state_claim(), f"a replica that has seen a part of the tuples failed: {failure}")
        if [(p, self._same[p](t)) for p, t in found] != [(p, self._same[p](t)) for p, t in self._sent]:
            ours, theirs = (self._text(sent) for sent in (self._sent, found))
            self._fail(
                self._state_claim(), f"it gave {ours}, and a replica that has seen a part of the tuples {theirs}"
            )

    def _replicate(self, port: int, tuple_: Tuple) -> tuple[Sent, str | None] | None:
        """The output of the replica that gets a tuple, and why it failed, if it did; None if no replica gets it."""
        if not self._replicas:
            return None
        self._turn += 1
        choice = self._choice(port, tuple_)
        return self._replicas[choice].take(port, tuple_) if choice < len(self._replicas) else None

    def _choice(self, port: int, tuple_: Tuple) -> int:
        """Which replica gets a tuple, as channels would."""
        if self._model.state is State.STATELESS:
            return self._turn % self._channels
        position = self.operator.inputs[port].schema.position
        return group_of_values(
            [tuple_[position[name]] for name in sorted(self._model.partition_by[port])], self._channels
        )

    def _state_claim(self) -> str:
        if self._model.state is State.STATELESS:
            return "is stateless"
        return f"has state partitioned by {', '.join(sorted(self._model.partition_by[0]))}"

    def _text(self, sent: Sent) -> str:
        texts = [text_form(self.operator.outputs[port].schema)(tuple_) for port, tuple_ in sent]
        return ", ".join(texts) or "nothing"

    def _fail(self, claim: str, found: str) -> None:
        assert self._in_hand is not None
        port, tuple_ = self._in_hand
        record = text_form(self.operator.inputs[port].schema)(tuple_)
        raise OperatorFailed(self.operator, _says(claim, found), record)

    def on_window_punctuation(self, port: int) -> None:
        """As the instance does."""
        self._inner.on_window_punctuation(port)

    def on_final_punctuation(self, port: int) -> None:
        """As the instance does."""
        self._inner.on_final_punctuation(port)

    def is_waiting(self) -> bool:
        """As the instance does."""
        return self._inner.is_waiting()

    def forget_expired(self) -> None:
        """As the instance does; its replicas, which see a part of the tuples, count for nothing."""
        self._inner.forget_expired()
        self.expired = self._inner.expired

    def finish(self) -> None:
        """As the instance does."""
        self._inner.finish()

    def close(self) -> None:
        """As the instance does."""
        self._inner.close()

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """The memory of the instance, and beside it that of the replicas: without a watcher it is understood, too."""
        self._inner.snapshot_into(whole, parts)
        whole |= self.snapshot_watch()

    def snapshot_watch(self) -> Whole:
        """The memory of the watcher alone."""
        return {WATCHED_STATE: (self._left, [replica.runtime.snapshot() for replica in self._replicas])}

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Go on where another watcher stood."""
        self._inner.restore_from(whole, parts)
        self.restore_watch(whole)

    def restore_watch(self, whole: Whole) -> None:
        """Go on with the memory of another watcher alone."""
        # Replicas that have not seen the tuples before would give something else.
        self._left, states = whole.get(WATCHED_STATE, (-1, []))
        del self._replicas[len(states) :]
        for replica, state in zip(self._replicas, states, strict=True):
            replica.runtime.restore(state)


class _Replica:
    """An instance that sees only a part of the tuples, and whose own are compared and thrown away."""

    def __init__(self, operator: Operator, context: Context, make: Callable[[Operator, Context], Runtime]) -> None:
        self.runtime = make(operator, _Alone(context))
        self._receivers: dict[int, Submit] = {}
        self._sent: Sent = []
        for port in range(len(operator.outputs)):
            self.runtime.submit.append(lambda tuple_, port=port: self._sent.append((port, tuple_)))  # type: ignore[misc]
            self.runtime.punctuate.append(lambda mark: None)

    def open(self, port: int) -> None:
        """Get ready for the tuples of a port."""
        self._receivers[port] = self.runtime.receiver(port)

    def take(self, port: int, tuple_: Tuple) -> tuple[Sent, str | None]:
        """The tuples that it submits for a tuple, and why it failed, if it did."""
        self._sent = []
        try:
            self._receivers[port](tuple_)
        except Exception as error:
            return self._sent, reason_of(error)
        return self._sent, None


class _Alone:
    """The world of a replica: what it asks for has no effect on the run."""

    def __init__(self, context: Context) -> None:
        self.environment: Environment = context.environment
        self.evaluator: Evaluator = context.evaluator

    def at(self, time_ns: int, action: Callable[[], None], ticket: int | None = None) -> int:
        """Never calls."""
        return 0

    def reject(self, record: str, reason: str) -> None:
        """The instance itself has rejected it."""

    def export(self, tuple_: Any) -> None:
        """The instance itself has exported it."""


def _says(claim: str, found: str) -> str:
    return f"its model says that it {claim}, but {found}; correct its model"


def _resolved(operator: Operator) -> OperatorModel:
    """The model with the selectivity that the invocation's `filter` gives it."""
    model = operator.model
    if model.selectivity is not Selectivity.NO_PARAM_FILTER:
        return model
    selectivity = Selectivity.AT_MOST_ONE if operator.param("filter") else Selectivity.EXACTLY_ONE
    return replace(model, selectivity=selectivity)


def _may_replicate(operator: Operator) -> bool:
    model = operator.model
    if model.side_effects or model.spontaneous:
        return False
    return model.state is State.STATELESS or (model.state is State.PARTITIONED and _has_plain_keys(operator))


def _has_plain_keys(operator: Operator) -> bool:
    """Whether each port has a key of its attributes; of several ports one attribute each, which must be what meets."""
    keys, ports = operator.model.partition_by, operator.inputs
    if len(keys) != len(ports) or (len(ports) > 1 and any(len(key) != 1 for key in keys)):
        return False
    return all(key and key <= set(port.schema.names) for key, port in zip(keys, ports, strict=True))
