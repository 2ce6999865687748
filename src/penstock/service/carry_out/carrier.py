"""The carrier: brings each job one step nearer to the plan and to what its user wants.

A step looks at what is (the state in the store, the process, its report and its summary), does at most one thing, and
may be repeated or left off anywhere: what is meant is stored before it is done, and what was done is seen next time.
So the service may be killed between any two instructions. A launch is stored (attempt, state) before the process is
made; the process says who it is before it becomes the job (`jobs.launch`), and one that never said so is given up.

One rule a state, in `_RULES`.
"""

from __future__ import annotations

import sqlite3
import sys
import time
from collections.abc import Callable, Mapping

from penstock.running.run_report import read_report
from penstock.runtime.ingest.cores_limit import read_cores, write_cores
from penstock.runtime.ingest.ingest_limit import read_limit, write_limit
from penstock.service.carry_out.cluster_probe import ClusterProbe
from penstock.service.carry_out.settings import Settings
from penstock.service.decide.plan import Grant
from penstock.service.jobs.description import app_arguments
from penstock.service.jobs.process import Attempt, environment_of
from penstock.service.jobs.submission import Submission, submission_from_json
from penstock.service.states.job_state import FINAL, JobState, Wanted
from penstock.service.store.records import JobRecord
from penstock.service.store.store import Store

_SMALLEST_CHANGE = 0.02
"""By which part a limit must differ to be written anew."""

_STEPS = 4
"""Steps in a row for one job, as from suspended to starting."""

_S = JobState

Command = Callable[[Submission, Grant, Settings, Attempt], list[str]]


