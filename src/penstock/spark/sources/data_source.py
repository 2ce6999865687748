"""Sources on Spark: a Python data source that plans and reads what the sources of a job give.

Batches are planned (`planner`) in the process that Spark keeps for planning a Python source. What a batch holds
goes to a log under the checkpoint (`log`) before Spark learns of the new offset: for a source that is read by
columns only what is to be read, for all others the tuples themselves. Tasks then read the extents, or the log. So a
batch that is replayed after a crash is the same to the byte, whatever the source is. After a restart the sources go on
where they stood behind the last batch.

One reader (`reader`) plans for all sources of a job, because the sequential order is an order over all of them.
Sources that Spark reads itself (`outside_sources`) have readers of their own.
"""

from __future__ import annotations

import functools
import os
import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext, cloudpickle

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import write_durably
from penstock.codegen.build import Build
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.transport.placed_frames import PlacedFrame
from penstock.codegen.transport.routes import Routing, rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.runtime.ingest.ingest_limit import most_turns, read_limit
from penstock.runtime.pes.traffic import TrafficMeter
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH, choose_size, is_size_fixed
from penstock.runtime.sources.by_columns import ColumnPE, read_part, read_part_beside
from penstock.runtime.sources.column_planner import ColumnPlanner
from penstock.runtime.sources.outside_rows import own_sources
from penstock.runtime.sources.planner import Planner, make_planner
from penstock.runtime.sources.rounds import StoredRounds
from penstock.runtime.sources.turns import SourceRun
from penstock.spark.checkpoint.lock import epoch_check
from penstock.spark.job.program_file import program_path
from penstock.spark.sources.log import LoggedRows, SourceLog, read_rows
from penstock.spark.sources.reader import SourceReader
from penstock.spark.workers.executor_identity import executor_of
from penstock.toolkit.core.program import Program

__all__ = [
    "FORMAT",
    "SourceReader",
    "SourceRun",
    "dump",
    "load",
    "load_job",
    "load_pieces",
    "load_plan",
    "pickle_job",
    "plan_ahead",
]

FORMAT = "penstock"

AHEAD_SECONDS = 0.25
"""How long planning ahead of a query may hold up its start."""

Loaded = tuple[Program, PhysicalPlan, Environment]


class Planning:
    """Plans the batches of a job's sources, and logs them.

    Args:
        loaded: The job.
        options: Those of `SourceReader`.
    """

    def __init__(self, loaded: Loaded, options: dict[str, str]) -> None:
        self._loaded = loaded
        self._options = options
        self._log = SourceLog(Path(options["log"]), epoch_check(options))
        self._checkpoint = Path(options["log"]).parent
        self._planner: Planner | None = None
        self._planned = 0
        turns = _number(options.get("turns_per_batch")) or TURNS_PER_BATCH
        is_timed = options.get("timed", "false") == "true"
        self._next_size = choose_size(loaded[1].application, turns, is_timed=is_timed)
        self._is_size_fixed = is_size_fixed(loaded[1].application, turns, is_timed=is_timed)

    def plan(self, number: int) -> None:
        """Plan a batch, if it is not planned yet and there is anything for it, and log it."""
        if self._log.batch(number) is not None:
            return
        planner = self.planner_at(number)
        turns = most_turns(self._checkpoint, self._next_size(), len(own_sources(self._loaded[1])))
        batch = planner.next_batch(turns)
        if batch is not None:
            is_ours = self._log.write(number, batch, planner.snapshot())
            self._planned = number + 1 if is_ours else -1

    def plan_ahead(self) -> None:
        """Plan the first batches, while that takes little time; only of a source that tasks read by columns."""
        started, number = time.monotonic(), 0
        if (
            not self._is_size_fixed
            # Batches that are planned now keep their size when the limit is another.
            or read_limit(self._checkpoint) is not None
            or not self._log.is_new
            or not isinstance(self.planner_at(0), ColumnPlanner)
        ):
            return
        while time.monotonic() - started < AHEAD_SECONDS:
            self.plan(number)
            batch = self._log.batch(number)
            if batch is None or batch.has_ended:
                return
            number += 1

    def planner_at(self, number: int) -> Planner:
        """The planner, where it is to plan a batch."""
        if self._planner is None or self._planned != number:
            program, plan, environment = self._loaded
            self._planner = make_planner(
                program,
                plan,
                environment,
                own_sources(plan),
                continuous=self._options.get("continuous", "false") == "true",
                partitions=_number(self._options.get("partitions")),
                rounds=StoredRounds(Path(self._options["rounds"])) if "rounds" in self._options else None,
            )
            state = self._log.state(number)
            if state is not None:
                self._planner.restore(state)
            self._planned = number
        return self._planner


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def plan_ahead(program: Program, plan: PhysicalPlan, environment: Environment, options: dict[str, str]) -> None:
    """Plan the first batches of a job where it is started, so that the process that Spark starts need not.

    Of what goes wrong nothing is said here: it goes wrong there again.
    """
    if sum(pe.role == "source" for pe in plan.pes) == 1:
        with suppress(UserError):
            Planning((program, plan, environment.renewed()), options).plan_ahead()


