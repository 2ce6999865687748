"""Keeps the tasks of a running job where they should be: looks between two batches, places, and moves what pays.

    the first batch          tasks are dealt out evenly
    after some batches       they are placed by what they have sent, with the algorithm that was asked for
    an executor is gone      what was on it is placed anew, the rest stays
    another one has come     all are placed, moves counted in
    every so many seconds    the same, if it was asked for and if it pays

Demands on hosts are kept, on every cluster and by every algorithm: a job whose demands cannot be kept is refused before
it starts, and where a host is lost that it cannot do without, it waits for it for some time and then stops.

Where this Spark cannot be told, the job goes on as Spark places it, and the user is told once; one with demands on
hosts stops.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import Infeasible, UserError
from penstock.base.figures import figure
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.placement import Algorithm
from penstock.placement.live.channel_graph import ChannelGraph
from penstock.placement.live.host_demands import HostDemands
from penstock.placement.live.host_rules import HostRules, keeps_rules
from penstock.placement.live.live_schedule import Executor, Homes, place_tasks
from penstock.placement.live.moves_log import Move, MovesLog
from penstock.placement.live.rescheduling import Prediction, may_move, move_costs, predict
from penstock.placement.live.table_choice import TableChoice
from penstock.placement.live.traffic_window import Line, TrafficWindow
from penstock.runtime.pes.traffic import TaskTraffic
from penstock.spark.placement.executors import Executors
from penstock.spark.placement.placement_settings import SPARK, PlacementSettings
from penstock.spark.placement.state_homes import PlacementUnavailable, StateHomes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GROUP_BATCHES = 6
"""How many batches are looked at before key groups are moved by what they send."""

LEARNING_BATCHES = 2
"""How many batches are looked at before tasks are placed by what they send."""

_PATIENCE_SECONDS = 60.0
_HOSTS_SECONDS = 60.0
"""How long to wait for hosts that a job cannot do without."""

_SETTLED_SECONDS = 10.0
"""Hosts that have not changed for so long are those that there are."""

_LOOK_SECONDS = 0.2


def line_of(plan: PhysicalPlan) -> Line:
    """The PEs of a plan as they stand in its query."""
    return Line(
        pes=tuple(pe.index for pe in plan.pes if pe.role not in ("source", "sink")),
        sources=frozenset(pe.index for pe in plan.pes if pe.role == "source"),
        consumers={edge.index: edge.consumer for edge in plan.edges},
    )


class Placer:
    """The placement of one run of a job.

    Args:
        spark: The session.
        plan: Of the job.
        settings: How to place it.
        notice: Is told what the user should know at once.
        ask_for_tables: Is told which tables of key groups the job should go on with.
    """

    def __init__(
        self,
        spark: SparkSession,
        plan: PhysicalPlan,
        settings: PlacementSettings,
        notice: Callable[[str], None],
        ask_for_tables: Callable[[Mapping[str, Sequence[int]]], object] | None = None,
    ) -> None:
        self._tables = TableChoice(plan, settings.link_bytes)
        self._ask_for_tables = ask_for_tables if settings.moves_groups else None
        self._spark, self._plan, self._settings, self._notice = spark, plan, settings, notice
        self._stateful = [pe.index for pe in plan.pes if pe.role == "stateful"]
        self._stateless = [pe.index for pe in plan.pes if pe.role == "stateless"]
        self._executors = Executors(spark, settings.racks)
        is_cluster = not str(spark.sparkContext.master).startswith("local")
        self._demands = HostDemands(plan, settings.tags, spark.conf.get("spark.driver.host", None))
        self._has_demands = is_cluster and settings.keeps_demands and bool(self._demands)
        self._rules = HostRules()
        self._query: Any = None
        self._has_query = threading.Event()
        self._state_homes: StateHomes | None = None
        self._is_active = (settings.algorithm != SPARK or self._has_demands) and bool(self._stateful)
        self._placed_at: float | None = None
        self._has_told_of_few = False
        self._told: Homes = {}
        self.window = TrafficWindow(line_of(plan))
        self.homes: Homes = {}
        self.executors: list[Executor] = []
        self.log = MovesLog()

    @property
    def demands(self) -> tuple[str, ...]:
        """The demands on hosts that are kept, in words."""
        return self._demands.in_words if self._has_demands else ()

    @property
    def is_active(self) -> bool:
        """Whether tasks are placed by us."""
        return self._is_active and bool(self.homes)

    def prepare(self) -> None:
        """See before the job starts that demands on hosts can be kept.

        Raises:
            Infeasible: They cannot; the message names those that are in conflict.
            UserError: This Spark does not let us.
        """
        if not self._has_demands:
            return
        try:
            self._executors.hold_tasks()
        except PlacementUnavailable as unavailable:
            raise _cannot_keep(unavailable) from unavailable
        self.executors = self._wait_for_hosts()

    def follow(self, query: Any) -> None:
        """Take note of the query, as soon as it has been started."""
        self._query = query
        self._has_query.set()

    def before(self, batch: int) -> None:
        """Place what is to be placed before a batch runs."""
        if not self._is_active or not self._has_query.wait(_PATIENCE_SECONDS):
            return
        try:
            self._place(batch)
        except Infeasible as infeasible:
            raise UserError(infeasible.reason, hint="it can be resumed when the hosts are there again") from infeasible
        except PlacementUnavailable as unavailable:
            if self._has_demands:
                raise _cannot_keep(unavailable) from unavailable
            self._is_active = False
            self._notice(f"warning: tasks run where Spark puts them: this Spark cannot be told ({unavailable})")

    def after(self, batch: int, traffic: Sequence[TaskTraffic]) -> None:
        """Take note of what a batch has sent, and of where it ran.

        Raises:
            UserError: A demand on hosts was broken.
        """
        self.window.add(traffic)
        if self._has_demands:
            self._demands.check(traffic)
        if self._ask_for_tables is not None and self._is_settled(batch):
            self._tables.add(traffic)
            if self._tables.batches >= GROUP_BATCHES:
                self._choose_tables(self._ask_for_tables)
        if self.log.awaits(batch):
            self.log.observe(self.window.graph(), {task: host for task, (_, host) in self.window.homes.items()})

    def _place(self, batch: int) -> None:
        present = self._executors.find()
        if self._has_demands and {e.host for e in present} != {e.host for e in self.executors}:
            present = self._wait_for_hosts()
        if len(present) < 2:
            self._tell_of_few(present)
            self.executors = present
            return
        if self._state_homes is None:
            self._state_homes = StateHomes(self._spark, self._query, self._stateful)
        cause = self._cause(present)
        self.executors = present
        if cause is not None:
            self._decide(batch, cause)
        self._tell()

    def _is_settled(self, batch: int) -> bool:
        """Whether tasks run where their traffic has put them."""
        return self._placed_at is not None and not self.log.awaits(batch)

    def _choose_tables(self, ask: Callable[[Mapping[str, Sequence[int]]], object]) -> None:
        """Ask for other tables if they pay; if not, look again with what is sent from now on."""
        found = self._tables.choose({task: host for task, (_, host) in self.window.homes.items()})
        self._tables = TableChoice(self._plan, self._settings.link_bytes)
        if found is None:
            if self._settings.reschedule_seconds is None:
                self._ask_for_tables = None
            return
        before, after = found.remote_bytes
        self._notice(
            "key groups move to other channels: what they send between hosts is to go "
            f"from {figure(before)} to {figure(after)} bytes a batch"
        )
        ask(found.tables)
        self._ask_for_tables = None

    def _wait_for_hosts(self) -> list[Executor]:
        """The executors, as soon as demands on hosts can be kept on them; what follows for tasks is noted.

        Raises:
            Infeasible: They cannot be kept on those that there are, and no more have come.
        """
        began = changed = time.monotonic()
        before: set[str] = set()
        while True:
            present = self._executors.find()
            hosts = dict.fromkeys(executor.host for executor in present)
            try:
                self._rules = self._demands.rules(hosts)
            except Infeasible:
                now = time.monotonic()
                changed = changed if hosts.keys() == before else now
                if now - changed > (_SETTLED_SECONDS if hosts else _HOSTS_SECONDS) or now - began > _HOSTS_SECONDS:
                    raise
            else:
                return present
            before = set(hosts)
            time.sleep(_LOOK_SECONDS)

    def _tell_of_few(self, present: Sequence[Executor]) -> None:
        if not self._has_told_of_few and not present:
            self._notice(f"warning: nothing is placed: {self._spark.sparkContext.master} has no executors")
        self._has_told_of_few = True

    def _cause(self, present: Sequence[Executor]) -> str | None:
        """Why to place tasks now; None if everything stays."""
        ids = {executor.id for executor in present}
        before = {executor.id for executor in self.executors}
        if not self.homes:
            return "start"
        if lost := set(self.homes.values()) - ids:
            return f"executor {', '.join(sorted(lost))} is gone"
        if new := ids - before:
            return f"executor {', '.join(sorted(new))} has come"
        if self._settings.algorithm in ("even", SPARK) or len(self.window) < LEARNING_BATCHES:
            return None
        if self._placed_at is None:
            return "measured"
        every = self._settings.reschedule_seconds
        is_due = every is not None and time.monotonic() - self._placed_at >= every
        return "looked again" if is_due else None

    def _decide(self, batch: int, cause: str) -> None:
        """Choose where tasks are to be, and note what moves."""
        graph, has_measured = self.window.graph(), len(self.window) >= LEARNING_BATCHES
        is_by_traffic = has_measured and self._settings.algorithm != SPARK
        algorithm: Algorithm = self._settings.algorithm if is_by_traffic else "even"  # type: ignore[assignment]
        if algorithm != "even":
            self._placed_at = time.monotonic()
        stays = cause not in ("start", "measured") and not (algorithm == "even" and "has come" in cause)
        if algorithm == "even" and self.homes:
            wanted = self._refilled() if stays else self._dealt(graph)
        elif algorithm == "even":
            wanted = self._dealt(graph)
        else:
            held = {task: home for task, home in self.homes.items() if not self.log.has_just_moved(task, batch)}
            # The first time whatever is better, but by as few moves as that takes.
            prices = move_costs(graph, self._settings.link_bytes) if stays else dict.fromkeys(graph.tasks, 1.0)
            found = place_tasks(
                graph,
                self.executors,
                algorithm,
                stateless=self._stateless,
                present=self.homes,
                move_costs=prices,
                rules=self._rules,
            )
            wanted = {**self._refilled(), **{t: e for t, e in found.items() if t[0] in self._stateful}}
            if cause == "looked again":
                stay = {task: home for task, home in self.homes.items() if task not in held}
                wanted = {**wanted, **stay} if self._may_be({**wanted, **stay}) else self.homes
            if not self._may_be(wanted):
                wanted = self._dealt(graph)
        if not self.homes:
            self.homes = wanted
            return
        self._move(batch, cause, graph, wanted)

    def _move(self, batch: int, cause: str, graph: ChannelGraph, wanted: Homes) -> None:
        hosts = {executor.id: executor.host for executor in self.executors}
        moved = {task: home for task, home in wanted.items() if self.homes.get(task) != home}
        prediction: Prediction = predict(graph, self.homes, wanted, hosts, self._settings.link_bytes)
        if not moved or (cause == "looked again" and not may_move(prediction, self._settings.reschedule_seconds)):
            return
        self.log.add(
            Move(
                batch=batch,
                at=time.time(),
                cause=cause,
                tasks={task: (self.homes.get(task, ""), home) for task, home in moved.items()},
                prediction=prediction,
            )
        )
        self.homes = {**self.homes, **wanted}

    def _dealt(self, graph: ChannelGraph) -> Homes:
        """All partitions of PEs with state, dealt out."""
        tasks = tuple((pe, partition) for pe in self._stateful for partition in range(self._plan.channels))
        if self._settings.algorithm == SPARK:
            tasks = tuple(task for task in tasks if self._rules.is_ruled(task))
        return place_tasks(ChannelGraph(tasks=tasks), self.executors, "even", rules=self._rules)

    def _may_be(self, homes: Homes) -> bool:
        """Whether homes are what demands on hosts allow."""
        host_of = {executor.id: executor.host for executor in self.executors}
        return keeps_rules({task: host_of.get(home, "") for task, home in homes.items()}, self._rules)

    def _refilled(self) -> Homes:
        """Where tasks are; those of executors that are gone go to another on the same host, or to the emptiest.

        Where demands on hosts have something against that, all are dealt out anew.
        """
        found = self._refilled_freely()
        return found if self._may_be(found) else self._dealt(ChannelGraph())

    def _refilled_freely(self) -> Homes:
        held = {executor.id: 0 for executor in self.executors}
        for home in self.homes.values():
            if home in held:
                held[home] += 1
        found = dict(self.homes)
        for task, home in found.items():
            if home not in held:
                host = self.window.homes.get(task, ("", ""))[1]
                near = [executor.id for executor in self.executors if executor.host == host]
                found[task] = min(near or held, key=lambda id_: (held[id_], id_))
                held[found[task]] += 1
        return found

    def _tell(self) -> None:
        """Tell Spark of what is to be elsewhere than it was told, or than it ran last."""
        assert self._state_homes is not None
        executor_of = {executor.id: executor for executor in self.executors}
        for task, home in self.homes.items():
            ran = self.window.homes.get(task, ("", ""))[0]
            if self._told.get(task) != home or (ran and ran != home):
                self._state_homes.move(task, executor_of[home])
                self._told[task] = home


def _cannot_keep(why: PlacementUnavailable) -> UserError:
    return UserError(
        f"demands on hosts cannot be kept: this Spark cannot be told where tasks run ({why})",
        hint="run it on Spark 4.3, or take the demands out of the program",
    )
