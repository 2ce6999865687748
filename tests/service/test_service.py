"""The service as a whole, when its home, its store or its clock are not as it left them."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.scheduler.problem.nodes import Node
from penstock.service.carry_out.settings import Settings
from penstock.service.jobs.process import Attempt
from penstock.service.service import Service
from penstock.service.states.job_state import JobState
from service.running_service import pretend, submission

PATIENCE_SECONDS = 60.0
DESCRIPTION = {
    "application": "Main",
    "operators": [["A", "Beacon"]],
    "sources": ["A"],
    "streams": {"A": ["A", 0]},
    "edges": [],
    "exports": [],
    "imports": [],
}


class Clock:
    """A clock that can be set."""

    ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose jobs need not be compiled; they are ended at the end."""
    monkeypatch.setattr("penstock.service.service.describe", lambda template, code: DESCRIPTION)
    yield tmp_path / "home"
    for folder in (tmp_path / "home" / "jobs").glob("*/runs/*"):
        Attempt(folder=folder).kill()


def begin(home: Path, clock: Callable[[], float] = time.time) -> Service:
    nodes = (Node(id="local", mips=1000.0),)
    settings = Settings(home=home, nodes=nodes, macro_seconds=60.0, micro_seconds=12.0, look_seconds=0.05)
    return Service(settings, clock, pretend)


def until(service: Service, what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not what():
        assert time.monotonic() < deadline, [event.text for event in service.store.events()]
        service.tick()
        time.sleep(0.02)


def until_state(service: Service, name: str, state: JobState) -> None:
    until(service, lambda: service.job(name).state == state)


def test_a_store_that_is_deleted_while_the_service_runs_is_written_anew(home: Path) -> None:
    service = begin(home)
    service.submit(submission("a", "long", weight=3.0))
    until_state(service, "a", JobState.RUNNING)
    for file in home.glob("service.sqlite*"):
        file.unlink()
    service.tick()
    service.set_importance("a", rank=7)
    service.close()
    service = begin(home)
    record = service.job("a")
    assert (record.state, record.weight, record.rank, record.attempt) == (JobState.RUNNING, 3.0, 7, 1)
    service.close()


def test_jobs_that_the_store_has_lost_are_stopped_and_their_files_kept(home: Path) -> None:
    service = begin(home)
    service.submit(submission("a", "stubborn"))
    until_state(service, "a", JobState.RUNNING)
    running = service.carrier.attempt(service.job("a"))
    service.close()
    for file in home.glob("service.sqlite*"):
        file.unlink()
    service = begin(home)
    assert any("job `a` is unknown, but runs" in event.text for event in service.store.events())
    with pytest.raises(UserError, match="a job `a` that this service does not know still runs"):
        service.submit(submission("a", "short"))
    assert (running.folder / "asked").exists()
    running.kill()
    until(service, lambda: not running.is_alive)
    service.submit(submission("a", "short"))
    until_state(service, "a", JobState.DONE)
    assert int((home / "jobs" / ".a.lost-1" / "checkpoint" / "count").read_text()) > 0
    assert (home / "jobs" / "a" / "checkpoint" / "count").read_text() == "30"
    service.close()


def test_a_home_is_taken_whatever_is_deleted_in_it(home: Path) -> None:
    service = begin(home)
    (home / "lock").unlink(missing_ok=True)
    with pytest.raises(UserError, match="another service uses"):
        begin(home)
    service.close()
    begin(home).close()


def test_a_home_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot use"):
        begin(tmp_path / "file" / "home")


def test_a_clock_that_is_set_back_stops_nothing(home: Path) -> None:
    clock = Clock()
    service = begin(home, clock)
    service.submit(submission("a", min_mips=300))
    until_state(service, "a", JobState.RUNNING)
    clock.ahead = -3600.0
    service.submit(submission("b", min_mips=300))
    until_state(service, "b", JobState.RUNNING)
    assert service.job("a").attempt == 1
    service.close()


def test_a_clock_that_is_set_forward_stops_nothing(home: Path) -> None:
    clock = Clock()
    service = begin(home, clock)
    service.submit(submission("a", min_mips=300))
    until_state(service, "a", JobState.RUNNING)
    clock.ahead = 86_400.0 * 30
    service.submit(submission("b", min_mips=300))
    until_state(service, "b", JobState.RUNNING)
    assert (service.job("a").state, service.job("a").attempt) == (JobState.RUNNING, 1)
    service.close()


def test_a_store_that_cannot_be_written_for_a_while_does_not_end_the_service(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = begin(home)

    def is_full(*arguments: object, **values: object) -> bool:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as full:
        full.setattr(service.store, "note", is_full)
        full.setattr(service.carrier, "step_all", is_full)
        ticking = threading.Thread(target=service.run)
        ticking.start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "disk is full" not in service.trouble:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    while service.trouble:
        assert ticking.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    service.stop()
    ticking.join(PATIENCE_SECONDS)
    service.close()


def test_what_if_of_a_node_that_is_not_there_is_refused(home: Path) -> None:
    service = begin(home)
    with pytest.raises(UserError, match="there is no node `elsewhere`"):
        service.what_if({"mips": {"elsewhere": 5.0}})
    service.close()
