"""Savepoints on disk: what is read is what was written, damage is noticed, and format 1 stays readable."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.base.diagnostics import UserError
from penstock.codegen.build import build
from penstock.codegen.kernels.key_tables import table, unpacked
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.ir.types import parse_type
from penstock.lang import compile_text
from penstock.local.line import Line
from penstock.local.local_state import restore_state, take_state
from penstock.reference import run
from penstock.runtime.savepoints.inside import describe_state, export_state, inside_of
from penstock.runtime.savepoints.program_changes import describe_program
from penstock.runtime.savepoints.savepoint_files import READABLE, Savepoint, read_savepoint, write_savepoint
from penstock.runtime.savepoints.state_tables import (
    columns_of_table,
    part_of_table,
    table_of_columns,
    tables_of_part,
)
from penstock.runtime.sinks.writer import SinkWriter, gather
from penstock.toolkit.core.program import Program

FIXTURES = {n: Path(__file__).parents[2] / f"fixtures/savepoints/format-{n}" for n in READABLE}
PROGRAM = """composite Main { graph
    stream<rstring k, int32 v, float64 x> A = Beacon() { param iterations: 60u; period: 0.5;
      output A: k = "key " + (rstring) (IterationCount() % 7ul), v = (int32) IterationCount(), x = 0.5; }
    stream<rstring k, int32 n> Counts = Aggregate(A) { window A: tumbling, count(4), partitioned; param partitionBy: k;
      output Counts: k = Any(k), n = Sum(v); }
    stream<rstring k, int32 n> Times = Aggregate(A) { window A: tumbling, time(2.0), partitioned; param partitionBy: k;
      output Times: k = Any(k), n = Sum(v); }
    stream<rstring k, int32 n> Seen = Custom(A as I) { logic state: mutable map<rstring, int32> seen;
      onTuple I: { if (!(k in seen)) seen[k] = 0; seen[k]++; submit({k = k, n = seen[k]}, Seen); } }
    stream<A> Sorted = Sort(A) { window A: tumbling, count(5); param sortBy: x, v; order: descending; }
    stream<rstring k, int32 a, int32 b> Met = Join(A; Counts) { window A: sliding, count(1); Counts: sliding, count(1);
      param equalityLHS: A.k; equalityRHS: Counts.k; output Met: k = A.k, a = A.v, b = Counts.n; }
    () as F1 = FileSink(Counts) { param file: "counts.csv"; }
    () as F2 = FileSink(Times) { param file: "times.csv"; }
    () as F3 = FileSink(Seen) { param file: "seen.csv"; }
    () as F4 = FileSink(Sorted) { param file: "sorted.csv"; }
    () as F5 = FileSink(Met) { param file: "met.csv"; }
}"""


class Run:
    """A program on the local engine, on some channels, that begins anew or goes on."""

    def __init__(self, program: Program, out: Path, channels: int, savepoint: Savepoint | None = None) -> None:
        out.mkdir(exist_ok=True)
        application = program.application
        self.program, environment = program, Environment(output_directory=out, data_directory=out)
        ids = [o.id for o in application.operators]
        self.plan = physical_plan(application, [ids], choose_channels(application, channels))
        self.pieces = build(program, self.plan).pieces
        self.line = Line(program, self.plan, self.pieces, environment)
        self.sinks = SinkWriter(program, self.plan, environment, {})
        self.batch = 0 if savepoint is None else savepoint.state.batch
        if savepoint is None:
            self.sinks.restore(None)
        else:
            restore_state(savepoint.state, self.plan, self.pieces, self.line, self.sinks)

    def take(self, batches: int, turns: int = 9) -> None:
        for _ in range(batches):
            batch = self.line.run_batch(turns)
            assert batch is not None
            with gather(batch.rows) as arrived:
                self.sinks.write(arrived, self.batch)
            self.batch += 1
            if batch.has_ended:
                break

    def savepoint(self) -> Savepoint:
        state = take_state(self.plan, self.pieces, self.line, self.sinks, self.batch)
        described = {"operators": describe_program(self.program.application)}
        return Savepoint(state=pickle.loads(pickle.dumps(state)), program=described)

    def close(self) -> None:
        self.line.close()
        self.sinks.close()


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".csv"}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A savepoint of a job on two channels, beside the files that it has written so far."""
    running = Run(compile_text(PROGRAM), tmp_path / "out", 2)
    running.take(3)
    write_savepoint(running.savepoint(), running.program.application, tmp_path / "saved")
    running.close()
    return tmp_path / "saved"


@pytest.mark.parametrize("place", [None, *FIXTURES.values()], ids=["just written", *map(str, FIXTURES)])
def test_a_job_goes_on_from_a_savepoint(place, saved, tmp_path):
    out = tmp_path / "out"
    if place is not None:
        shutil.rmtree(out)
        shutil.copytree(place / "out", out)
        saved = place / "saved"
    program = compile_text(PROGRAM)
    (tmp_path / "wanted").mkdir()
    run(program, environment=Environment(output_directory=tmp_path / "wanted", data_directory=tmp_path))
    running = Run(program, out, 3, read_savepoint(saved))
    running.take(100)
    running.close()
    assert files(out) == files(tmp_path / "wanted")


