"""The lock on a checkpoint: one job at a time, and one that has lost it does not write.

    CHECKPOINT/lock/
        0000000007    the seventh time that a job was started here: who runs it
        commit        held by whoever writes a batch, or begins a new epoch

Each start of a job is an epoch. Its file is made with all its content, and locked (`flock`), before it has its name,
and a name is given once: of two jobs that start at one moment, one gets the epoch, and the other finds it held. The
kernel gives the lock of a process up when the process ends, however it ends, so a lock that is held is held by a
process that lives; one that was stopped (SIGSTOP) lives, too.

A job may take over a lock that is held, if the user says so: it begins the next epoch. From then on the earlier holder
is fenced. It compares its epoch with the latest one whenever it plans a batch, and before it writes one; and it writes
under the lock `commit`, which is needed to begin an epoch, so it cannot lose the checkpoint between the comparison and
the end of what it writes. One that was stopped in the middle of that cannot be taken over before it ends.

When it does not apply:
    Locks hold for all processes of one host, and for several hosts on a file system that shares them, such as NFS with
    its usual settings. Where a file system does not share locks, the holder on another host is known to live by the
    time of its file, which it renews: a lock that was not renewed for a minute is taken for that of a dead process. If
    it was not dead, its epoch is over, and it notices at its next batch, unless that very batch is being written.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import make_folder, sync_folder
from penstock.base.holders import Holder, decode_holder, this_process
from penstock.base.private_files import check_private, make_private_folder

FOLDER, COMMIT = "lock", "commit"
RENEW_SECONDS = 10.0
STALE_SECONDS = 60.0
PATIENCE_SECONDS = 15.0
"""How long to wait for what ends by itself: a batch that is being written, the Spark of a driver that was killed."""

_RELEASED = b"released\n"


class CheckpointLock:
    """The lock on a checkpoint, held by this process.

    Attributes:
        folder: Of the lock.
        epoch: Its number.
        predecessor: Who has held it before, if that is known; it may still live if it was taken over.
    """

    def __init__(self, folder: Path, epoch: int, descriptor: int, predecessor: Holder | None) -> None:
        self.folder, self.epoch, self.predecessor = folder, epoch, predecessor
        self._descriptor = descriptor
        self._is_over = threading.Event()
        threading.Thread(target=self._renew, daemon=True).start()

    @contextmanager
    def committing(self) -> Iterator[None]:
        """Write what belongs to a batch: nobody can take the checkpoint over meanwhile.

        Raises:
            UserError: Somebody has taken it over before.
        """
        with _commit_lock(self.folder):
            self.check()
            yield

    def check(self) -> None:
        """Make sure that we still have the checkpoint.

        Raises:
            UserError: Somebody has taken it over.
        """
        check_epoch(self.folder, self.epoch)

    def release(self) -> None:
        """Let go; may be called again."""
        if self._is_over.is_set():
            return
        self._is_over.set()
        with suppress(OSError):
            os.write(self._descriptor, _RELEASED)
        os.close(self._descriptor)

    def __enter__(self) -> CheckpointLock:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()

    def _renew(self) -> None:
        while not self._is_over.wait(RENEW_SECONDS):
            with suppress(OSError):
                os.utime(_path(self.folder, self.epoch))


def lock_checkpoint(
    checkpoint: Path, *, take_over: bool = False, helper: int | None = None, notice: Callable[[str], None] = print
) -> CheckpointLock:
    """Begin an epoch.

    Args:
        checkpoint: Its folder.
        take_over: Whether to go on although another process holds the lock.
        helper: The id of the process that works for us, and writes to the checkpoint, too.
        notice: Is told what the user should know.

    Raises:
        UserError: Another process holds the lock, or others may write to the checkpoint.
    """
    folder = checkpoint / FOLDER
    make_private_folder(checkpoint)
    check_private(checkpoint, f"the checkpoint `{checkpoint}`")
    make_folder(folder)
    # Whoever is faster than we are this often is not to be waited for.
    for _ in range(10):
        last = latest_epoch(folder)
        if last is not None:
            _check_free(checkpoint, last, take_over, notice)
        with _commit_lock(folder, partial(_busy, checkpoint, last)):
            if latest_epoch(folder) == last and (begun := _begin(folder, (last or 0) + 1, this_process(helper))):
                return begun
    raise UserError(f"the checkpoint `{checkpoint}` is being taken by several jobs at once", hint="start one of them")


def check_unlocked(checkpoint: Path) -> None:
    """Refuse a checkpoint that another process holds, without taking it.

    Raises:
        UserError: One does.
    """
    last = latest_epoch(checkpoint / FOLDER)
    if last is not None:
        _check_free(checkpoint, last, False, lambda text: None)


def check_epoch(folder: Path, epoch: int) -> None:
    """Make sure that an epoch is the latest one.

    Args:
        folder: Of the lock.
        epoch: Its number.

    Raises:
        UserError: It is not.
    """
    latest = latest_epoch(folder)
    if latest == epoch:
        return
    who = None if latest is None else _holder(_path(folder, latest))
    taken = "its lock was removed" if latest is None else f"it was taken over by {who or 'another process'}"
    raise UserError(
        f"this job has lost its checkpoint `{folder.parent}`: {taken}",
        hint="nothing was written here since; let the other job go on, or stop it and start this one again",
    )


def epoch_check(options: Mapping[str, str]) -> Callable[[], None]:
    """The check for a process that plans the batches of a job, by the options of its reader: `log` and `epoch`."""
    if "epoch" not in options:
        return lambda: None
    return partial(check_epoch, Path(options["log"]).parent / FOLDER, int(options["epoch"]))


def latest_epoch(folder: Path) -> int | None:
    """The number of the epoch that was begun last, if there is one."""
    try:
        return max((int(name) for name in os.listdir(folder) if name.isdecimal()), default=None)
    except FileNotFoundError:
        return None


def _check_free(checkpoint: Path, epoch: int, take_over: bool, notice: Callable[[str], None]) -> None:
    """Find out whether the holder of an epoch has ended, or may be taken over."""
    path = _path(checkpoint / FOLDER, epoch)
    until = time.monotonic() + PATIENCE_SECONDS
    while (reason := _reason_to_wait(path)) is not None:
        who = _holder(path)
        if take_over:
            notice(f"taking over the checkpoint `{checkpoint}` from {who}")
            return
        is_ending = who is not None and who.is_of_this_host and who.state is None and who.helper_state == "running"
        if not is_ending or time.monotonic() > until:
            raise UserError(f"the checkpoint `{checkpoint}` is in use by {who or 'another process'}", hint=reason)
        time.sleep(0.1)


def _reason_to_wait(path: Path) -> str | None:
    """The reason to wait for the holder of an epoch, as a hint for the user; None if the holder has ended."""
    who, held = _holder(path), _is_locked(path)
    if not path.exists():
        return None
    if held or (held is None and who is not None and who.state is not None):
        return "wait for it, or end it; --take-over goes on without it, and it will notice before it writes"
    if who is None or _was_released(path):
        return None
    # A driver that lives without its lock is that of another folder, of which this one is a copy.
    if who.helper is not None and who.helper_state is not None and who.state is None:
        return f"its Spark, process {who.helper.pid}, still runs: end that"
    if who.is_of_this_host:
        return None
    age = _age_seconds(path)
    if age > STALE_SECONDS:
        return None
    return (
        f"it was seen {age:.0f} s ago, and if it has ended this is known after {STALE_SECONDS:.0f} s; "
        "--take-over goes on without it"
    )


def _is_locked(path: Path) -> bool | None:
    """Whether a process holds the lock of a file; None if the file system has no locks."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that of two who look at once neither sees the other.
        return not _try_lock(descriptor, fcntl.LOCK_SH)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _begin(folder: Path, epoch: int, holder: Holder) -> CheckpointLock | None:
    """Make and lock the file of an epoch; None if somebody was faster."""
    part = folder / f".{uuid.uuid4().hex}.part"
    descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    predecessor = _holder(_path(folder, epoch - 1))
    with ExitStack() as undo:
        # Whatever fails, a descriptor that stayed open would hold the lock as long as this process lives.
        undo.callback(os.close, descriptor)
        try:
            with suppress(OSError):
                _try_lock(descriptor)
            os.write(descriptor, holder.encode())
            os.fsync(descriptor)
            os.link(part, _path(folder, epoch))
        except FileExistsError:
            return None
        finally:
            part.unlink()
        if latest_epoch(folder) != epoch:
            return None
        for name in os.listdir(folder):
            if name.isdecimal() and int(name) < epoch:
                (folder / name).unlink(missing_ok=True)
        sync_folder(folder)
        undo.pop_all()
    return CheckpointLock(folder, epoch, descriptor, predecessor)


