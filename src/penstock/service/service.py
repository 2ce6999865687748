"""The service: looks, learns, decides and carries out, epoch by epoch, and takes what users ask for.

One thread does all that happens by itself (`tick`); requests come from others, and change the store alone. What they
change is decided on at the next tick.
"""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import replace
from typing import Any

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible, UserError
from penstock.running.run_report import read_report
from penstock.scheduler.problem.nodes import Cluster, Node
from penstock.service.carry_out.carrier import Carrier, Command
from penstock.service.carry_out.settings import Settings, is_due
from penstock.service.decide.micro import decide_micro
from penstock.service.decide.plan import Grant, Plan
from penstock.service.decide.possible import decide_possible
from penstock.service.decide.snapshot import Snapshot
from penstock.service.decide.what_if import change
from penstock.service.home import clear_removed, forget_job, set_aside, stop_strangers, take_home
from penstock.service.jobs.description import check_streams, describe
from penstock.service.jobs.package import unpack
from penstock.service.jobs.submission import submission_from_json
from penstock.service.learn.measuring import Look, compare
from penstock.service.learn.views import WINDOW, view_jobs
from penstock.service.states.job_state import FINAL, JobState, Wanted
from penstock.service.store.records import JobRecord, TemplateRecord
from penstock.service.store.store import Store

_DECIDING_SHARE = 0.5
"""Of an epoch, for its decision; a macro decision is made beside all else, so that jobs that die are noticed."""

_MOST_DECIDING_SECONDS = 30.0

_PATIENT_EPOCHS = 3
"""Micro epochs without a batch after which it counts that there was none."""

_SOON_SECONDS = 1.0
"""How far apart decisions are that are made because something has changed."""

_log = logging.getLogger("penstock.service")


class Conflict(UserError):
    """A request that the state of a job does not allow."""


class Missing(UserError):
    """A request about something that is not there."""


