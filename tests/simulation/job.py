"""Runs a program through a history: process after process, until the job has ended."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from compiling import compile_fused
from fuzz.execute import MOST_BATCHES, Outcome, environment_of, failed, outcome_of
from fuzz.outputs import read_outputs
from fuzz.setting import Setting, draw_fusion
from penstock.base.diagnostics import UserError
from penstock.compiler import CompiledJob
from penstock.compiler.open_loops import has_open_loop, why_closed, with_open_loop
from penstock.expr.environment import Clock
from penstock.local.channel import Values
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.rounds import rounds_folder
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.lock import lock_checkpoint
from penstock.spark.checkpoint.plan_record import claim, clear_false_start
from penstock.spark.checkpoint.spark_files import FOLDER, SparkFiles
from penstock.spark.job.query import Job, _guard, pickled_program
from penstock.spark.job.run import _job_on
from penstock.spark.savepoints import stored_state
from penstock.spark.savepoints.apply_savepoint import Target
from penstock.spark.savepoints.switch_plan import switch_plan
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.spark.sources.data_source import Planning, dump
from penstock.spark.sources.reader import SourceReader
from penstock.toolkit.core.program import Program

from .history import History
from .machine import Crash, Machine
from .spark import Query, States, Workers, read_states

MOST_STARTS = 60

REFUSALS = ("cannot run on other channels",)
"""What is said of a plan that cannot go on from the state of the one before; the job goes on as it was."""


def run_simulated(program: Program, data: Path, history: History, root: Path) -> Outcome:
    """The outcome of a job to which a history happens.

    Args:
        program: Of the job.
        data: What its sources read.
        history: What happens.
        root: A folder for the machine.
    """
    job = _History(program, data, history, root)
    try:
        job.run()
    except UserError as error:
        return failed(error, read_outputs(job.out, job.stdout.getvalue()), job.widths)
    return outcome_of(job.out, job.stdout.getvalue(), job.totals, job.widths)


class _History:
    """A job, from its first process to the one that ends."""

    def __init__(self, program: Program, data: Path, history: History, root: Path) -> None:
        self._history, self._program = history, program
        self._machine = Machine(root, history)
        self._checkpoint, self.out = self._machine.live / "checkpoint", self._machine.live / "out"
        self.out.mkdir()
        self._files = root / "files"
        self.stdout = io.StringIO()
        self._environment = environment_of(data, self.out, self.stdout)
        self._compiled: dict[int, CompiledJob] = {}
        self._stores: dict[str, dict[int, States]] = {}
        self._printed: dict[int, int] = {}
        self._before, self._stage, self._until = 0, 0, _at(history.lengths, 0)
        self._done = 0
        self.totals = None

    @property
    def widths(self) -> Mapping[str, int]:
        """For each operator the most channels that it has had."""
        found: dict[str, int] = {}
        for compiled in self._compiled.values():
            for pe in compiled.plan.pes:
                found.update({id_: max(pe.channels, found.get(id_, 1)) for id_ in pe.operators})
        return found

    def run(self) -> None:
        """Start process after process."""
        for _ in range(MOST_STARTS):
            compiled = self._compile()
            try:
                with self._machine.process():
                    stage = self._compiled[self._stage]
                    if self._run_process(compiled):
                        return
                    if self._compiled[self._stage] is stage:
                        self._go_to_next_plan()
            except Crash:
                pass
            except Exception:
                if not self._machine.has_failed:
                    raise
            if self._machine.moves:
                self._machine.moves = False
                self._go_to_next_plan()
        raise AssertionError("the job does not come to an end")

    def _go_to_next_plan(self) -> None:
        if self._stage + 1 < len(self._history.plans):
            self._before, self._stage = self._stage, self._stage + 1
        self._until = self._done + _at(self._history.lengths, self._stage)

    def _refuse_plan(self) -> None:
        """Go on with the plan before in the place of one that is refused."""
        self._compiled[self._stage] = self._compiled[self._before]

    def _compile(self) -> CompiledJob:
        """The job with the plan that it is to have now."""
        if self._stage not in self._compiled:
            setting = self._history.plans[self._stage]
            self._compiled[self._stage] = _compile(self._program, setting)
        compiled = self._compiled[self._stage]
        environment = replace(self._environment, clock=Clock(max(1, self._machine.now_ns())))
        return replace(compiled, options=replace(compiled.options, environment=environment))

    def _run_process(self, compiled: CompiledJob) -> bool:
        """What a process does; tells whether the job has ended."""
        with (
            patch.object(stored_state, "_read_store", lambda spark, folder, gate: read_states(self._stores, folder)),
            self._machine.phase("start", self._done),
            lock_checkpoint(self._checkpoint, notice=_say_nothing) as lock,
        ):
            code = fingerprint_code(compiled.program)
            environment = compiled.options.environment
            target = Target(program=compiled.program, plan=compiled.plan, build=compiled.build, environment=environment)
            with self._machine.phase("switch" if self._stage else "no switch", self._done):
                try:
                    switch_plan(None, target, code, self._checkpoint, lock, finish=self._finish, notice=_say_nothing)
                except UserError as error:
                    if not any(words in str(error) for words in REFUSALS):
                        raise
                    self._refuse_plan()
                    return False
            resumed = claim(self._checkpoint, compiled.plan, code, notice=_say_nothing)
            return self._run_query(_job_on(self._checkpoint, compiled, lock, resumed=resumed), self._until)

    def _finish(self, job: Job) -> None:
        """Run the batches that a job has begun, which prints where this one does."""
        self._run_query(replace(job, environment=replace(job.environment, stdout=self.stdout)), None)

    def _run_query(self, job: Job, until: int | None) -> bool:
        """Run batches up to a number, or while there is any that was begun; tells whether nothing follows."""
        folder = job.checkpoint / FOLDER
        clear_false_start(folder)
        dump(job.program, job.plan, job.environment, job.build, pickled_program(job))
        query = Query(folder, self._stores)
        reader = _reader(job, self._history.plans[self._stage].batches)
        guard = _guard(job.lock, SparkFiles(folder))
        # What tasks write of several channels has no order among them.
        in_tasks = all(plan.channels == 1 for plan in self._history.plans)
        sinks = SinkPE(job.program, job.plan, job.environment, job.checkpoint / "sinks", guard, in_tasks=in_tasks)
        workers = Workers(job, self._history, self._files)
        try:
            while until is None or job.first_batch + query.done < until:
                if not self._run_batch(job, query, reader, workers, sinks):
                    break
            sinks.check_unwritten()
            self.totals = sinks.totals
            offset = query.offset(query.done - 1) or reader.initialOffset()
            return bool(offset["ended"])
        finally:
            sinks.close()
            workers.close()

    def _run_batch(self, job: Job, query: Query, reader: SourceReader, workers: Workers, sinks: SinkPE) -> bool:
        """Run the next batch, if there is one."""
        number, machine = query.done, self._machine
        batch = self._done = job.first_batch + number
        assert batch < MOST_BATCHES, "the run goes on for ever"
        start = query.offset(number - 1) or reader.initialOffset()
        with machine.phase("plan", batch):
            end = query.offset(number)
            if end is None:
                end = reader.latestOffset(start, reader.getDefaultReadLimit())
                if end == start:
                    return False
                query.begin(number, end)

        def process() -> tuple[Values, States]:
            rows = (row for part in reader.partitions(start, end) for row in reader.read(part))
            return workers.process(rows, query.states[number], machine.step, sinks.in_tasks, batch)

        with machine.phase("PEs", batch):
            values, after = process()
        self._rewind(batch)
        while True:
            with machine.phase("sinks", batch):
                sinks.write_rows(values, batch)
            if not machine.takes_again(batch):
                break
            self._rewind(batch)
            values, after = process()
        query.states[number + 1] = after
        with machine.phase("written", batch):
            machine.step()
            query.commit(number)
            machine.step()
            reader.commit(end)
        machine.jump()
        return True

    def _rewind(self, batch: int) -> None:
        """A terminal cannot be cut back; here it is, to what was printed before a batch."""
        self.stdout.seek(self._printed.setdefault(batch, self.stdout.tell()))
        self.stdout.truncate()


def _compile(program: Program, setting: Setting) -> CompiledJob:
    opens = setting.opens_loop and why_closed(program.application) is None
    opened = with_open_loop(program) if opens else program
    fusion = draw_fusion(opened.application, setting, loops_are_open=opens)
    return compile_fused(program, fusion, channels=setting.channels, loops="batches" if opens else "inside")


def _reader(job: Job, batches: tuple[int, ...]) -> SourceReader:
    """The reader of the sources; what it plans ahead it plans at once, so that all has one order."""
    options = {
        "program": str(pickled_program(job)),
        "log": str(job.checkpoint / "sources"),
        "epoch": str(job.lock.epoch),
        "turns_per_batch": str(batches[0]),
        "first_batch": str(job.first_batch),
        "ended": str(int(job.has_ended)),
        "plans": str(job.plans).lower(),
    }
    if has_open_loop(job.program.application):
        options["rounds"] = str(rounds_folder(job.checkpoint / "sinks"))
    reader = SourceReader(options)
    if own_sources(job.plan):
        reader._planning = planning = Planning((job.program, job.plan, job.environment.renewed()), options)
        planning._next_size = lambda: batches[planning._planned % len(batches)]
    reader._ahead = _AtOnce()
    return reader


class _AtOnce:
    """Plans the next batch while nothing else happens."""

    def begin(self, plan: Callable[[], object]) -> None:
        plan()

    def wait(self) -> None:
        """Nothing is being planned."""


def _at(lengths: tuple[int, ...], stage: int) -> int:
    return lengths[stage] if stage < len(lengths) else MOST_BATCHES


def _say_nothing(text: str) -> None:
    """What a user would be told."""
