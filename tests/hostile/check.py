"""Reads a mutant, and tells what is wrong with how that went."""

from __future__ import annotations

import contextlib
import io
import random
import resource
import signal
import tempfile
import traceback
from pathlib import Path
from types import FrameType

import click

from penstock.base.diagnostics import Infeasible, UserError

from .subjects import SUBJECTS, Subject

SECONDS, GIBIBYTES = 10, 6
"""What a mutant may take; it is at most 200 KB. Libraries alone map half of the memory."""


class TooLongError(BaseException):
    """A mutant took too long."""


def mutant(seed: int) -> tuple[Subject, bytes]:
    """The mutant of a seed."""
    rng = random.Random(f"hostile/{seed}")
    subject = rng.choices(SUBJECTS, [s.share for s in SUBJECTS])[0]
    return subject, subject.make(rng)


def check_seed(seed: int) -> tuple[int, str | None]:
    """A seed, and a report of its mutant if it is not read as it should be."""
    subject, data = mutant(seed)
    problem = problem_of(subject, data)
    return seed, None if problem is None else f"{subject.name}: {problem}\n{data[:300]!r}"


def problem_of(subject: Subject, data: bytes) -> str | None:
    """What is wrong with how a mutant is read; None if nothing."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (GIBIBYTES << 30, limits[1]))
    before = signal.signal(signal.SIGALRM, _give_up)
    with tempfile.TemporaryDirectory() as folder:
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                subject.read(data, Path(folder))
        except UserError as error:
            return _problem_of_message(subject, error)
        except (Infeasible, click.ClickException):
            return None
        except TooLongError:
            return f"it took more than {SECONDS} s"
        except BaseException as error:
            return "".join(traceback.format_exception(error)[-4:])
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
            resource.setrlimit(resource.RLIMIT_AS, limits)
    return None


def _problem_of_message(subject: Subject, error: UserError) -> str | None:
    text = str(error)
    if "Traceback" in text or "internal error" in text:
        return f"a message that is none: {text}"
    if subject.name == "spl" and any(d.span is None for d in error.diagnostics):
        return f"a message without a place: {text}"
    return None


def _give_up(number: int, frame: FrameType | None) -> None:
    raise TooLongError
