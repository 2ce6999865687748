"""Sinks write each batch exactly once, in order, and the same bytes as the reference."""

from __future__ import annotations

import random

import pytest
from pyarrow import parquet

from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from sink_runner import Sinks, batches_of

ROWS = [(f"S{n % 7}", n * 0.25, n) for n in range(100)]


def program_of(*sinks: str):
    text = """composite Main { graph
        stream<rstring name, float64 price, int64 n> A = Beacon() { param iterations: 1u; }
        %s }"""
    return compile_text(text % "\n".join(sinks))


def file_sink(name: str, params: str = "", file: str | None = None) -> str:
    return f'() as {name} = FileSink(A) {{ param file: "{file or name}"; {params} }}'


def custom(name: str) -> str:
    return f"() as {name} = Custom(A) {{ logic state: mutable int32 seen = 0; onTuple A: seen = seen + 1; }}"


def written(program, folder, batches, **options):
    sinks = Sinks(program, folder)
    for number, batch in enumerate(batches):
        sinks.write(number, batch, **options)
    sinks.sinks.close()
    return sinks.files()


FORMATS = {
    "csv": "",
    "separated": 'separator: ";"; quoteStrings: false;',
    "txt": "format: txt;",
    "suppressed": "suppress: price;",
    "packed": "compression: gzip;",
    "counted": "closeMode: count; tuplesPerFile: 30u;",
    "marked": "writePunctuations: true;",
    "bin": "format: bin;",
    "json": "format: json;",
    "parquet": "format: parquet;",
    "partitioned": "partitionBy: name;",
    "partitioned json": "partitionBy: name, n; format: json; suppress: name;",
}
ENDED = [*batches_of(ROWS, 30, "A"), {"A": ["final"]}]


@pytest.fixture(params=FORMATS)
def sink(request):
    file = "{id}.csv" if request.param == "counted" else None
    return file_sink("Sink", FORMATS[request.param], file)


def test_a_batch_that_comes_again_changes_nothing(sink, tmp_path):
    program = program_of(sink)
    wanted = written(program, tmp_path / "once", ENDED)
    again = Sinks(program, tmp_path / "again")
    for number, batch in enumerate(ENDED):
        again.write(number, batch)
        again.write(number, batch)
    again.sinks.close()
    assert again.files() == wanted


def test_a_crash_between_writing_and_storing_changes_nothing(sink, tmp_path):
    program = program_of(sink)
    wanted = written(program, tmp_path / "once", ENDED)
    crashing = Sinks(program, tmp_path / "crashing")
    for number, batch in enumerate(ENDED):
        if number:
            crashing.sinks._store = lambda batch: None
            crashing.write(number, batch)
            crashing.crash()
        crashing.write(number, batch)
    crashing.sinks.close()
    assert unpacked(crashing.files()) == unpacked(wanted)


def unpacked(files: dict[str, bytes]) -> dict[str, bytes]:
    import gzip

    return {name: gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data for name, data in files.items()}


def test_columns_give_the_bytes_that_tuples_give(sink, tmp_path):
    by_column = written(program_of(sink), tmp_path / "columns", ENDED)
    by_tuple = written(program_of(sink, custom("Other")), tmp_path / "tuples", ENDED)
    assert unpacked(by_column) == unpacked(by_tuple)
    assert any(by_column.values())


@pytest.mark.parametrize("spread", [lambda n: n % 3, lambda n: -n, lambda n: 7 * n % 5], ids="turns back any".split())
def test_what_several_channels_send_is_put_in_order(spread, tmp_path):
    program = program_of(file_sink("Sink"))
    wanted = written(program, tmp_path / "sorted", [{"A": ROWS}])
    assert written(program, tmp_path / "spread", [{"A": ROWS}], spread=spread) == wanted


def test_a_sink_of_two_streams_takes_them_in_one_order(tmp_path):
    text = """composite Main { graph
        stream<int32 x> A = Beacon() { param iterations: 1u; }
        stream<int32 x> B = Beacon() { param iterations: 1u; }
        () as Sink = FileSink(A, B) { param file: "out"; } }"""
    batch = {"A": [(n,) for n in range(5)], "B": [(10 + n,) for n in range(3)]}
    found = written(compile_text(text), tmp_path, [batch])
    assert found["out"].split() == b"0 10 1 11 2 12 3 4".split()


