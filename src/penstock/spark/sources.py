"""Sources on Spark: a Python data source that plans and reads what the sources of a job give.

Batches are planned (`source_planner`) in the process that Spark keeps for planning a Python source. What a batch holds
goes to a log under the checkpoint (`source_log`) before Spark learns of the new offset: for a source that is read by
columns only what is to be read, for all others the tuples themselves. Tasks then read the extents, or the log. So a
batch that is replayed after a crash is the same to the byte, whatever the source is. After a restart the sources go on
where they stood behind the last batch.

One reader plans for all sources of a job, because the sequential order is an order over all of them. It is the one of
the job's first source; the readers of the others have nothing to give. Sources that Spark reads itself
(`outside_sources`) have readers of their own.
"""

from __future__ import annotations

import functools
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow

from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.routes import Routing, rerouted, routing_of
from penstock.expr.environment import Environment
from penstock.spark.source_ahead import Ahead
from penstock.spark.source_columns import ColumnPE, read_part
from penstock.spark.source_log import SourceLog, read_rows
from penstock.spark.source_planner import Planner, make_planner
from penstock.spark.source_run import SourceRun
from penstock.toolkit.program import Program

__all__ = ["FORMAT", "SourceReader", "SourceRun", "dump", "load"]

FORMAT = "penstock"

OUTSIDE = frozenset({"Import", "KafkaConsumer"})
"""The operators that have readers of their own."""

Offset = dict[str, int]
"""`batch`: how many batches have been planned; `ended`: whether nothing follows."""


class Part(InputPartition):
    """What one task reads: the path of a file of the log, or a part of a batch that is read by columns."""

    def __init__(self, value: str | dict[str, Any]) -> None:
        super().__init__(value)


class SourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a job's sources, and reads them.

    Args:
        options: `program` (the path of what `dump` wrote), `pe` (of a source), `log` (a folder); `turns_per_batch`
            (what suits the sources without it); `continuous`, whether the run goes on when there is nothing new (false
            without it); `partitions`, how many tasks read a batch of a source that is read by columns (1 without it,
            or one for each partition of the source).
    """

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self._log = SourceLog(Path(options["log"]))
        self._turns_per_batch = _number(options.get("turns_per_batch"))
        self._continuous = options.get("continuous", "false") == "true"
        self._ahead = Ahead()
        self._planner: Planner | None = None
        self._planned = 0

    def initialOffset(self) -> Offset:
        """Before the first batch."""
        return {"batch": 0, "ended": int(not self._pes)}

    def prepareForTriggerAvailableNow(self) -> None:
        """A bounded source is read to its end in batches of the usual size."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """The size of a batch is ours to choose."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Plan one more batch."""
        if start["ended"]:
            return start
        number = start["batch"]
        self._ahead.wait()
        # A batch that was planned before, ahead of time or before a crash, is taken as it is.
        self._plan(number)
        batch = self._log.batch(number)
        if batch is None:
            return start
        if not batch["has_ended"] and batch["rows"] is not None and not self._continuous:
            self._ahead.begin(lambda: self._plan(number + 1))
        return {"batch": number + 1, "ended": int(batch["has_ended"])}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """What tasks are to read between two offsets."""
        found: list[InputPartition] = []
        for number in range(start["batch"], end["batch"]):
            batch = self._log.batch(number)
            assert batch is not None, "an offset is given only for what is planned"
            found += [Part(part) for part in batch["parts"]]
            if batch["rows"] is not None:
                found.append(Part(batch["rows"]))
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        value = partition.value
        routing = _routing(*self._identity, tuple(self._pes))
        if isinstance(value, str):
            batches = read_rows(value)
        else:
            batches = read_part(_column_pe(*self._identity, self._pes[0], self._continuous), value)
        for batch in batches:
            yield from rerouted(routing, batch)

    def commit(self, end: Offset) -> None:
        """Forget what will not be asked for again."""
        self._log.forget(end["batch"])

    @property
    def _identity(self) -> tuple[str, int]:
        """The pickled program, and when it was written: a worker may have seen another one in the same place."""
        path = self.options["program"]
        return path, os.stat(path).st_mtime_ns

    @functools.cached_property
    def _pes(self) -> list[int]:
        """The sources that this reader plans for: all of the job, or none."""
        _, plan, _ = load_once(*self._identity)
        pes = own_sources(plan)
        return pes if pes[0] == int(self.options["pe"]) else []

    def _plan(self, number: int) -> None:
        """Plan a batch, if it is not planned yet and there is anything for it, and log it."""
        if self._log.batch(number) is not None:
            return
        planner = self._planner_at(number)
        batch = planner.next_batch(self._turns_per_batch)
        if batch is not None:
            is_ours = self._log.write(number, batch, planner.remember())
            self._planned = number + 1 if is_ours else -1

    def _planner_at(self, number: int) -> Planner:
        if self._planner is None or self._planned != number:
            program, plan, environment = load(self.options["program"])
            partitions = _number(self.options.get("partitions"))
            self._planner = make_planner(
                program, plan, environment, self._pes, continuous=self._continuous, partitions=partitions
            )
            state = self._log.state(number)
            if state is not None:
                self._planner.recall(state)
            self._planned = number
        return self._planner


def _number(text: str | None) -> int | None:
    return int(text) if text else None


def own_sources(plan: PhysicalPlan) -> list[int]:
    """The PEs of the sources that this data source reads."""
    operator = plan.application.operator
    sources = [pe for pe in plan.pes if pe.role == "source"]
    return [pe.index for pe in sources if operator[pe.operators[0]].kind not in OUTSIDE]


@functools.lru_cache(maxsize=2)
def load_once(path: str, written_ns: int) -> tuple[Program, PhysicalPlan, Environment]:
    """Read what `dump` wrote, once for a process."""
    return load(path)


@functools.lru_cache(maxsize=2)
def _column_pe(path: str, written_ns: int, pe: int, continuous: bool) -> ColumnPE:
    program, plan, environment = load(path)
    return ColumnPE(program, plan, pe, environment, follows=continuous)


@functools.lru_cache(maxsize=2)
def _routing(path: str, written_ns: int, pes: tuple[int, ...]) -> Routing:
    _, plan, _ = load_once(path, written_ns)
    return {edge: route for pe in pes for edge, route in routing_of(plan, pe).items()}


def dump(program: Program, plan: PhysicalPlan, environment: Environment, path: Path) -> None:
    """Write what a worker needs to run a PE."""
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    path.write_bytes(dumps((program, plan, environment)))


def load(path: str) -> tuple[Program, PhysicalPlan, Environment]:
    """Read what `dump` wrote."""
    loaded: Any = pickle.loads(Path(path).read_bytes())
    program, plan, environment = loaded
    return program, plan, environment
