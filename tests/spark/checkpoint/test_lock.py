"""One job at a time on a checkpoint; one that has lost it does not write."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.base.holders import this_process
from penstock.spark.checkpoint import lock as checkpoint_lock
from penstock.spark.checkpoint.lock import check_unlocked, latest_epoch, lock_checkpoint

WRITER = """
import sys, time
from pathlib import Path
from penstock.base.diagnostics import UserError
from penstock.spark.checkpoint.lock import lock_checkpoint

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
try:
    with lock_checkpoint(folder, take_over="--take-over" in sys.argv) as lock, open(folder / "rows", "a") as rows:
        print("locked", lock.epoch, flush=True)
        for n in range(10_000):
            with lock.committing():
                for row in range(5):
                    rows.write(f"{lock.epoch} {n} {row}\\n")
                    rows.flush()
                    time.sleep(seconds)
            time.sleep(5 * seconds)
except UserError as error:
    print(error, flush=True)
    sys.exit(1)
"""


def test_a_second_job_is_refused_and_told_who_holds_the_checkpoint(tmp_path):
    with lock_checkpoint(tmp_path):
        with pytest.raises(UserError, match=rf"is in use by process {os.getpid()} on .*, since .*: .*--take-over"):
            lock_checkpoint(tmp_path)
        with pytest.raises(UserError, match="is in use by process"):
            check_unlocked(tmp_path)
    check_unlocked(tmp_path)
    lock_checkpoint(tmp_path).release()
    assert latest_epoch(tmp_path / "lock") == 2


def test_of_many_that_start_at_one_moment_one_gets_the_checkpoint(tmp_path):
    def start(_):
        try:
            return lock_checkpoint(tmp_path)
        except UserError as error:
            return str(error)

    for epoch in range(1, 15):
        with ThreadPoolExecutor(6) as pool:
            got = list(pool.map(start, range(6)))
        (lock,) = [found for found in got if not isinstance(found, str)]
        assert lock.epoch == epoch
        assert all(f"process {os.getpid()}" in found for found in got if isinstance(found, str))
        lock.release()


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    writer = _start(tmp_path, 0.001)
    writer.kill()
    writer.wait()
    with lock_checkpoint(tmp_path) as lock:
        assert lock.epoch == 2


def test_a_stopped_process_holds_its_checkpoint(tmp_path):
    writer = _start(tmp_path, 0.0)
    os.kill(writer.pid, signal.SIGSTOP)
    try:
        time.sleep(0.2)
        with pytest.raises(UserError, match=rf"process {writer.pid} \(stopped\)"):
            lock_checkpoint(tmp_path)
    finally:
        writer.kill()
        writer.wait()


def test_who_was_taken_over_while_it_was_stopped_writes_nothing_more(tmp_path, monkeypatch):
    """Whenever it is stopped: all its rows stand before those of its successor, and whole batches of them."""
    monkeypatch.setattr(checkpoint_lock, "PATIENCE_SECONDS", 0.3)
    rng, taken_over = random.Random(7), 0
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        old = _start(folder, 0.002)
        time.sleep(rng.random() * 0.1)
        os.kill(old.pid, signal.SIGSTOP)
        refused = None
        try:
            lock = lock_checkpoint(folder, take_over=True, notice=lambda text: None)
        except UserError as error:
            refused = str(error)
        if refused is None:
            taken_over += 1
            os.kill(old.pid, signal.SIGCONT)
            said = old.communicate(timeout=20)[0]
            assert f"has lost its checkpoint `{folder}`: it was taken over by process {os.getpid()}" in said
            assert len((folder / "rows").read_text().splitlines()) % 5 == 0
            lock.release()
        else:
            assert "a batch is being written by process" in refused
        old.kill()
        old.wait()
    assert taken_over > 0


def test_of_two_that_take_over_at_once_only_the_last_writes(tmp_path):
    first = _start(tmp_path, 0.001)
    others = [_popen(tmp_path, 0.001, "--take-over") for _ in range(3)]
    time.sleep(2.5)
    for process in [first, *others]:
        process.kill()
        process.wait()
    epochs = [int(row.split()[0]) for row in (tmp_path / "rows").read_text().splitlines()]
    assert epochs == sorted(epochs)
    assert len(set(epochs)) > 1


def test_a_job_whose_lock_was_removed_notices(tmp_path):
    with lock_checkpoint(tmp_path) as lock:
        for path in (tmp_path / "lock").iterdir():
            path.unlink()
        with pytest.raises(UserError, match="its lock was removed"), lock.committing():
            raise AssertionError


def test_the_spark_of_a_dead_driver_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_lock, "PATIENCE_SECONDS", 0.5)
    spark = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    lock_checkpoint(tmp_path, helper=spark.pid).release()
    lock_checkpoint(tmp_path, helper=spark.pid).release()
    _forge(tmp_path, lambda holder: replace(holder, process=replace(holder.process, started=1)))
    try:
        with pytest.raises(UserError, match=f"its Spark, process {spark.pid}, still runs"):
            lock_checkpoint(tmp_path)
    finally:
        spark.kill()
        spark.wait()
    lock_checkpoint(tmp_path).release()


def test_a_holder_on_another_host_is_known_to_live_by_the_time_of_its_file(tmp_path):
    """As on a file system that does not share locks: ours would be given to us."""
    lock_checkpoint(tmp_path).release()
    path = _forge(tmp_path, lambda holder: replace(holder, host="elsewhere", boot="another"))
    with pytest.raises(UserError, match=r"on elsewhere, .* it was seen 0 s ago, .* known after 60 s; --take-over"):
        lock_checkpoint(tmp_path)
    os.utime(path, (time.time() - 61, time.time() - 61))
    lock_checkpoint(tmp_path).release()


def test_a_holder_on_another_host_may_be_taken_over(tmp_path):
    lock_checkpoint(tmp_path).release()
    _forge(tmp_path, lambda holder: replace(holder, host="elsewhere", boot="another"))
    told = []
    lock_checkpoint(tmp_path, take_over=True, notice=told.append).release()
    assert "taking over the checkpoint" in told[0]
    lock_checkpoint(tmp_path).release()


def test_a_holder_on_another_host_that_has_ended_in_order_is_gone(tmp_path):
    lock_checkpoint(tmp_path).release()
    _forge(tmp_path, lambda holder: replace(holder, host="elsewhere", boot="another"), end=b"released\n")
    lock_checkpoint(tmp_path).release()


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 100])
def test_a_torn_lock_is_that_of_a_dead_process(tmp_path, content):
    (tmp_path / "lock").mkdir()
    (tmp_path / "lock" / "0000000003").write_bytes(content)
    with lock_checkpoint(tmp_path) as lock:
        assert lock.epoch == 4


def test_without_locks_a_live_process_is_known_by_its_id_and_start(tmp_path, monkeypatch):
    def unsupported(*_):
        raise OSError(38, "no locks here")

    monkeypatch.setattr(checkpoint_lock.fcntl, "flock", unsupported)
    with lock_checkpoint(tmp_path) as lock:
        with pytest.raises(UserError, match=f"is in use by process {os.getpid()}"):
            lock_checkpoint(tmp_path)
        lock_checkpoint(tmp_path, take_over=True, notice=lambda text: None).release()
        with pytest.raises(UserError, match="has lost its checkpoint"), lock.committing():
            raise AssertionError
    _forge(tmp_path, lambda holder: replace(holder, process=replace(holder.process, started=1)))
    lock_checkpoint(tmp_path).release()


def _forge(checkpoint, change, end=b""):
    """The lock as another process would have left it."""
    path = checkpoint / "lock" / f"{latest_epoch(checkpoint / 'lock'):010d}"
    found = checkpoint_lock._holder(path) or this_process()
    path.write_bytes(change(found).encode() + end)
    return path


def _popen(folder, seconds, *options):
    command = [sys.executable, "-c", WRITER, str(folder), str(seconds), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def _start(folder, seconds):
    process = _popen(folder, seconds)
    assert process.stdout.readline().startswith("locked")
    return process


def test_a_start_that_fails_in_the_middle_leaves_the_lock_free(tmp_path, monkeypatch):
    """Also for another start by the same process, which lives on."""
    (tmp_path / "lock").mkdir()

    def fail(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    # The folder is synced when the epoch has its name already.
    monkeypatch.setattr(checkpoint_lock, "sync_folder", fail)
    with pytest.raises(OSError, match="No space left"):
        lock_checkpoint(tmp_path)
    monkeypatch.undo()
    with lock_checkpoint(tmp_path) as lock:
        lock.check()
