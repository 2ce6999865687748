"""PEs that work in the tasks that read their source."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import App, col
from penstock.codegen.transport.batches import FINAL, PULSE, REPORT, ROWS_FILE, TUPLE, Item, decode
from penstock.compiler import CompiledJob, Options, compile
from penstock.expr.environment import Environment
from penstock.reference import run
from penstock.runtime.pes.reports import decode_report
from penstock.runtime.sources.channel_parts import channels_of_source
from penstock.spark.sinks.large_results import spill_large
from penstock.spark.sources.admission import ReadAllAvailable
from penstock.spark.sources.data_source import SourceReader, dump
from penstock.spark.sources.reading_pe import pe_of_reading_tasks
from penstock.spark.workers.reading import read_and_process
from penstock.toolkit.core.program import Program

ROWS = 1000


def behind(app: App, stream: Any) -> Program:
    made = stream.map(lambda t: {"n": t.n + 1, "s": t.s.upper()}, name="Up")
    made.filter(lambda t: t.n % 3 > 0, name="Some").write_file("out.csv", name="Sink")
    return app.program()


def of_parquet(folder: Path, groups: int) -> Program:
    table = pa.table({"n": list(range(ROWS)), "s": [f"s{i}" for i in range(ROWS)]})
    pq.write_table(table, folder / "rows.parquet", row_group_size=-(-ROWS // groups))
    app = App("Reading")
    return behind(app, app.read_parquet("rows.parquet", "int64 n, rstring s", name="Rows"))


def of_csv(folder: Path) -> Program:
    lines = [f"{i},s{i}" if i % 100 else "what" for i in range(ROWS)]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n")
    app = App("Reading")
    return behind(app, app.read_csv("rows.csv", "int64 n, rstring s", parsing="permissive", name="Rows"))


def compiled(program: Program, folder: Path, channels: int) -> CompiledJob:
    environment = Environment(data_directory=folder, output_directory=folder)
    return compile(program, Options(environment=environment, fusion="all", channels=channels))


def found_pe(job: CompiledJob, cores: int = 2, *, last_writes: bool = False) -> Any:
    return pe_of_reading_tasks(job.plan, channels_of_source(job.plan), cores, last_writes=last_writes)


class Given:
    """What leaves the PE, batch by batch."""

    def __init__(self, job: CompiledJob, folder: Path, turns: int) -> None:
        dump(job.program, job.plan, job.options.environment, job.build, folder / "program")
        pe = found_pe(job)
        self.options = {"program": str(folder / "program"), "log": str(folder / "log"), "turns_per_batch": str(turns)}
        self.options |= {"along": str(pe.index), "channels": str(pe.channels)}
        self.plan = job.plan
        self.parts: list[int] = []
        self.items: list[Item] = []
        self.letters = 0
        self.received: dict[str, int] = {}

    def read_all(self) -> Given:
        reader = SourceReader(self.options)
        offset = reader.initialOffset()
        while not offset["ended"]:
            end = reader.latestOffset(offset, ReadAllAvailable())
            self._take(reader.partitions(offset, end))
            offset = end
        return self

    def _take(self, parts: Any) -> None:
        self.parts.append(len(parts))
        schemas = self.plan.schemas(self.plan.edges)
        items: list[Item] = []
        for part in parts:
            for batch in SourceReader(self.options).read(part):
                for row in batch.to_pylist():
                    if row["edge"] == REPORT:
                        self._count(row["tuples"])
                        continue
                    items += decode(row["tuples"], schemas[row["edge"]])
        self.items += sorted(items, key=lambda item: item[:3])

    def _count(self, value: bytes) -> None:
        report = decode_report(value)
        self.letters += len(report.dead_letters)
        for id_, ports in report.received.items():
            self.received[id_] = self.received.get(id_, 0) + sum(ports)

    @property
    def tuples(self) -> list[tuple[Any, ...]]:
        return [item.tuple_ for item in self.items if item.kind == TUPLE and item.tuple_ is not None]


def wanted(program: Program, folder: Path) -> list[tuple[Any, ...]]:
    seen: list[tuple[Any, ...]] = []
    run(
        program,
        environment=Environment(data_directory=folder, output_directory=folder),
        on_tuple=lambda stream, item: seen.append(item) if stream == "Some" and isinstance(item, tuple) else None,
    )
    return seen


@pytest.mark.parametrize(("groups", "channels"), [(1, 2), (2, 2), (5, 2), (3, 4), (1, 5)])
def test_tasks_read_their_shares_and_give_what_the_reference_gives(tmp_path, groups, channels):
    program = of_parquet(tmp_path, groups)
    given = Given(compiled(program, tmp_path, channels), tmp_path, turns=10**6).read_all()
    assert given.tuples == wanted(program, tmp_path)
    assert given.parts == [channels]
    assert given.received["Up"] == ROWS


@pytest.mark.parametrize("turns", [7, 250, 10**6])
def test_malformed_records_are_set_aside_once(tmp_path, turns):
    program = of_csv(tmp_path)
    given = Given(compiled(program, tmp_path, 3), tmp_path, turns=turns).read_all()
    assert given.tuples == wanted(program, tmp_path)
    assert given.letters == ROWS / 100


def test_pulses_and_the_end_reach_the_sinks(tmp_path):
    given = Given(compiled(of_parquet(tmp_path, 4), tmp_path, 2), tmp_path, turns=250).read_all()
    assert len(given.parts) == 4
    assert [item.kind for item in given.items].count(FINAL) >= 1
    assert given.items[-1].kind in (FINAL, PULSE)


def test_a_tuple_that_fails_is_named(tmp_path):
    pq.write_table(pa.table({"n": [1, 0, 2]}), tmp_path / "rows.parquet")
    app = App("Failing")
    rows = app.read_parquet("rows.parquet", "int64 n", name="Rows")
    rows.map(lambda t: {"n": 6 // t.n}, name="Divide").write_file("out.csv", name="Sink")
    job = compiled(app.program(), tmp_path, 2)
    with pytest.raises(Exception, match=r"operator `Divide` .*ZeroDivisionError"):
        Given(job, tmp_path, turns=10).read_all()


def test_rows_that_are_too_many_to_be_sent_go_to_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("penstock.spark.workers.reading.spill_large", partial(spill_large, most_bytes=1))
    job = compiled(of_parquet(tmp_path, 2), tmp_path, 2)
    given = Given(job, tmp_path, turns=10**6)
    folder = tmp_path / "large"
    reader = SourceReader(given.options)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    (first, _) = reader.partitions(reader.initialOffset(), end)
    program, pe = given.options["program"], found_pe(job).index
    rows = list(read_and_process(program, first.value, pe, follows=False, large=str(folder)))
    assert rows[-1].column("edge").to_pylist() == [ROWS_FILE]
    assert len(list(folder.iterdir())) == 1


def test_it_works_there_only_where_that_saves_a_crossing(tmp_path):
    job = compiled(of_parquet(tmp_path, 2), tmp_path, 2)
    assert found_pe(job).operators == ("Up", "Some")
    # With a core for each of two processes they work at the same time.
    assert found_pe(job, cores=4) is None
    assert found_pe(job, last_writes=True) is None
    assert found_pe(compiled(of_parquet(tmp_path, 2), tmp_path, 1)) is None


EVERY_TYPE = (
    "int64 n, int8 i, boolean b, float32 f, rstring s, optional<int64> on, optional<boolean> ob, optional<rstring> os, "
    "list<int64> l, rstring unread"
)


def of_every_type(folder: Path, function: Any) -> Program:
    """Rows of all kinds of columns, whose parts begin in the middle of bytes of bits; a filter stands at the source."""
    some = [[None, i][i % 3 > 0] for i in range(ROWS)]
    columns = {
        "n": list(range(ROWS)),
        "i": pa.array([i % 100 for i in range(ROWS)], pa.int8()),
        "b": [i % 7 < 3 for i in range(ROWS)],
        "f": pa.array([i / 8 for i in range(ROWS)], pa.float32()),
        "s": [f"é{i}" * (i % 3) for i in range(ROWS)],
        "on": some,
        "ob": [None if v is None else v % 2 == 0 for v in some],
        "os": [None if v is None else f"o{v}" for v in some],
        "l": [list(range(i % 4)) for i in range(ROWS)],
        "unread": ["x"] * ROWS,
    }
    pq.write_table(pa.table(columns), folder / "rows.parquet", row_group_size=333)
    app = App("Every")
    rows = app.read_parquet("rows.parquet", EVERY_TYPE, name="Rows")
    kept = EVERY_TYPE.removesuffix(", rstring unread")
    made = rows.filter(col.i != 5, name="Other").map(function, kept, name="Some")
    made.write_file("out.csv", name="Sink")
    return app.program()


def by_columns(t):
    return {"n": t.n + 1, "i": t.i, "b": not t.b, "f": t.f, "s": t.s, "on": t.on, "ob": t.ob, "os": t.os, "l": t.l}


def by_rows(t):
    values = [*t[:4], t.s + "".join(reversed(t.s)), *t[5:9]]
    return tuple(values)


@pytest.mark.parametrize("function", [by_columns, by_rows])
@pytest.mark.parametrize(("channels", "turns"), [(2, 10**6), (3, 10**6), (5, 97)])
def test_columns_of_every_type_reach_the_pe_as_they_are(tmp_path, function, channels, turns):
    program = of_every_type(tmp_path, function)
    given = Given(compiled(program, tmp_path, channels), tmp_path, turns=turns).read_all()
    assert given.tuples == wanted(program, tmp_path)


def test_a_value_that_does_not_fit_is_told_by_the_container_that_takes_the_frame_again(tmp_path):
    pq.write_table(pa.table({"n": list(range(50)), "s": ["a"] * 50}), tmp_path / "rows.parquet", row_group_size=7)
    app = App("Failing")
    rows = app.read_parquet("rows.parquet", "int64 n, rstring s", name="Rows")
    given = rows.map(lambda t: {"n": t.n, "s": chr(0xD7F0 + t.n)}, "int64 n, rstring s", name="Chars")
    given.write_file("out.csv", name="Sink")
    with pytest.raises(Exception, match=r"operator `Chars` .*\{n=16,s=\"a\"\}.*attribute `s` is rstring"):
        Given(compiled(app.program(), tmp_path, 2), tmp_path, turns=20).read_all()
