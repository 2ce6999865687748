"""Tells Spark on which executor the state of a partition is, so that it runs the partition there.

Spark asks its state store coordinator where a partition of a stateful operator was last loaded, and prefers that
executor; an executor that has not loaded it reads it from the checkpoint. This is a private interface of Spark 4: the
coordinator's `reportActiveInstance` and `getLocation`, the ids of its stores, and the plan of the batch in hand, which
says the numbers that Spark has given to its operators. Nobody else uses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]

from penstock.placement.live.channel_graph import Task
from penstock.placement.live.live_schedule import Executor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATEFUL = "TransformWithStateInPySparkExec"
_STATE = "org.apache.spark.sql.execution.streaming.state"


class PlacementUnavailable(Exception):
    """This Spark does not let us place state; the message says what is missing."""


class StateHomes:
    """The executors of a query's state partitions, as Spark knows them.

    Args:
        spark: The session that the query runs in.
        query: The query; it is processing its first batch.
        stateful: The PEs with state, in the order of the line.

    Raises:
        PlacementUnavailable: Spark's interface is not the one that we know.
    """

    def __init__(self, spark: SparkSession, query: Any, stateful: list[int]) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        try:
            session: Any = spark._jsparkSession
            self._coordinator = session.sessionState().streamingQueryManager().stateStoreCoordinator()
            infos = _state_infos(query._jsq.streamingQuery().lastExecution().executedPlan())
            # What stands before the PEs, such as the gate behind sources, has state, too.
            self._infos = dict(zip(reversed(stateful), infos, strict=False))
        except (Py4JError, TypeError, AttributeError) as error:
            raise PlacementUnavailable(_what_failed(error)) from error
        if len(self._infos) != len(stateful):
            raise PlacementUnavailable(
                f"the plan of a batch has {len(infos)} operators named {_STATEFUL}, "
                f"and the job {len(stateful)} PEs with state"
            )

    def move(self, task: Task, executor: Executor) -> None:
        """Let Spark prefer an executor for a partition, from the next stage on that asks.

        Raises:
            PlacementUnavailable: Spark does not do it.
        """
        try:
            store = self._store(task)
            nothing = self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(self._jvm.java.util.ArrayList())
            self._coordinator.reportActiveInstance(store, executor.host, executor.id, nothing)
            known = self._coordinator.getLocation(store)
            where = known.get() if known.isDefined() else "nowhere"
        except (Py4JError, TypeError, AttributeError) as error:
            raise PlacementUnavailable(_what_failed(error)) from error
        if where != f"executor_{executor.host}_{executor.id}":
            raise PlacementUnavailable(f"told to load a partition on executor {executor.id}, it answers `{where}`")

    def _store(self, task: Task) -> Any:
        info = self._infos[task[0]]
        state: Any = self._jvm
        for name in _STATE.split("."):
            state = getattr(state, name)
        id_ = state.StateStoreId(info.checkpointLocation(), info.operatorId(), task[1], "default")
        return state.StateStoreProviderId(id_, info.queryRunId())


def _state_infos(plan: Any) -> list[Any]:
    """The state of the operators with state in a plan, the last of the line first."""
    found = []
    while True:
        has_state = plan.getClass().getSimpleName() == _STATEFUL
        if has_state:
            found.append(plan.stateInfo().get())
        children = plan.children()
        # The second child of an operator with state is the state that it would begin with.
        if children.size() != 1 + has_state:
            return found
        plan = children.apply(0)


def _what_failed(error: Exception) -> str:
    """The first line of an error of Spark's that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith(("\t", "at "))]
    return lines[-1][:200] if lines else type(error).__name__
