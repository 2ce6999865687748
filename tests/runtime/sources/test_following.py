"""Which runs go on when their sources have no more for now."""

from __future__ import annotations

from pathlib import Path

import pytest
import timed_logs

from penstock import App, PartitionedSource
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.runtime.sources import following
from penstock.runtime.sources.following import can_follow, can_have_more


class Numbers(PartitionedSource):
    def __init__(self, count: int) -> None:
        self.count = count

    def partitions(self) -> list[str]:
        return ["a", "b"]

    def latest_offset(self, partition: str) -> int:
        return self.count

    def read(self, partition: str, start: int) -> range:
        return range(start, self.count)


def partitioned():
    app = App("Numbers")
    app.source(Numbers, "int64 x", count=3).write_file("out.csv")
    return app.program()


def spl(source: str):
    return compile_text(f'composite Main {{ graph {source} () as S = FileSink(A) {{ param file: "out.csv"; }} }}')


BEACON = "stream<int32 n> A = Beacon() { param iterations: 3; }"
HOT = 'stream<int32 n> A = FileSource() { param file: "a.csv"; hotFile: %s; %s }'


def goes_on(made, folder: Path, *, until_done: bool = False, continuous: bool = False, seconds: float | None = None):
    environment = Environment(data_directory=folder)
    return following.goes_on(made, environment, until_done=until_done, continuous=continuous, seconds=seconds)


def test_a_hot_file_is_followed_until_the_run_is_stopped(tmp_path: Path):
    (tmp_path / "a.csv").write_text("1\n")
    for more in ("", "hasDelayField: true;"):
        assert goes_on(spl(HOT % ("true", more)), tmp_path)
        assert not goes_on(spl(HOT % ("true", more)), tmp_path, until_done=True)
    assert not goes_on(spl(HOT % ("false", "")), tmp_path, seconds=5)


@pytest.mark.parametrize("kind", ["partitions", "lines"])
def test_partitions_and_lines_are_followed_if_that_is_asked_for(tmp_path: Path, kind: str):
    timed_logs.write(tmp_path, {"a": "0 1\n"})
    made = partitioned() if kind == "partitions" else timed_logs.program(tmp_path)
    assert not goes_on(made, tmp_path)
    assert goes_on(made, tmp_path, seconds=5)
    assert goes_on(made, tmp_path, continuous=True)


def test_a_source_that_ends_is_not_waited_for(tmp_path: Path):
    assert not can_have_more(spl(BEACON).application)
    assert not can_follow(spl(BEACON), Environment())
    assert not goes_on(spl(BEACON), tmp_path, seconds=5)
    assert goes_on(spl(BEACON), tmp_path, continuous=True), "its time is the clock on the wall then"