class Carrier:
    """Carries out plans.

    Args:
        store: Of the service.
        settings: Of the service.
        clock: Tells the time in seconds since 1970.
        command: The command that runs a job.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        clock: Callable[[], float] = time.time,
        command: Command | None = None,
    ) -> None:
        self._store, self._settings, self._clock = store, settings, clock
        self._command = command or command_of
        self._cluster, self._was_there = ClusterProbe(settings.master), True

    def attempt(self, record: JobRecord) -> Attempt:
        """The last process of a job."""
        return Attempt(folder=self._settings.job_folder(record.id) / "runs" / str(record.attempt))

    def step_all(self, grants: Mapping[str, Grant] | None) -> None:
        """One step for every job; without grants nothing is started, stopped or limited that is not asked for."""
        if self._cluster.is_there != self._was_there:
            self._was_there = not self._was_there
            told = "answers again" if self._was_there else "does not answer; jobs that are to be started wait for it"
            self._store.note("service" if self._was_there else "error", f"the cluster at {self._cluster.master} {told}")
        for record in self._store.jobs():
            try:
                self._step_on(record, None if grants is None else grants.get(record.id), has_plan=grants is not None)
            except sqlite3.Error:
                raise
            except Exception as error:
                # What is wrong with one job, such as its folder, does not keep the others waiting.
                text = f"cannot be looked after: {error}"
                if record.error != text:
                    self._store.set(record.id, error=text)
                    self._store.note("error", text, record.id)

    def _step_on(self, record: JobRecord, grant: Grant | None, *, has_plan: bool) -> None:
        """Step until the state of the job stays as it is."""
        now: JobRecord | None = record
        for _ in range(_STEPS):
            if now is None or now.state in FINAL:
                return
            before = now.state
            self.step(now, grant, has_plan=has_plan)
            now = self._store.job(record.id)
            if now is None or now.state == before:
                return

    def step(self, record: JobRecord, grant: Grant | None, *, has_plan: bool = True) -> None:
        """One step for one job.

        Args:
            record: The job.
            grant: What the plan gives it; None for nothing.
            has_plan: Whether there is a plan; without one a job that runs goes on.
        """
        wanted = record.wanted
        wants_run = wanted == Wanted.RUN and (grant is not None or not has_plan)
        _RULES[record.state](self, record, grant if wants_run else None, wants_run)

    def _queued(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        if self._is_let_go(record):
            return
        if grant is not None and self._has_waited(record) and self._cluster.is_there:
            why = grant.reason.removeprefix("admitted: ")
            self._store.move(record.id, _S.QUEUED, _S.ADMITTED, why, **self._granted(grant))

    def _admitted(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        if self._is_let_go(record):
            return
        if grant is None:
            self._store.move(record.id, _S.ADMITTED, _S.QUEUED, "lost its place before it was started", mips=0.0)
            return
        attempt = record.attempt + 1
        values = {**self._granted(grant), "attempt": attempt}
        if not self._store.move(record.id, _S.ADMITTED, _S.STARTING, f"attempt {attempt}", **values):
            return
        started = self._store.job(record.id)
        assert started is not None
        try:
            self._launch(started, grant)
        except OSError as error:
            self._fail(started, f"cannot be started: {error}")

    def _launch(self, record: JobRecord, grant: Grant) -> None:
        settings = self._settings
        folder = settings.job_folder(record.id)
        submission = submission_from_json(record.spec)
        (folder / "checkpoint").mkdir(parents=True, exist_ok=True)
        write_limit(folder / "checkpoint", grant.ingest_tps)
        write_cores(folder / "checkpoint", grant.cores)
        attempt = self.attempt(record)
        command = self._command(submission, grant, settings, attempt)
        cores = max(grant.cores, grant.most_cores)
        environment = environment_of(settings.home / "streams", settings.master, cores, resizes=settings.resizes)
        attempt.drop_earlier()
        attempt.start(command, environment, folder / "code")

    def _starting(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        attempt = self.attempt(record)
        if not attempt.is_alive:
            self._after_the_end(record, attempt)
        elif not wants_run:
            self._stop(record, attempt, _S.SUSPENDING)
        elif self._has_worked(attempt):
            self._store.move(record.id, _S.STARTING, _S.RUNNING, failures=0, error="")
        elif grant is not None and grant.template == record.template:
            self._limit(record, grant)

    def _running(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        attempt = self.attempt(record)
        if not attempt.is_alive:
            self._after_the_end(record, attempt)
        elif not wants_run:
            self._stop(record, attempt, _S.SUSPENDING)
        elif grant is not None and grant.template != record.template:
            self._stop(record, attempt, _S.RESCALING, f"goes on with template {grant.template}")
        elif grant is not None:
            self._limit(record, grant)

    def _limit(self, record: JobRecord, grant: Grant) -> None:
        """Write the ingest limit and the cores where they have changed."""
        checkpoint = self._settings.job_folder(record.id) / "checkpoint"
        now = read_limit(checkpoint)
        if now is None or abs(now - grant.ingest_tps) > _SMALLEST_CHANGE * grant.ingest_tps:
            write_limit(checkpoint, grant.ingest_tps)
        if read_cores(checkpoint) != grant.cores:
            write_cores(checkpoint, grant.cores)
        granted = {name: value for name, value in self._granted(grant).items() if name != "template"}
        if granted != {name: getattr(record, name) for name in granted}:
            self._store.set(record.id, **granted)

    def _granted(self, grant: Grant) -> dict[str, object]:
        """What a job gets, as its record says it: where the cluster cannot resize it, it has the most all the time."""
        return {
            "template": grant.template,
            "mips": grant.mips,
            "ingest_tps": grant.ingest_tps,
            "cores": grant.cores if self._settings.resizes else max(grant.cores, grant.most_cores),
            "reason": grant.reason,
        }

    def _suspending(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        attempt = self.attempt(record)
        if attempt.is_alive:
            self._hurry(record, attempt)
        elif attempt.end_rest():
            return
        elif attempt.outcome == "done":
            self._store.move(record.id, _S.SUSPENDING, _S.DONE, mips=0.0)
        elif record.wanted == Wanted.CANCEL:
            self._store.move(record.id, _S.SUSPENDING, _S.CANCELLED, mips=0.0)
        else:
            # However it has ended: its checkpoint is what it goes on from.
            self._store.move(record.id, _S.SUSPENDING, _S.SUSPENDED, mips=0.0)

    def _rescaling(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        attempt = self.attempt(record)
        if not wants_run:
            self._store.move(record.id, _S.RESCALING, _S.SUSPENDING)
        elif attempt.is_alive:
            self._hurry(record, attempt)
        elif attempt.end_rest():
            return
        elif attempt.outcome == "done":
            self._store.move(record.id, _S.RESCALING, _S.DONE, mips=0.0)
        else:
            self._store.move(record.id, _S.RESCALING, _S.ADMITTED)

    def _suspended(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        if record.wanted == Wanted.CANCEL:
            self._store.move(record.id, _S.SUSPENDED, _S.CANCELLED)
        elif grant is not None and self._has_waited(record):
            self._store.move(record.id, _S.SUSPENDED, _S.QUEUED, "has a place again")

    def _failed(self, record: JobRecord, grant: Grant | None, wants_run: bool) -> None:
        if record.wanted == Wanted.CANCEL:
            self._store.move(record.id, _S.FAILED, _S.CANCELLED)

    def _is_let_go(self, record: JobRecord) -> bool:
        """Whether the user does not want a job that has no process to run; then it is suspended or cancelled."""
        if record.wanted == Wanted.RUN:
            return False
        after = _S.CANCELLED if record.wanted == Wanted.CANCEL else _S.SUSPENDED
        self._store.move(record.id, record.state, after, "as its user wants", mips=0.0)
        return True

    def _stop(self, record: JobRecord, attempt: Attempt, after: JobState, why: str = "") -> None:
        reason = why or ("lost its place" if record.wanted == Wanted.RUN else "as its user wants")
        if self._store.move(record.id, record.state, after, reason):
            attempt.ask_to_stop()

    def _hurry(self, record: JobRecord, attempt: Attempt) -> None:
        """See to it that a job that is to stop does: it is asked, if it was not, and ended when its time is up."""
        waited = self._clock() - record.state_since
        if waited < 0:
            # The clock was set back.
            self._store.set(record.id, state_since=self._clock())
        if waited > self._settings.stop_seconds:
            self._store.note("error", "did not stop in time, and was ended", record.id)
            attempt.kill()
        else:
            attempt.ask_to_stop()

    def _has_waited(self, record: JobRecord) -> bool:
        """Whether a job may be started again; no wait is longer than the longest, whatever was done to the clock."""
        return not 0 < record.not_before - self._clock() <= self._settings.longest_wait

    def _has_worked(self, attempt: Attempt) -> bool:
        return any(found.get("batches") for found in read_report(attempt.report).values())

    def _after_the_end(self, record: JobRecord, attempt: Attempt) -> None:
        """A process has ended that nobody has asked to."""
        outcome, now = attempt.outcome, self._clock()
        if attempt.end_rest():
            return
        if attempt.process is None:
            # The service was killed before the process was made.
            attempt.give_up()
            self._store.move(record.id, record.state, _S.QUEUED, "was never started", not_before=now, mips=0.0)
            return
        if outcome == "done":
            self._store.move(record.id, record.state, _S.DONE, mips=0.0)
            return
        if outcome is not None:
            self._store.move(record.id, record.state, _S.QUEUED, "was stopped from outside", not_before=now, mips=0.0)
            return
        # A job cannot help it that its cluster is gone.
        failures = 1 if self._has_worked(attempt) else record.failures + self._cluster.is_there
        self._fail(record, last_error(attempt.last_words()) or record.error or "it ended without a word", failures)

    def _fail(self, record: JobRecord, error: str, failures: int | None = None) -> None:
        """Let a job wait before it is started again, or give it up."""
        failures = record.failures + 1 if failures is None else failures
        if failures > self._settings.most_failures:
            text = f"given up after {failures} failures without a batch: {error}"
            self._store.move(record.id, record.state, _S.FAILED, text, failures=failures, error=error, mips=0.0)
            return
        wait = min(self._settings.longest_wait, self._settings.first_wait * 2 ** max(0, failures - 1))
        text = f"failed, and is started again in {wait:g} s: {error}"
        values = {"failures": failures, "error": error, "not_before": self._clock() + wait, "mips": 0.0}
        self._store.move(record.id, record.state, _S.QUEUED, text, **values)


Rule = Callable[[Carrier, JobRecord, Grant | None, bool], None]

_RULES: Mapping[JobState, Rule] = {
    _S.QUEUED: Carrier._queued,
    _S.ADMITTED: Carrier._admitted,
    _S.STARTING: Carrier._starting,
    _S.RUNNING: Carrier._running,
    _S.SUSPENDING: Carrier._suspending,
    _S.SUSPENDED: Carrier._suspended,
    _S.RESCALING: Carrier._rescaling,
    _S.FAILED: Carrier._failed,
    _S.DONE: lambda carrier, record, grant, wants_run: None,
    _S.CANCELLED: lambda carrier, record, grant, wants_run: None,
}


def command_of(submission: Submission, grant: Grant, settings: Settings, attempt: Attempt) -> list[str]:
    """The command that runs a job."""
    folder = settings.job_folder(submission.name)
    template = submission.template(grant.template)
    master = f"local[{max(grant.cores, grant.most_cores)}]" if settings.master == "local" else settings.master
    command = [sys.executable, "-m", "penstock.cli", "run", *app_arguments(template, folder / "code")]
    command += ["--master", master, "--checkpoint", str(folder / "checkpoint")]
    command += ["--out", submission.out or str(folder / "out"), "--report", str(attempt.report), "--json"]
    if len(submission.templates) > 1:
        # A template is a changed program of another; operators that keep their names keep their state.
        command += ["--allow-dropped-state", "--accept-changed-code"]
    if template.channels is not None:
        command += ["--channels", str(template.channels)]
    if template.batch is not None:
        command += ["--batch", str(template.batch)]
    if template.continuous:
        command.append("--continuous")
    return command


def last_error(text: str) -> str:
    """The last error in what a job has printed, or that there is none, as when it was killed, and its last line.

    Example:
        >>> last_error("starting Spark\\nerror: the disk is full\\nto resume, run it again\\n")
        'error: the disk is full'
        >>> last_error("batch 7: 2 s\\n")
        'it ended without an error; its last line: batch 7: 2 s'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    said = errors[-1] if errors else f"it ended without an error; its last line: {lines[-1]}" if lines else ""
    return said[:500]
