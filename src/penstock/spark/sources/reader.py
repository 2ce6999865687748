"""Spark's reader of a job's sources: what its methods need is imported when they need it.

Spark makes the reader in a process that it starts for each query, and asks it for offsets and partitions there. Most of
the time it only looks into the log for what has been planned already, so it imports next to nothing until a batch is to
be planned, or read.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from penstock.base.diagnostics import UserError
from penstock.spark.checkpoint.lock import epoch_check
from penstock.spark.sources.admission import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from penstock.spark.sources.log import LoggedBatch, LoggedRows, SourceLog

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.spark.sources.data_source import Planning

REST_SECONDS = 0.05
"""How long a continuous run rests where there is nothing new."""

Offset = dict[str, int]
"""`batch`: how many batches have been planned; `ended`: whether nothing follows."""


class Part(InputPartition):
    """The input of one task: rows of the log, or a part of a batch that is read by columns."""

    def __init__(self, value: LoggedRows | dict[str, Any]) -> None:
        super().__init__(value)


class SourceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans the batches of a job's sources, and reads them.

    Args:
        options: `program` (the path of what `sources.dump` wrote), `shipped` (its address for tasks, if it has one),
            `log` (a folder); `turns_per_batch` (what suits the
            sources without it); `continuous`, whether the run goes on when there is nothing new (false without it);
            `partitions`, how many tasks read a batch of a source that is read by columns (without it one for each
            channel of the job, or for each partition of the source); `rounds`, a folder, if the job's loop is open;
            `epoch`, that of the job on its checkpoint, if it has one; `first_batch`, the number of the first batch (0
            without it), and `ended`, whether nothing follows (0 or 1, 0 without it); `plans`, whether batches are
            planned, or only rows given that are in the log (true without it); `channels`, where each task reads for a
            channel of its own, how many there are; `along`, the PE that works in these tasks, if one does, and
            `large`, the folder for its rows that are too many to be sent, if they go to the driver; `metered`, whether
            tasks tell what they have sent (false without it); `timed`, whether the run is to stop after some time.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options
        self._check = epoch_check(options)
        self._log = SourceLog(Path(options["log"]))
        self._is_continuous = options.get("continuous", "false") == "true"
        # A round of a loop is known only when the batch before is done.
        self._may_plan_ahead = not self._is_continuous and "rounds" not in options
        self._first = int(options.get("first_batch", "0"))
        self._plans = options.get("plans", "true") == "true"
        self._channels = int(options.get("channels", "0"))
        self._ahead = Ahead()
        self._planning: Planning | None = None

    def initialOffset(self) -> Offset:
        """Before the first batch."""
        return {"batch": self._first, "ended": int(self.options.get("ended", "0"))}

    def prepareForTriggerAvailableNow(self) -> None:
        """A bounded source is read to its end in batches of the usual size."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """The size of a batch is ours to choose."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Plan one more batch, unless it was planned before: ahead of time, or before a crash.

        Raises:
            UserError: Another job has taken the checkpoint over, so nothing may be planned here any more.
        """
        self._check()
        if start["ended"]:
            return start
        number = start["batch"]
        self._ahead.wait()
        batch = self._log.batch(number)
        if not self._plans:
            # What is in the log but to be read again can be planned again, too.
            has_rows = batch is not None and batch.rows is not None
            return {"batch": number + 1, "ended": int(batch.has_ended)} if batch and has_rows else start
        if batch is None:
            self._plan(number)
            batch = self._log.batch(number)
        if batch is None:
            # Spark asks again at once.
            time.sleep(REST_SECONDS)
            return start
        if not batch.has_ended and batch.rows is not None and self._may_plan_ahead:
            self._ahead.begin(lambda: self._plan(number + 1))
        return {"batch": number + 1, "ended": int(batch.has_ended)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """The inputs of the tasks between two offsets."""
        found: list[InputPartition] = []
        for number in range(start["batch"], end["batch"]):
            batch = self._log.planned_batch(number)
            found += [Part(part) for part in self._dealt(batch)]
            if batch.rows is not None:
                found.append(Part(batch.rows))
        return found

    def _dealt(self, batch: LoggedBatch) -> Sequence[dict[str, Any]]:
        """The parts of a batch as tasks read them."""
        if not self._channels:
            return batch.parts
        if batch.rows is not None:
            message = "a source was read by columns when the job was started, and is not any more"
            raise UserError(message, hint="start the job again with the same command")
        from penstock.runtime.sources.channel_parts import deal_to_channels

        return deal_to_channels(batch.parts, self._channels)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        program, follows = self.options.get("shipped") or self.options["program"], self._is_continuous
        metered = self.options.get("metered") == "true"
        if "along" in self.options:
            from penstock.spark.workers.reading import read_and_process

            pe, large = int(self.options["along"]), self.options.get("large")
            return read_and_process(program, partition.value, pe, follows=follows, large=large, metered=metered)
        from penstock.spark.sources.data_source import read_metered, read_partition

        return (read_metered if metered else read_partition)(program, partition.value, follows=follows)

    def commit(self, end: Offset) -> None:
        """Forget what will not be asked for again."""
        self._log.forget(end["batch"])

    def _plan(self, number: int) -> None:
        from penstock.spark.sources.data_source import Planning, load

        if self._planning is None:
            self._planning = Planning(load(self.options["program"]), self.options)
        self._planning.plan(number)


class Ahead:
    """At most one batch that is being planned, while Spark processes the last one.

    Where sources run turn by turn, planning a batch takes about as long as processing it. The process in which batches
    are planned has nothing else to do meanwhile, so it goes on with the next one in a thread. What is planned goes to
    the log, where a batch that Spark has not asked for yet is as good as one that was planned before a crash.

    Example:
        >>> ahead, done = Ahead(), []
        >>> ahead.begin(lambda: done.append("batch 1"))
        >>> ahead.wait()
        >>> done
        ['batch 1']
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    def begin(self, plan: Callable[[], object]) -> None:
        """Plan in a thread of its own; one that hangs does not keep the process from ending."""

        def work() -> None:
            try:
                plan()
            except Exception as error:
                self._error = error

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait until the batch is planned, if one is being planned.

        Raises:
            Exception: What went wrong when it was planned.
        """
        if self._thread is None:
            return
        self._thread.join()
        self._thread, error, self._error = None, self._error, None
        if error is not None:
            raise error
