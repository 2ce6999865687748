"""Who holds a lock, and whether it is still there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

from penstock.base.holders import Process, decode_holder, show_command, this_process


def test_a_process_with_the_same_id_that_started_later_is_another():
    mine = this_process().process
    assert mine.state == "running"
    assert replace(mine, started=mine.started - 1).state is None


def test_a_stopped_process_lives_and_one_that_has_ended_does_not():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    process = this_process(helper=child.pid).helper
    try:
        os.kill(child.pid, signal.SIGSTOP)
        _wait(lambda: process.state == "stopped")
    finally:
        child.kill()
    _wait(lambda: process.state is None)
    child.wait()
    assert process.state is None


def test_of_another_host_nothing_is_known():
    other = replace(this_process(), boot="another")
    assert (other.is_of_this_host, other.state) == (False, None)


def test_of_another_container_it_is_not_said_that_its_process_lives():
    other = replace(this_process(), namespace="pid:[1]")
    assert (other.is_of_this_host, other.state) == (True, None)


def test_a_holder_that_was_not_written_to_its_end_is_none():
    encoded = this_process().encode()
    assert decode_holder(encoded) is not None
    assert [decode_holder(encoded[:n]) for n in range(0, len(encoded) - 2, 9)] == [None] * len(
        range(0, len(encoded) - 2, 9)
    )
    assert decode_holder(b"[]") is None
    assert decode_holder(b'{"process": {"pid": 1}, "helper": null}') is None


def test_a_command_is_shown_without_secrets():
    shown = show_command(["penstock", "--set=password=x=y", "--set", "url=postgres://u:p@h/d", "jdbc://me:secret@h"])
    assert shown == "penstock --set=password=... --set url=... jdbc://...@h"


def test_a_holder_says_who_where_since_when_and_what():
    said = str(this_process())
    me = Process(pid=os.getpid(), started=0)
    assert said.startswith(f"process {me.pid} on ")
    assert ", since 20" in said


def _wait(is_so, seconds=10):
    until = time.monotonic() + seconds
    while not is_so() and time.monotonic() < until:
        time.sleep(0.01)
    assert is_so()
