"""Sinks that tasks write: nothing comes to the driver, and every tuple is there once, whatever attempts there were."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyarrow import parquet

from penstock.base.diagnostics import UserError
from penstock.codegen.transport.batches import PART, REPORT, decode
from penstock.lang import compile_text
from penstock.toolkit.files import parquet_parts
from sink_runner import Sinks, batches_of

ROWS = [(f"S{n % 7}", n * 0.25, n) for n in range(100)]
ENDED = [*batches_of(ROWS, 30, "A"), {"A": ["final"]}]
PROGRAM = """composite Main { graph
    stream<rstring name, float64 price, int64 n> A = Beacon() { param iterations: 1u; }
    () as Sink = FileSink(A) { param file: "Sink"; format: parquet; %s } %s }"""


def program_of(params: str = "", more: str = ""):
    return compile_text(PROGRAM % (params, more))


def rows_of(folder: Path) -> list[tuple]:
    table = parquet.read_table(folder / "out" / "Sink")
    return list(zip(*(table.column(name).to_pylist() for name in ("name", "price", "n")), strict=True))


def finish(sinks: Sinks) -> list[tuple]:
    sinks.sinks.close()
    assert not (sinks.out / "Sink" / ".staging").exists()
    return rows_of(sinks.folder)


def test_tasks_write_files_whose_names_give_the_order_of_their_first_tuples(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    for number, batch in enumerate(ENDED):
        sinks.write(number, batch, spread=lambda n: n // 10)
    assert sinks.sinks.totals.received == {"Sink": [100]}
    assert finish(sinks) == ROWS
    assert len(list((sinks.out / "Sink").iterdir())) == 10


def test_no_tuple_comes_to_the_driver(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    schema = sinks.plan.application.streams["A"].schema
    going_on = sinks.by_tasks(0, sinks.rows(0, {"A": [*ROWS, "window", "final"]}, lambda n: n % 3))
    tuples = [item for edge, value in going_on if edge not in (PART, REPORT) for item in decode(value, schema)]
    assert all(item.tuple_ is None for item in tuples)
    assert any(edge == PART for edge, _ in going_on)


def test_channels_that_take_turns_give_a_file_each_in_order(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    sinks.write(0, {"A": [*ROWS, "final"]}, spread=lambda n: n % 3)
    files = sorted((sinks.out / "Sink").iterdir())
    numbers = [parquet.read_table(file).column("n").to_pylist() for file in files]
    assert numbers == [list(range(first, 100, 3)) for first in range(3)]
    assert sorted(finish(sinks)) == sorted(ROWS)


def test_a_task_that_has_several_runs_begins_a_file_for_each(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    rows = sinks.rows(0, {"A": [*ROWS, "final"]}, lambda n: n % 2)
    sinks.sinks.write_rows(sinks.by_task(0, rows), 0)
    files = sorted((sinks.out / "Sink").iterdir())
    assert [parquet.read_table(file).column("n")[0].as_py() for file in files] == [0, 1]


@pytest.mark.parametrize("params", ["", "partitionBy: name;"], ids="plain partitioned".split())
@pytest.mark.parametrize("seed", range(5))
def test_attempts_that_fail_are_slow_or_come_again_change_nothing(params, seed, tmp_path):
    dice = random.Random(seed)
    sinks = Sinks(program_of(params), tmp_path, in_tasks=True)
    for number, batch in enumerate(ENDED):
        for attempt in range(dice.randint(1, 3)):
            rows = sinks.rows(number, batch, lambda n: n // 10)
            going_on = []
            for row in rows:
                if dice.random() < 0.5:
                    # The same task elsewhere, whose result nobody takes: speculation, or a worker that is lost.
                    sinks.by_task(number, [row])
                going_on += sinks.by_task(number, [row])
            if attempt and dice.random() < 0.5:
                # The driver is lost before its state is stored.
                sinks.sinks._store = lambda batch: None
                sinks.sinks.write_rows(going_on, number)
                sinks.crash()
                going_on = sinks.by_tasks(number, rows)
            sinks.sinks.write_rows(going_on, number)
    assert sinks.sinks.totals.received == {"Sink": [100]}
    found = finish(sinks)
    assert sorted(found, key=lambda row: row[2]) == ROWS


def test_what_a_task_that_fails_leaves_is_gone_with_the_batch(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    rows = sinks.rows(0, {"A": ROWS}, lambda n: n % 2)
    with pytest.raises(ValueError, match="Expected to read"):
        sinks.by_task(0, [*rows, (rows[0][0], b"not a value")])
    sinks.sinks.write_rows(sinks.by_tasks(0, rows), 0)
    assert sorted(finish(sinks)) == sorted(ROWS)


def test_other_sinks_of_the_stream_get_their_tuples(tmp_path):
    more = """() as Text = FileSink(A) { param file: "Text"; }
        () as Seen = Custom(A) { logic state: mutable int32 seen = 0; onTuple A: seen = seen + 1; }"""
    sinks = Sinks(program_of("", more), tmp_path, in_tasks=True)
    for number, batch in enumerate(ENDED):
        sinks.write(number, batch, spread=lambda n: n // 10)
    assert sinks.sinks.totals.received == {"Sink": [100], "Text": [100], "Seen": [100]}
    assert finish(sinks) == ROWS
    assert (sinks.out / "Text").read_text().splitlines() == [f'"{name}",{price:g},{n}' for name, price, n in ROWS]


def test_two_streams_into_one_sink_are_merged_within_a_task(tmp_path):
    text = """composite Main { graph
        stream<int32 x> A = Beacon() { param iterations: 1u; }
        stream<int32 x> B = Beacon() { param iterations: 1u; }
        () as Sink = FileSink(A, B) { param file: "Sink"; format: parquet; } }"""
    sinks = Sinks(compile_text(text), tmp_path, in_tasks=True)
    rows = sinks.rows(0, {"A": [(n,) for n in range(5)], "B": [(10 + n,) for n in range(3)]}, lambda n: 0)
    sinks.sinks.write_rows(sinks.by_task(0, rows), 0)
    assert parquet.read_table(sinks.out / "Sink").column("x").to_pylist() == [0, 10, 1, 11, 2, 12, 3, 4]


def test_a_stream_without_tuples_leaves_a_file_without_rows(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    sinks.write(0, {"A": ["final"]})
    assert finish(sinks) == []
    assert len(list((sinks.out / "Sink").iterdir())) == 1


@pytest.mark.parametrize("in_tasks", [False, True])
def test_a_partitioned_folder_is_read_as_one_table(in_tasks, tmp_path):
    sinks = Sinks(program_of("partitionBy: name;"), tmp_path, in_tasks=in_tasks)
    for number, batch in enumerate(ENDED):
        sinks.write(number, batch, spread=lambda n: n // 20)
    for value in range(7):
        table = parquet.read_table(sinks.out / "Sink" / f"name=S{value}", partitioning=None)
        assert table.column("n").to_pylist() == list(range(value, 100, 7))
        assert table.column_names == ["price", "n"]
    assert sorted(finish(sinks), key=lambda row: row[2]) == ROWS


def test_nothing_is_left_to_write_is_said_at_once():
    with pytest.raises(UserError, match="no attribute is left to write"):
        program_of("partitionBy: name, n; suppress: price;")


def test_a_folder_that_is_not_shared_is_named(tmp_path):
    sinks = Sinks(program_of(), tmp_path, in_tasks=True)
    going_on = sinks.by_tasks(0, sinks.rows(0, {"A": ROWS}, lambda n: 0))
    for file in (sinks.out / "Sink" / ".staging").iterdir():
        file.unlink()
    with pytest.raises(UserError, match=r"does not find .*, which a task has written; let the output folder be one"):
        sinks.sinks.write_rows(going_on, 0)


def test_many_values_and_small_limits_lose_nothing(tmp_path, monkeypatch):
    for limit, value in {"OPEN_FILES": 5, "WAITING_BYTES": 2000, "GROUP_ROWS": 7, "FILE_BYTES": 3000}.items():
        monkeypatch.setattr(parquet_parts, limit, value)
    dice = random.Random(1)
    odd = ["", "a/b", "..", ".", "__HIVE_DEFAULT_PARTITION__", "é🎉", "a=b", "%2F", "\n", *map(str, range(30))]
    rows = [(dice.choice(odd), n * 1.0, n) for n in range(500)]
    sinks = Sinks(program_of("partitionBy: name;"), tmp_path, in_tasks=True)
    for number, batch in enumerate([*batches_of(rows, 170, "A"), {"A": ["final"]}]):
        sinks.write(number, batch, spread=lambda n: n % 4)
    sinks.sinks.close()
    found = []
    for file in (sinks.out / "Sink").rglob("*.parquet"):
        numbers = parquet.read_table(file, partitioning=None).column("n").to_pylist()
        assert numbers == sorted(numbers)
        assert len({rows[n][0] for n in numbers}) == 1
        found += numbers
    assert sorted(found) == list(range(500))


def test_what_a_crash_of_the_driver_has_begun_is_removed(tmp_path):
    sinks = Sinks(program_of(), tmp_path)
    sinks.write(0, ENDED[0])
    rubbish = sinks.out / "Sink" / ".staging"
    rubbish.mkdir()
    (rubbish / "begun.parquet").write_bytes(b"PAR1")
    sinks.crash()
    for number, batch in enumerate(ENDED[1:], 1):
        sinks.write(number, batch)
    assert finish(sinks) == ROWS
