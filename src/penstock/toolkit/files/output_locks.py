"""Locks on the files of FileSinks, so that no two jobs write one file.

The lock of `out/sums.csv` is `out/.sums.csv.lock`, which tells who holds it; it is removed with the end of the job. A
process that was killed leaves the file behind, and no lock.

When it does not apply:
    A name that depends on the tuple is not known before the tuple comes; all names of such a sink have one lock, so
    that the same job does not run twice, but another program may still come to the same name. Names with placeholders
    (`part-{id}.csv`) are locked as they are written. Pipes and devices take what anybody writes. A file system
    without locks has none of these, either.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.base.holders import Holder, Process, decode_holder, this_process
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.graph import Application
from penstock.toolkit.files.file_records import opened_descriptor


@contextmanager
def hold_outputs(
    application: Application, environment: Environment, predecessor: Process | None = None
) -> Iterator[None]:
    """Hold the locks on all files that a job writes.

    Args:
        application: Of the job.
        environment: Files, settings and the clock of the run.
        predecessor: A process whose locks we take over.

    Raises:
        UserError: Another job writes one of the files, or two sinks of this one do.
    """
    with ExitStack() as held:
        for path, operator in outputs_of(application, environment).items():
            held.enter_context(_held(path, operator, predecessor))
        yield


def outputs_of(application: Application, environment: Environment) -> dict[Path, str]:
    """The files and folders that FileSinks write, as far as they are known, each with its operator.

    Raises:
        UserError: Two of them write one file.
    """
    evaluator = Evaluator(functions=application.functions, environment=environment)
    found: dict[Path, str] = {}
    for operator in application.operators:
        if operator.kind != "FileSink":
            continue
        name = operator.param("file")[0]
        if any(isinstance(e, Attribute | InputTuple) for e in name.walk()):
            path = environment.output_path(f"files of {application.name}.{operator.id}")
        else:
            path = environment.output_path(evaluator.constant(name))
        path = Path(os.path.abspath(path))
        is_device = path.exists() and not path.is_file() and not path.is_dir()
        if is_device or opened_descriptor(path) is not None:
            continue
        if path in found:
            message = f"`{found[path]}` and `{operator.id}` both write `{path}`"
            hint = "give each a file of its own, or let one sink take both streams"
            raise UserError(Diagnostic(message=message, span=operator.span, hint=hint))
        found[path] = operator.id
    return found


@contextmanager
def _held(path: Path, operator: str, predecessor: Process | None) -> Iterator[None]:
    place = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _lock(place, path, operator, predecessor)
    except OSError:
        # Whether the folder can be written to is for the sink to say; without locks there is nothing to hold.
        yield
        return
    try:
        yield
    finally:
        if _is_at(descriptor, place):
            place.unlink()
        os.close(descriptor)


def _lock(place: Path, path: Path, operator: str, predecessor: Process | None) -> int:
    """Lock a file and tell in it who we are; the file that is locked is the one that has the name."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = decode_holder(os.read(descriptor, 1 << 16))
            is_ours_to_take = holder is not None and holder.process == predecessor and _is_at(descriptor, place)
            os.close(descriptor)
            if not is_ours_to_take:
                raise _refusal(path, operator, holder) from None
            place.unlink(missing_ok=True)
            continue
        except OSError:
            os.close(descriptor)
            raise
        if _is_at(descriptor, place):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, this_process().encode())
            return descriptor
        os.close(descriptor)


def _refusal(path: Path, operator: str, holder: Holder | None) -> UserError:
    message = f"FileSink `{operator}` cannot write `{path}`: it is being written by {holder or 'another process'}"
    return UserError(message, hint="wait for it, or end it, or write to another folder with --out")


def _is_at(descriptor: int, place: Path) -> bool:
    """Whether an open file is the one that has the name; it may have been removed and made again."""
    try:
        return os.path.samestat(os.fstat(descriptor), place.stat())
    except FileNotFoundError:
        return False
