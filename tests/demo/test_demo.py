"""The demo: its report, and that Ctrl-C leaves nothing behind. That it runs is tested with the wheel."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.demo import cluster, example
from penstock.demo.facts import Facts, Run
from penstock.demo.report import demo_report
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.model.profile import OperatorProfile, Profile
from penstock.parallel.regions import parallel_regions
from penstock.testing import run


@pytest.fixture(scope="module")
def facts(tmp_path_factory) -> Facts:
    """The facts of a run on the reference interpreter, with a made-up profile and made-up times."""
    folder = tmp_path_factory.mktemp("demo")
    example.module("generate").generate(folder / "ticks.csv", ticks=3000)
    program = compile_file(example.folder() / "bargains.spl")
    result = run(program, environment=Environment(data_directory=folder, output_directory=folder))
    application = program.application
    costs = [OperatorProfile(id=o.id, kind=o.kind, rate_tps=1e4, cpu_seconds=2e-6) for o in application.operators]
    profile = Profile(application=application.name, mips=1000.0, operators=tuple(costs))
    answer, nodes = cluster.admit(cluster.admission(profile))
    alone = tuple((o.id,) for o in application.operators)
    together = (("Ticks",), tuple(o.id for o in application.operators[1:-1]), ("Sink",))
    lines = (folder / "bargains.csv").read_text().splitlines()
    return Facts(
        application=application,
        regions=parallel_regions(application),
        profile=profile,
        code="def process(pe):\n    <generated>",
        unfused=Run(title="unfused", pes=alone, ticks=3000, seconds=30.0, batches=1),
        optimized=Run(title="optimized", pes=together, ticks=3000, seconds=3.0, batches=1),
        bargains=tuple(lines[:5]),
        found=len(lines),
        traffic=cluster.traffic(application, result.submitted),
        answer=answer,
        nodes=nodes,
        seconds=60.0,
    )


def test_the_report_needs_no_network_and_shows_everything(facts):
    page = demo_report(facts)
    assert page.startswith("<!doctype html>")
    assert "://" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") == 2
    assert page.count('class="chart"') == 3
    assert page.count('class="operator') == 2 * len(facts.application.operators)
    for text in ("10.0 ×", "Group3.Scored", "&lt;generated&gt;", "node1", "training"):
        assert text in page


def test_placing_by_what_flows_lowers_what_crosses(facts):
    assert facts.traffic["metis"] <= facts.traffic["greedy"] <= facts.traffic["even"]
    assert facts.traffic["metis"] < facts.traffic["even"]


def test_the_cluster_is_full_so_that_not_every_job_gets_what_it_wants(facts):
    wanted = {"bargains": 1.0, "fraud": 1.0, "archive": 1.0, "training": 1.0}
    assert set(facts.answer.jobs) == set(wanted)
    assert facts.answer.jobs["fraud"].admitted
    assert facts.answer.jobs["training"].mips < 80_000 * facts.profile.mips / 20_000


@pytest.mark.xdist_group("spark-commands")
def test_ctrl_c_leaves_nothing_behind(tmp_path):
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "penstock.cli", "demo", "--ticks", "20000", "--master", "local[2]", "--out", "out"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary"), "SPARK_LOCAL_DIRS": str(tmp_path / "temporary")}
    log = tmp_path / "log"
    with log.open("w") as file:
        demo = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=file, start_new_session=True)
    _wait(lambda: "profile it" in log.read_text() or demo.poll() is not None)
    os.killpg(demo.pid, signal.SIGINT)
    assert demo.wait(timeout=240) == 130, log.read_text()
    _wait(lambda: not _is_alive(demo.pid))
    assert "Traceback" not in log.read_text()
    assert not (tmp_path / "out").exists()
    assert [path.name for path in (tmp_path / "temporary").glob("penstock*")] == []


def _wait(condition, seconds: float = 240.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


def _is_alive(group: int) -> bool:
    """Whether a process of the group is left that is more than a name in the table."""
    states = (Path(f"/proc/{p.name}/stat") for p in Path("/proc").iterdir() if p.name.isdigit())
    for path in states:
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            return True
    return False
