"""`penstock explain --stage parallel`, as a user calls it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from penstock.cli import cli

EXAMPLES = Path(__file__).parents[2] / "examples"
FIGURE_1 = EXAMPLES / "network_monitoring/network_monitoring.spl"

UNSAFE = """\
composite Main {
  graph
    stream<int32 x> A = Beacon() { param iterations: 5; }
    @parallel(width=4)
    stream<int32 x> B = Custom(A) {
      logic
        state: mutable int32 total = 0;
        onTuple A: { total += x; submit({x = total}, B); }
    }
    () as Sink = FileSink(B) { param file: "out.csv"; }
}
"""


def explain(*arguments: object) -> str:
    result = CliRunner().invoke(cli, ["explain", *map(str, arguments), "--stage", "parallel"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_it_prints_regions_joints_and_reasons():
    assert explain(FIGURE_1) == (
        "R1: key {server}, exactly one, seqno & pulses\n"
        "  first joint: parallel source, parts of the source {server}\n"
        "    Messages  ParSrc: partitioned by {server}, exactly one, forwards {}\n"
        "  last joint: shuffle, before `Summaries`; `Summaries` stays outside. compatible keys: its key {uid} does not "
        "contain the key {server} by which the source is divided\n"
        "  order: seqno & pulses: every tuple carries a sequence number; pulses tell that a number will not come\n"
        "\n"
        "R2: key {uid}, at most one, seqno & pulses\n"
        "  first joint: shuffle, hash of the key {uid}, behind `Messages`\n"
        "    Summaries  Aggregate: partitioned by {uid}, at most one, forwards {uid}\n"
        "    Suspects  Filter: stateless, at most one, forwards {total, uid}\n"
        "  last joint: merge, before `Sink`; `Sink` stays outside. state: it is a sink\n"
        "  order: seqno & pulses: every tuple carries a sequence number; pulses tell that a number will not come; "
        "`Summaries` fires by time\n"
        "\n"
        "not parallel:\n"
        "  Sink  FileSink\n"
        "    state: it is a sink\n"
    )


def test_json_has_regions_operators_and_boundaries():
    document = json.loads(explain(FIGURE_1, "--json"))
    left, right = document["regions"]
    assert (left["operators"], left["first_joint"], left["routing"]) == (
        ["Messages"],
        "parallel source",
        "parts of the source",
    )
    assert (right["key"], right["ordering"], right["spontaneous"]) == (["uid"], "seqno & pulses", ["Summaries"])
    assert right["exits"] == [{"operator": "Suspects", "stream": "Suspects", "receiver": "Sink", "joint": "merge"}]
    assert [b["joint"] for b in document["boundaries"]] == ["shuffle", "merge"]
    assert document["boundaries"][0]["reason"]["condition"] == "compatible keys"
    assert {o["id"]: o["region"] for o in document["operators"]} == {
        "Messages": "R1",
        "Summaries": "R2",
        "Suspects": "R2",
        "Sink": None,
    }


def test_the_page_draws_a_ground_for_each_region(tmp_path):
    page = tmp_path / "regions.html"
    explain(FIGURE_1, "--html", page)
    text = page.read_text()
    assert text.count('class="group g') == 2
    assert "R2: key {uid}" in text
    assert "state: it is a sink" in text


def test_beyond_the_paper_regions_grow():
    bargains = EXAMPLES / "bargains/bargains.spl"
    plain = json.loads(explain(bargains, "--json"))["regions"]
    grown = json.loads(explain(bargains, "--json", "--beyond", "fan-out"))["regions"]
    assert max(len(r["operators"]) for r in plain) == 2
    assert max(len(r["operators"]) for r in grown) == 4


def test_an_instruction_that_is_not_safe_is_answered_with_a_warning(tmp_path):
    path = tmp_path / "unsafe.spl"
    path.write_text(UNSAFE)
    text = explain(path)
    assert "unsafe.spl:" in text
    assert (
        "warning: `@parallel` on `B` is not followed, because it changes the state `total`, "
        "which is not a map keyed by attributes; it runs on one channel"
    ) in text
    assert "no parallel regions" in text


def test_with_all_that_a_run_does_each_group_of_bargain_detection_is_one_region():
    regions = json.loads(explain(EXAMPLES / "bargains/bargains.spl", "--json", "--beyond", "all"))["regions"]
    assert [len(r["operators"]) for r in regions] == [7, 7, 7, 7]
    assert [len(r["entries"]) for r in regions] == [2, 2, 2, 2]
