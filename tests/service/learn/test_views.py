"""What is learned of jobs: prices, what sources could give, and what follows for a decision."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.service.jobs.submission import Submission, submission_from_json
from penstock.service.learn.views import ASSUMED_PRICE, learn_price, offered_tps, view_jobs
from penstock.service.states.job_state import JobState, Wanted
from penstock.service.store.records import JobRecord, SampleRecord, TemplateRecord

GRAPH: dict[str, Any] = {
    "application": "Main",
    "operators": [["A", "Beacon"], ["F", "Filter"]],
    "sources": ["A"],
    "streams": {"A": ["A", 0], "F": ["F", 0]},
    "edges": [["A", "F", "A"]],
    "exports": [],
    "imports": [],
}
SCHEMA = "tuple<int64 n>"


def sample(tps: float, mips: float, *, waited: float = 0.0, template: str = "t", passed: float = 0.5) -> SampleRecord:
    return SampleRecord(
        job="j",
        template=template,
        at=0.0,
        seconds=2.0,
        mips=mips,
        ingest_tps=tps,
        waited=waited,
        importance=0.0,
        streams={"A": tps, "F": passed * tps},
    )


def record(name: str, graph: dict[str, Any] | None = None, **more: Any) -> tuple[JobRecord, Submission]:
    spec: dict[str, Any] = {"name": name, "templates": [{"id": "t", "app": "a.spl"}], **more}
    submission = submission_from_json(spec)
    found = JobRecord(
        id=name,
        number=1,
        submitted_at=0.0,
        spec=spec,
        rank=1,
        required=False,
        weight=2.0,
        state=JobState.RUNNING,
        state_since=100.0,
        wanted=Wanted.RUN,
        template="t",
        mips=500.0,
        ingest_tps=100.0,
        cores=1,
        attempt=1,
        failures=0,
        not_before=0.0,
        error="",
        reason="",
        templates=tuple(TemplateRecord(id=t["id"], spec={}, description=graph or GRAPH) for t in spec["templates"]),
    )
    return found, submission


def view(samples: list[SampleRecord], **more: Any) -> Any:
    found, submission = record("j", **more)
    (seen,) = view_jobs([found], {"j": submission}, {"j": samples}, mips=1000.0, now=160.0)
    return seen


@pytest.mark.parametrize("count", [1, 5, 12, 40])
def test_a_price_is_found_in_noise(count: int) -> None:
    chance = random.Random(count)
    samples = [
        sample(tps, 0.2 * tps * chance.uniform(0.9, 1.1)) for tps in (chance.uniform(100, 900) for _ in range(count))
    ]
    price, doubt = learn_price(samples)
    assert price == pytest.approx(0.2, rel=0.15)
    assert 0 <= doubt <= 1


def test_without_samples_a_price_is_assumed_or_taken_from_a_profile() -> None:
    assert learn_price([]) == (ASSUMED_PRICE, 1.0)
    assert learn_price([], 0.7)[0] == 0.7
    assert learn_price([sample(0.0, 5.0), sample(5.0, 0.0)])[0] == ASSUMED_PRICE


def test_a_job_that_is_held_back_could_give_more_than_was_seen() -> None:
    assert offered_tps([], ["A"]) is None
    assert offered_tps([sample(100, 20, waited=0.5)], ["A"]) is None
    assert offered_tps([sample(100, 20), sample(200, 20)], ["A"]) == 250.0
    assert view([sample(100, 20, waited=0.5)]).templates[0].offered_tps == pytest.approx(1000 / 0.2)
    assert view([sample(100, 20)]).templates[0].offered_tps == 125.0


def test_streams_that_count_have_their_selectivity_and_weight() -> None:
    (stream,) = view([sample(100, 20)], values={"F": {"linear": 3, "weight": 4}}).templates[0].streams
    assert (stream.name, stream.selectivity, stream.weight) == ("F", 0.5, 8.0)
    (whole,) = view([sample(100, 20)]).templates[0].streams
    assert (whole.name, whole.selectivity, whole.weight) == ("A", 1.0, 2.0)


def two_templates(**light: float) -> list[dict[str, Any]]:
    full = {"id": "t", "app": "a.spl", "mips_per_tps": 0.4}
    return [full, {"id": "light", "app": "b.spl", "mips_per_tps": 0.1, **light}]


def test_what_a_template_turns_out_to_cost_corrects_what_is_expected_of_another() -> None:
    full, light = view([], templates=two_templates()).templates
    assert (full.mips_per_tps, light.mips_per_tps) == (0.4, 0.1)
    full, light = view([sample(100, 80)], templates=two_templates()).templates
    assert (full.mips_per_tps, light.mips_per_tps) == (0.8, 0.2)
    # A sample without tuples says nothing, and what was measured of a template goes before all that is said of it.
    seen = [sample(0, 80), sample(100, 80), sample(100, 5, template="light")]
    full, light = view(seen, templates=two_templates()).templates
    assert (full.mips_per_tps, light.mips_per_tps) == (0.8, 0.05)


def test_a_template_may_count_less_than_another() -> None:
    full, light = view([], templates=two_templates(weight=0.5)).templates
    assert [stream.weight for template in (full, light) for stream in template.streams] == [2.0, 1.0]


def test_a_job_knows_its_place_and_limits() -> None:
    seen = view([], max_mips=400, min_mips=50)
    assert (seen.running, seen.placed_seconds, seen.mips) == ("t", 60.0, 500.0)
    assert (seen.templates[0].min_mips, seen.templates[0].max_mips) == (50.0, 400.0)
    assert view([], min_mips=5000).templates[0].min_mips == 5000.0


def test_where_cores_are_dealt_out_whole_a_job_takes_one_at_least() -> None:
    found, submission = record("j", min_mips=50, max_mips=400)
    (seen,) = view_jobs([found], {"j": submission}, {}, mips=4000.0, now=160.0, least_mips=1000.0)
    assert (seen.templates[0].min_mips, seen.templates[0].max_mips) == (1000.0, 1000.0)


def test_what_one_job_exports_another_imports() -> None:
    export = {"streams": ["F"], "application": "Main", "schema": SCHEMA, "stream_id": "high", "properties": {}}
    wanted = {"operator": "I", "schema": SCHEMA, "stream_id": "high", "application": None, "subscription": None}
    reader = {**GRAPH, "sources": ["I"], "streams": {"I": ["I", 0]}, "imports": [wanted]}
    feeder, fed = record("feeder", {**GRAPH, "exports": [export]}), record("fed", reader)
    jobs = view_jobs([feeder[0], fed[0]], {"feeder": feeder[1], "fed": fed[1]}, {}, mips=1000.0, now=0.0)
    assert jobs[1].templates[0].imports == ("feeder/F",)
    assert jobs[1].templates[0].offered_tps == 0.0
    assert {stream.name for stream in jobs[0].templates[0].streams} == {"A", "F"}
    wanted["stream_id"] = "low"
    jobs = view_jobs([feeder[0], fed[0]], {"feeder": feeder[1], "fed": fed[1]}, {}, mips=1000.0, now=0.0)
    assert jobs[1].templates[0].imports == ()
