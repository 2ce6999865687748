"""Files of lines that carry their time give on Spark what they give in the reference interpreter, at the same time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from source_reading import Sources, environment
from timed_logs import Logs, OneByOne, program, write

from penstock import TimedLines
from penstock.base.diagnostics import UserError
from penstock.reference import run
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Punctuation


def in_the_reference(made: Program, data: Path) -> tuple[list[tuple[int, Any]], list[str]]:
    """The times and the items, and what was set aside."""
    surroundings = environment(data)
    seen: list[tuple[int, Any]] = []

    def note(stream: str, item: Any) -> None:
        seen.append((surroundings.clock.now_ns, item.value if isinstance(item, Punctuation) else item))

    outcome = run(made, environment=surroundings, on_tuple=note)
    return seen, sorted(map(str, outcome.dead_letters))


def found_in_batches(made: Program, folder: Path, **options: Any) -> tuple[list[tuple[int, Any]], list[str]]:
    sources = Sources(made, folder, folder / f"job{len(list(folder.iterdir()))}", **options)
    while sources.step():
        sources.restart()
    found = sources.found
    return list(zip(found.times, [item for _, item in found.seen], strict=True)), sorted(map(str, found.letters))


TEXTS: dict[str, dict[str, str]] = {
    "one file": {"a": "".join(f"{i / 4} {i}\n" for i in range(40))},
    "files of one time": {name: "".join(f"{i // 5} {i}\n" for i in range(20)) for name in "abc"},
    "files of different lengths": {"a": "0 1\n", "b": "".join(f"{i / 8} {i}\n" for i in range(60)), "c": ""},
    "all at one time": dict.fromkeys("ab", "7.5 1\n" * 30),
    "malformed lines": {
        "a": "".join(f"{i} {i if i % 4 else 'x'}\n" for i in range(30)) + "nothing\n\nnan 1\n1e300 2\n",
        "b": "x y\n" * 9 + "3 3000000000\n4 4\n",
    },
    "lines that are left out": {"a": "# comment\n1 1\n# another\n2 2\n#\n", "b": "#\n" * 12},
    "line ends": {"a": "1 1\r\n2 2\r\n3 3", "b": "1 7\n2 8\r"},
    "times before the start": {"a": "-5 1\n-1 2\n0.5 3\n", "b": "-7 4\n0 5\n"},
    "fine times": {"a": "0.0000000014 1\n0.1000000001 2\n0.3 3\n", "b": "0.0000000016 4\n0.30000000000000004 5\n"},
    "not text": {"a": "1 1\n\udcff\udcfe 2\n3 3\n"},
    "nothing": {"a": ""},
}


@pytest.mark.parametrize("kind", [Logs, OneByOne])
@pytest.mark.parametrize("text", TEXTS)
def test_batches_hold_what_the_reference_gives_at_its_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, kind: type[TimedLines]
) -> None:
    write(tmp_path, TEXTS[text])
    made = program(tmp_path, kind)
    wanted = in_the_reference(made, tmp_path)
    for turns, partitions, block in ((1000, 3, 1 << 20), (4, 1, 16), (7, 2, 1)):
        monkeypatch.setattr("penstock.toolkit.files.file_blocks.BLOCK_BYTES", block)
        assert found_in_batches(made, tmp_path, turns=turns, partitions=str(partitions)) == wanted


@pytest.mark.parametrize("seed", range(8))
def test_random_files_are_merged_as_in_the_reference(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for name in "abcde"[: rng.randrange(1, 6)]:
        times = sorted(rng.choice((0, rng.randrange(5), rng.random() * 5)) for _ in range(rng.randrange(50)))
        write(tmp_path, {name: "".join(f"{t} {rng.choice((1, 22, 'x'))}\n" for t in times)})
    made = program(tmp_path)
    if not list(tmp_path.glob("*.log")):
        return
    wanted = in_the_reference(made, tmp_path)
    for turns in (3, 11, 1000):
        assert found_in_batches(made, tmp_path, turns=turns) == wanted


def test_beside_another_source_its_tuples_stand_in_their_places(tmp_path: Path) -> None:
    write(tmp_path, TEXTS["files of different lengths"])
    made = program(tmp_path, beside=True)
    assert found_in_batches(made, tmp_path, turns=5) == in_the_reference(made, tmp_path)


def test_the_log_holds_extents_and_no_tuples(tmp_path: Path) -> None:
    write(tmp_path, TEXTS["files of one time"])
    sources = Sources(program(tmp_path), tmp_path, tmp_path / "job", turns=10)
    sources.plan_batch()
    assert sorted(path.suffix for path in sources.log.iterdir()) == [".batch", ".state"]


def test_a_batch_that_is_read_again_is_the_same(tmp_path: Path) -> None:
    write(tmp_path, TEXTS["files of one time"])
    sources = Sources(program(tmp_path), tmp_path, tmp_path / "job", turns=10)
    before, end = sources.offset, sources.plan_batch()
    sources.take(end)
    first, sources.found.seen, sources.offset = sources.found.seen, [], before
    sources.restart()
    sources.take(sources.plan_batch())
    assert sources.found.seen == first


@pytest.mark.parametrize("block", [8, 1 << 20])
@pytest.mark.parametrize("kind", [Logs, OneByOne])
def test_a_file_in_which_time_goes_back_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[TimedLines], block: int
) -> None:
    monkeypatch.setattr("penstock.toolkit.files.file_blocks.BLOCK_BYTES", block)
    write(tmp_path, {"a": "1 1\n2 2\n9 9\n3 3\n9 9\n"})
    made = program(tmp_path, kind)
    message = r"operator `A` \(\w+\) failed: `a\.log` is not in the order of time: 3 s come after 9 s"
    with pytest.raises(UserError, match=message):
        in_the_reference(made, tmp_path)
    with pytest.raises(UserError, match=message):
        found_in_batches(made, tmp_path, turns=100)


def test_a_malformed_line_fails_the_operator_unless_it_is_to_be_skipped(tmp_path: Path) -> None:
    write(tmp_path, {"a": "1 1\n2 x\n"})
    made = program(tmp_path, on_error="fail")
    messages = []
    for attempt in (in_the_reference, found_in_batches):
        with pytest.raises(UserError, match="failed on 2 x: invalid literal for int") as failed:
            attempt(made, tmp_path)
        messages.append(str(failed.value))
    assert messages[0] == messages[1]


def test_a_file_that_has_changed_since_is_refused(tmp_path: Path) -> None:
    write(tmp_path, TEXTS["one file"])
    sources = Sources(program(tmp_path), tmp_path, tmp_path / "job", turns=10)
    end = sources.plan_batch()
    write(tmp_path, {"a": "1 1\n"})
    with pytest.raises(UserError, match=r"`a\.log` has changed since the job began to read it"):
        sources.take(end)
