"""Sources on Spark: a Python data source that reads what a source PE produces.

The PE runs in the process that Spark keeps for planning the batches of a Python source. It takes a bounded number of
turns for each batch and writes what leaves it to a log under the checkpoint, before Spark learns of the new offset; the
tasks read the log. So a batch that is replayed after a crash is the same to the byte, whatever the source is, and the
source itself need not be able to repeat itself within a batch. After a restart it is started anew and
skips the turns that earlier batches have taken.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.routes import Routing, rerouted
from penstock.codegen.transport import ARROW_SCHEMA, REPORT, SPARK_SCHEMA, rows, values_as_rows
from penstock.expr.environment import Environment
from penstock.reference.virtual_time import Turns
from penstock.spark.container import Container
from penstock.toolkit.program import Program
from penstock.toolkit.runtime import Punctuation, Wait

FORMAT = "penstock"


class SourceRun:
    """A source PE while it runs: what leaves it, batch by batch.

    Attributes:
        turns: How many turns it has taken.
        has_ended: Whether it has no more items.
    """

    def __init__(self, program: Program, plan: PhysicalPlan, pe: int, environment: Environment) -> None:
        self.container = Container(program, plan, pe, environment)
        (operator,) = plan.pes[pe].operators
        self.node = self.container.node[operator]
        sources = [p.index for p in plan.pes if p.role == "source"]
        self._order, self._sources = sources.index(pe), len(sources)
        self._items = self.node.runtime.produce()
        self._own_turns = Turns([self._items], environment.clock.now_ns)
        self._turn_at_time = 0
        self.turns = 0
        self.has_ended = False

    def advance(self, turns: int) -> None:
        """Take up to so many turns."""
        for _ in range(turns):
            if self.has_ended:
                return
            self._take_turn()
            self.turns += 1

    def _take_turn(self) -> None:
        time_ns, _ = self._own_turns.next
        self.container.at(time_ns, self._turn_at_time * self._sources + self._order)
        item = next(self._items, StopIteration)
        if item is StopIteration:
            self.container.engine.end_node(self.node)
            self.container.engine.drain()
            self.has_ended = True
            return
        wait_ns = item.nanoseconds if isinstance(item, Wait) else 0
        self._own_turns.take(wait_ns)
        self._turn_at_time = 0 if wait_ns > 0 else self._turn_at_time + 1
        if isinstance(item, tuple):
            self.node.runtime.submit[0](item)
        elif isinstance(item, Punctuation):
            self.node.runtime.punctuate[0](item)
            self.container.engine.drain()


class PenstockSource(DataSource):
    """Spark's door to a source PE; its options name the pickled program and the log."""

    @classmethod
    def name(cls) -> str:
        """The format under which it is registered."""
        return FORMAT

    def schema(self) -> str:
        """Rows of the transport."""
        return SPARK_SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """The reader of a stream."""
        return SourceReader(dict(self.options))


class Batch(InputPartition):
    """One batch: a file of the log."""

    def __init__(self, path: str) -> None:
        super().__init__(path)


class SourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches by running the source, and reads them from the log."""

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self.log = Path(options["log"])
        self.turns_per_batch = int(options["turns_per_batch"])
        self._run: SourceRun | None = None

    def initialOffset(self) -> dict[str, int]:
        """Before the first turn."""
        return {"turns": 0, "ended": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """A bounded source is read to its end in batches of the usual size."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """The size of a batch is ours to choose."""
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        """Run the source for one more batch and log what leaves it."""
        if start["ended"]:
            return start
        logged = sorted(self.log.glob(f"{start['turns']:020d}-*.arrow"))
        if logged:
            # A batch that was logged before a crash is taken as it is.
            return _offset_of(logged[-1])
        run = self._running(start["turns"])
        run.advance(self.turns_per_batch)
        end = {"turns": run.turns, "ended": int(run.has_ended)}
        self._write(start, end, run)
        return end

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """The batches between two offsets; a source is one channel."""
        between = [p for p in sorted(self.log.glob("*.arrow")) if start["turns"] <= _start_of(p) < end["turns"]]
        return [Batch(str(path)) for path in between]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a batch."""
        routing: Routing = pickle.loads(Path(self.options["routing"]).read_bytes())
        with pa.OSFile(partition.value) as file:
            for batch in pa.ipc.open_stream(file):
                yield from rerouted(routing, batch)

    def commit(self, end: dict[str, int]) -> None:
        """Forget what will not be asked for again."""
        for path in self.log.glob("*.arrow"):
            if _offset_of(path)["turns"] < end["turns"]:
                path.unlink(missing_ok=True)

    def _running(self, turns: int) -> SourceRun:
        if self._run is None or self._run.turns != turns:
            program, plan, environment = load(self.options["program"])
            self._run = SourceRun(program, plan, int(self.options["pe"]), environment)
            self._run.advance(turns)
            self._run.container.report()
            for items in self._run.container.leaving.values():
                items.clear()
        return self._run

    def _write(self, start: dict[str, int], end: dict[str, int], run: SourceRun) -> None:
        run.container.pulse()
        streams = run.container.plan.application.streams
        edges = {e.index: e for e in run.container.plan.out_of(run.container.pe)}
        path = self.log / f"{start['turns']:020d}-{end['turns']:020d}-{end['ended']}.arrow"
        self.log.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        with pa.OSFile(str(part), "wb") as file, pa.ipc.new_stream(file, ARROW_SCHEMA) as writer:
            writer.write_batch(values_as_rows(REPORT, [run.container.report().encode()]))
            for edge, items in run.container.leaving.items():
                writer.write_batch(rows(edge, items, streams[edges[edge].stream].schema))
                items.clear()
        os.replace(part, path)


def _start_of(path: Path) -> int:
    return int(path.stem.split("-")[0])


def _offset_of(path: Path) -> dict[str, int]:
    _, turns, ended = path.stem.split("-")
    return {"turns": int(turns), "ended": int(ended)}


def dump(program: Program, plan: PhysicalPlan, environment: Environment, path: Path) -> None:
    """Write what a worker needs to run a PE."""
    dumps: Callable[[Any], bytes] = cloudpickle.dumps
    path.write_bytes(dumps((program, plan, environment)))


def load(path: str) -> tuple[Program, PhysicalPlan, Environment]:
    """Read what `dump` wrote."""
    loaded: Any = pickle.loads(Path(path).read_bytes())
    program, plan, environment = loaded
    return program, plan, environment
