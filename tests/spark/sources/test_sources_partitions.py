"""Sources with partitions that can be read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from source_reading import Sources, in_the_reference

from penstock import App, PartitionedSource
from penstock.base.diagnostics import UserError
from penstock.toolkit.core.program import Program


class Lines(PartitionedSource):
    """The lines of the files of a folder, a partition each."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def partitions(self) -> list[str]:
        return sorted(path.name for path in self.folder.glob("*.txt"))

    def latest_offset(self, partition: str) -> int:
        return len(self._lines(partition))

    def read(self, partition: str, start: int) -> Iterator[tuple[str, int]]:
        for number, line in enumerate(self._lines(partition)[start:], start):
            yield line, number

    def _lines(self, partition: str) -> list[str]:
        return (self.folder / partition).read_text().splitlines()


def logs(folder: Path, **lengths: int) -> Path:
    for name, length in lengths.items():
        (folder / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(length)))
    return folder


def program(folder: Path, *, beside: bool = False) -> Program:
    app = App("Logs")
    app.source(Lines, "rstring line, int32 n", name="A", folder=str(folder)).for_each(print, name="Sink")
    if beside:
        app.beacon("int32 x", iterations=30, x=1, name="B").for_each(print, name="SinkB")
    return app.program()


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("turns", [1, 4, 7, 1000])
def test_partitions_take_turns_whatever_the_batches(tmp_path: Path, turns: int, beside: bool) -> None:
    made = program(logs(tmp_path, a=5, b=13, c=1), beside=beside)
    wanted, _ = in_the_reference(made, tmp_path)
    sources = Sources(made, tmp_path, tmp_path / "job", turns=turns)
    while sources.step():
        sources.restart()
    assert sources.found.seen == wanted
    assert [item[0] for stream, item in wanted if stream == "A" and isinstance(item, tuple)][:6] == [
        "a0", "b0", "c0", "a1", "b1", "a2",
    ]  # fmt: skip


def test_each_partition_is_read_by_a_task_of_its_own(tmp_path: Path) -> None:
    sources = Sources(program(logs(tmp_path, a=5, b=5, c=5)), tmp_path, tmp_path / "job", turns=100)
    assert sources.run().parts == 3
    assert not list(sources.log.glob("*.arrow"))


def test_a_continuous_run_goes_on_with_new_items_and_new_partitions(tmp_path: Path) -> None:
    sources = Sources(program(logs(tmp_path, a=2, b=1)), tmp_path, tmp_path / "job", turns=100, continuous="true")
    while sources.step():
        pass
    sources.restart()
    logs(tmp_path, a=3, c=2)
    while sources.step():
        pass
    assert [line for _, (line, _) in sources.found.seen] == ["a0", "b0", "a1", "a2", "c0", "c1"]


def test_a_partition_that_gives_less_than_it_has_told_is_named(tmp_path: Path) -> None:
    sources = Sources(program(logs(tmp_path, a=5)), tmp_path, tmp_path / "job")
    end = sources.plan_batch()
    logs(tmp_path, a=3)
    with pytest.raises(UserError, match=r"operator `A` \(Lines\) failed: partition `a.txt` ends at 3, but its latest"):
        sources.take(end)
