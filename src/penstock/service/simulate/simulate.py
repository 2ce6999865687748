"""Plays a scenario against the deciding code of the service, micro epoch by micro epoch.

What happens at the begin of an epoch is known to the decision of that epoch, as in the service, which decides at once
when something changes: such an epoch has a macro decision. A job that is started, or goes on with another template,
earns nothing in epochs that end within `Prices.start_seconds`. Everything else earns what its mips allow
(`scheduler.problem.composition`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.nodes import Cluster, Node
from penstock.service.decide.micro import decide_micro
from penstock.service.decide.plan import Plan
from penstock.service.decide.possible import decide_possible
from penstock.service.decide.problem_of import problem_of
from penstock.service.decide.snapshot import JobView, Prices, Snapshot
from penstock.service.simulate.scenario import Event, Scenario

_EMPTY = Plan(grants={}, refusals={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What happened in a micro epoch.

    Attributes:
        number: From 0.
        kind: `macro` or `micro`.
        importance: What was earned.
        planned: What the plan would earn if all its jobs ran already.
        mips: The capacity.
        plan: What was decided.
        started: The jobs that were started, or went on with another template.
        stopped: The jobs that lost their place.
        seconds: What deciding took.
        reason: Why there was no plan, if so.
    """

    number: int
    kind: str
    importance: float
    planned: float
    mips: float
    plan: Plan
    started: tuple[str, ...]
    stopped: tuple[str, ...]
    seconds: float
    reason: str = ""


def simulate(
    scenario: Scenario, *, macro_seconds: float = 60.0, micro_seconds: float = 12.0, prices: Prices | None = None
) -> Iterator[Epoch]:
    """Play a scenario.

    Args:
        scenario: What happens.
        macro_seconds: The length of a macro epoch.
        micro_seconds: The length of a micro epoch; a decision has half of it.
        prices: Of changes.

    Example:
        >>> from penstock.service.simulate.scenario import scenario_from_json
        >>> stream = {"name": "S", "value": {"linear": 1}}
        >>> template = {"mips_per_tps": 1, "offered_tps": 500, "max_mips": 500, "min_mips": 300, "streams": [stream]}
        >>> jobs = [{"name": name, "rank": rank, "templates": [template]} for name, rank in (("a", 1), ("b", 2))]
        >>> events = [{"epoch": 3, "mips": {"local": 500}}]
        >>> world = scenario_from_json({"nodes": {"local": 1000}, "epochs": 4, "jobs": jobs, "events": events})
        >>> [(epoch.kind, round(epoch.importance), epoch.stopped) for epoch in simulate(world)]
        [('macro', 0, ()), ('micro', 1000, ()), ('micro', 1000, ()), ('macro', 500, ('b',))]
    """
    prices = prices or Prices()
    per_macro = max(1, round(macro_seconds / micro_seconds))
    world, plan = _World(scenario), _EMPTY
    for number in range(scenario.epochs):
        events = scenario.events.get(number, ())
        for event in events:
            world.happen(event)
        snapshot = world.snapshot(prices)
        kind = "macro" if events or number % per_macro == 0 else "micro"
        deadline, reason, before = Deadline.after(micro_seconds / 2), "", plan
        try:
            plan = decide_possible(snapshot, deadline) if kind == "macro" else decide_micro(snapshot, plan, deadline)
        except Infeasible as error:
            reason = error.reason
            plan = decide_micro(snapshot, plan, deadline)
        started, stopped = world.carry_out(before, plan, micro_seconds)
        earned = world.earned(snapshot, plan, prices.start_seconds)
        yield Epoch(
            number=number,
            kind=kind,
            importance=earned,
            planned=plan.importance,
            mips=snapshot.mips,
            plan=plan,
            started=started,
            stopped=stopped,
            seconds=deadline.elapsed(),
            reason=reason,
        )


class _World:
    """The nodes and jobs of now."""

    def __init__(self, scenario: Scenario) -> None:
        self._mips = dict(scenario.nodes)
        self._jobs = {job.id: job for job in scenario.jobs}
        self._first = dict(self._jobs)
        self._weight: dict[str, float] = {}

    def happen(self, event: Event) -> None:
        """Let something happen."""
        self._mips |= event.mips
        if event.arrives is not None:
            self._jobs[event.arrives.id] = self._first[event.arrives.id] = event.arrives
        if event.leaves is not None:
            self._jobs.pop(event.leaves, None)
        for job, weight in event.weights.items():
            self._weight[job] = weight
        for job, tps in event.offered_tps.items():
            if job in self._jobs:
                view = self._jobs[job]
                templates = tuple(replace(template, offered_tps=tps) for template in view.templates)
                self._jobs[job] = replace(view, templates=templates)

    def snapshot(self, prices: Prices) -> Snapshot:
        """The world as a decision sees it."""
        nodes = tuple(Node(id=node, mips=mips, up=mips > 0) for node, mips in self._mips.items())
        jobs = tuple(_weighted(job, self._weight.get(job.id, 1.0)) for job in self._jobs.values())
        return Snapshot(cluster=Cluster(nodes=nodes), jobs=jobs, prices=prices)

    def carry_out(self, before: Plan, plan: Plan, seconds: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Give jobs the places of a plan for an epoch; who was started, and who was stopped."""
        started = []
        for job, view in self._jobs.items():
            grant = plan.grants.get(job)
            if grant is None:
                self._jobs[job] = replace(view, running=None, placed_seconds=0.0, mips=0.0)
                continue
            stays = view.running == grant.template
            started += [] if stays else [job]
            placed = view.placed_seconds + seconds if stays else seconds
            self._jobs[job] = replace(view, running=grant.template, placed_seconds=placed, mips=grant.mips)
        stopped = tuple(job for job in before.grants if job in self._jobs and job not in plan.grants)
        return tuple(started), stopped

    def earned(self, snapshot: Snapshot, plan: Plan, start_seconds: float) -> float:
        """What the jobs that have been running long enough earn with what they are granted."""
        views = {job.id: job for job in snapshot.jobs}
        ready = {
            job: plan.grants[job].template for job in plan.grants if self._jobs[job].placed_seconds > start_seconds
        }
        problem = problem_of([views[job] for job in ready], snapshot.mips, ready)
        pes = [pe for job in problem.jobs for pe in job.choices[0].pes]
        if not pes:
            return 0.0
        mips: Mapping[str, float] = {job: plan.grants[job].mips for job in ready}
        return sum(float(value) for value in compose(pes, mips).importance.values())


def _weighted(job: JobView, factor: float) -> JobView:
    templates = tuple(
        replace(t, streams=tuple(replace(s, weight=s.weight * factor) for s in t.streams)) for t in job.templates
    )
    return replace(job, templates=templates)
