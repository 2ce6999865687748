"""Which host each channel of a PE is given, and how `explain --stage placed` shows it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from optimizer_settings import BRANCHES, branches, setting

from penstock.cli import cli
from penstock.lang import compile_text
from penstock.model import equal_hosts, write_profile
from penstock.model.hosts import hosts_to_json
from penstock.optimizer.prediction import cut_candidate
from penstock.placement.pes import Placed, place_plan

KEYED = """
composite Main {
  graph
    stream<int32 a, float64 b> In = Beacon() { param iterations: 10; }
    stream<In> Sums = Aggregate(In) {
      window In: tumbling, count(2), partitioned; param partitionBy: a; output Sums: a = Any(a), b = Sum(b); }
    stream<In> More = Functor(Sums) { output More: b = b * 2.0; }
    () as Out = FileSink(More) { param file: "out"; }
}
"""


def placed(made, groups) -> Placed:
    return place_plan(made, cut_candidate(made.application, groups, made.regions))


def test_every_channel_has_a_host_and_sinks_have_none():
    found = placed(setting(compile_text(KEYED).application, channels=4, hosts=equal_hosts(2)), [["Sums", "More"]])
    by_role = {pe.role: [task for task in found.host_of if task[0] == pe.index] for pe in found.plan.pes}
    assert {role: len(tasks) for role, tasks in by_role.items()} == {"source": 1, "stateful": 4, "sink": 0}
    assert set(found.host_of.values()) == {"h0", "h1"}


def test_the_two_halves_of_a_graph_go_to_two_hosts():
    left, right = ["Left", "LeftMore"], ["Right", "RightMore"]
    costs = dict.fromkeys((*left, *right), 100.0)
    groups = [["Light"], *([id_] for id_ in (*left, *right)), ["Both"]]
    found = placed(setting(branches(), costs, hosts=equal_hosts(2)), groups)
    home = {found.plan.pes[pe].operators[0]: host for (pe, _), host in found.host_of.items()}
    assert home["Left"] == home["LeftMore"] != home["Right"] == home["RightMore"]
    assert 0 < found.between_bytes <= 2 * 24_000


def test_one_host_has_everything_and_nothing_crosses():
    found = placed(setting(branches()), [["Light", "Left", "Right", "LeftMore", "RightMore", "Both"]])
    assert (set(found.host_of.values()), found.between_bytes) == ({"h0"}, 0.0)
    assert found.prediction.scale > 0


@pytest.fixture
def files(tmp_path):
    (tmp_path / "app.spl").write_text(BRANCHES)
    write_profile(setting(branches()).profile, tmp_path / "profile.json")
    (tmp_path / "hosts.json").write_text(json.dumps(hosts_to_json(equal_hosts(2, cores=4))))
    return tmp_path


def explain(*arguments: object):
    return CliRunner().invoke(cli, ["explain", *map(str, arguments), "--stage", "placed"])


def test_explain_shows_hosts_with_their_pes_and_the_driver(files):
    options = ["--profile", files / "profile.json", "--hosts", files / "hosts.json", "--fusion", "none"]
    shown = explain(files / "app.spl", *options)
    assert shown.exit_code == 0, shown.output
    assert "h0, 4 cores, " in shown.stdout
    assert "driver\n  PE 7, sink: Out" in shown.stdout
    assert "between hosts  " in shown.stdout
    document = json.loads(explain(files / "app.spl", *options, "--json").stdout)
    assert [place["pe"] for place in document["places"]] == list(range(7))
    assert {place["host"] for place in document["places"]} == {"h0", "h1"}
    brought = pytest.approx(sum(place["load"] for place in document["places"]))
    assert 0 < sum(host["load"] for host in document["hosts"]) == brought
    assert explain(files / "app.spl", *options, "--html", files / "page.html").exit_code == 0
    assert "PE 7, sink: driver" in (files / "page.html").read_text()


def test_without_a_profile_it_says_how_to_take_one(files, monkeypatch):
    monkeypatch.setenv("PENSTOCK_CACHE", str(files / "cache"))
    refused = explain(files / "app.spl")
    assert "penstock profile APP -o profile.json" in str(refused.exception)
