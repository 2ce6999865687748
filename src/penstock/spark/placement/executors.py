"""The executors of a Spark application, as they come and go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.placement.live.live_schedule import Executor
from penstock.spark.placement.state_homes import PlacementUnavailable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = "driver"

_FOR_GOOD = {"spark.locality.wait.process": "24h"}
"""A task runs where it is to run, however long that executor is busy."""


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

    def hold_tasks(self) -> None:
        """Let tasks wait for the executors that they are to run on, in this application, from the next stage on.

        Spark reads these settings anew for each stage, from where only itself is meant to write them.

        Raises:
            PlacementUnavailable: This Spark does not let us.
        """
        try:
            for name, value in _FOR_GOOD.items():
                self._context.conf().set(name, value)
                if self._context.conf().get(name) != value:
                    raise PlacementUnavailable(f"`{name}` cannot be set")
        except (Py4JError, TypeError, AttributeError) as error:
            raise PlacementUnavailable(f"`{next(iter(_FOR_GOOD))}` cannot be set") from error
