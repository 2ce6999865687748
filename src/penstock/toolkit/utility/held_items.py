"""Tuples and window markers that wait: in front of a closed gate, which Gate and Switch have in common, or for a time.

As plain data a window marker is None.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from penstock.expr.environment import Tuple
from penstock.ir.graph import Operator
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.core.runtime import Context, Punctuation

Item = Tuple | Punctuation


def held_form(item: Item) -> Tuple | None:
    """An item that waits as plain data."""
    return None if isinstance(item, Punctuation) else item


def held_item(form: Tuple | None) -> Item:
    """The item of plain data."""
    return Punctuation.WINDOW if form is None else form


class HeldItems(deque[Item], Remembering):
    """Items that wait in order.

    Example:
        >>> held, again = HeldItems([(1,), Punctuation.WINDOW]), HeldItems()
        >>> again.restore(held.snapshot())
        >>> again == held
        True
    """

    def snapshot(self) -> list[Tuple | None]:
        """The items as plain data."""
        return [held_form(item) for item in self]

    def restore(self, state: list[Tuple | None]) -> None:
        """Hold the same items."""
        self.clear()
        self.extend(map(held_item, state))


class HoldingRuntime(LogicRuntime):
    """Keeps the data port's items in order while `is_open` says no.

    In SPL a closed gate blocks whoever submits to it. Here the tuples wait in a queue, which nothing but memory limits;
    whoever comes behind them waits behind them. What still waits when the application ends is dropped, with a warning
    that says how much.
    """

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._held = HeldItems()

    def is_open(self) -> bool:
        """Whether the next item may pass."""
        raise NotImplementedError

    def passed(self) -> None:
        """Take note that a tuple is about to pass; by default nothing happens."""

    def control(self, tuple_: Tuple) -> None:
        """Take a tuple of the control port."""
        raise NotImplementedError

    def taker(self, port: int) -> Callable[[Tuple], None]:
        """The data port is held back; each tuple of the control port may let some of it go."""
        return self._take_control if port else self._take

    def take_window_marker(self, port: int) -> None:
        """Pass on a marker of the data port in its place between the tuples; drop one of the control port."""
        if port == 0:
            self._take(Punctuation.WINDOW)

    def finish(self) -> None:
        """Count what can no longer pass."""
        count = sum(not isinstance(item, Punctuation) for item in self._held)
        if count:
            message = f"`{self.operator.id}` ended with {count} tuples that it was never told to pass on"
            self.context.environment.log("warn", message)

    def _take(self, item: Item) -> None:
        if self._held or not self.is_open():
            self._held.append(item)
        else:
            self._let_through(item)

    def _take_control(self, tuple_: Tuple) -> None:
        self.control(tuple_)
        while self._held and self.is_open():
            self._let_through(self._held.popleft())

    def _let_through(self, item: Item) -> None:
        if not isinstance(item, Punctuation):
            self.passed()
        self.pass_on(item)
