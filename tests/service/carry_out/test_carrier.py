"""Carrying out, with real processes: every state is left as the table says, and nobody runs twice or is forgotten."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.base.holders import Process
from penstock.base.process_tree import stat_of
from penstock.runtime.ingest.cores_limit import read_cores
from penstock.runtime.ingest.ingest_limit import read_limit
from penstock.scheduler.problem.nodes import Node
from penstock.service.carry_out.carrier import Carrier
from penstock.service.carry_out.cluster_probe import ClusterProbe
from penstock.service.carry_out.settings import Settings
from penstock.service.decide.plan import Grant
from penstock.service.jobs.process import Attempt
from penstock.service.jobs.submission import Submission
from penstock.service.states.job_state import JobState, Wanted
from penstock.service.store.records import TemplateRecord
from penstock.service.store.store import Store
from service.pretend_job import SCRIPT

PATIENCE_SECONDS = 30.0


class Bench:
    """A store, a carrier and a clock that can be moved on."""

    def __init__(self, home: Path) -> None:
        self.settings = Settings(
            home=home,
            nodes=(Node(id="local", mips=1000.0),),
            first_wait=0.01,
            longest_wait=0.05,
            most_failures=2,
            stop_seconds=30.0,
        )
        self.ahead = 0.0
        self.grants: dict[str, Grant] = {}
        self.open()

    def open(self) -> None:
        """As a service that was just started."""
        self.store = Store(self.settings.home / "service.sqlite")
        self.carrier = Carrier(self.store, self.settings, lambda: time.time() + self.ahead, command)

    def add(self, name: str, how: str, *templates: str) -> None:
        spec = {"name": name, "templates": [{"id": t, "app": f"{how}.spl"} for t in templates or ("t",)]}
        records = [TemplateRecord(id=t, spec={}, description={}) for t in templates or ("t",)]
        self.store.add_job(name, spec, rank=1, required=False, weight=1.0, templates=records)
        (self.settings.job_folder(name) / "code").mkdir(parents=True)

    def grant(self, name: str, template: str = "t", tps: float = 100.0) -> None:
        self.grants[name] = Grant(template=template, mips=500.0, ingest_tps=tps, cores=1)

    def state(self, name: str) -> JobState:
        record = self.store.job(name)
        assert record is not None
        return record.state

    def attempt(self, name: str) -> Attempt:
        record = self.store.job(name)
        assert record is not None
        return self.carrier.attempt(record)

    def until(self, what: Callable[[], bool]) -> None:
        """Step until something is so."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not what():
            assert time.monotonic() < deadline, "\n".join(f"{e.job} {e.text}" for e in self.store.events()[-40:])
            self.carrier.step_all(self.grants)
            time.sleep(0.01)

    def until_state(self, name: str, state: JobState) -> None:
        self.until(lambda: self.state(name) == state)

    def count(self, name: str) -> int:
        return int((self.settings.job_folder(name) / "checkpoint" / "count").read_text())

    def starts(self, name: str) -> int:
        return len((self.settings.job_folder(name) / "checkpoint" / "starts").read_text().splitlines())


def command(submission: Submission, grant: Grant, settings: Settings, attempt: Attempt) -> list[str]:
    how = submission.template(grant.template).app.removesuffix(".spl")
    checkpoint = settings.job_folder(submission.name) / "checkpoint"
    return [sys.executable, "-I", str(SCRIPT), str(attempt.report), str(checkpoint), how]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    for folder in tmp_path.glob("jobs/*/runs/*"):
        Attempt(folder=folder).kill()


def test_a_job_runs_to_its_end(bench: Bench) -> None:
    bench.add("a", "short")
    bench.carrier.step_all({})
    assert bench.state("a") == JobState.QUEUED
    bench.grant("a")
    bench.until_state("a", JobState.DONE)
    assert (bench.count("a"), bench.starts("a")) == (30, 1)
    texts = [event.text.partition(":")[0] for event in bench.store.events("a")]
    assert texts[:3] == ["queued", "admitted", "starting"]


def test_a_job_that_loses_its_place_stops_behind_its_batch_and_goes_on_when_it_has_one_again(bench: Bench) -> None:
    bench.add("a", "long")
    bench.grant("a")
    bench.until_state("a", JobState.RUNNING)
    grant = bench.grants.pop("a")
    bench.until_state("a", JobState.SUSPENDED)
    held = bench.count("a")
    assert bench.attempt("a").outcome == "interrupted"
    bench.grants["a"] = grant
    bench.until(lambda: bench.state("a") == JobState.RUNNING and bench.count("a") > held)
    assert bench.starts("a") == 2


