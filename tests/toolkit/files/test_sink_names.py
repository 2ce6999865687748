"""A file name that comes from data never leads out of the output folder, and no tuple is lost over it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference.result import DEAD_LETTERS
from penstock.reference.run import run
from penstock.toolkit.files.sink_names import check_name
from sink_runner import Sinks

BAD = {
    "parent": ("../x.csv", "leads out"),
    "deep parent": ("a/../../x.csv", "leads out"),
    "hidden parent": ("a/..", "leads out"),
    "absolute": ("/tmp/penstock-must-not-write-here.csv", "leads out"),
    "empty": ("", "is empty"),
    "itself": (".", "name of a folder"),
    "folder": ("a/", "name of a folder"),
    "nul": ("a\0b", "NUL"),
    "long": ("x" * 256, "too long"),
    "long in bytes": ("é" * 128, "too long"),
    "deep": ("/".join(["abc"] * 2000), "too long"),
    "link": ("link/x.csv", "symbolic link"),
    "link to a file": ("linked.csv", "symbolic link"),
    "link in a circle": ("circle/x", "symbolic links"),
    "taken by a folder": ("folder", "folder or a device"),
    "pipe": ("pipe", "folder or a device"),
    "dead letters": (DEAD_LETTERS, "set aside"),
    "dead letters in other words": (f"./{DEAD_LETTERS}", "set aside"),
    "below a file": ("plain.txt/x", "no folder"),
}


@pytest.fixture
def out(tmp_path) -> Path:
    folder = tmp_path / "run" / "out"
    folder.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    (folder / "linked.csv").symlink_to(tmp_path / "elsewhere" / "file.csv")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "folder").mkdir()
    (folder / "plain.txt").write_text("plain")
    os.mkfifo(folder / "pipe")
    return folder


def program_of(params: str, catch: str = ""):
    return compile_text(f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        {catch} () as Sink = FileSink(A) {{ param {params} }} }}""")


@pytest.mark.parametrize("case", BAD)
def test_a_name_that_leads_out_ends_the_run(case, out):
    name, reason = BAD[case]
    before = sorted(out.parent.parent.rglob("*"))
    sinks = Sinks(program_of("file: name; closeMode: dynamic;"), out.parent)
    with pytest.raises(UserError, match=rf"operator `Sink` \(FileSink\) failed on .* cannot name a file: .*{reason}"):
        sinks.write(0, {"A": [(name, 1)]})
    assert [p for p in sorted(out.parent.parent.rglob("*")) if "sinks" not in p.parts] == before


@pytest.mark.parametrize("case", BAD)
def test_with_catch_the_tuple_is_set_aside_and_the_others_are_written(case, out):
    name, reason = BAD[case]
    sinks = Sinks(program_of("file: name; closeMode: dynamic;", "@catch()"), out.parent)
    sinks.write(0, {"A": [("good", 1), (name, 2), ("good", 3), ("better", 4)]})
    sinks.sinks.close()
    # A tuple that is set aside leaves no trace: the file before it goes on.
    assert (out / "good").read_text() == '"good",1\n"good",3\n'
    assert (out / "better").read_text() == '"better",4\n'
    (letter,) = map(json.loads, (out / DEAD_LETTERS).read_text().splitlines())
    assert letter["operator"] == "Sink"
    assert reason in letter["reason"]


def test_a_lone_surrogate_names_no_file(tmp_path):
    with pytest.raises(UserError, match="no file name has"):
        check_name("a\ud800", "", tmp_path)


@pytest.mark.parametrize(
    "name", ["a", "a/b/c", "..a", "a..", "...", "-", "é", "a b", "~", "x" * 255, "./a", "a//b", "%2e%2e"]
)
def test_other_names_are_good(name, tmp_path):
    check_name(name, "", tmp_path)


@pytest.mark.parametrize(
    ("file", "written"),
    [
        ('"{folder}/" + name', ["a", "e/f"]),
        ('"{folder}" + "/" + name', ["a", "e/f"]),
        ('"{folder}/sub-" + name + ".csv"', ["sub-../b.csv", "sub-a.csv", "sub-e/f.csv"]),
    ],
)
def test_a_constant_folder_before_the_name_is_the_programs_own_choice(file, written, tmp_path):
    there = tmp_path / "chosen"
    sinks = Sinks(program_of(f"file: {file.format(folder=there)}; closeMode: dynamic;", "@catch()"), tmp_path)
    sinks.write(0, {"A": [("a", 1), ("../b", 2), ("c/../../d", 3), ("e/f", 4)]})
    sinks.sinks.close()
    assert sorted(str(p.relative_to(there)) for p in there.rglob("*") if p.is_file()) == written
    assert sorted(p.name for p in tmp_path.iterdir()) == ["chosen", "out", "sinks"]
    assert len((tmp_path / "out" / DEAD_LETTERS).read_text().splitlines()) == 4 - len(written)


def test_a_name_out_of_state_is_a_name_out_of_data(tmp_path):
    program = compile_text("""composite Main { graph
        stream<rstring name, int64 n> A = Beacon() { param iterations: 1u; output A: name = "../x"; }
        () as Sink = FileSink(A) {
          logic state: mutable rstring chosen = "first"; onTuple A: chosen = name;
          param file: chosen; closeMode: dynamic; } }""")
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="leads out of the output folder"):
        run(program, environment=Environment(output_directory=tmp_path / "out"))
    assert not (tmp_path / "x").exists()


LONG = "v" * 300
PARTITIONS = [
    "../..",
    "/etc",
    "a/b",
    "..",
    ".",
    "",
    "\0",
    "__HIVE_DEFAULT_PARTITION__",
    "%2F",
    "é" * 40,
    "=",
    "*",
    "[a]",
]


@pytest.mark.parametrize("other", ["", "() as Other = Custom(A) { logic state: mutable int32 x = 0; onTuple A: x++; }"])
def test_values_that_name_folders_stay_in_the_folder(other, tmp_path):
    program = compile_text(f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        @catch() () as Sink = FileSink(A) {{ param file: "by"; partitionBy: name; suppress: name; }}
        {other} }}""")
    sinks = Sinks(program, tmp_path)
    values = [*PARTITIONS, LONG, "é" * 130]
    sinks.write(0, {"A": [(value, n) for n, value in enumerate(values)]})
    sinks.sinks.close()
    files = list((tmp_path / "out" / "by").glob("name=*/part-0.csv"))
    assert len(files) == len(PARTITIONS)
    assert sorted(int(path.read_text()) for path in files) == list(range(len(PARTITIONS)))
    found = [json.loads(line) for line in (tmp_path / "out" / DEAD_LETTERS).read_text().splitlines()]
    assert [letter["operator"] for letter in found] == ["Sink", "Sink"]
    assert "`name` cannot name a folder: its value has 300 characters" in found[0]["reason"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "sinks"]


@pytest.mark.parametrize("other", ["", "() as Other = Custom(A) { logic state: mutable int32 x = 0; onTuple A: x++; }"])
def test_a_value_too_long_for_a_folder_ends_the_run(other, tmp_path):
    program = compile_text(f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        () as Sink = FileSink(A) {{ param file: "by"; partitionBy: name; }}
        {other} }}""")
    with pytest.raises(UserError, match=r"operator `Sink` \(FileSink\) failed on .*: `name` cannot name a folder"):
        Sinks(program, tmp_path).write(0, {"A": [("a", 1), (LONG, 2)]})
