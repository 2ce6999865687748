"""Demands on hosts on a real cluster of three workers: kept, refused before the job starts, and seen to be broken."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.cluster.cluster_record import ClusterRecord
from penstock.spark.cluster.local_cluster import start_cluster, stop_cluster

pytestmark = pytest.mark.xdist_group("spark-commands")

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")

SCRIPT = """
import json, sys
from pathlib import Path

from penstock import App, Infeasible, UserError, col
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.reference import run as run_reference
from penstock.spark.job.rescaling import run_program
from penstock.spark.job.session import open_session
from penstock.spark.placement import placer
from penstock.spark.placement.job_status import read_status
from penstock.spark.placement.placement_settings import PlacementSettings
from penstock.spark.placement.state_homes import StateHomes

master, folder = sys.argv[1], Path(sys.argv[2])


def chain(*, alone=True):
    app = App("Chain")
    before = app.beacon("int32 x", iterations=300, period=0.0).named("Start")
    made = {}
    for name in "ABCDE":
        before = made[name] = before.with_columns(x=col.x + 1, name=name)
    made["A"].on_hosts("gpu").colocate_host("x").exlocate_host("y")
    made["B"].colocate_host("x").isolate()
    made["C"].exlocate_host("y")
    app.constrain("high_availability", replicas=[[made["B"]], [made["C"]]])
    made["D"].isolate_host()
    if not alone:
        made["E"].isolate_host()
    before.write_csv("out.csv")
    return app.program(), [(name,) for name in ("Start", *"ABCDE")]


def run(name, program, pes, tags, algorithm):
    out = folder / name
    out.mkdir()
    environment = Environment(data_directory=folder, output_directory=out)
    options = Options(environment=environment, pes=pes, batch=50)
    settings = PlacementSettings(algorithm=algorithm, tags=tags)
    run_program(program, options, spark, checkpoint=folder / f"{name}-c", notice=print, placement=settings)
    status = read_status(folder / f"{name}-c")
    host_of = {executor["id"]: executor["host"] for executor in status["executors"]}
    ran = {status["pes"][t["pe"]][0]: host_of[t["executor"]] for t in status["tasks"] if t["channel"] == 0}
    return {"ran": ran, "out": (out / "out.csv").read_text()}


tags = {"127.0.0.3": frozenset(["gpu"])}
spark = open_session(master)
found = {}
program, pes = chain()
(folder / "wanted").mkdir()
run_reference(program, environment=Environment(data_directory=folder, output_directory=folder / "wanted"))
found["wanted"] = (folder / "wanted" / "out.csv").read_text()
found["kept"] = [run("spark", program, pes, tags, "spark"), run("metis", program, pes, tags, "metis")]
placer._SETTLED_SECONDS = 1.0
for name, (one, groups), offers in (("two", chain(alone=False), tags), ("none", (program, pes), {})):
    try:
        run(name, one, groups, offers, "even")
    except Infeasible as refused:
        found[name] = [refused.reason, list(refused.conflicts), (folder / f"{name}-c" / "spark" / "offsets").exists()]
# An application whose tasks run elsewhere than they were placed.
move = StateHomes.move
StateHomes.move = lambda self, task, executor: move(self, task, next(e for e in there if e.id != executor.id))
there = placer.Executors(spark, {}).find()
try:
    run("broken", program, pes, tags, "even")
except UserError as broken:
    found["broken"] = str(broken)
(folder / "found.json").write_text(json.dumps(found))
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterRecord]:
    place = tmp_path / "cluster"
    yield start_cluster(place, len(HOSTS))
    stop_cluster(place)


def test_demands_on_hosts(tmp_path: Path, cluster: ClusterRecord) -> None:
    command = [sys.executable, "-c", SCRIPT, cluster.master, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    for kept in found["kept"]:
        ran = kept["ran"]
        assert ran["A"] == ran["B"] == "127.0.0.3"
        assert ran["C"] != ran["A"]
        assert ran["D"] not in {host for name, host in ran.items() if name != "D"}
        assert kept["out"] == found["wanted"] != ""
    reason, conflicts, has_begun = found["two"]
    assert reason.startswith("demands on hosts that cannot all be kept on `127.0.0.2`, `127.0.0.3`, `127.0.0.4`: ")
    assert {"host_dedication of `D`", "host_dedication of `E`"} <= set(conflicts)
    assert not has_begun
    reason, conflicts, has_begun = found["none"]
    assert conflicts == ["resource_match of `A` to `gpu`"]
    assert not has_begun
    assert "a demand on hosts was broken: " in found["broken"]
    assert "resource_match of `A` to `gpu`: `A` has run on `127.0.0." in found["broken"]