def test_what_the_user_wants_goes_before_the_plan(bench: Bench) -> None:
    bench.add("a", "long")
    bench.add("b", "long")
    bench.grant("a")
    bench.store.set("b", wanted=Wanted.SUSPEND.value)
    bench.grant("b")
    bench.until(lambda: bench.state("a") == JobState.RUNNING and bench.state("b") == JobState.SUSPENDED)
    bench.store.set("a", wanted=Wanted.CANCEL.value)
    bench.store.set("b", wanted=Wanted.CANCEL.value)
    bench.until(lambda: bench.state("a") == JobState.CANCELLED and bench.state("b") == JobState.CANCELLED)
    assert not (bench.settings.job_folder("b") / "runs").exists()


def test_a_limit_changes_while_a_job_runs(bench: Bench) -> None:
    bench.add("a", "long")
    bench.grant("a", tps=100.0)
    bench.until_state("a", JobState.RUNNING)
    checkpoint = bench.settings.job_folder("a") / "checkpoint"
    assert read_limit(checkpoint) == 100.0
    bench.grant("a", tps=300.0)
    bench.until(lambda: read_limit(checkpoint) == 300.0)
    assert bench.starts("a") == 1


def test_a_job_goes_on_with_another_template(bench: Bench) -> None:
    bench.add("a", "long", "full", "light")
    bench.grant("a", "full")
    bench.until_state("a", JobState.RUNNING)
    held = bench.count("a")
    bench.grant("a", "light")
    bench.until(lambda: bench.starts("a") == 2 and bench.state("a") == JobState.RUNNING)
    assert bench.count("a") > held
    record = bench.store.job("a")
    assert record is not None
    assert (record.template, "rescaling" in " ".join(e.text for e in bench.store.events("a"))) == ("light", True)


def test_a_job_that_dies_is_started_again_and_one_that_keeps_dying_is_given_up(bench: Bench) -> None:
    bench.add("flaky", "flaky")
    bench.add("broken", "broken")
    bench.grant("flaky")
    bench.grant("broken")
    bench.until(lambda: bench.state("flaky") == JobState.RUNNING and bench.state("broken") == JobState.FAILED)
    assert (bench.starts("flaky"), bench.starts("broken")) == (3, 3)
    record = bench.store.job("broken")
    assert record is not None
    assert record.error == "error: it is broken"
    bench.attempt("flaky").kill()
    bench.until(lambda: bench.starts("flaky") == 4 and bench.state("flaky") == JobState.RUNNING)
    flaky = bench.store.job("flaky")
    assert flaky is not None
    assert flaky.failures == 0


def test_a_job_that_does_not_stop_is_ended_when_its_time_is_up(bench: Bench) -> None:
    bench.add("a", "stubborn")
    bench.grant("a")
    bench.until_state("a", JobState.RUNNING)
    bench.grants.clear()
    bench.until_state("a", JobState.SUSPENDING)
    bench.carrier.step_all({})
    assert bench.attempt("a").is_alive
    bench.ahead = 31.0
    bench.until_state("a", JobState.SUSPENDED)


def test_a_launch_that_never_said_who_it_is_is_given_up_and_cannot_come_later(bench: Bench) -> None:
    """The service was killed between what it wrote down and the process."""
    bench.add("a", "long")
    bench.grant("a")
    bench.store.move("a", JobState.QUEUED, JobState.ADMITTED)
    bench.store.move("a", JobState.ADMITTED, JobState.STARTING, attempt=1)
    lost = bench.attempt("a")
    assert not lost.is_alive
    bench.until(lambda: bench.state("a") == JobState.RUNNING)
    assert bench.starts("a") == 1
    record = bench.store.job("a")
    assert record is not None
    assert record.attempt == 2
    # The process of the first launch comes at last: it finds that it was given up.
    lost.start([sys.executable, "-c", "open('here', 'w')"], {}, bench.settings.home)
    time.sleep(1)
    assert not (bench.settings.home / "here").exists()


def test_what_a_job_has_left_behind_is_ended_before_it_is_started_again(bench: Bench) -> None:
    bench.add("a", "parent")
    bench.grant("a")
    bench.until_state("a", JobState.RUNNING)
    process, left = bench.attempt("a").process, bench.settings.job_folder("a") / "checkpoint" / "child"
    assert process is not None
    first = int(left.read_text())
    assert stat_of(first) is not None
    os.kill(process.pid, signal.SIGKILL)
    bench.until(lambda: bench.starts("a") == 2 and bench.state("a") == JobState.RUNNING)
    assert (stat_of(first) or "Z")[0] == "Z"
    bench.grants.clear()
    bench.until_state("a", JobState.SUSPENDED)
    assert (stat_of(int(left.read_text())) or "Z")[0] == "Z"