class Service:
    """A running service.

    Args:
        settings: How it runs.
        clock: Tells the time in seconds since 1970.
        command: The command that runs a job.

    Raises:
        UserError: Another service has the same home.
    """

    def __init__(
        self, settings: Settings, clock: Callable[[], float] = time.time, command: Command | None = None
    ) -> None:
        self.settings, self._clock = settings, clock
        self._lock = take_home(settings.home)
        self.store = Store(settings.home / "service.sqlite", clock)
        self.carrier = Carrier(self.store, settings, clock, command)
        self.plan: Plan | None = self._last_plan()
        self._looks: dict[str, Look] = {}
        self._macro_at = self._micro_at = 0.0
        self._thinking = ThreadPoolExecutor(1, "penstock decision")
        self._decision: Future[Plan] | None = None
        self._has_changed = threading.Event()
        self._is_over = threading.Event()
        self.trouble = ""
        """What went wrong in the last tick; empty for nothing."""
        self.store.note("service", f"started, process {os.getpid()}")
        clear_removed(settings.home)
        for name in stop_strangers(settings.home, [record.id for record in self.store.jobs()]):
            self.store.note("error", f"job `{name}` is unknown, but runs: it was asked to stop; its files are kept")

    def close(self) -> None:
        """Let go of the home; jobs go on."""
        self._is_over.set()
        self._thinking.shutdown(cancel_futures=True)
        self.store.note("service", "stopped; jobs go on")
        self.store.close()
        os.close(self._lock)

    def run(self) -> None:
        """Tick until `stop` is called."""
        while not self._is_over.is_set():
            began = time.monotonic()
            try:
                self.tick()
                self.trouble = ""
            except Exception as error:  # One bad tick must not end the service: jobs go on, and it is written down.
                self._complain(error)
            left = self.settings.look_seconds - (time.monotonic() - began)
            self._is_over.wait(max(0.05, left))

    def _complain(self, error: Exception) -> None:
        """Write down, once, what is wrong; where even that fails, the log has it."""
        said, self.trouble = self.trouble, repr(error)[:500]
        if self.trouble == said:
            return
        text = "".join(traceback.format_exception(error))[-4000:]
        try:
            self.store.note("error", f"internal error: {error!r}\n{text}")
        except sqlite3.Error:
            _log.exception("a tick has failed, and the store cannot be written", exc_info=error)

    def stop(self) -> None:
        """End `run`."""
        self._is_over.set()

    def tick(self) -> None:
        """Look, learn and decide what is due, and carry out a step."""
        now = self._clock()
        if self.store.keep_file():
            self.store.note("error", "the store's file was gone, and was written anew")
        before = self._shape()
        self.carrier.step_all(None if self.plan is None else self.plan.grants)
        if self._shape() != before:
            self._has_changed.set()
        is_micro = is_due(self._micro_at, now, self.settings.micro_seconds)
        if is_micro:
            self._micro_at = now
            self.look()
        self._take_decision()
        is_soon = self._has_changed.is_set() and is_due(self._macro_at, now, _SOON_SECONDS)
        if self._decision is None and (is_soon or is_due(self._macro_at, now, self.settings.macro_seconds)):
            self._has_changed.clear()
            self._macro_at = now
            seconds = min(_MOST_DECIDING_SECONDS, self.settings.macro_seconds * _DECIDING_SHARE)
            self._decision = self._thinking.submit(decide_possible, self.snapshot(), Deadline.after(seconds))
            with suppress(FutureTimeout):
                # Most decisions take a moment; others are taken at a later tick.
                self._decision.exception(self.settings.look_seconds)
            self._take_decision()
        elif is_micro and self.plan is not None and self.plan.grants:
            in_time = Deadline.after(self.settings.micro_seconds * _DECIDING_SHARE)
            self._adopt("micro", decide_micro(self.snapshot(), self.plan, in_time))

    def _take_decision(self) -> None:
        """Adopt a macro decision that is ready, and begin to carry it out."""
        if self._decision is None or not self._decision.done():
            return
        decision, self._decision = self._decision, None
        try:
            self._adopt("macro", decision.result())
        except Infeasible as error:
            self.store.note("decision", f"no plan: {error.reason}; what runs goes on")
            return
        self.carrier.step_all(None if self.plan is None else self.plan.grants)

    def _shape(self) -> list[tuple[str, bool]]:
        """What a decision depends on, of the states of jobs: who wants to run."""
        return [(record.id, self._wants_to_run(record)) for record in self.store.jobs()]

    @staticmethod
    def _wants_to_run(record: JobRecord) -> bool:
        is_over = record.state in FINAL or record.state == JobState.FAILED
        return record.wanted == Wanted.RUN and not is_over

    def look(self) -> None:
        """Take a sample of every job that runs."""
        for record in self.store.jobs():
            if record.state not in (JobState.RUNNING, JobState.STARTING) or record.template is None:
                self._looks.pop(record.id, None)
                continue
            attempt = self.carrier.attempt(record)
            attempt.trim_log()
            seconds, reports = attempt.cpu_seconds(), read_report(attempt.report)
            if seconds is None:
                continue
            report = next(iter(reports.values()), {})
            look = Look.of(record.attempt, self._clock(), seconds, report)
            before = self._looks.setdefault(record.id, look)
            if look.awaits_batch(before, _PATIENT_EPOCHS * self.settings.micro_seconds):
                continue
            self._looks[record.id] = look
            submission = submission_from_json(record.spec)
            description = record.template_record(record.template).description
            more = {"weight": record.weight, "core_mips": self.settings.core_mips}
            sample = compare(before, look, submission, record.template, description, **more)
            if sample is not None:
                self.store.add_sample(sample)

    def snapshot(self) -> Snapshot:
        """The world as a decision sees it."""
        records = [record for record in self.store.jobs() if self._wants_to_run(record)]
        nodes = self.nodes()
        cluster = Cluster(nodes=nodes)
        jobs = view_jobs(
            records,
            {record.id: submission_from_json(record.spec) for record in records},
            {record.id: self.store.samples(record.id, most=WINDOW * 2) for record in records},
            mips=cluster.live_mips,
            now=self._clock(),
            least_mips=self.settings.core_mips if self.settings.resizes else 0.0,
        )
        return Snapshot(cluster=cluster, jobs=jobs, prices=self.settings.prices, core_mips=self.settings.core_mips)

    def nodes(self) -> tuple[Node, ...]:
        """The nodes, with the capacity that was set while the service runs."""
        given: Mapping[str, float] = self.store.setting("capacity") or {}
        found = (replace(n, mips=given.get(n.id, n.mips)) for n in self.settings.nodes)
        return tuple(replace(node, up=node.mips > 0) for node in found)

    def _adopt(self, kind: str, plan: Plan) -> None:
        """Let a plan hold from now on, and keep it with its reasons."""
        last = self.plan
        self.plan = plan
        figures = {
            "importance": plan.importance,
            "waterline": float(plan.waterline),
            "mips": plan.mips,
            "mips_used": plan.mips_used,
            "seconds": plan.seconds,
        }
        if kind == "micro" or last is None or not last.says_what(plan):
            number = self.store.add_decision(kind, figures, plan.to_json())
            if kind == "macro" and (last is None or last.templates != plan.templates):
                self.store.note("decision", f"decision {number}: {plan.in_words()}")
        with self.store.transaction():
            # At once: a thousand jobs would be a thousand writes to the disk.
            for job, reason in plan.refusals.items():
                record = self.store.job(job)
                if record is not None and record.reason != reason:
                    self.store.set(job, reason=reason)
                    self.store.note("decision", reason, job)

    def _last_plan(self) -> Plan | None:
        """The plan that held when the service was stopped, or killed."""
        found = self.store.decisions(most=1)
        if not found:
            return None
        plan = {key: value for key, value in found[0].plan.items() if key != "mips_used"}
        grants = {job: Grant(**grant) for job, grant in plan["grants"].items()}
        return Plan(**{**plan, "grants": grants})

    def submit(self, document: object) -> JobRecord:
        """Take a job.

        Raises:
            UserError: It is not right; every mistake is named.
        """
        submission = submission_from_json(document)
        assert isinstance(document, dict)
        self._check_free(submission.name)
        folder = self.settings.job_folder(submission.name)
        fresh = folder.with_name(f".{submission.name}.{threading.get_ident()}.{time.time_ns()}")
        try:
            unpack(document.get("files", {}), fresh / "code")
            (fresh / "code").mkdir(parents=True, exist_ok=True)
            described = {template.id: describe(template, fresh / "code") for template in submission.templates}
            check_streams(submission, described)
            kept = {key: value for key, value in document.items() if key != "files"}
            specs = document["templates"]
            templates = [
                TemplateRecord(id=template.id, spec=spec, description=described[template.id])
                for template, spec in zip(submission.templates, specs, strict=True)
            ]
            with self.store.transaction():
                self._check_free(submission.name)
                given: dict[str, Any] = {
                    "rank": submission.rank,
                    "required": submission.required,
                    "weight": submission.weight,
                }
                self.store.add_job(submission.name, kept, **given, templates=templates)
                if set_aside(folder) is None:
                    # Left by a job that was never stored: the service was killed between the two.
                    shutil.rmtree(folder, ignore_errors=True)
                fresh.rename(folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        self._has_changed.set()
        return self.job(submission.name)

    def _check_free(self, name: str) -> None:
        if self.store.job(name) is not None:
            raise Conflict(f"there is a job `{name}` already", hint="give it another name, or forget that one")

    def job(self, job_id: str) -> JobRecord:
        """The job of an id.

        Raises:
            Missing: There is none.
        """
        record = self.store.job(job_id)
        if record is None:
            raise Missing(f"there is no job `{job_id[:80]}`", hint="`penstock status` lists them")
        return record

    def want(self, job_id: str, wanted: Wanted) -> JobRecord:
        """Let a job run, be suspended or be cancelled.

        Raises:
            UserError: There is no such job, or it is over.
        """
        record = self.job(job_id)
        if record.state in FINAL:
            raise Conflict(f"job `{job_id}` is {record.state}")
        if record.state == JobState.FAILED and wanted == Wanted.SUSPEND:
            raise Conflict(f"job `{job_id}` has failed", hint="resume or cancel it")
        if record.wanted == Wanted.CANCEL and wanted != Wanted.CANCEL:
            raise Conflict(f"job `{job_id}` is being cancelled")
        self.store.set(job_id, wanted=wanted.value)
        self.store.note("user", f"asked to {_VERBS[wanted]}", job_id)
        if record.state == JobState.FAILED and wanted == Wanted.RUN:
            self.store.move(job_id, JobState.FAILED, JobState.QUEUED, "tried again", failures=0, not_before=0.0)
        self._has_changed.set()
        return self.job(job_id)

    def set_importance(self, job_id: str, **values: float | int | bool) -> JobRecord:
        """Change the weight or the rank of a job, or whether it is required."""
        record = self.job(job_id)
        if record.state in FINAL:
            raise Conflict(f"job `{job_id}` is {record.state}")
        self.store.set(job_id, **values)
        told = ", ".join(f"{name} {value}" for name, value in values.items())
        self.store.note("user", f"set {told}", job_id)
        self._has_changed.set()
        return self.job(job_id)

    def set_capacity(self, mips: Mapping[str, float]) -> None:
        """Change what nodes give.

        Raises:
            Missing: There is no such node.
        """
        for node in mips:
            self._check_node(node)
        self.store.set_setting("capacity", {**(self.store.setting("capacity") or {}), **mips})
        self.store.note("user", "set capacity " + ", ".join(f"{node} {value:g} mips" for node, value in mips.items()))
        self._has_changed.set()

    def _check_node(self, node: str) -> None:
        if node not in (known := sorted(node.id for node in self.settings.nodes)):
            raise Missing(f"there is no node `{node[:80]}`", hint=f"there are {', '.join(known)}")

    def what_if(self, changes: Mapping[str, Any]) -> Plan:
        """The plan if weights, ranks or the capacity were others; nothing is changed.

        Args:
            changes: `weights` and `ranks` by job, `mips` by node.

        Raises:
            UserError: A job or a node is unknown, or the required jobs would not fit.
        """
        snapshot = self.snapshot()
        known = {job.id for job in snapshot.jobs}
        for job in [*changes.get("weights", {}), *changes.get("ranks", {})]:
            if job not in known:
                raise Missing(f"there is no job `{job[:80]}` that wants to run")
        for node in changes.get("mips", {}):
            self._check_node(node)
        changed = change(snapshot, changes, {record.id: record.weight for record in self.store.jobs()})
        try:
            return decide_possible(changed, Deadline.after(self.settings.micro_seconds * _DECIDING_SHARE))
        except Infeasible as error:
            raise Conflict(f"no plan: {error.reason}") from None

    def remove(self, job_id: str) -> None:
        """Forget a job that is over, with its folder; its name is free again.

        Raises:
            Conflict: It is not over.
        """
        record = self.job(job_id)
        if not forget_job(self.store, self.settings.job_folder(job_id), job_id):
            raise Conflict(f"job `{job_id}` is {record.state}", hint="cancel it first")

    def log(self, job_id: str, most: int) -> str:
        """The end of what a job's last process has printed."""
        return self.carrier.attempt(self.job(job_id)).last_words(most)


_VERBS = {Wanted.RUN: "run", Wanted.SUSPEND: "be suspended", Wanted.CANCEL: "be cancelled"}
