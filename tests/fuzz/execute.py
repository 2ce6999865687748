"""Runs a program: by the reference interpreter, and compiled, batch by batch, in this process."""

from __future__ import annotations

import io
import json
import pickle
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from compiling import compile_fused
from penstock.base.diagnostics import UserError
from penstock.compiler.open_loops import why_closed, with_open_loop
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.local.line import Line
from penstock.reference import run
from penstock.reference.failure import OperatorFailed
from penstock.reference.result import DEAD_LETTERS, DeadLetter
from penstock.runtime.sinks.writer import Totals
from penstock.runtime.sources.rounds import StoredRounds, rounds_folder
from penstock.spark.sinks.sink_pe import SinkPE
from penstock.toolkit.core.program import Program

from .library import REGISTRY
from .outputs import read_outputs
from .program import FuzzProgram
from .setting import Setting, draw_fusion
from .stored import store_channels

MOST_BATCHES = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        outputs: The content of every file, and what was printed under each label.
        letters: For each operator the records that it set aside, in order.
        counts: For each operator the tuples in and out of its ports.
        error: The message of the failure that ended the run.
        failed: The operator that failed.
        widths: For each operator its number of channels.
    """

    outputs: Mapping[str, object] = field(default_factory=dict)
    letters: Mapping[str, list[str]] = field(default_factory=dict)
    counts: Mapping[str, object] = field(default_factory=dict)
    error: str | None = None
    failed: str | None = None
    widths: Mapping[str, int] = field(default_factory=dict)


def compile_program(program: FuzzProgram) -> Program:
    """Compile a program, with the operators of the library."""
    return compile_text(program.text(), registry=REGISTRY)


def write_files(program: FuzzProgram, folder: Path) -> None:
    """Write what the sources read."""
    for name, lines in program.files.items():
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_reference(program: Program, data: Path) -> Outcome:
    """The outcome of the sequential run."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as out:
        environment = environment_of(data, Path(out), printed)
        try:
            result = run(program, environment=environment)
        except UserError as error:
            return failed(error, read_outputs(Path(out), printed.getvalue()))
        counts = {**{f"{k} in": list(v) for k, v in result.received.items()}}
        counts |= {f"{k} out": list(v) for k, v in result.submitted.items()}
        counts |= {"expired": dict(result.expired)}
        outputs = read_outputs(Path(out), printed.getvalue())
        return Outcome(outputs=outputs, letters=_by_operator(result.dead_letters), counts=counts)


def run_compiled(program: Program, data: Path, setting: Setting) -> Outcome:
    """The outcome of a run in PEs, on channels, in batches."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as checkpoint:
        job = _Job(program, setting, environment_of(data, Path(out), printed), Path(checkpoint))
        widths = {id_: pe.channels for pe in job.plan.pes for id_ in pe.operators}
        try:
            job.run()
        except UserError as error:
            return failed(error, read_outputs(Path(out), printed.getvalue()), widths)
        finally:
            job.sinks.close()
        return outcome_of(Path(out), printed.getvalue(), job.sinks.totals, widths)


def outcome_of(out: Path, printed: str, totals: Totals, widths: Mapping[str, int]) -> Outcome:
    """The outcome of a compiled run that has come to its end."""
    counts = {**{f"{k} in": v for k, v in totals.received.items()}}
    counts |= {f"{k} out": v for k, v in totals.submitted.items()}
    counts |= {"expired": totals.expired}
    return Outcome(outputs=read_outputs(out, printed), letters=_letters(out), counts=counts, widths=widths)


def _letters(out: Path) -> dict[str, list[str]]:
    """What was set aside, as the file of dead letters has it."""
    path = out / DEAD_LETTERS
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return _by_operator(tuple(DeadLetter(**json.loads(line)) for line in lines))


def environment_of(data: Path, out: Path, printed: io.StringIO) -> Environment:
    """The environment of a run that reads one folder and writes another."""
    return Environment(data_directory=data, output_directory=out, application_directory=data, stdout=printed)


def failed(error: UserError, outputs: Mapping[str, object], widths: Mapping[str, int] | None = None) -> Outcome:
    """The outcome of a run that an error has ended."""
    operator = error.operator if isinstance(error, OperatorFailed) else None
    message = error.diagnostics[0].message
    return Outcome(outputs=outputs, error=message, failed=operator, widths=widths or {})


def _by_operator(letters: tuple[DeadLetter, ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for letter in letters:
        found.setdefault(letter.operator, []).append(f"{letter.record}: {letter.reason}")
    return found


class _Job:
    """A compiled program at work: the real planner, PEs and sinks, without Spark."""

    def __init__(self, program: Program, setting: Setting, environment: Environment, folder: Path) -> None:
        opens = setting.opens_loop and why_closed(program.application) is None
        opened = with_open_loop(program) if opens else program
        fusion = draw_fusion(opened.application, setting, loops_are_open=opens)
        loops = "batches" if opens else "inside"
        job = compile_fused(program, fusion, channels=setting.channels, loops=loops)
        self.program, self.plan = job.program, job.plan
        self.setting, self.environment, self.folder = setting, environment, folder
        rounds = StoredRounds(rounds_folder(folder / "sinks")) if opens else None
        self.line = Line(self.program, self.plan, job.build.pieces, environment, rounds=rounds)
        if setting.faults is not None:
            store_channels(self.line, folder / "files", Random(setting.faults))
        self.sinks = self.start()

    def start(self) -> SinkPE:
        """The sinks with nothing in memory."""
        return SinkPE(self.program, self.plan, self.environment.renewed(), self.folder / "sinks")

    def run(self) -> None:
        """Run batch after batch until the sources have ended; crashes lose what is in memory."""
        number, again = 0, set(self.setting.crashes)
        while number < MOST_BATCHES:
            before = pickle.dumps(self.line.snapshot()) if number else None
            printed = self.environment.stdout.tell()
            has_ended = self.run_batch(number)
            if number in again:
                again.discard(number)
                self.environment.stdout.seek(printed)
                self.environment.stdout.truncate()
                self.sinks.close()
                self.line.restore(None if before is None else pickle.loads(before))
                self.sinks = self.start()
            elif has_ended:
                return
            else:
                number += 1
                if self.setting.stores_state:
                    self.line.restore(pickle.loads(pickle.dumps(self.line.snapshot())))
        raise AssertionError("the run goes on for ever")

    def run_batch(self, number: int) -> bool:
        """Run a batch; tells whether it is the last one."""
        batch = self.line.run_batch(self.setting.batches[number % len(self.setting.batches)])
        assert batch is not None, "a run until everything is done always has a batch"
        self.sinks.write_rows(batch.rows, number)
        return batch.has_ended
