"""The smallest case of each thing that other people's SPL has met, by the command line, on every engine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli import cli
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")

ENGINES = ("reference", "local", "spark")
PARTS = """
composite CompositeWithBeacon(output O) {
  graph
    stream<int32 i> O = Beacon() {
      param iterations: 2; period: 1.0;
      output O: i = (int32) IterationCount() + 10 * getChannel();
    }
}
composite Main {
  graph
    stream<int32 i> Down = Beacon() { param iterations: 3; output Down: i = 3 - (int32) IterationCount(); }
    stream<int32 i> Told = Custom(Down) {
      logic onTuple Down: { printStringLn("told " + (rstring) i); submit(Down, Told); }
      config placement: host(nodes[2]);
    }
    () as ToldSink = FileSink(Told) { param file: "told.csv"; }
    () as Device = FileSink(Told) { param file: "/dev/stdout"; }

    stream<int32 i> Sorted = Sort(Down) { window Down: sliding, count(1), count(1); param sortBy: i; }
    () as SortedSink = FileSink(Sorted) { param file: "sorted.csv"; }

    @parallel(width=2)
    stream<int32 i> T = CompositeWithBeacon() { }
    () as ChannelSink = FileSink(T) { param file: "channels.csv"; }

    stream<int32 a, rstring b> Lines = FileSource() { param file: "lone_cr.csv"; format: csv; parsing: permissive; }
    () as LinesSink = FileSink(Lines) { param file: "lines.csv"; }

    stream<rstring folder, rstring file, boolean isNow> Here = Beacon() {
      param iterations: 1;
      output Here: folder = getThisFileDir(), file = getThisFilePath(), isNow = getTimestampInSecs() > 1700000000.0;
    }
    () as HereSink = FileSink(Here) { param file: "here.csv"; }

    stream<rstring server, rstring other> Set = Beacon() {
      param iterations: 1;
      output Set: server = getApplicationConfigurationProperty("market", "server", "none"),
        other = getApplicationConfigurationProperty("market", "other", "none");
    }
    () as SetSink = FileSink(Set) { param file: "set.csv"; }

    stream<rstring s, int32 l> Left = Custom() {
      logic onProcess: {
        submit({s = "a", l = 1}, Left);
        submit({s = "b", l = 2}, Left);
        submit({s = "a", l = 3}, Left);
      }
    }
    stream<rstring s, int32 r> Right = Beacon() { param iterations: 1; output Right: s = "b", r = 9; }
    stream<rstring s, int32 l, int32 r> Joined = Join(Left; Right) {
      window Left: sliding, count(1); Right: sliding, count(1);
      param match: Left.s == Right.s; algorithm: leftOuter;
      output Joined: s = Left.s;
    }
    () as JoinedSink = FileSink(Joined) { param file: "joined.csv"; }
  config hostPool: nodes = createPool({size = 5u}, Sys.Exclusive);
}
"""
ENDLESS = """
composite Main { graph
  stream<rstring name> Names = Beacon() { output Names: name = "lone_cr.csv"; }
  stream<rstring line> Lines = FileSource(Names) { param format: line; }
  () as Sink = FileSink(Lines) { param file: "lines.csv"; }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("smallest")
    (made / "parts.spl").write_text(PARTS)
    (made / "endless.spl").write_text(ENDLESS)
    (made / "conf.json").write_text('{"market": {"server": "db:5432"}}')
    (made / "lone_cr.csv").write_bytes(b"1,a\n2\rb\n3,d\n")
    return made


def penstock_run(folder: Path, program: str, engine: str, *options: str) -> Path:
    out = folder / f"{program}-{engine}"
    if engine == "spark":
        session()
        options = (*options, "--master", "local[2]")
    command = ["run", f"{folder / program}.spl", "--engine", engine, "--data", str(folder), "--out", str(out), *options]
    environment = {"PENSTOCK_CACHE": str(folder / "cache"), "PENSTOCK_APP_CONFIG": str(folder / "conf.json")}
    done = CliRunner().invoke(cli, command, standalone_mode=False, env=environment)
    assert done.exception is None, done.output
    (out / "printed").write_text(done.stdout)
    return out


@pytest.mark.parametrize("engine", ENGINES)
def test_every_smallest_case_does_what_spl_says(folder: Path, engine: str, tmp_path: Path) -> None:
    redirected, kept = os.open(tmp_path / "redirected", os.O_RDWR | os.O_CREAT), os.dup(1)
    os.write(redirected, b"before\n")
    os.dup2(redirected, 1)
    try:
        out = penstock_run(folder, "parts", engine)
    finally:
        os.dup2(kept, 1)
    read = {path.stem: path.read_text() for path in out.glob("*.csv")}
    told = [line for line in (out / "printed").read_text().splitlines() if line.startswith("told")]
    assert told == ["told 3", "told 2", "told 1"]
    assert (tmp_path / "redirected").read_text().startswith("before\n3\n2\n1\n")
    assert read["sorted"] == "3\n2\n1\n"
    assert sorted(read["channels"].split()) == ["0", "1", "10", "11"]
    assert read["lines"] == '1,"a"\n3,"d"\n'
    assert "a carriage return ends the record" in (out / "dead_letters.jsonl").read_text()
    assert read["here"] == f'"{folder}","{folder / "parts.spl"}",true\n'
    assert read["set"] == '"db:5432","none"\n'
    assert read["joined"] == '"b",2,9\n"a",1,0\n'


@pytest.mark.parametrize("engine", ENGINES)
def test_names_without_an_end_end_with_the_time(folder: Path, engine: str) -> None:
    """A batch of as many names as of other tuples would take minutes."""
    out = penstock_run(folder, "endless", engine, "--for", "2", "--json")
    assert json.loads((out / "printed").read_text())["stopped"] == "time"
