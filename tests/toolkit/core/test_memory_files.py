"""A FileSink that crashes and goes on leaves the files that one without a crash leaves."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Clock, Environment
from penstock.ir.graph import Operator
from penstock.toolkit.formats.file_chunks import read_chunks
from toolkit.harness import Harness, attribute, build, word

SCHEMA = "rstring s, int32 n"
TUPLES = [(f"text {i}, and more", i) for i in range(30)]


def start(operator: Operator, folder: Path, memory: Any = None, now_ns: int = 0) -> Harness:
    harness = Harness(operator, Environment(output_directory=folder, clock=Clock(now_ns)))
    harness.runtime.restore(pickle.loads(pickle.dumps(memory)))
    return harness


def feed(harness: Harness, tuples: list) -> None:
    for tuple_ in tuples:
        harness.feed(tuple_)
        harness.advance(0.1)
        if tuple_[-1] % 7 == 0:
            harness.mark()


def files(folder: Path, compression: str = "") -> dict[str, bytes]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p.relative_to(folder)): b"".join(read_chunks(p, compression)) for p in paths}


def crash_and_go_on(operator: Operator, folder: Path, *, first: int, lost: int) -> list:
    """Write, remember, write more, crash, go on from what was remembered; the names that were sent."""
    before = start(operator, folder)
    feed(before, TUPLES[:first])
    memory = pickle.loads(pickle.dumps(before.runtime.snapshot()))
    now_ns, names = before.environment.clock.now_ns, [list(port) for port in before.items]
    feed(before, TUPLES[first : first + lost])
    before.runtime.close()
    after = start(operator, folder, memory, now_ns)
    feed(after, TUPLES[first:])
    after.end()
    return [a + b for a, b in zip(names, after.items, strict=True)]


PARAMS = {
    "csv": {"file": "f.csv"},
    "txt": {"file": "f.txt", "format": word("txt")},
    "bin with markers": {"file": "f.bin", "format": word("bin"), "writePunctuations": True},
    "delays": {"file": "f.csv", "hasDelayField": True, "flush": 2},
    "append": {"file": "old.csv", "append": True},
    "overwrites": {"file": "old.csv"},
    "a name from the first tuple": {"file": attribute("s", SCHEMA)},
    "count": {"file": "f{id}.csv", "closeMode": word("count"), "tuplesPerFile": 4},
    "size": {"file": "f{id}.csv", "closeMode": word("size"), "bytesPerFile": 70},
    "time": {"file": "d/f{id}.csv", "closeMode": word("time"), "timePerFile": 0.55},
    "punctuation": {"file": "f{id}.csv", "closeMode": word("punct")},
    "dynamic": {"file": attribute("s", SCHEMA), "closeMode": word("dynamic")},
    "moved": {
        "file": "f{id}.csv",
        "closeMode": word("count"),
        "tuplesPerFile": 4,
        "moveFileToDirectory": "done",
    },
    "moved under one name": {
        "file": "f.csv",
        "closeMode": word("count"),
        "tuplesPerFile": 4,
        "moveFileToDirectory": "done",
    },
    "gzip": {"file": "f.gz", "compression": word("gzip")},
    "zlib": {"file": "f.z", "compression": word("zlib")},
    "bzip2 by count": {
        "file": "f{id}.bz2",
        "compression": word("bzip2"),
        "closeMode": word("count"),
        "tuplesPerFile": 4,
    },
}


@pytest.mark.parametrize("name", PARAMS)
@pytest.mark.parametrize(("first", "lost"), [(0, 0), (0, 9), (5, 0), (8, 1), (10, 11), (17, 13)])
def test_a_crash_leaves_no_trace(name: str, first: int, lost: int, tmp_path: Path):
    params = PARAMS[name]
    operator = build("FileSink", [SCHEMA], ["rstring name"], params)
    folders = [tmp_path / "whole", tmp_path / "crashed"]
    for folder in folders:
        folder.mkdir()
        (folder / "old.csv").write_text("what was there before\n" * 50 if "compression" not in params else "")
    whole = start(operator, folders[0])
    feed(whole, TUPLES)
    whole.end()
    sent = crash_and_go_on(operator, folders[1], first=first, lost=lost)
    for folder in folders:
        if "compression" in params:
            (folder / "old.csv").unlink()
    compression = params["compression"].name if "compression" in params else ""
    assert files(folders[1], compression) == files(folders[0], compression)
    assert str(sent).replace("crashed", "whole") == str(whole.items)


def test_lines_go_on_too(tmp_path: Path):
    operator = build("FileSink", ["rstring s"], [], {"file": "f", "format": word("line"), "eolMarker": "|"})
    before = start(operator, tmp_path).feed(("a",), ("b",))
    memory = before.runtime.snapshot()
    before.feed(("lost",)).runtime.close()
    start(operator, tmp_path, memory).feed(("c",)).end()
    assert (tmp_path / "f").read_text() == "a|b|c|"


def test_a_sink_that_has_ended_stays_as_it_is(tmp_path: Path):
    operator = build("FileSink", [SCHEMA], [], {"file": "f.csv"})
    ended = start(operator, tmp_path).feed(("a", 1)).end()
    start(operator, tmp_path, ended.runtime.snapshot()).runtime.close()
    assert (tmp_path / "f.csv").read_text() == '"a",1\n'


def test_a_file_that_has_become_shorter_is_an_error(tmp_path: Path):
    operator = build("FileSink", [SCHEMA], [], {"file": "f.csv"})
    before = start(operator, tmp_path).feed(("a", 1))
    memory = before.runtime.snapshot()
    before.runtime.close()
    (tmp_path / "f.csv").write_text("")
    with pytest.raises(UserError, match=r"cannot go on in `f\.csv`: it had 6 bytes, and has 0"):
        start(operator, tmp_path, memory)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"file": "f{id}", "append": True, "closeMode": word("punct")}, "appends to files that it opens later"),
        ({"file": attribute("s", SCHEMA), "append": True}, "appends to files that it opens later"),
        (
            {"file": "f{id}", "closeMode": word("size"), "bytesPerFile": 9, "compression": word("gzip")},
            "closes compressed files by size",
        ),
    ],
)
def test_what_cannot_be_continued_says_so(params: dict, message: str, tmp_path: Path):
    harness = start(build("FileSink", [SCHEMA], [], params), tmp_path)
    with pytest.raises(UserError, match=f"FileSink `Op` {message}"):
        harness.runtime.snapshot()