def read_partition(path: str, value: LoggedRows | dict[str, Any], *, follows: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a part of a batch.

    Args:
        path: Of what `dump` wrote.
        value: Rows of the log, or a part that is read by columns.
        follows: Whether the run goes on for ever.
    """
    # A worker may have seen another program in the same place.
    path = program_path(path)
    identity = path, os.stat(path).st_mtime_ns
    if not isinstance(value, LoggedRows):
        yield from read_part(_column_pe(*identity, follows), value)
        return
    for batch in read_rows(value):
        yield from rerouted(_routing(*identity), batch)


def read_beside(
    path: str, part: dict[str, Any], mine: int, *, follows: bool
) -> Iterator[pa.RecordBatch | tuple[int, int, PlacedFrame]]:
    """The rows of a part of a batch that is for a channel: those of an edge as frames for a PE in this process."""
    path = program_path(path)
    for rows in read_part_beside(_column_pe(path, os.stat(path).st_mtime_ns, follows), part, mine):
        yield (mine, part["channel"], rows) if isinstance(rows, PlacedFrame) else rows


def read_metered(path: str, value: LoggedRows | dict[str, Any], *, follows: bool) -> Iterator[pa.RecordBatch]:
    """The rows of a part of a batch, as `read_partition` gives them, and what was sent of it."""
    path = program_path(path)
    _, plan, _ = _load_once(path, os.stat(path).st_mtime_ns)
    own = own_sources(plan)
    meter = TrafficMeter({edge.index for pe in own for edge in plan.out_of(pe)})
    yield from meter.metered(read_partition(path, value, follows=follows))
    task = TaskContext.get()
    executor, host = executor_of(os.getpid())
    yield meter.row(own[0], 0 if task is None else task.partitionId(), executor=executor, host=host)


@functools.lru_cache(maxsize=2)
def _load_once(path: str, written_ns: int) -> Loaded:
    return load(path)


@functools.lru_cache(maxsize=2)
def _column_pe(path: str, written_ns: int, follows: bool) -> ColumnPE:
    program, plan, environment = load(path)
    return ColumnPE(program, plan, own_sources(plan)[0], environment, follows=follows)


@functools.lru_cache(maxsize=2)
def _routing(path: str, written_ns: int) -> Routing:
    _, plan, _ = _load_once(path, written_ns)
    return {edge: route for pe in own_sources(plan) for edge, route in routing_of(plan, pe).items()}


def dump(program: Program, plan: PhysicalPlan, environment: Environment, build: Build, path: Path) -> bytes:
    """Write what a worker needs to run a PE, and return it."""
    pickled = pickle_job(program, plan, environment, build)
    write_durably(path, pickled)
    return pickled


def pickle_job(program: Program, plan: PhysicalPlan, environment: Environment, build: Build) -> bytes:
    """What a worker needs to run a PE: the program, and the modules that were generated for it."""
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    return dumps(((program, plan, environment), build))


def load_plan(path: str) -> PhysicalPlan:
    """The plan of the job that `dump` wrote, at an address; read once in a process."""
    path = program_path(path)
    return _load_once(path, os.stat(path).st_mtime_ns)[1]


def load(path: str) -> Loaded:
    """Read the job that `dump` wrote, without its code."""
    return load_job(path)[0]


def load_pieces(path: str, pe: int) -> tuple[Loaded, Pieces]:
    """Read the job that `dump` wrote, and the code of one of its PEs."""
    loaded, build = load_job(path)
    return loaded, build.pieces[pe]


def load_job(path: str) -> tuple[Loaded, Build]:
    """Read the job that `dump` wrote, at an address."""
    loaded: tuple[Loaded, Build] = pickle.loads(Path(program_path(path)).read_bytes())
    return loaded
