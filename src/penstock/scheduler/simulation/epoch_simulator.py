"""Play a scenario against the scheduler, epoch by epoch, and measure the importance that is really earned.

In each micro epoch the scheduler first decides, on what it knew when the epoch before ended; then the epoch's events
happen, so that nodes vanish under PEs that were just placed; then the importance is measured, with what the nodes
that are still up give, at the weights of now. Every `micro_per_macro` epochs the decision is a macro one: macroQ and
macroW run before microQ and microW. With `micro=False` nothing is decided in between, which shows what the micro
model is for.

A job that cannot be placed is left out (`penstock.scheduler.macro`). Where the required jobs themselves do not fit,
jobs and candidates stay as they were, microQ and microW do what they can with them, and the record says why. Every
decision is checked against the rules by code that shares nothing with the searches (`audit`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.macro import MacroDecision, decide
from penstock.scheduler.microq.microq import refine_goals
from penstock.scheduler.microw.microw import assign
from penstock.scheduler.problem.admission_problem import Job, Pe, Problem
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.least_amounts import with_least_amounts
from penstock.scheduler.problem.nodes import Allocation, Cluster
from penstock.scheduler.simulation.audit import audit
from penstock.scheduler.simulation.epochs import (
    Event,
    JobArrives,
    JobLeaves,
    NodeFails,
    NodeReturns,
    PeFails,
    PeReturns,
    Scenario,
    WeightsChange,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How the scheduler is run.

    Attributes:
        micro_per_macro: Micro epochs in a macro epoch; the paper's is five.
        micro: Whether microQ and microW run in the epochs between.
        exact: Whether macroW and microW may call the solver.
        macro_seconds: When a macro decision is due.
        micro_seconds: When a micro decision is due.
    """

    micro_per_macro: int = 5
    micro: bool = True
    exact: bool = False
    macro_seconds: float = 5.0
    micro_seconds: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The record of one micro epoch.

    Attributes:
        epoch: Its number.
        is_macro: Whether jobs and candidates were decided anew.
        importance: The importance that was earned, after the epoch's events.
        projected: The importance that the decision would have earned without them.
        live_mips: The capacity of the nodes that are up.
        used_mips: The mips that the PEs got.
        jobs: How many jobs ran.
        waiting: How many jobs waited.
        evicted: How many jobs that ran have been stopped by the decision, to let others run.
        left_out: The jobs that could not be placed, each with the reason.
        proven: Whether macroQ's answer was proven to be the best.
        moves: How many PEs started on a node where they did not run.
        seconds: The time that the decision took.
        in_time: Whether it was ready when it was due.
        reason: Why a macro decision could not be made, if so.
        broken: Rules that the decision broke.
    """

    epoch: int
    is_macro: bool
    importance: float
    projected: float
    live_mips: float
    used_mips: float
    jobs: int
    waiting: int
    evicted: int
    left_out: Mapping[str, str]
    proven: bool
    moves: int
    seconds: float
    in_time: bool
    reason: str
    broken: tuple[str, ...]


class Simulation:
    """The state of a cluster, and the scheduler at work on it.

    Attributes:
        allocation: The mips of each PE on each node that the last decision gave.
        candidates: macroW's nodes of each PE.
        running: The template of each admitted job.
        down: The nodes that are down now.
        crashed: The PEs that cannot run now.
    """

    def __init__(self, cluster: Cluster, pace: Pace | None = None) -> None:
        self._cluster = cluster
        self._pace = pace or Pace()
        self._arrived: dict[str, JobArrives] = {}
        self._factor: dict[str, float] = {}
        self._last_home: dict[str, Mapping[str, float]] = {}
        self._epoch = 0
        self._last: MacroDecision | None = None
        self.allocation: Allocation = {}
        self.candidates: Mapping[str, Sequence[str]] = {}
        self.running: dict[str, str] = {}
        self.down: frozenset[str] = frozenset()
        self.crashed: frozenset[str] = frozenset()

    def step(self, events: Sequence[Event]) -> Record:
        """One micro epoch: decide, let the events happen, measure."""
        is_macro = self._epoch % self._pace.micro_per_macro == 0
        clock = Deadline.after(None)
        self._last, before = None, set(self.running)
        moves, broken, reason = self._try_to_decide(is_macro=is_macro)
        seconds = clock.elapsed()
        evicted, projected = before - set(self.running), self._earned()
        for event in events:
            self._happen(event)
        self._epoch += 1
        return Record(
            epoch=self._epoch - 1,
            is_macro=is_macro,
            importance=self._earned(),
            projected=projected,
            live_mips=self._known_cluster().live_mips,
            used_mips=sum(sum(shares.values()) for shares in self._live_allocation().values()),
            jobs=len(self.running),
            waiting=len(self._arrived) - len(self.running),
            evicted=len(evicted),
            left_out=self._last.left_out if self._last else {},
            proven=self._last is not None and self._last.answer.exact,
            moves=moves,
            seconds=seconds,
            in_time=seconds <= (self._pace.macro_seconds if is_macro else self._pace.micro_seconds),
            reason=reason,
            broken=broken,
        )

    def _known_cluster(self) -> Cluster:
        needs = {pe: need for arrived in self._arrived.values() for pe, need in arrived.needs.items()}
        constraints = tuple(rule for arrived in self._arrived.values() for rule in arrived.constraints)
        cluster = replace(self._cluster, needs=needs, constraints=constraints, current=dict(self._last_home))
        return cluster.with_down(self.down)

    def _try_to_decide(self, *, is_macro: bool) -> tuple[int, tuple[str, ...], str]:
        """Moves, broken rules, and why jobs and candidates could not be decided, if so."""
        if not (is_macro or self._pace.micro):
            return 0, (), ""
        cluster, reason = self._known_cluster(), ""
        running, candidates = self.running, self.candidates
        if is_macro:
            try:
                running, candidates = self._macro(cluster)
            except Infeasible as error:
                reason = error.reason
        return *self._hand_out(cluster, running, candidates), reason

    def _hand_out(
        self, cluster: Cluster, running: Mapping[str, str], candidates: Mapping[str, Sequence[str]]
    ) -> tuple[int, tuple[str, ...]]:
        """microQ and microW; return the moves and the rules that the decision breaks."""
        pes = self._pes_of(running)
        deadline = Deadline.after(self._pace.micro_seconds)
        goals = refine_goals(pes, candidates, cluster, deadline=deadline.share(0.5))
        assignment = assign(pes, goals.mips, candidates, cluster, deadline=deadline, exact=self._pace.exact)
        broken = tuple(audit(pes, candidates, assignment.mips, cluster))
        self.running, self.candidates, self.allocation = dict(running), candidates, assignment.mips
        # A PE that waits or has crashed keeps its last home: starting elsewhere later is still a move.
        present = {pe.id for job_id in self.running for pe in self._job(job_id).template(self.running[job_id]).pes}
        kept = {pe: home for pe, home in self._last_home.items() if pe in present}
        self._last_home = kept | {pe: shares for pe, shares in assignment.mips.items() if shares}
        return assignment.moves, broken

    def _macro(self, cluster: Cluster) -> tuple[dict[str, str], Mapping[str, Sequence[str]]]:
        """macroQ and macroW: which jobs run with which templates, and the candidates of their PEs."""
        jobs = tuple(self._job(job_id) for job_id in self._arrived)
        problem = Problem(mips=cluster.live_mips, jobs=jobs)
        deadline = Deadline.after(self._pace.macro_seconds)
        decision = decide(problem, cluster, deadline, exact=self._pace.exact)
        verdicts = decision.answer.jobs.items()
        self._last = decision
        running = {job_id: verdict.template for job_id, verdict in verdicts if verdict.template is not None}
        return running, decision.candidates.nodes

    def _job(self, job_id: str) -> Job:
        """The job as macroQ is to see it: with its weights of now, and its template fixed if it runs."""
        job, factor = self._arrived[job_id].job, self._factor.get(job_id, 1.0)
        templates = tuple(
            replace(template, pes=tuple(_weighted(pe, factor) for pe in template.pes)) for template in job.templates
        )
        return replace(job, templates=templates, running=self.running.get(job_id))

    def _pes_of(self, running: Mapping[str, str]) -> list[Pe]:
        """The PEs of running jobs that can run."""
        jobs = tuple(replace(self._job(job_id), running=template) for job_id, template in running.items())
        present = with_least_amounts(Problem(mips=self._cluster.live_mips, jobs=jobs))
        chosen = [job.template(running[job.id]) for job in present.jobs]
        return [pe for template in chosen for pe in template.pes if pe.id not in self.crashed]

    def _live_allocation(self) -> Allocation:
        return {
            pe: {node: mips for node, mips in shares.items() if node not in self.down}
            for pe, shares in self.allocation.items()
        }

    def _earned(self) -> float:
        """The importance of the running jobs with what the nodes that are up give them."""
        pes = self._pes_of(self.running)
        live = self._live_allocation()
        got = {pe.id: sum(live.get(pe.id, {}).values()) for pe in pes}
        return sum(float(earned) for earned in compose(pes, got).importance.values())

    def _happen(self, event: Event) -> None:
        match event:
            case JobArrives(job=job):
                self._arrived[job.id] = event
            case JobLeaves(job_id=job_id):
                self._forget(job_id)
            case NodeFails(node_id=node_id):
                self.down = self.down | {node_id}
            case NodeReturns(node_id=node_id):
                self.down = self.down - {node_id}
            case PeFails(pe_id=pe_id):
                self.crashed = self.crashed | {pe_id}
            case PeReturns(pe_id=pe_id):
                self.crashed = self.crashed - {pe_id}
            case WeightsChange(job_id=job_id, factor=factor):
                self._factor[job_id] = factor

    def _forget(self, job_id: str) -> None:
        left = self._arrived.pop(job_id)
        self.running.pop(job_id, None)
        self._factor.pop(job_id, None)
        gone = {pe.id for template in left.job.templates for pe in template.pes}
        self.crashed = self.crashed - gone
        self.allocation = {pe: shares for pe, shares in self.allocation.items() if pe not in gone}
        self._last_home = {pe: shares for pe, shares in self._last_home.items() if pe not in gone}


def _weighted(pe: Pe, factor: float) -> Pe:
    return replace(pe, outputs=tuple(replace(output, weight=output.weight * factor) for output in pe.outputs))


def simulate(scenario: Scenario, pace: Pace | None = None) -> list[Record]:
    """Play a whole scenario.

    Example:
        >>> from penstock.scheduler.simulation.epochs import random_scenario
        >>> records = simulate(random_scenario(3, 6))
        >>> len(records), records[0].jobs, all(not record.broken for record in records)
        (6, 0, True)
    """
    simulation = Simulation(scenario.cluster, pace)
    return [simulation.step(events) for events in scenario.events]
