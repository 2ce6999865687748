"""What two looks at a running job tell."""

from __future__ import annotations

from penstock.service.jobs.submission import Submission, TemplateSpec
from penstock.service.learn.measuring import Look, compare

GRAPH = {"streams": {"A": ["A", 0]}, "sources": ["A"]}
JOB = Submission(name="j", templates=(TemplateSpec(id="t", app="a.spl"), TemplateSpec(id="u", app="b.spl", weight=0.5)))


def look(at: float, cpu: float, count: int, **more: object) -> Look:
    report = {"batches": 1, "time": at, "submitted": {"A": [count]}, **more}
    return Look.of(1, at, cpu, report)


def test_what_tasks_used_on_a_cluster_counts() -> None:
    looks = look(0.0, 1.0, 0, task_seconds=3.0), look(10.0, 2.0, 100, task_seconds=8.0)
    sample = compare(*looks, JOB, "t", GRAPH, weight=1.0, core_mips=1000.0)
    assert sample is not None
    assert (sample.mips, sample.ingest_tps) == (600.0, 10.0)


def test_each_pe_has_its_own() -> None:
    pes = [{"operators": ["A"], "seconds": 1.0}, {"operators": ["B", "C"], "seconds": 2.0}]
    later = [{"operators": ["A"], "seconds": 2.0}, {"operators": ["B", "C"], "seconds": 6.0}]
    sample = compare(
        look(0.0, 1.0, 0, pes=pes), look(10.0, 9.0, 100, pes=later), JOB, "t", GRAPH, weight=1.0, core_mips=1000.0
    )
    assert sample is not None
    assert sample.pes == {"A": 100.0, "B, C": 400.0}


def test_a_template_that_counts_less_earns_less() -> None:
    looks = look(0.0, 1.0, 0), look(10.0, 2.0, 100)
    earned = [compare(*looks, JOB, name, GRAPH, weight=2.0, core_mips=1000.0) for name in ("t", "u")]
    assert [sample.importance for sample in earned if sample is not None] == [20.0, 10.0]


def test_a_sample_waits_for_a_batch_but_not_for_ever() -> None:
    before = Look.of(1, 10.0, 1.0, {"batches": 1, "time": 9.0})
    same, other = {"batches": 1, "time": 9.0}, {"batches": 2, "time": 13.0}
    assert Look.of(1, 14.0, 2.0, same).awaits_batch(before, 12.0)
    assert not Look.of(1, 14.0, 2.0, other).awaits_batch(before, 12.0)
    assert not Look.of(1, 22.0, 2.0, same).awaits_batch(before, 12.0)
    assert not Look.of(2, 14.0, 0.1, {}).awaits_batch(before, 12.0)
    # The clock was set back.
    assert not Look.of(1, 5.0, 2.0, same).awaits_batch(before, 12.0)
