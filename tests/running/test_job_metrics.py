"""The guide for operators names every metric, and none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.running import job_metrics
from penstock.runtime.sinks.writer import Totals

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "operating.md"


def test_the_guide_names_every_metric() -> None:
    families = set(re.findall(r'"(penstock_\w+)"', Path(job_metrics.__file__).read_text()))
    rows = set(re.findall(r"^\| `(penstock_\w+)`", GUIDE.read_text(), flags=re.MULTILINE))
    assert {row.removesuffix("_total") for row in rows} == families
    used = set(re.findall(r"penstock_\w+", GUIDE.read_text()))
    assert {name.removesuffix("_bucket") for name in used} == rows


def test_metrics_say_what_channels_cost_where_they_run_and_what_crosses() -> None:
    metrics = job_metrics.Metrics()
    task = {"pe": 1, "channel": 2, "executor": "3", "cpu_seconds": 0.25, "state_bytes": 70}
    traffic = {"tasks": [task], "between_hosts": 12.0, "tasks_moved": 4}
    metrics.watch("Main")({"batchId": 4, "batchDuration": 250, "traffic": traffic})
    text = metrics.text()
    who = 'application="Main",channel="2",executor="3",pe="1"'
    assert f"penstock_channel_cpu_seconds{{{who}}} 0.25" in text
    assert f"penstock_channel_state_bytes{{{who}}} 70.0" in text
    assert 'penstock_between_hosts_bytes{application="Main"} 12.0' in text
    assert 'penstock_channel_moves_total{application="Main"} 4.0' in text


def test_metrics_say_how_many_keys_have_expired() -> None:
    metrics = job_metrics.Metrics()
    metrics.watch("Main")({"batchId": 4, "batchDuration": 250, "totals": Totals(expired={"Sessions": 7})})
    assert 'penstock_expired_keys_total{application="Main",operator="Sessions"} 7.0' in metrics.text()
