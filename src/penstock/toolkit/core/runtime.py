"""An operator instance at work in the reference interpreter: one tuple at a time.

The interpreter makes a `Runtime` for each operator, connects the outputs, and then calls the function that `receiver`
gave for each tuple of a port. Submitting is a plain call of the next receiver, so execution is depth first and
deterministic. Speed matters here only where it costs no clarity: a stateless operator returns a closure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Protocol

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment, Tuple
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.toolkit.core.memory import Keyed, Parts, Whole, remembered, restore_attribute


class FatalUserError(UserError):
    """A failure that is not the tuple's fault, so that no error policy may set the tuple aside and go on."""


class Punctuation(Enum):
    """A mark between the tuples of a stream."""

    WINDOW = "window"
    FINAL = "final"


Submit = Callable[[Tuple], None]
Punctuate = Callable[[Punctuation], None]


class Context(Protocol):
    """The services that the interpreter offers an operator instance."""

    environment: Environment
    evaluator: Evaluator

    def at(self, time_ns: int, action: Callable[[], None], ticket: Any = None) -> Any:
        """Call back when the clock reaches a time; calls for one time come in the order they were asked for.

        That is the order among the calls of one operator; those of operators upstream come before.
        Returns the call's ticket, plain data. A call that is asked for with an old ticket comes in the place of the
        old one.
        """

    def reject(self, record: str, reason: str) -> None:
        """Set a malformed record aside, or fail, as the operator's error policy says."""

    def export(self, tuple_: Tuple | Punctuation) -> None:
        """Hand a tuple of an exported stream to the applications that import it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Yielded by a source to let time pass before its next tuple."""

    nanoseconds: int


class Runtime:
    """The base of every operator instance.

    Attributes:
        operator: What it is an instance of.
        context: The interpreter's side.
        submit: A function for each output port; calling it sends a tuple.
        punctuate: Likewise for punctuation.
        remembers: The names of the attributes that are its memory, see `memory`.
        asks_by_key: Whether it asks for the partitions that it remembers key by key, but for markers and the end.
        expired: How many keys it has dropped with what it held of them, because their time to live was over.
    """

    remembers: tuple[str, ...] = ()
    asks_by_key = False
    expired = 0

    def __init__(self, operator: Operator, context: Context) -> None:
        self.operator = operator
        self.context = context
        self.submit: list[Submit] = []
        self.punctuate: list[Punctuate] = []

    @property
    def is_live(self) -> bool:
        """Whether a turn of this source without a tuple means that there is nothing for now."""
        return False

    def receiver(self, port: int) -> Submit:
        """The function to call for each tuple of an input port; asked for once, after the outputs are connected."""
        return partial(self.process, port)

    def process(self, port: int, tuple_: Tuple) -> None:
        """Take one tuple."""
        raise NotImplementedError

    def on_window_punctuation(self, port: int) -> None:
        """Take a window marker; by default it is passed on to every output."""
        for punctuate in self.punctuate:
            punctuate(Punctuation.WINDOW)

    def on_final_punctuation(self, port: int) -> None:
        """Take the end of an input port, before `finish`; by default nothing happens."""

    def pass_on(self, item: Tuple | Punctuation) -> None:
        """Send a tuple or a marker by the first output."""
        if isinstance(item, Punctuation):
            self.punctuate[0](item)
        else:
            self.submit[0](item)

    def is_waiting(self) -> bool:
        """Whether a timer will still make it submit something; the interpreter finishes it only when this is false."""
        return False

    def forget_expired(self) -> None:
        """Drop, and count, the keys whose time to live is over by now."""
        keyed = [value for value in map(self.__getattribute__, self.remembers) if isinstance(value, Keyed)]
        for value in keyed:
            value.forget_old()
        self.expired = sum(value.expired for value in keyed)

    def finish(self) -> None:
        """All input ports have ended; the interpreter then ends every output."""

    def close(self) -> None:
        """The run is over, whether it ended or failed: let go of files and the like, keeping what is written."""

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """A source's tuples for output 0, in order, with `Wait` where time passes.

        `None` gives the other sources a turn. A source that feeds several outputs calls `submit` itself between its
        yields. After the last item the interpreter ends the outputs. An instance that has recalled where another stood
        goes on there.
        """
        return iter(())

    def snapshot(self) -> Any:
        """The state from which a fresh instance resumes, as plain data; None if there is none.

        It may share lists with the instance, so pickle it before the instance continues. `memory` describes its form.
        """
        whole: Whole = {}
        parts: Parts = {}
        self.snapshot_into(whole, parts)
        return (whole, parts) if whole or parts else None

    def restore(self, state: Any) -> None:
        """Go on where an instance of the same operator stood; to be called once, on a fresh, connected instance."""
        if state is not None:
            self.restore_from(*state)

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add the memory: what belongs to the operator as a whole, and what belongs to keys."""
        for name in self.remembers:
            value = getattr(self, name)
            if not isinstance(value, Keyed):
                whole[name] = remembered(value)
            elif found := value.snapshot_parts():
                parts[name] = value.names, found

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Take over what `snapshot_into` gave."""
        for name in self.remembers:
            if name in whole:
                restore_attribute(self, name, whole[name])
            elif name in parts:
                getattr(self, name).restore_parts(parts[name][1])
