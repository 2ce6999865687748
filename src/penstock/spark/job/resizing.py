"""The executors of an application, as many as its job shall have cores, changed while it runs.

Executors come and go between two batches, and once before the first: an application that starts is given all that it
may ever have. A standalone master gives an application others when it is asked to, also
without dynamic allocation; executors have one core each (`ONE_CORE_EACH`), so their number is that of the cores, and
`spark.cores.max` is the most that there can be. Executors that go lose what they hold in memory, and no more: state
and sources are read again from the checkpoint by whoever has the partition then.

`SparkContext.requestTotalExecutors` and `killExecutors` are for developers; a test fails when they change.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.runtime.ingest.cores_limit import can_resize, read_cores
from penstock.runtime.progress import Notice
from penstock.spark.placement.executors import Executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ONE_CORE_EACH = {"spark.executor.cores": "1"}
"""What an application is started with so that it can be resized."""

_LOOK_SECONDS = 1.0


class Resizer:
    """Brings the executors of an application to the number that its job's folder says.

    Args:
        spark: The application.
        checkpoint: Of the job.
        notice: Is told of every change.
    """

    def __init__(self, spark: SparkSession, checkpoint: Path, notice: Notice) -> None:
        self._spark, self._checkpoint, self._notice = spark, checkpoint, notice
        self._context = spark.sparkContext
        settings = self._context.getConf()
        is_single = settings.get("spark.executor.cores") == ONE_CORE_EACH["spark.executor.cores"]
        is_dynamic = settings.get("spark.dynamicAllocation.enabled", "false") == "true"
        self._is_able = can_resize(str(self._context.master)) and is_single and not is_dynamic
        self._cores: int | None = None
        self._looked_at = 0.0

    def when_idle(self, is_working: Callable[[], bool]) -> None:
        """Look now and then, in case that no batch comes; a batch that begins now loses a little time, and no more."""
        now = time.monotonic()
        if not self._is_able or now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        if not is_working():
            self.between_batches()

    def between_batches(self) -> None:
        """Ask for other executors where the job shall have others; nobody is working now."""
        cores = read_cores(self._checkpoint) if self._is_able else None
        if cores is None:
            return
        present = sorted(int(executor.id) for executor in Executors(self._spark, {}).find())
        if cores == self._cores and len(present) <= cores:
            return
        # There may be more than were asked for: those that had been started and were not there yet.
        try:
            self._resize(cores, [str(executor) for executor in present[cores:]])
        except Py4JError as error:
            self._is_able = False
            self._notice(f"warning: the cluster gives no other cores: {str(error).splitlines()[0][:200]}")
            return
        if self._cores not in (None, cores):
            self._notice(f"the job has {cores} cores now, it had {self._cores}")
        self._cores = cores

    def _resize(self, cores: int, excess: list[str]) -> None:
        jvm: Any = self._context._jvm
        utils, context = jvm.org.apache.spark.api.python.PythonUtils, self._context._jsc.sc()
        going = jvm.java.util.ArrayList()
        for executor in excess:
            going.add(executor)
        if not going.isEmpty():
            context.killExecutors(utils.toSeq(going))
        # Behind the other: each that is killed is one less that Spark wants.
        context.requestTotalExecutors(cores, 0, utils.toScalaMap(jvm.java.util.HashMap()))
