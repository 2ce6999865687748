"""A machine that a job runs on: its files are real, and it stops at a certain step with what its disk then holds.

Every step that changes what a later process will find is seen: a file that is written, synced, cut, renamed, linked. At
the step of a fault the files are copied as another process would find them; where the power is lost, only what was
synced. What the process does afterwards, on its way out, is not seen by anybody.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from penstock.spark.checkpoint import spark_files
from penstock.toolkit.files.file_records import ChecksummedFile
from power_loss import Disk

from .history import Fault, History

DAYS_NS = 86_400_000_000_000


class Crash(BaseException):
    """The process, or the machine, is no more."""


class Machine:
    """The machine.

    Args:
        root: A folder for it.
        history: What happens to it.

    Attributes:
        live: The files of the job.
        has_failed: Whether a call has failed since the process was started.
        moves: Whether the job is to go on with its next plan.
    """

    def __init__(self, root: Path, history: History) -> None:
        self.live, self._saved = root / "live", root / "saved"
        self.live.mkdir(parents=True)
        self.has_failed = self.moves = False
        self._rng = Random(f"machine {history.seed}")
        self._jumps = history.jumps
        self._left = list(history.faults)
        self._armed: Fault | None = None
        self._steps = 0
        self._is_dead = False
        self._offset_ns = 0
        self._time_ns, self._seconds = time.time_ns, time.time
        self._loses_power = any(fault.how == "power" for fault in history.faults)
        self._disk: Disk | None = None

    @contextmanager
    def process(self) -> Iterator[None]:
        """A process of the job; if it is killed the files are afterwards as the next one finds them."""
        self.has_failed = self._is_dead = False
        self.jump()
        try:
            with ExitStack() as patches:
                if self._loses_power:
                    self._disk = patches.enter_context(Disk(self.live))
                self._watch(patches)
                yield
        finally:
            self._armed = None
            if self._is_dead:
                shutil.rmtree(self.live)
                self._saved.rename(self.live)

    @contextmanager
    def phase(self, name: str, batch: int) -> Iterator[None]:
        """A phase in which a fault may be due."""
        before = self._armed, self._steps
        due = (fault for fault in self._left if fault.phase == name and fault.batch <= batch and fault.how != "again")
        self._arm(next(due, None))
        yield
        if self._armed is not None:
            self._happen(None)
        self._armed, self._steps = before

    def takes_again(self, batch: int) -> bool:
        """Whether a batch that is written is given once more."""
        due = next((fault for fault in self._left if fault.how == "again" and fault.batch <= batch), None)
        if due is not None:
            self._left.remove(due)
        return due is not None

    def step(self, half: Callable[[], object] | None = None) -> None:
        """Something is about to be done, or, where a fault tears it, the first half of it."""
        if self._armed is not None and not self._is_dead:
            self._steps += 1
            if self._steps > self._armed.step:
                self._happen(half)

    def jump(self) -> None:
        """Let the clocks jump."""
        if self._jumps and self._rng.random() < 0.5:
            self._offset_ns = self._rng.randint(-1000, 1000) * DAYS_NS // self._rng.choice([1, 1000, 86_400_000])

    def now_ns(self) -> int:
        """The time that the clocks show."""
        return self._time_ns() + self._offset_ns

    def _arm(self, fault: Fault | None) -> None:
        self._armed, self._steps = fault, 0

    def _happen(self, half: Callable[[], object] | None) -> None:
        fault, self._armed = self._armed, None
        assert fault is not None
        self._left.remove(fault)
        self.moves = self.moves or fault.moves
        if half is not None and fault.how in ("torn", "error"):
            half()
        if fault.how == "error":
            self.has_failed = True
            raise OSError(errno.ENOSPC, "no space left on device")
        if fault.how == "power" and self._disk is not None:
            self._disk.restore(self._saved, self._rng.choice(["synced", "all"]))
        else:
            shutil.copytree(self.live, self._saved)
        self._is_dead = True
        raise Crash

    def _watch(self, patches: ExitStack) -> None:
        for name in ("fsync", "replace", "link", "truncate", "unlink", "rename"):
            patches.enter_context(patch.object(os, name, self._watched(getattr(os, name))))
        write, cut = ChecksummedFile.write, ChecksummedFile.cut
        machine = self

        def write_watched(file: ChecksummedFile, data: Any) -> int:
            machine.step(lambda: write(file, memoryview(data)[: len(data) // 2]))
            return write(file, data)

        patches.enter_context(patch.object(ChecksummedFile, "write", write_watched))
        patches.enter_context(patch.object(ChecksummedFile, "cut", self._watched(cut)))
        patches.enter_context(patch.object(spark_files, "ThreadPoolExecutor", _OneAfterTheOther))
        patches.enter_context(patch.object(time, "time_ns", self.now_ns))
        patches.enter_context(patch.object(time, "time", lambda: self._seconds() + self._offset_ns / 1e9))

    def _watched(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step_and_call(*given: Any, **more: Any) -> Any:
            self.step()
            return call(*given, **more)

        return step_and_call


class _OneAfterTheOther:
    """A pool of one thread, this one: the steps have one order."""

    def __init__(self, workers: int) -> None:
        pass

    def __enter__(self) -> _OneAfterTheOther:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    map = staticmethod(map)
