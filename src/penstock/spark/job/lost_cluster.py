"""Notices that a standalone cluster has forgotten an application: Spark itself would wait for executors for ever.

A master that is killed and started again knows nothing of the applications of before, unless it was told to remember
(`spark.deploy.recoveryMode`); its workers end their executors, and the driver is not told. So an application that had
executors and has none for two minutes gives up, and whoever watches it starts it again from its checkpoint.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.spark.placement.executors import Executors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_SECONDS, LOOK_SECONDS = 120.0, 3.0


class LostCluster:
    """Watches the executors of an application.

    Args:
        count: How many there are now.
        master: The cluster.
        is_dynamic: Whether executors may go because there is nothing to do.
        now: The clock.
    """

    def __init__(
        self, count: Callable[[], int], master: str, *, is_dynamic: bool, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._count, self._master, self._now = count, master, now
        self._is_watched = master.startswith("spark://") and not is_dynamic
        self._had_some = False
        self._looked_at = self._last_seen = now()

    @staticmethod
    def of(spark: SparkSession) -> LostCluster:
        """For an application."""
        context, executors = spark.sparkContext, Executors(spark, {})
        is_dynamic = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
        return LostCluster(lambda: len(executors.find()), str(context.master), is_dynamic=is_dynamic)

    def check(self) -> None:
        """See whether the application still has executors.

        Raises:
            UserError: It had some, and has had none for too long.
        """
        now = self._now()
        if not self._is_watched or now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        if self._count():
            self._had_some, self._last_seen = True, now
        elif self._had_some and now - self._last_seen > PATIENCE_SECONDS:
            raise UserError(
                f"the cluster at {self._master} has taken all executors away, and given none for "
                f"{PATIENCE_SECONDS:g} s: it has no workers, or its master was started again",
                hint="start the job again with the same checkpoint",
            )
