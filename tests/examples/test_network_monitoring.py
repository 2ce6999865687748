"""The program of figure 1, against counts made by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from penstock.expr.environment import Environment
from penstock.ir.models import State
from penstock.lang import compile_file
from penstock.testing import run

PAPER = """\
composite Main {
  type
  Entry = tuple<uint32 uid, rstring server, rstring msg>;
  Summary = tuple<uint32 uid, int32 total>;
  graph
  stream<Entry> Messages = ParSrc() {
    param servers: "logs*.com";
    partitionBy: server;
  }
  stream<Summary> Summaries = Aggregate(Messages) {
    window Messages: tumbling, time(5), partitioned;
    param partitionBy: uid;
    output Summaries: uid = Any(uid), total = Count();
  }
  stream<Summary> Suspects = Filter(Summaries) {
    param filter: total > 100;
  }
  () as Sink = FileSink(Suspects) {
    param file: "suspects.csv";
    format: csv;
  }
}
"""


def entries(folder: Path) -> list[tuple[float, str, int]]:
    """All log lines in order of time, then of server."""
    found = []
    for path in folder.glob("logs*.com"):
        for line in path.read_text().splitlines():
            seconds, uid, _ = line.split(" ", 2)
            found.append((float(seconds), path.name, int(uid)))
    return sorted(found)


def expected_suspects(folder: Path) -> Counter[tuple[int, int]]:
    """Users with more than 100 entries in a window of 5 s that starts with their first entry."""
    first: dict[int, float] = {}
    counts: Counter[tuple[int, int]] = Counter()
    for seconds, _, uid in entries(folder):
        start = first.setdefault(uid, seconds)
        counts[uid, round((seconds - start) * 1000) // 5000] += 1
    last = entries(folder)[-1][0]
    complete = {(u, w): n for (u, w), n in counts.items() if first[u] + 5 * (w + 1) <= last}
    return Counter((uid, n) for (uid, _), n in complete.items() if n > 100)


def test_the_program_is_the_papers_to_the_character(examples):
    assert (examples / "network_monitoring/network_monitoring.spl").read_text() == PAPER


def test_it_writes_the_suspects(example, examples, tmp_path):
    example("network_monitoring/generate.py").generate(tmp_path, seconds=20)
    program = compile_file(examples / "network_monitoring/network_monitoring.spl")
    run(program, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
    rows = [tuple(map(int, line.split(","))) for line in (tmp_path / "suspects.csv").read_text().splitlines()]
    assert len(rows) > 3
    assert Counter(rows) == expected_suspects(tmp_path)


def test_source_and_aggregate_are_partitioned_by_different_keys(examples):
    program = compile_file(examples / "network_monitoring/network_monitoring.spl")
    models = {o.id: o.model for o in program.application.operators}
    assert models["Messages"].state is State.PARTITIONED
    assert models["Messages"].partition_by == (frozenset({"server"}),)
    assert models["Summaries"].state is State.PARTITIONED
    assert models["Summaries"].partition_by == (frozenset({"uid"}),)
    assert models["Suspects"].state is State.STATELESS