def test_what_a_savepoint_holds_is_shown_and_exported(saved, tmp_path):
    inside = inside_of(read_savepoint(saved))
    rows = {row["operator"]: row for row in describe_state(inside)}
    assert {name: rows[name]["keys"] for name in ("Counts", "Times", "Seen", "Sorted")} == {
        "Counts": 7,
        "Times": 7,
        "Seen": 7,
        "Sorted": 1,
    }
    assert rows["Seen"]["groups"] == 7
    assert rows["Seen"]["largest_group_keys"] == 1
    assert all(row["bytes"] > 0 for row in rows.values())
    ((path, keys),) = export_state(inside, tmp_path / "exported", ["Seen"])
    table_ = pq.read_table(path).to_pydict()
    assert (path.name, keys, sorted(table_["k"])) == ("Seen.parquet", 7, [f"key {i}" for i in range(7)])
    assert sum(json.loads(value) for value in table_["value"]) == 27
    with pytest.raises(UserError, match="there is no operator `Sen` with state"):
        list(export_state(inside, tmp_path / "exported", ["Sen"]))


@pytest.mark.parametrize("name", ["operators.parquet", "job.pickle", "operators/0-0.parquet"])
@pytest.mark.parametrize("how", ["removed", "cut", "changed"])
def test_damage_is_noticed(name, how, saved):
    path = saved / name
    content = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        path.write_bytes(content[:-1] if how == "cut" else content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(UserError, match="the savepoint is damaged"):
        read_savepoint(saved)


def test_other_folders_and_formats_are_refused(saved, tmp_path):
    with pytest.raises(UserError, match=r"is no savepoint: there is no `savepoint.json`"):
        read_savepoint(tmp_path)
    head = json.loads((saved / "savepoint.json").read_text())
    (saved / "savepoint.json").write_text(json.dumps({**head, "format": 99}))
    with pytest.raises(UserError, match="has format 99, this version of penstock reads up to 2"):
        read_savepoint(saved)
    with pytest.raises(UserError, match="is not empty"):
        write_savepoint(Savepoint(state=None), None, saved)


KEYS: list[tuple[str, list[Any]]] = [
    ("rstring", ["a", "", "ä\n"]),
    ("int64", [0, -(2**63), 2**63 - 1]),
    ("float64", [0.0, math.inf, -1.5]),
    ("boolean", [True, False]),
    ("timestamp", [1_500_000_000, 0]),
    ("list<int32>", [(1, 2), ()]),
    ("set<int32>", [frozenset({1, 2}), frozenset()]),
    ("decimal64", [Decimal("1.50"), Decimal("-2")]),
    ("optional<int32>", [None, 7]),
    ("tuple<int32 a, rstring b>", [(1, "x"), (2, "")]),
]


@pytest.mark.parametrize(("type_", "values"), KEYS, ids=[name for name, _ in KEYS])
def test_keys_of_any_type_come_back(type_, values, tmp_path):
    types = {"k": parse_type(type_)}
    part = (("k",), {(value,): {"seen": i} for i, value in enumerate(values)})
    pq.write_table(tables_of_part(part, ("k",), types, 720), tmp_path / "t.parquet")
    read = pq.read_table(tmp_path / "t.parquet")
    assert part_of_table(read, types) == part
    assert read.column("group").to_pylist() == sorted(read.column("group").to_pylist())


@pytest.mark.parametrize("count", [3, 0])
def test_columns_of_any_kind_come_back(count, tmp_path):
    objects = np.empty((3, 2), object)
    objects[:] = [["a", None], ["b", 1], [None, (2, 3)]]
    rows = {
        "": np.ones(3, bool),
        "whole": np.arange(3, dtype=np.uint8),
        "wide": np.arange(6.0).reshape(3, 2),
        "none": np.zeros((3, 0), np.int32),
        "objects": objects,
        "text": pa.array(["x", None, ""]),
        "bytes": pa.array([b"x", b"", b"\0"]),
        "lists": pa.array([[1], [], [2, 3]]),
    }
    rows = {name: column[:count] for name, column in rows.items()}
    known = table(["k"], [np.array([7, 8, 9])[:count]], rows)
    pq.write_table(table_of_columns(known, ("k",), {"k": parse_type("int64")}, 720), tmp_path / "t.parquet")
    back = columns_of_table(pq.read_table(tmp_path / "t.parquet"))
    assert back["names"] == ["k"]
    assert unpacked(back["keys"][0]).tolist() == [7, 8, 9][:count]
    for name, column in rows.items():
        found = unpacked(back["rows"][name])
        if isinstance(column, np.ndarray):
            assert (found.dtype, found.shape, found.tolist()) == (column.dtype, column.shape, column.tolist()), name
        else:
            assert found.equals(column), name
