"""Whoever watches a job reads its metrics and its health over HTTP."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.base.diagnostics import UserError
from penstock.running.job_metrics import Metrics
from penstock.running.metrics_server import parse_address, serve_metrics
from penstock.runtime.sinks.writer import Totals


def read(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return answer.read().decode()


@pytest.fixture
def metrics() -> Metrics:
    found = Metrics()
    look = found.watch("Main")
    look({"batchId": 0, "batchDuration": 90, "totals": Totals(received={"Sink": [1]})})
    look(
        {
            "batchId": 1,
            "batchDuration": 400,
            "totals": Totals(
                received={"Join": [3, 4], "Sink": [7]},
                submitted={"Join": [7]},
                rejected={"Join": 2},
                late={"In": 5},
                held={"Join": [3, 400]},
            ),
            "durationMs": {"addBatch": 300, "walCommit": 20, "triggerExecution": 400},
            "sources": [{"metrics": {"maxOffsetsBehindLatest": "12"}}, {"metrics": None}],
            "stateOperators": [{"memoryUsedBytes": 100}, {"memoryUsedBytes": 23}],
        }
    )
    return found


def test_every_count_of_a_run_is_a_metric(metrics: Metrics) -> None:
    with serve_metrics("0", metrics) as (_, port):
        families = list(text_string_to_metric_families(read(port, "/metrics")))
    found = {
        (s.name, *(v for k, v in sorted(s.labels.items()) if k != "application")): s.value
        for family in families
        for s in family.samples
    }
    assert all(s.labels["application"] == "Main" for family in families for s in family.samples)
    assert found["penstock_batches_total",] == 2
    assert found["penstock_tuples_received_total", "Join", "1"] == 4
    assert found["penstock_tuples_submitted_total", "Join", "0"] == 7
    assert found["penstock_dead_letters_total", "Join"] == 2
    assert found["penstock_late_tuples_total", "In"] == 5
    assert (found["penstock_state_keys", "Join"], found["penstock_state_bytes", "Join"]) == (3, 400)
    assert found["penstock_batch_phase_seconds", "process"] == 0.3
    assert found["penstock_batch_phase_seconds", "write_offsets"] == 0.02
    assert found["penstock_source_records_behind", "0"] == 12
    assert found["penstock_state_memory_bytes",] == 123
    assert found["penstock_batch_seconds_bucket", "0.1"] == 1
    assert found["penstock_batch_seconds_bucket", "0.5"] == 2
    assert found["penstock_batch_seconds_sum",] == pytest.approx(0.49)


def test_health_says_when_the_last_batch_was(metrics: Metrics) -> None:
    with serve_metrics("127.0.0.1:0", metrics) as (host, port):
        read_back = json.loads(read(port, "/health?verbose"))
        with pytest.raises(urllib.error.HTTPError, match="404"):
            read(port, "/../etc/passwd")
    assert host == "127.0.0.1"
    assert read_back["status"] == "running"
    assert read_back["applications"]["Main"]["batch"] == 1
    assert Metrics().health() == {"status": "starting", "applications": {}}
    metrics.watch("Later")
    assert metrics.health()["status"] == "starting", "one of them has not come to a batch"


def test_an_address_that_cannot_be_had_is_the_users_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match="metrics cannot be served"), serve_metrics(str(port), Metrics()):
            pass
    for wrong in ("", "x", "1:x", ":80", "70000", "-1", "١"):
        with pytest.raises(UserError, match="is not PORT or HOST:PORT"):
            parse_address(wrong)


def test_a_slow_client_does_not_hold_up_others(metrics: Metrics) -> None:
    with serve_metrics("0", metrics) as (_, port), socket.create_connection(("127.0.0.1", port)) as slow:
        slow.sendall(b"GET /metr")
        assert "penstock_batches_total" in read(port, "/metrics")
