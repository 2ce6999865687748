"""The errors of Penstock, worded so that a person can act on them.

A user's mistake is a `UserError` (exit status 1), a problem without a solution an `Infeasible` (3); every other
exception is a bug of ours (4). A phase that can find several mistakes collects them in `Diagnostics` and raises them
all at once.

Example:
    >>> source = SourceFile(path="bids.spl", text="stream<Bid> B = Filter(A) {\\n  output B: prise;\\n}")
    >>> span = Span(source=source, start=40, end=45)
    >>> print(Diagnostic(message="no attribute `prise`", span=span, hint="did you mean `price`?"))
    bids.spl:2:13: error: no attribute `prise`; did you mean `price`?
        2 |   output B: prise;
          |             ^~~~~
"""

from __future__ import annotations

import difflib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.base.redaction import redact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SourceFile:
    """A file of source text, kept so that messages can quote it.

    Attributes:
        path: As the user wrote it.
        text: The whole content.
        written_lines: For a text that was made of another (SPL of mixed mode), the line of that which each line is
            made of; messages name these.
    """

    path: str
    text: str
    written_lines: tuple[int, ...] = ()
    _line_starts: list[int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts.extend(i + 1 for i, c in enumerate(self.text) if c == "\n")
        object.__setattr__(self, "_line_starts", starts)

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """The 1-based line, as it was written, and column of a character offset."""
        line = bisect_right(self._line_starts, offset) - 1
        written = self.written_lines[line] if line < len(self.written_lines) else line + 1
        return written, offset - self._line_starts[line] + 1

    def line_around(self, offset: int) -> str:
        """The text of the line in which an offset lies, without its end."""
        line = bisect_right(self._line_starts, offset)
        end = self._line_starts[line] - 1 if line < len(self._line_starts) else len(self.text)
        return self.text[self._line_starts[line - 1] : end].rstrip("\r")

    def span_of_line(self, line: int) -> Span:
        """A whole 1-based line."""
        start = self._line_starts[min(line, len(self._line_starts)) - 1]
        return Span(source=self, start=start, end=start + len(self.line_around(start)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Span:
    """A stretch of source text, as character offsets `start` to `end` (exclusive)."""

    source: SourceFile
    start: int
    end: int

    @property
    def line(self) -> int:
        """The 1-based line where the span starts."""
        return self.source.line_and_column(self.start)[0]

    @property
    def column(self) -> int:
        """The 1-based column where the span starts."""
        return self.source.line_and_column(self.start)[1]

    def __str__(self) -> str:
        line, column = self.source.line_and_column(self.start)
        return f"{self.source.path}:{line}:{column}"

    def quote(self) -> str:
        """The source line with a caret line under it."""
        line, column = self.source.line_and_column(self.start)
        text = self.source.line_around(self.start)
        width = max(1, min(self.end - self.start, len(text) - column + 1))
        gutter = " " * (4 + len(str(line)))
        # Tabs are kept in the padding so that the caret stands under what it means.
        padding = "".join("\t" if c == "\t" else " " for c in text[: column - 1])
        return f"    {line} | {text}\n{gutter} | {padding}^{'~' * (width - 1)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One mistake: what is wrong, where, and what to do.

    Attributes:
        message: Lower case; what is wrong and what was found.
        span: Where, if there is source text.
        hint: What to do, if we can tell.
    """

    message: str
    span: Span | None = None
    hint: str | None = None

    def __str__(self) -> str:
        text = redact(self.message if self.hint is None else f"{self.message}; {self.hint}")
        if self.span is None:
            return f"error: {text}"
        return f"{self.span}: error: {text}\n{redact(self.span.quote())}"

    def to_json(self) -> dict[str, object]:
        """The diagnostic as `--json` prints it."""
        place: dict[str, object] = {}
        if self.span is not None:
            place = {"file": self.span.source.path, "line": self.span.line, "column": self.span.column}
        return {**place, "message": redact(self.message), "hint": None if self.hint is None else redact(self.hint)}


class PenstockError(Exception):
    """The root of every error that Penstock raises on purpose."""

    exit_status = 4


class UserError(PenstockError):
    """The user's input is wrong; carries every mistake found in the phase."""

    __module__ = "penstock"  # the name that users know it by
    exit_status = 1

    def __init__(self, problem: str | Diagnostic | Iterable[Diagnostic], *, hint: str | None = None) -> None:
        if isinstance(problem, str):
            problem = Diagnostic(message=problem, hint=hint)
        found = (problem,) if isinstance(problem, Diagnostic) else tuple(problem)
        super().__init__("\n".join(str(d) for d in found))
        self.diagnostics: tuple[Diagnostic, ...] = found

    def _render_traceback_(self, *_: object) -> list[str]:
        """The lines that IPython shows instead of a traceback of our code: the message with its place."""
        return str(self).split("\n")


class Infeasible(PenstockError):
    """A well-formed problem has no solution.

    Attributes:
        reason: One sentence.
        conflicts: A minimal set of things that cannot hold together, each named as the user wrote it.
    """

    __module__ = "penstock"
    exit_status = 3

    def __init__(self, reason: str, *, conflicts: Iterable[str] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.conflicts = tuple(conflicts)


class Diagnostics:
    """Collects the mistakes of one phase.

    Example:
        >>> found = Diagnostics()
        >>> found.error("no stream `A`")
        >>> found.raise_if_any()
        Traceback (most recent call last):
        penstock.UserError: error: no stream `A`
    """

    def __init__(self) -> None:
        self._found: list[Diagnostic] = []

    def error(self, message: str, span: Span | None = None, *, hint: str | None = None) -> None:
        """Record a mistake and go on."""
        self._found.append(Diagnostic(message=message, span=span, hint=hint))

    def extend(self, error: UserError) -> None:
        """Record the mistakes of an error that a smaller phase raised."""
        self._found.extend(error.diagnostics)

    def raise_if_any(self) -> None:
        """End the phase: raise all mistakes, in source order, or return."""
        if self._found:
            raise UserError(sorted(dict.fromkeys(self._found), key=_source_order))

    def __bool__(self) -> bool:
        return bool(self._found)

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self._found)


def _source_order(diagnostic: Diagnostic) -> tuple[str, int]:
    span = diagnostic.span
    return ("", -1) if span is None else (span.source.path, span.start)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint that names the nearest known word, if one is near.

    Example:
        >>> did_you_mean("prise", ["id", "price", "ts"])
        'did you mean `price`?'
    """
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else None