def test_a_job_that_hangs_as_it_starts_can_be_stopped(bench: Bench) -> None:
    bench.add("a", "hanging")
    bench.grant("a")
    bench.until(lambda: bench.attempt("a").process is not None)
    bench.until(lambda: (bench.settings.job_folder("a") / "checkpoint" / "starts").exists())
    bench.store.set("a", wanted=Wanted.CANCEL.value)
    bench.until_state("a", JobState.SUSPENDING)
    bench.ahead = 31.0
    bench.until_state("a", JobState.CANCELLED)
    assert _alive(bench, "a") == 0


def test_a_limit_holds_before_the_first_batch(bench: Bench) -> None:
    """Else jobs that start would be allotted more than there is."""
    bench.add("a", "hanging")
    bench.grant("a", tps=100.0)
    bench.until_state("a", JobState.STARTING)
    bench.grant("a", tps=25.0)
    bench.until(lambda: read_limit(bench.settings.job_folder("a") / "checkpoint") == 25.0)
    record = bench.store.job("a")
    assert record is not None
    assert (record.state, record.ingest_tps) == (JobState.STARTING, 25.0)


def test_a_job_whose_folder_is_spoilt_keeps_nobody_waiting(bench: Bench) -> None:
    for name in ("spoilt", "other"):
        bench.add(name, "long")
        bench.grant(name)
    bench.until(lambda: bench.state("spoilt") == bench.state("other") == JobState.RUNNING)
    checkpoint = bench.settings.job_folder("spoilt") / "checkpoint"
    checkpoint.rename(checkpoint.with_name("away"))
    checkpoint.touch()
    bench.grant("spoilt", tps=300.0)
    bench.grant("other", tps=300.0)
    bench.until(lambda: read_limit(bench.settings.job_folder("other") / "checkpoint") == 300.0)


def test_a_job_that_cannot_be_started_is_given_up_with_the_reason(bench: Bench) -> None:
    bench.add("a", "long")
    (bench.settings.job_folder("a") / "code").rmdir()
    bench.grant("a")
    bench.until_state("a", JobState.FAILED)
    record = bench.store.job("a")
    assert record is not None
    assert (record.attempt, "cannot be started: [Errno 2]" in record.error) == (3, True)


def test_no_wait_is_longer_than_the_longest_though_the_clock_was_set_back(bench: Bench) -> None:
    bench.add("a", "long")
    bench.grant("a")
    bench.store.set("a", not_before=time.time() + 3600.0)
    bench.until_state("a", JobState.RUNNING)


def test_a_job_that_is_to_stop_has_its_time_though_the_clock_was_set_back(bench: Bench) -> None:
    bench.add("a", "stubborn")
    bench.grant("a")
    bench.until_state("a", JobState.RUNNING)
    bench.grants.clear()
    bench.until_state("a", JobState.SUSPENDING)
    bench.ahead = -3600.0
    bench.carrier.step_all({})
    assert bench.attempt("a").is_alive
    bench.ahead = -3600.0 + 31.0
    bench.until_state("a", JobState.SUSPENDED)


def test_another_process_with_the_number_of_a_dead_one_is_not_ours(bench: Bench) -> None:
    bench.add("a", "long")
    bench.grant("a")
    bench.until_state("a", JobState.RUNNING)
    attempt = bench.attempt("a")
    process = attempt.process
    assert process is not None
    assert process.started is not None
    attempt.kill()
    bench.until(lambda: not attempt.is_alive)
    (attempt.folder / "process.json").write_text(f'{{"pid": 1, "started": {process.started}}}')
    assert not attempt.is_alive
    assert attempt.cpu_seconds() is None
    attempt.kill()
    assert Process(pid=1, started=process.started).state is None


