"""Sources in runs that go on for ever: time is the clock on the wall."""

from __future__ import annotations

from pathlib import Path

import pytest
import timed_logs
from source_reading import Sources, program

from penstock.lang import compile_text
from penstock.reference.failure import OperatorFailed

SECOND = 1_000_000_000


class Wall:
    """A clock on the wall that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_ns = 5_000 * SECOND

    def __call__(self) -> int:
        return self.now_ns

    def move(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND)


@pytest.fixture
def wall(monkeypatch: pytest.MonkeyPatch) -> Wall:
    clock = Wall()
    monkeypatch.setattr("penstock.runtime.sources.wall_clock.time.time_ns", clock)
    return clock


def continuous(made: object, folder: Path, **options: str) -> Sources:
    return Sources(made, folder, folder / "job", turns=1000, continuous="true", **options)  # type: ignore[arg-type]


def new(sources: Sources) -> list[object]:
    """What has come since the last call."""
    while sources.step():
        pass
    seen, sources.found.seen = sources.found.seen, []
    return [item for _, item in seen]


PERIODIC = "stream<int32 x> P = Beacon() { param period: 1.0; output P: x = (int32) IterationCount(); }"


@pytest.mark.parametrize("beside", [[], ["stream<int32 y> Q = Beacon() { param iterations: 0; output Q: y = 1; }"]])
def test_a_beacon_with_a_period_is_paced_by_the_wall_clock(tmp_path: Path, wall: Wall, beside: list[str]) -> None:
    sources = continuous(program(PERIODIC, *beside), tmp_path)
    assert [item for item in new(sources) if isinstance(item, tuple)] == [(0,)]
    assert new(sources) == []
    wall.move(2.5)
    assert new(sources) == [(1,), (2,)]
    sources.restart()
    assert new(sources) == []
    wall.move(1)
    assert new(sources) == [(3,)]
    tuples = [t for t in sources.found.times if t >= SECOND]
    assert tuples == [SECOND, 2 * SECOND, 3 * SECOND]


def test_files_that_arrive_later_are_found_once_each_over_restarts(tmp_path: Path, wall: Wall) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    made = program('stream<rstring f> D = DirectoryScan() { param directory: "inbox"; sortBy: name; sleepTime: 2.0; }')
    sources = continuous(made, tmp_path)
    (inbox / "b").write_text("")
    (inbox / "a").write_text("")
    assert [Path(f).name for (f,) in new(sources)] == ["a", "b"]  # type: ignore[misc]
    sources.restart()
    (inbox / "c").write_text("")
    assert new(sources) == []
    wall.move(2)
    assert [Path(f).name for (f,) in new(sources)] == ["c"]  # type: ignore[misc]
    sources.restart()
    batches = sources.found.batches
    wall.move(2)
    assert new(sources) == []
    assert sources.found.batches == batches, "a scan that finds nothing makes no batch"
    assert not sources.offset["ended"]


def test_a_hot_file_is_followed_in_whole_lines(tmp_path: Path, wall: Wall) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x\n1\n")
    params = 'file: "a.csv"; hotFile: true; hasHeaderLine: true; parsing: permissive;'
    made = program(f"stream<int32 n> A = FileSource() {{ param {params} }}")
    sources = continuous(made, tmp_path)
    assert new(sources) == [(1,)]
    wall.move(1)
    with path.open("a") as file:
        file.write("2\n3")
    assert new(sources) == [(2,)]
    sources.restart()
    with path.open("a") as file:
        file.write("4\n5\nbad\n")
    assert new(sources) == [(34,), (5,)]
    assert [letter.record for letter in sources.found.letters] == ["bad"]
    assert sources.found.times == sorted(sources.found.times)


WINDOW = """composite Main { graph
    stream<int32 x> A = FileSource() { param file: "a.csv"; hotFile: true; }
    stream<int32 x> B = Aggregate(A) { window A: tumbling, %s; output B: x = Sum(x); }
    () as Sink = FileSink(B) { param file: "out.csv"; } }"""


def test_a_pulse_tells_that_time_has_passed_if_anybody_waits_for_it(tmp_path: Path, wall: Wall) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    sources = continuous(compile_text(WINDOW % "time(3)"), tmp_path)
    assert new(sources) == [(1,)]
    sources.found.pulses.clear()
    for _ in range(4):
        wall.move(0.5)
        assert new(sources) == []
    assert sources.found.pulses == [SECOND, 2 * SECOND]


def test_no_pulse_goes_out_if_nobody_waits_for_time(tmp_path: Path, wall: Wall) -> None:
    (tmp_path / "a.csv").write_text("1\n")
    sources = continuous(compile_text(WINDOW % "count(3)"), tmp_path)
    new(sources)
    wall.move(10)
    assert not sources.step()


def test_a_continuous_run_follows_lines_and_files_in_time(tmp_path: Path, wall: Wall) -> None:
    timed_logs.write(tmp_path, {"a": "0 1\n1 2\n60 3\n"})
    sources = continuous(timed_logs.program(tmp_path), tmp_path)
    assert new(sources) == [("a.log", 1)]
    wall.move(2)
    assert new(sources) == [("a.log", 2)]
    with (tmp_path / "a.log").open("a") as file:
        file.write("61 4\n62 ")
    timed_logs.write(tmp_path, {"b": "1.5 7\n"})
    sources.restart()
    wall.move(60)
    # The new file is far behind: what it gives is late, and the clock waits for it until it is idle.
    assert new(sources) == [("b.log", 7)]
    assert sources.found.late == 1
    wall.move(4.9)
    assert new(sources) == []
    wall.move(0.1)
    assert new(sources) == [("a.log", 3), ("a.log", 4)]
    with (tmp_path / "a.log").open("a") as file:
        file.write("5\n")
    assert new(sources) == [("a.log", 5)]
    assert sources.found.times == [0, SECOND, 2 * SECOND, 60 * SECOND, 61 * SECOND, 62 * SECOND]
    assert not sources.offset["ended"]


def test_the_clock_waits_for_the_file_that_is_furthest_behind(tmp_path: Path, wall: Wall) -> None:
    timed_logs.write(tmp_path, {"a": "0 1\n1 2\n2 3\n", "b": "0 4\n"})
    sources = continuous(timed_logs.program(tmp_path), tmp_path)
    wall.move(3)
    assert new(sources) == [("a.log", 1), ("b.log", 4)]
    with (tmp_path / "b.log").open("a") as file:
        file.write("1 5\n")
    wall.move(1)
    assert new(sources) == [("a.log", 2), ("b.log", 5)]
    sources.restart()
    wall.move(5)
    assert new(sources) == [("a.log", 3)]
    assert sources.found.times == sorted(sources.found.times)
    assert sources.found.late == 0


def test_time_goes_on_some_seconds_behind_the_wall_when_no_file_has_a_new_line(tmp_path: Path, wall: Wall) -> None:
    timed_logs.write(tmp_path, {"a": "0 1\n"})
    app = timed_logs.program(tmp_path, windowed=True)
    sources = continuous(app, tmp_path)
    assert new(sources) == [("a.log", 1)]
    sources.found.pulses.clear()
    for _ in range(8):
        wall.move(1)
        assert new(sources) == []
    assert sources.found.pulses == [0, 0, 0, 0, 0, SECOND, 2 * SECOND, 3 * SECOND]
    with (tmp_path / "a.log").open("a") as file:
        file.write("2 2\n8 3\n")
    assert new(sources) == [("a.log", 2), ("a.log", 3)]
    assert sources.found.late == 1


def test_lines_are_followed_beside_other_sources_too(tmp_path: Path, wall: Wall) -> None:
    timed_logs.write(tmp_path, {"a": "0 1\n1.5 2\n"})
    sources = continuous(timed_logs.program(tmp_path, beside=True), tmp_path)
    assert new(sources) == [("a.log", 1), (1,)]
    wall.move(1.5)
    assert sorted(new(sources), key=str) == [("a.log", 2), (1,)]
    # Now the clock waits for the log, and what a Beacon gives waits with it.
    wall.move(1)
    assert new(sources) == []
    with (tmp_path / "a.log").open("a") as file:
        file.write("2.2 3\n2.4 4\n")
    assert sorted(new(sources), key=str) == [("a.log", 3), ("a.log", 4), (1,)]
    sources.restart()
    wall.move(5)
    with (tmp_path / "a.log").open("a") as file:
        file.write("9 5\n")
    assert [item for item in new(sources) if item != (1,)] == []
    wall.move(2)
    assert ("a.log", 5) in new(sources)
    assert sources.found.late == 0
    assert not sources.offset["ended"]


@pytest.mark.parametrize("beside", [[], ["stream<int32 y> Q = Beacon() { param iterations: 0; output Q: y = 1; }"]])
def test_a_hot_file_that_is_read_record_by_record_is_followed(tmp_path: Path, wall: Wall, beside: list[str]) -> None:
    path = tmp_path / "a.csv"
    path.write_text("1\n2\n3")
    source = """stream<int32 n, int64 k> A = FileSource() {
        param file: "a.csv"; hotFile: true; output A: k = TupleNumber(); }"""
    sources = continuous(program(source, *beside), tmp_path)
    assert [item for item in new(sources) if isinstance(item, tuple)] == [(1, 0), (2, 1)]
    sources.restart()
    with path.open("a") as file:
        file.write("4\n5\n")
    wall.move(1)
    assert new(sources) == [(34, 2), (5, 3)]
    path.write_text("1\n")
    sources.restart()
    with pytest.raises(OperatorFailed, match=r"`a\.csv` holds less than when it was read"):
        sources.step()
