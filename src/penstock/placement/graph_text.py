"""A file of whole numbers cut into lines and tokens at once, and complaints that name its lines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.base.diagnostics import Diagnostics, SourceFile, Span, UserError
from penstock.placement.problem import Flags, Ints

_NEWLINE, _PERCENT, _SPACE = (ord(c) for c in "\n% ")
_IS_STRANGE = ~np.isin(np.arange(256), list(b"0123456789 \t\n\v\f\r"))
_MOST_DIGITS = 18
_QUOTED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NumberText:
    """A file cut into lines and tokens.

    Attributes:
        path: As the user wrote it.
        data: The bytes, comments blanked out.
        ends: Where each line's newline stands.
        is_comment: Which lines are comments.
        tokens: Where each token begins.
    """

    path: str
    data: NDArray[np.uint8]
    ends: Ints
    is_comment: Flags
    tokens: Ints

    def span(self, line: int) -> Span | None:
        """The text of a line (numbered from 0), quoted only where the file is not huge."""
        if len(self.data) > _QUOTED_BYTES:
            return None
        start = int(self.ends[line - 1]) + 1 if line else 0
        source = SourceFile(path=self.path, text=self.data.tobytes().decode("latin-1"))
        return Span(source=source, start=start, end=max(start + 1, int(self.ends[line])))


class Complaints:
    """Collects mistakes; of each kind the first one is told, with the number of the others."""

    def __init__(self, text: NumberText) -> None:
        self.text = text
        self.found = Diagnostics()

    def add(self, message: str, line: int, *, others: int = 0, hint: str | None = None) -> None:
        """Name a mistake in a line (numbered from 0), and how many others are like it."""
        span = self.text.span(line)
        where = "" if span else f"{self.text.path}, line {line + 1}: "
        more = f" (and {others} more like it)" if others > 0 else ""
        self.found.error(f"{where}{message}{more}", span, hint=hint)


def cut_up(data: NDArray[np.uint8], path: str) -> NumberText:
    """Find the lines, comments and tokens of a file; comments in `data` are overwritten.

    Example:
        >>> text = cut_up(np.frombuffer(b"% two lines\\n10 2\\n", np.uint8).copy(), "g.graph")
        >>> text.tokens.tolist(), text.is_comment.tolist()
        ([12, 15], [True, False])
    """
    if not len(data):
        raise UserError(f"`{path}` is empty", hint="a METIS file begins with the numbers of tasks and edges")
    if data[-1] != _NEWLINE:
        data = np.append(data, np.uint8(_NEWLINE))
    ends = np.flatnonzero(data == _NEWLINE)
    starts = np.r_[0, ends[:-1] + 1]
    is_comment = data[starts] == _PERCENT
    for line in np.flatnonzero(is_comment):
        data[starts[line] : ends[line]] = _SPACE
    is_space = data <= _SPACE
    begins = ~is_space
    begins[1:] &= is_space[:-1]
    return NumberText(path=path, data=data, ends=ends, is_comment=is_comment, tokens=np.flatnonzero(begins))


def check_characters(text: NumberText, complaints: Complaints) -> None:
    """Complain of what is not a whole number from 0 up, or has more digits than we can count with."""
    strange = np.flatnonzero(_IS_STRANGE[text.data])
    if len(strange):
        token, line = _token_at(text, int(strange[0])), int(np.searchsorted(text.ends, strange[0]))
        what = "a negative number" if token.startswith("-") else "not a whole number"
        complaints.add(f"`{token}` is {what}", line, hint="METIS files hold whole numbers from 0 up")
    long = np.flatnonzero(np.diff(np.append(text.tokens, len(text.data))) > _MOST_DIGITS)
    for first in text.tokens[long].tolist():
        token = _token_at(text, first)
        if len(token) > _MOST_DIGITS:
            complaints.add(f"`{token}` is too large a number", int(np.searchsorted(text.ends, first)))
            return


def _token_at(text: NumberText, position: int) -> str:
    first = int(text.tokens[np.searchsorted(text.tokens, position, side="right") - 1])
    return text.data[first : first + 64].tobytes().decode("latin-1").split()[0].encode("unicode_escape").decode()
