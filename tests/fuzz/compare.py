"""Tells whether a program means the same compiled as in the reference interpreter."""

from __future__ import annotations

import signal
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from penstock.base.diagnostics import UserError
from penstock.toolkit.core.program import Program

from .execute import Outcome, compile_program, run_compiled, run_reference, write_files
from .program import FuzzProgram

LIMIT_SECONDS = 60.0

How = TypeVar("How")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference.

    Attributes:
        kind: Which, in a word: while a program gets smaller it stays the same.
        details: What both runs gave.
    """

    kind: str
    details: str


class TooLong(BaseException):
    """A run that does not come to an end; no operator takes it for a failure of its own."""


def find_difference(
    program: FuzzProgram,
    setting: How,
    limit: float = LIMIT_SECONDS,
    run: Callable[[Program, Path, How], Outcome] = run_compiled,  # type: ignore[assignment]  # the usual `How`
    patience: float | None = None,
) -> Difference | None:
    """Run a program both ways, each for some seconds at most.

    Args:
        program: What to run.
        setting: How.
        limit: The seconds of each run.
        run: Runs it so, with the data of a folder.
        patience: The seconds of the sequential run of a program that is worth it, where others are left out.

    Raises:
        UserError: The program does not compile.
    """
    compiled = compile_program(program)
    with tempfile.TemporaryDirectory() as data:
        write_files(program, Path(data))
        try:
            with _limited(patience or limit):
                wanted = run_reference(compiled, Path(data))
        except (Exception, TooLong) as error:
            if patience is not None and isinstance(error, TooLong):
                return None
            return Difference(kind="the reference breaks", details=traceback.format_exc())
        try:
            with _limited(limit):
                found = run(compiled, Path(data), setting)
        except UserError as error:
            return Difference(kind="no plan", details=str(error))
        except (Exception, TooLong) as error:
            return Difference(kind=f"it breaks: {type(error).__name__}", details=traceback.format_exc())
    return next(differences(wanted, found), None)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLong(f"not done after {seconds} seconds of work")

    before = signal.signal(signal.SIGVTALRM, stop)
    # Again and again: what is raised while something is finalized is lost.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def differences(wanted: Outcome, found: Outcome) -> Iterator[Difference]:
    """How the outcome of a compiled run differs from what the reference gives."""
    if (wanted.error is None) is not (found.error is None):
        yield Difference(kind="one fails", details=f"reference: {wanted.error}\ncompiled:  {found.error}")
    elif wanted.error is not None:
        yield from _failures(wanted, found)
    else:
        yield from _outputs(wanted, found)
        yield from _letters(wanted, found)
        yield from _counts(wanted, found)


def _failures(wanted: Outcome, found: Outcome) -> Iterator[Difference]:
    """Where PEs work one after the other another operator may fail first, but not the same in another way."""
    is_alone = wanted.failed is not None and found.widths.get(wanted.failed, 1) == 1
    if wanted.failed == found.failed and is_alone and wanted.error != found.error:
        yield Difference(kind="failures differ", details=f"reference: {wanted.error}\ncompiled:  {found.error}")


def _outputs(wanted: Outcome, found: Outcome) -> Iterator[Difference]:
    for name in sorted({*wanted.outputs, *found.outputs}):
        if wanted.outputs.get(name) != found.outputs.get(name):
            shown = _shown(wanted.outputs.get(name)), _shown(found.outputs.get(name))
            how = _how(*(text.splitlines() for text in shown))
            yield Difference(kind=how, details=f"{name}\nreference:\n{shown[0]}\ncompiled:\n{shown[1]}")


def _how(wanted: list[str], found: list[str]) -> str:
    """In which way lines differ."""
    if sorted(wanted) == sorted(found):
        return "the order differs"
    if set(wanted) < set(found):
        return "there is too much"
    return "something is missing" if set(found) < set(wanted) else "outputs differ"


def _letters(wanted: Outcome, found: Outcome) -> Iterator[Difference]:
    for name in sorted({*wanted.letters, *found.letters}):
        pair = [letters.get(name, []) for letters in (wanted.letters, found.letters)]
        if found.widths.get(name, 1) > 1:
            pair = [sorted(letters) for letters in pair]
        if pair[0] != pair[1]:
            details = f"{name}\nreference: {pair[0]}\ncompiled:  {pair[1]}"
            yield Difference(kind="dead letters differ", details=details)


def _counts(wanted: Outcome, found: Outcome) -> Iterator[Difference]:
    for name in sorted(wanted.counts):
        if wanted.counts.get(name) != found.counts.get(name):
            details = f"{name}\nreference: {wanted.counts.get(name)}\ncompiled:  {found.counts.get(name)}"
            yield Difference(kind="counts differ", details=details)


def _shown(content: object) -> str:
    if isinstance(content, bytes):
        return content.decode(errors="backslashreplace")
    return "\n".join(content) if isinstance(content, list) else str(content or "")
