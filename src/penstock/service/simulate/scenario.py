"""A scenario for `penstock serve --simulate`: nodes, jobs, and what happens in which micro epoch.

The format is laid down in `docs/formats/simulation.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.base.json_reader import JsonReader, Object, expect_object
from penstock.scheduler.problem.admission_problem import Linear, Table
from penstock.service.decide.snapshot import JobView, StreamView, TemplateView
from penstock.service.jobs.submission import LARGEST

_KEYS = ("nodes", "epochs", "jobs", "events")
_JOB_KEYS = ("name", "rank", "required", "templates")
_TEMPLATE_KEYS = ("id", "mips_per_tps", "offered_tps", "min_mips", "max_mips", "imports", "streams")
_STREAM_KEYS = ("name", "selectivity", "value", "weight")
_EVENT_KEYS = ("epoch", "arrives", "leaves", "mips", "weights", "offered_tps")
MOST_EPOCHS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happens at the begin of a micro epoch, before anything is decided.

    Attributes:
        arrives: A job that comes.
        leaves: The name of a job that goes.
        mips: What nodes give from now on.
        weights: What the streams of jobs count from now on, times what they counted at first.
        offered_tps: What the sources of jobs give from now on.
    """

    arrives: JobView | None = None
    leaves: str | None = None
    mips: Mapping[str, float] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)
    offered_tps: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A world and what happens to it.

    Attributes:
        nodes: The mips of each node.
        epochs: How many micro epochs are played.
        jobs: Those that are there at first.
        events: What happens, by epoch.
    """

    nodes: Mapping[str, float]
    epochs: int
    jobs: tuple[JobView, ...]
    events: Mapping[int, tuple[Event, ...]]


def scenario_from_json(document: object, path: str = "scenario") -> Scenario:
    """The scenario that a parsed JSON document describes.

    Raises:
        UserError: It is none; every mistake is named.

    Example:
        >>> scenario_from_json({"nodes": {"a": -1}, "jobs": [{"name": "j", "templates": []}]})
        Traceback (most recent call last):
        penstock.UserError: error: scenario: job `j` has no templates; write at least one
        error: scenario: the mips of node `a` is negative: -1; write a number from 0 up
    """
    reader = _Reader(path, largest=LARGEST)
    scenario = reader.scenario(expect_object(document, path, '{"nodes": {"local": 2000}, "jobs": [...]}'))
    reader.raise_if_any()
    return scenario


class _Reader(JsonReader):
    """Turns JSON values into a scenario."""

    def scenario(self, item: Object) -> Scenario:
        owner = "the scenario"
        self.check_keys(item, _KEYS, owner)
        nodes = self.mapping(item, "nodes", owner)
        if not nodes:
            self.complain("the scenario has no nodes", 'write "nodes": {"local": 2000}')
        epochs = self.count(item, "epochs", owner, default=60)
        if epochs > MOST_EPOCHS:
            self.complain(f"the epochs of the scenario are {epochs:,}", f"write at most {MOST_EPOCHS:,}")
        jobs = tuple(self.job(entry, f"jobs[{i}]") for i, entry in self.entries(item, "jobs"))
        self.refuse_twins(enumerate(job.id for job in jobs), "jobs")
        events: dict[int, tuple[Event, ...]] = {}
        for index, entry in self.entries(item, "events"):
            epoch = self.count(entry, "epoch", f"events[{index}]", least=0, default=0)
            events[epoch] = (*events.get(epoch, ()), self.event(entry, f"events[{index}]"))
        self.check_names(jobs, events, {str(name) for name in nodes})
        return Scenario(
            nodes={name: self.amount(mips, f"the mips of node `{name}`") for name, mips in nodes.items()},
            epochs=min(epochs, MOST_EPOCHS),
            jobs=jobs,
            events=events,
        )

    def check_names(self, jobs: tuple[JobView, ...], events: Mapping[int, tuple[Event, ...]], nodes: set[str]) -> None:
        """Refuse events about jobs and nodes that are never there."""
        told = [event for some in events.values() for event in some]
        known = {job.id for job in jobs} | {event.arrives.id for event in told if event.arrives is not None}
        for event in told:
            left = [] if event.leaves is None else [event.leaves]
            for name in (*left, *event.weights, *event.offered_tps):
                self.check_name(name, known, "an event", "job")
            for node in event.mips:
                self.check_name(node, nodes, "an event", "node")

    def event(self, item: Object, owner: str) -> Event:
        self.check_keys(item, _EVENT_KEYS, owner)
        arrives = self.mapping(item, "arrives", owner)
        return Event(
            arrives=self.job(arrives, owner) if arrives else None,
            leaves=self.name(item, "leaves", owner),
            mips=self.amounts_of(item, "mips", owner),
            weights=self.amounts_of(item, "weights", owner),
            offered_tps=self.amounts_of(item, "offered_tps", owner),
        )

    def amounts_of(self, item: Object, key: str, owner: str) -> dict[str, float]:
        values = self.mapping(item, key, owner)
        return {name: self.amount(value, f"the {key} of `{name}`") for name, value in values.items()}

    def job(self, item: Object, place: str) -> JobView:
        name = self.text(item, "name", place)
        owner = f"job `{name}`"
        self.check_keys(item, _JOB_KEYS, owner)
        templates = tuple(self.template(entry, owner) for _, entry in self.entries(item, "templates", owner))
        if not templates:
            self.complain(f"{owner} has no templates", "write at least one")
        self.refuse_twins(enumerate(t.id for t in templates), "templates", owner)
        rank, required = self.count(item, "rank", owner), self.flag(item, "required", owner)
        return JobView(id=name, rank=rank, required=required, templates=templates)

    def template(self, item: Object, job: str) -> TemplateView:
        name = self.name(item, "id", job) or "template"
        owner = f"template `{name}` of {job}"
        self.check_keys(item, _TEMPLATE_KEYS, owner)
        least = self.number(item, "min_mips", owner, 0.0)
        most = self.number(item, "max_mips", owner, above_zero=True)
        if most < least:
            self.complain(f"the max_mips of {owner} are {most:g}, and its min_mips {least:g}", "write more")
        return TemplateView(
            id=name,
            mips_per_tps=self.number(item, "mips_per_tps", owner, above_zero=True),
            doubt=0.0,
            offered_tps=self.number(item, "offered_tps", owner, 0.0),
            imports=tuple(self.texts(item, "imports", owner)),
            streams=tuple(self.stream(entry, owner) for _, entry in self.entries(item, "streams", owner)),
            min_mips=least,
            max_mips=max(least, most),
        )

    def stream(self, item: Object, template: str) -> StreamView:
        name = self.text(item, "name", f"a stream of {template}")
        owner = f"stream `{name}`"
        self.check_keys(item, _STREAM_KEYS, owner)
        value: Linear | Table | None = None
        if "value" in item and (found := self.variant(item, "value", owner, ("linear", "table"))) is not None:
            if found[0] == "linear":
                value = Linear(slope=self.amount(found[1], f"the value of {owner}"))
            else:
                value = Table(points=tuple(self.points(found[1], f"the value of {owner}")) or ((0.0, 0.0),))
        selectivity = self.number(item, "selectivity", owner, 1.0)
        return StreamView(
            name=name, selectivity=selectivity, value=value, weight=self.number(item, "weight", owner, 1.0)
        )