@pytest.mark.parametrize("seed", range(4))
def test_a_carrier_that_is_killed_at_any_moment_loses_nobody_and_starts_nobody_twice(tmp_path: Path, seed: int) -> None:
    """A kill is an exception out of any write, after which a new carrier goes on with the files alone."""
    bench, chance = Bench(tmp_path), random.Random(seed)
    for name in ("a", "b"):
        bench.add(name, "long", "full", "light")
        bench.grant(name, "full")
    bench.add("c", "short")
    bench.grant("c")
    try:
        for _ in range(60):
            _step_with_kill(bench, chance)
            if chance.random() < 0.2:
                name = chance.choice("ab")
                bench.grants.pop(name, None)
                if chance.random() < 0.6:
                    bench.grant(name, chance.choice(("full", "light")))
            time.sleep(0.01)
        bench.grant("a", "full")
        bench.grant("b", "light")
        bench.until(lambda: {bench.state("a"), bench.state("b")} == {JobState.RUNNING})
        bench.until_state("c", JobState.DONE)
        for name in "abc":
            # Whoever found the checkpoint held would have failed.
            assert "error" not in "".join(p.read_text() for p in bench.settings.job_folder(name).glob("runs/*/log.txt"))
        running = [_alive(bench, name) for name in "abc"]
        assert running == [1, 1, 0]
    finally:
        for record in bench.store.jobs():
            bench.carrier.attempt(record).kill()


class _Killed(BaseException):
    pass


def _step_with_kill(bench: Bench, chance: random.Random) -> None:
    """A step that may be broken off before or after a write to the store."""
    store, move, left = bench.store, bench.store.move, chance.choice((0, 1, 2, 99))

    def breaking(*args: object, **values: object) -> bool:
        nonlocal left
        left -= 1
        done = move(*args, **values) if left or chance.random() < 0.5 else False  # type: ignore[arg-type]
        if left <= 0:
            raise _Killed
        return done

    store.move = breaking  # type: ignore[method-assign]
    try:
        bench.carrier.step_all(bench.grants)
    except _Killed:
        store.close()
        bench.open()
    else:
        store.move = move  # type: ignore[method-assign]


def _alive(bench: Bench, name: str) -> int:
    found = 0
    for folder in bench.settings.job_folder(name).glob("runs/*"):
        process = Attempt(folder=folder).process
        found += process is not None and process.state is not None
    return found


def test_a_job_is_told_how_many_cores_it_shall_have_and_shown_as_the_cluster_can_do_it(bench: Bench) -> None:
    bench.add("a", "long")
    checkpoint = bench.settings.job_folder("a") / "checkpoint"
    for master, shown in (("local", 4), ("spark://host:7077", 2)):
        bench.settings = replace(bench.settings, master=master, resize=True)
        bench.carrier = Carrier(bench.store, bench.settings, time.time, command)
        bench.grants["a"] = Grant(template="t", mips=1500.0, ingest_tps=100.0, cores=2, most_cores=4)
        bench.until_state("a", JobState.RUNNING)
        bench.carrier.step_all(bench.grants)
        record = bench.store.job("a")
        assert record is not None
        assert (read_cores(checkpoint), record.cores) == (2, shown)
    bench.grants["a"] = replace(bench.grants["a"], cores=3)
    bench.carrier.step_all(bench.grants)
    assert read_cores(checkpoint) == 3


def test_nobody_is_started_or_given_up_while_the_cluster_does_not_answer(bench: Bench) -> None:
    cluster = SimpleNamespace(master="spark://host:7077", is_there=False)
    bench.carrier._cluster = cluster  # type: ignore[assignment]
    bench.add("a", "long")
    bench.grant("a")
    for _ in range(3):
        bench.carrier.step_all(bench.grants)
    assert bench.state("a") == JobState.QUEUED
    assert [e.text for e in bench.store.events() if e.kind == "error"] == [
        "the cluster at spark://host:7077 does not answer; jobs that are to be started wait for it"
    ]
    cluster.is_there = True
    bench.until_state("a", JobState.RUNNING)
    assert "answers again" in "".join(e.text for e in bench.store.events())
    # A failure more would be one too many; it does not count while the cluster is gone.
    bench.store.set("a", failures=bench.settings.most_failures)
    cluster.is_there = False
    bench.attempt("a").kill()
    bench.attempt("a").report.unlink()
    bench.until_state("a", JobState.QUEUED)
    record = bench.store.job("a")
    assert record is not None
    assert record.failures == bench.settings.most_failures
    cluster.is_there = True
    bench.until_state("a", JobState.RUNNING)


def test_a_probe_says_whether_anybody_listens() -> None:
    now = [0.0]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        probe = ClusterProbe(f"spark://127.0.0.1:1,127.0.0.1:{port}", lambda: now[0])
        assert probe.is_there
    assert probe.is_there
    now[0] = 5.0
    assert not probe.is_there
    assert all(ClusterProbe(url).is_there for url in ("local", "yarn", "k8s://https://host:1", "spark://"))
