"""The executors of a Spark application, as they come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.placement.live.live_schedule import Executor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = "driver"


class Executors:
    """The executors that are there now.

    Args:
        spark: The session.
        racks: From host to rack, where that is known.
    """

    def __init__(self, spark: SparkSession, racks: Mapping[str, str]) -> None:
        self._context: Any = spark.sparkContext._jsc.sc()
        self._racks = racks

    def task_seconds(self) -> float:
        """How long tasks have run on executors so far, on those that are gone as well; not on the driver."""
        listed = self._context.statusStore().executorList(False)
        told = [listed.apply(place) for place in range(listed.size())]
        return sum(float(one.totalDuration()) for one in told if one.id() != DRIVER) / 1000

    def find(self) -> list[Executor]:
        """All executors but the driver; none where the driver runs the tasks itself."""
        listed = self._context.statusStore().executorList(True)
        found = []
        for place in range(listed.size()):
            told = listed.apply(place)
            if told.id() == DRIVER:
                continue
            host = told.hostPort().rpartition(":")[0]
            rack = self._racks.get(host, "")
            found.append(Executor(id=told.id(), host=host, rack=rack, cores=max(1, told.totalCores())))
        return sorted(found, key=lambda executor: (executor.host, executor.id))
