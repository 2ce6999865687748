"""What was changed or lost behind a job's back ends it with a message; nothing is overwritten in silence."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.transport.batches import REPORT
from penstock.lang import compile_text
from penstock.reference.result import DEAD_LETTERS, DeadLetter
from penstock.runtime.pes.reports import PER_VALUE, Report
from penstock.runtime.sinks.dead_letters import WaitingLetters
from sink_runner import Sinks

ROWS = [(f"S{n % 3}", n) for n in range(60)]
BATCHES = [{"A": ROWS[n : n + 10]} for n in range(0, 60, 10)]

SINKS = {
    "single": ('file: "Sink";', "Sink"),
    "packed": ('file: "Sink"; compression: gzip;', "Sink"),
    "appended": ('file: "Sink"; append: true;', "Sink"),
    "partitioned": ('file: "Sink"; partitionBy: name;', "Sink/name=S1/part-0.csv"),
    "rolling": ('file: "{id}.csv"; closeMode: count; tuplesPerFile: 7u;', "0.csv"),
    "open among rolling": ('file: "{id}.csv"; closeMode: count; tuplesPerFile: 7u;', "4.csv"),
    "parquet": ('file: "Sink"; format: parquet;', "Sink/part-00000.parquet"),
}


def program_of(params: str):
    return compile_text(f"""composite Main {{ graph
        stream<rstring name, int64 n> A = Beacon() {{ param iterations: 1u; }}
        () as Sink = FileSink(A) {{ param {params} }} }}""")


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)


def change_and_hide(path: Path) -> None:
    before = path.stat()
    change(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


REFUSED = r"FileSink `Sink` cannot (go on in `.*put the file back|write to `.*: Is a directory)"
DAMAGE = {f.__name__: f for f in (Path.unlink, cut, change, change_and_hide, replace_by_folder)}


@pytest.fixture(params=SINKS)
def written(request, tmp_path):
    """Sinks that have written three batches and were closed; and one of their files."""
    params, file = SINKS[request.param]
    sinks = Sinks(program_of(params), tmp_path)
    for number in range(3):
        sinks.write(number, BATCHES[number])
    sinks.sinks.close()
    return sinks, sinks.out / file


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_ends_the_job(written, damage):
    sinks, path = written
    DAMAGE[damage](path)
    others = {p: p.read_bytes() for p in sinks.out.rglob("*") if p.is_file() and p != path}
    sinks.crash()
    with pytest.raises(UserError, match=REFUSED) as caught:
        sinks.write(3, BATCHES[3])
    assert path.name in str(caught.value)
    assert {p: p.read_bytes() for p in others} == others


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_noticed_even_if_nothing_is_left_to_do(written, damage):
    sinks, path = written
    sinks.sinks = sinks.start()
    sinks.sinks.check_unwritten()
    DAMAGE[damage](path)
    sinks.crash()
    with pytest.raises(UserError, match=REFUSED):
        sinks.sinks.check_unwritten()


def test_what_somebody_has_added_is_cut_off(written, tmp_path):
    sinks, path = written
    wanted = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"more")
    sinks.crash()
    sinks.write(3, {"A": []})
    assert path.read_bytes() == wanted


def test_a_copy_of_the_files_is_as_good_as_the_files(written, tmp_path):
    sinks, _ = written
    shutil.copytree(sinks.out, tmp_path / "copy")
    shutil.rmtree(sinks.out)
    shutil.copytree(tmp_path / "copy", sinks.out)
    sinks.crash()
    sinks.write(3, BATCHES[3])


def copy_in_place(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    os.replace(path.with_name("copy"), path)


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        *((kind, damage) for kind in ("single", "partitioned", "open among rolling") for damage in (Path.unlink, cut)),
        ("single", copy_in_place),
        ("open among rolling", copy_in_place),
        ("partitioned", change),
    ],
)
def test_a_file_that_is_taken_away_from_a_running_job_ends_it(kind, damage, tmp_path):
    params, file = SINKS[kind]
    sinks = Sinks(program_of(params), tmp_path)
    for number in range(3):
        sinks.write(number, BATCHES[number])
    damage(sinks.out / file)
    with pytest.raises(UserError, match="cannot go on in"):
        sinks.write(3, {"A": [("S1", 1)]})


def test_states_that_are_gone_end_the_job(tmp_path):
    sinks = Sinks(program_of('file: "Sink";'), tmp_path)
    for number in range(3):
        sinks.write(number, BATCHES[number])
    wanted = sinks.files()
    for path in (tmp_path / "sinks").glob("*.state"):
        path.unlink()
    sinks.crash()
    with pytest.raises(UserError, match=r"the state of the sinks after batch 2 is missing: .* there is none at all"):
        sinks.write(3, BATCHES[3])
    assert sinks.files() == wanted


@pytest.mark.parametrize("batch", [0, 1, 2])
def test_going_back_further_than_states_are_kept_ends_the_job(batch, tmp_path):
    sinks = Sinks(program_of('file: "Sink";'), tmp_path)
    for number in range(6):
        sinks.write(number, BATCHES[number])
    wanted = sinks.files()
    sinks.crash()
    after = "the start of the job" if batch == 0 else f"batch {batch - 1}"
    with pytest.raises(UserError, match=rf"the state of the sinks after {after} is missing: .* of batch 5"):
        sinks.write(batch, BATCHES[batch])
    assert sinks.files() == wanted


def test_going_back_as_far_as_states_are_kept_changes_nothing(written):
    sinks, path = written
    if path.name == "Sink" and path.is_file():
        wanted = sinks.files()
        sinks.crash()
        for number in (1, 2):
            sinks.write(number, BATCHES[number])
        sinks.sinks.close()
        assert sinks.files() == wanted or b"\x1f\x8b" in wanted["Sink"]


DYNAMIC = [("A", 1), ("A", 2), ("B", 3), ("A", 4), ("C", 5), ("B", 6), ("B", 7), ("A", 8), ("C", 9), ("C", 10)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("move", ["", 'moveFileToDirectory: "done";'])
def test_names_that_come_again_survive_crashes(seed, move, tmp_path):
    rng = random.Random(seed)
    rows = [rng.choice(DYNAMIC) for _ in range(24)]
    batches = [{"A": rows[n : n + 4]} for n in range(0, 24, 4)] + [{"A": ["final"]}]
    program = program_of(f"file: name; closeMode: dynamic; {move}")
    whole, crashing = Sinks(program, tmp_path / "whole"), Sinks(program, tmp_path / "crashing")
    for number, batch in enumerate(batches):
        whole.write(number, batch)
        if number and rng.random() < 0.5:
            crashing.sinks._store = lambda batch: None
            crashing.write(number, batch)
            crashing.crash()
        crashing.write(number, batch)
    assert crashing.files() == whole.files()


def letters(operator: str, count: int, start: int = 0) -> tuple[DeadLetter, ...]:
    return tuple(DeadLetter(operator=operator, reason="bad", record=str(n)) for n in range(start, start + count))


def report_rows(*found: DeadLetter) -> list[tuple[int, bytes]]:
    return [(REPORT, value) for value in Report(pe=0, dead_letters=found).encode()]


@pytest.fixture
def lettered(tmp_path):
    sinks = Sinks(program_of('file: "Sink";'), tmp_path)
    for number in range(2):
        sinks.sinks.write_rows(report_rows(*letters("Op", 5, 5 * number)), number)
    sinks.sinks.close()
    return sinks, sinks.out / DEAD_LETTERS


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_dead_letters_end_the_job(lettered, damage):
    sinks, path = lettered
    DAMAGE[damage](path)
    sinks.crash()
    with pytest.raises(UserError, match=r"the job cannot go on in `dead_letters.jsonl`"):
        sinks.sinks.write_rows([], 2)


def test_dead_letters_of_a_batch_that_comes_again_are_there_once(lettered):
    sinks, path = lettered
    wanted = path.read_bytes()
    for _ in range(2):
        sinks.crash()
        sinks.sinks.write_rows(report_rows(*letters("Op", 5, 5)), 1)
    assert path.read_bytes() == wanted
    assert sinks.sinks.totals.rejected == {"Op": 10}


def test_what_an_earlier_job_has_set_aside_is_dropped(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / DEAD_LETTERS).write_text("old\n")
    Sinks(program_of('file: "Sink";'), tmp_path).write(0, BATCHES[0])
    assert (tmp_path / "out" / DEAD_LETTERS).read_text() == ""


def test_a_report_with_many_letters_travels_in_pieces():
    found = letters("Op", 2 * PER_VALUE + 1)
    report = Report(pe=3, received={"F": [2]}, dead_letters=found)
    values = report.encode()
    assert len(values) == 3
    assert max(map(len, values)) < 100 * PER_VALUE


def test_many_dead_letters_wait_outside_of_memory():
    with WaitingLetters(memory_bytes=1000) as waiting:
        waiting.add(letters("Op", 10))
        assert not waiting._file._rolled
        waiting.add(letters("Op", 100))
        assert waiting._file._rolled
        assert waiting.rejected == {"Op": 110}