def test_what_a_crash_has_left_in_a_file_is_cut_off(tmp_path):
    sinks = Sinks(program_of(file_sink("Sink")), tmp_path)
    sinks.write(0, {"A": ROWS[:10]})
    with (tmp_path / "out" / "Sink").open("ab") as file:
        file.write(b"half a li")
    sinks.crash()
    sinks.write(1, {"A": ROWS[10:20]})
    sinks.sinks.close()
    assert sinks.files() == written(program_of(file_sink("Sink")), tmp_path / "once", [{"A": ROWS[:20]}])


def rows_of(folder):
    table = parquet.read_table(folder)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_a_folder_of_parquet_files_is_one_table_in_order(tmp_path):
    sinks = Sinks(program_of(file_sink("Sink", "format: parquet;")), tmp_path)
    for number, batch in enumerate(ENDED):
        sinks.write(number, batch)
    assert rows_of(tmp_path / "out" / "Sink") == ROWS
    assert len(sinks.files()) == 4
    empty = Sinks(program_of(file_sink("Sink", "format: parquet;")), tmp_path / "empty")
    empty.write(0, {"A": ["final"]})
    assert rows_of(tmp_path / "empty" / "out" / "Sink") == []


def test_a_partition_has_its_tuples_in_order_and_nothing_of_an_earlier_job(tmp_path):
    old = tmp_path / "out" / "Sink" / "name=old"
    old.mkdir(parents=True)
    (old / "part-0.csv").write_text("stale")
    found = written(program_of(file_sink("Sink", "partitionBy: name; suppress: name;")), tmp_path, ENDED)
    assert set(found) == {f"Sink/name=S{n}/part-0.csv" for n in range(7)}
    lines = found["Sink/name=S3/part-0.csv"].decode().splitlines()
    assert lines == [f"{n * 0.25:g},{n}" for n in range(3, 100, 7)]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("partitionBy: price;", "`price` is of type float64"),
        ("partitionBy: name; closeMode: punct;", "`closeMode` does not go with `partitionBy`"),
        ("partitionBy: name; format: bin;", "`partitionBy` goes with the format csv or txt or line or json or parquet"),
        ("format: parquet; append: true;", "`append` does not go with the format parquet"),
    ],
)
def test_what_a_folder_of_files_cannot_do_is_refused(params, message):
    with pytest.raises(UserError) as caught:
        program_of(file_sink("Sink", params))
    assert message in str(caught.value)


def test_tuples_are_counted_once_whatever_way_they_take(tmp_path):
    sinks = Sinks(program_of(file_sink("One"), custom("Two")), tmp_path / "mixed")
    sinks.write(0, {"A": ROWS})
    sinks.write(0, {"A": ROWS})
    assert sinks.sinks.totals.received == {"One": [100], "Two": [100]}
    alone = Sinks(program_of(file_sink("One")), tmp_path / "alone")
    alone.write(0, {"A": ROWS})
    assert alone.sinks.totals.received == {"One": [100]}


def test_a_batch_larger_than_the_memory_for_it_waits_on_disk(tmp_path, monkeypatch):
    from penstock.runtime.sinks import order as sink_order

    spilled = []
    rollover = sink_order.tempfile.SpooledTemporaryFile.rollover
    spy = lambda self: (spilled.append(1), rollover(self))  # noqa: E731
    monkeypatch.setattr(sink_order.tempfile.SpooledTemporaryFile, "rollover", spy)
    monkeypatch.setattr(sink_order.Spool.__init__, "__defaults__", (1000,))
    rows = [(f"S{n}", random.random(), n) for n in range(500)]
    program = program_of(file_sink("Sink"))
    found = written(program, tmp_path / "spilled", [{"A": rows}], spread=lambda n: n % 4)
    assert spilled
    assert [int(line.rsplit(b",")[-1]) for line in found["Sink"].splitlines()] == list(range(500))
