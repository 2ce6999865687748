"""`penstock explain --profile` on a profile that is given; calibrations from measurements that are given."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.base.diagnostics import UserError
from penstock.cli import cli
from penstock.codegen.plan.physical import physical_plan
from penstock.model import Cost
from penstock.profiler.raw_statistics import Statistics
from penstock.spark.measure.calibration import transfer_of
from penstock.spark.measure.calibration_jobs import Case, Measured, cases, chain
from penstock.spark.measure.profiling import amount_of

PROGRAM = """composite Main { graph
    stream<int64 n> Numbers = Beacon() { param iterations: 10u; }
    stream<int64 n> Light = Functor(Numbers) { }
    stream<int64 n> Heavy = Filter(Light) { param filter: n > 3l; }
    () as Sink = FileSink(Heavy) { param file: "out.csv"; } }"""

PROFILE = {
    "version": 1,
    "application": "Main",
    "mips": 1000.0,
    "operators": [
        {"id": "Numbers", "rate_tps": 1000.0, "cpu_seconds": 1e-6, "selectivity": [1.0]},
        {"id": "Light", "rate_tps": 1000.0, "cpu_seconds": 1e-6, "selectivity": [1.0]},
        {"id": "Heavy", "rate_tps": 1000.0, "cpu_seconds": 5e-4, "selectivity": [0.5]},
        {"id": "Sink", "rate_tps": 500.0, "cpu_seconds": 1e-6},
    ],
    "streams": [
        {"id": "Numbers", "from": "Numbers", "to": ["Light"], "rate_tps": 1000.0, "tuple_bytes": 8.0},
        {"id": "Light", "from": "Light", "to": ["Heavy"], "rate_tps": 1000.0, "tuple_bytes": 8.0},
        {"id": "Heavy", "from": "Heavy", "to": ["Sink"], "rate_tps": 500.0, "tuple_bytes": 8.0},
    ],
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "main.spl").write_text(PROGRAM)
    (tmp_path / "profile.json").write_text(json.dumps(PROFILE))
    return tmp_path


def explain(files, *options):
    arguments = ["explain", str(files / "main.spl"), "--profile", str(files / "profile.json"), *options]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False, standalone_mode=False)


def test_explain_shows_the_hottest_operator_first_and_what_a_plan_sustains(files):
    shown = explain(files, "--fusion", "none", "--cores", "2").output
    assert shown.index("Heavy") < shown.index("Light")
    assert "sustains tuples a second: `Numbers`" in shown
    assert "held up by" in shown
    assert "host h0" in shown


def test_explain_gives_the_prediction_as_json(files):
    found = json.loads(explain(files, "--json", "--cores", "2").output)
    assert found["pes"] == [["Numbers"], ["Light", "Heavy"], ["Sink"]]
    assert found["prediction"]["sustained_tps"]["Numbers"] == pytest.approx(2000.0, rel=0.5)


def test_the_page_colours_operators_by_what_they_cost(files):
    explain(files, "--html", str(files / "costs.html"))
    page = (files / "costs.html").read_text()
    assert '[data-id="Heavy"] rect{fill:rgb(240,90,60)' in page
    assert "held up by" in page


def test_a_profile_of_another_graph_is_refused(files):
    (files / "profile.json").write_text(json.dumps({**PROFILE, "operators": PROFILE["operators"][:3], "streams": []}))
    with pytest.raises(UserError, match="profile of another graph"):
        explain(files)


def planted(case: Case) -> Measured:
    """What a job would take if a crossing cost 1 us and 10 ns a byte in the JVM, and so on."""
    tuples = case.per_batch
    crossing = case.pes * tuples * (1e-6 + 1e-8 * case.tuple_bytes)
    source = tuples * 2e-7
    workers = case.pes * tuples * (330e-9 + 3e-9 * case.tuple_bytes)
    found = Statistics()
    for pe in range(case.pes):
        for kind, each in (("receive", 50.0), ("send", 80.0)):
            found.add((kind, f"PE {pe}", 0), (each + 0.5 * case.tuple_bytes) * tuples, tuples=tuples)
    further = case.channels - 1
    return Measured(
        case=case,
        jvm_seconds=0.2 + crossing + source,
        worker_seconds=0.1 + workers + source,
        batch_seconds=0.3
        + 0.02 * case.pes
        + 0.05 * (case.stateful or further)
        + (0.1 + 0.03 * further) * case.stateful,
        statistics=found,
    )


def test_a_calibration_recovers_the_costs_that_were_planted():
    transfer = transfer_of([planted(c) for c in cases()], Cost(seconds_per_byte=4e-9), mips=1000.0)
    assert transfer.jvm_feed.seconds_per_tuple == pytest.approx(5e-7, rel=0.05)
    assert transfer.jvm_feed.seconds_per_byte == pytest.approx(5e-9, rel=0.05)
    assert transfer.python_receive.seconds(1, 20) == pytest.approx(60e-9, rel=0.05)
    assert transfer.python_send.seconds(1, 212) == pytest.approx(186e-9, rel=0.05)
    assert transfer.exchange_read.seconds_per_byte == pytest.approx(2e-9)
    assert transfer.batch_seconds == pytest.approx(0.3)
    assert transfer.pe_seconds == pytest.approx(0.02)
    assert transfer.stage_seconds == pytest.approx(0.05)
    assert transfer.state_seconds == pytest.approx(0.1)
    assert transfer.task_seconds == pytest.approx(0.03)
    assert transfer.python_pass.seconds(1, 100) == pytest.approx(0.5 * (200 + 200) * 1e-9, rel=0.05)


def test_the_jobs_of_a_calibration_are_chains_with_and_without_state():
    kinds = [o.kind for o in chain(Case(pes=3, stateful=1)).application.operators]
    assert kinds == ["Beacon", "Aggregate", "Functor", "Filter", "FileSink"]


@pytest.mark.parametrize(("case", "channels"), [(Case(pes=3, channels=2), 2), (Case(pes=3, stateful=2, channels=2), 2)])
def test_jobs_on_two_channels_have_a_parallel_region(case, channels):
    program = chain(case)
    plan = physical_plan(program.application, [[o.id] for o in program.application.operators], case.channels)
    inner = [pe for pe in plan.pes if pe.role in ("stateless", "stateful")]
    assert [pe.channels for pe in inner] == [channels] * case.pes
    assert sum(pe.role == "stateful" for pe in inner) == case.stateful


@pytest.mark.parametrize(
    ("text", "amount"), [("0 ms", 0.0), ("1.3 m", 78.0), ("1,024.0 B", 1024.0), ("total\n3.0 MiB (1, 2)", 3 * 2**20)]
)
def test_metrics_that_spark_writes_for_people_are_read(text, amount):
    assert amount_of(text) == pytest.approx(amount)
