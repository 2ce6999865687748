"""The text that operators print, with its place in the sequential order, on its way to the user's terminal.

A PE cannot print where it runs: its standard output is that of a worker, and what operators print in several PEs has
one order. So a PE gathers what its operators print, each piece of text with the place of the item that it was working
on (`codegen.transport.batches`), and a report takes it to whoever started the job, with the tuples of the batch. There
the texts of all PEs are put in order.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import NamedTuple, TextIO


class Printed(NamedTuple):
    """A piece of text and where it was printed; the path is in hexadecimal digits, which sort as its bytes do."""

    time_ns: int
    number: int
    path: str
    text: str


class Prints(io.StringIO):
    """The standard output of a PE.

    Args:
        place: Tells the place of what is printed now: time, number and path.
    """

    def __init__(self, place: Callable[[], tuple[int, int, bytes]]) -> None:
        super().__init__()
        self._place = place
        self._printed: list[Printed] = []

    def __bool__(self) -> bool:
        return bool(self._printed)

    def write(self, text: str) -> int:
        """Gather a piece of text."""
        time_ns, number, path = self._place()
        printed = Printed(time_ns, number, path.hex(), text)
        # A PE works in the sequential order. What it does when all has ended may have the place of an earlier item.
        if self._printed and printed < self._printed[-1]:
            printed = self._printed[-1]._replace(text=text)
        self._printed.append(printed)
        return len(text)

    def take(self) -> tuple[Printed, ...]:
        """The texts printed since the last call."""
        taken = tuple(self._printed)
        self._printed.clear()
        return taken


def write_in_order(printed: Iterable[Printed], stdout: TextIO) -> None:
    """Print what the PEs of a job have gathered in a batch, in the sequential order.

    Example:
        >>> import sys
        >>> write_in_order([Printed(0, 2, "01", "b"), Printed(0, 1, "0102", "a")], sys.stdout)
        ab
    """
    texts = [p.text for p in sorted(printed, key=lambda p: p[:3])]
    if texts:
        stdout.write("".join(texts))
        stdout.flush()