@contextmanager
def _commit_lock(folder: Path, refuse: Callable[[], UserError] | None = None) -> Iterator[None]:
    """Hold the lock `commit`: at once, or when it is free; with `refuse`, only if that is soon."""
    try:
        descriptor = os.open(folder / COMMIT, os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        # The folder is gone; the check of the epoch says so.
        yield
        return
    try:
        with suppress(_Unsupported):
            _wait_for(descriptor, refuse)
        yield
    finally:
        os.close(descriptor)


class _Unsupported(Exception):
    """The file system has no locks."""


def _wait_for(descriptor: int, refuse: Callable[[], UserError] | None) -> None:
    try:
        if refuse is None:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            return
        until = time.monotonic() + PATIENCE_SECONDS
        while not _try_lock(descriptor):
            if time.monotonic() > until:
                raise refuse()
            time.sleep(0.05)
    except OSError as error:
        raise _Unsupported from error


def _busy(checkpoint: Path, epoch: int | None) -> UserError:
    who = None if epoch is None else _holder(_path(checkpoint / FOLDER, epoch))
    message = f"the checkpoint `{checkpoint}` cannot be taken over now: a batch is being written by {who}"
    return UserError(message, hint="wait until it has written the batch, or end it (kill -9)")


def _holder(path: Path) -> Holder | None:
    try:
        return decode_holder(path.read_bytes())
    except OSError:
        return None


def _was_released(path: Path) -> bool:
    try:
        return path.read_bytes().endswith(_RELEASED)
    except OSError:
        return True


def _age_seconds(path: Path) -> float:
    """How long ago a file was renewed, by the clock of the file system that holds it."""
    probe = path.with_name(f".{uuid.uuid4().hex}.now")
    probe.touch()
    try:
        return probe.stat().st_mtime - path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
    finally:
        probe.unlink()


def _path(folder: Path, epoch: int) -> Path:
    return folder / f"{epoch:010d}"
