"""The functions that bring rows into a job and out of it, without Spark: what tasks do, one after the other."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import App, agg, col, count, tumbling
from penstock.compiler import CompiledJob, Options, compile
from penstock.expr.environment import Environment
from penstock.runtime.sources.outside_rows import source_pe
from penstock.spark.frames.decode_frames import OutputForm, decode_output
from penstock.spark.frames.encode_frames import (
    PARTITION,
    InputForm,
    encode_partition,
    number_packed,
    pack_partition,
    sort_rows,
)
from penstock.spark.sources.data_source import pickle_job
from penstock.spark.workers.instances import stateless_pe, whole_pe
from penstock.toolkit.frames.from_spark import inputs_of
from penstock.toolkit.frames.to_spark import outputs_of

TRADES = "rstring sym, float64 price, int64 n"
PACKED = pa.schema([("part", pa.int32()), ("piece", pa.int32()), ("source", pa.int32()), ("tuples", pa.binary())])
CLOSING = {"part": 0, "piece": 0, "source": -1, "tuples": b""}


def rows(number: int, seed: int) -> list[tuple[str, float, int]]:
    draw = random.Random(seed)
    return [(draw.choice("abc"), draw.randrange(1000) / 8, n) for n in range(number)]


def batch(given: list[Any], partition: int) -> pa.RecordBatch:
    columns = {name: [row[i] for row in given] for i, name in enumerate(("sym", "price", "n"))}
    return pa.record_batch({**columns, PARTITION: pa.array([partition] * len(given), pa.int32())})


def enter(job: CompiledJob, given: dict[str, list[Any]]) -> list[pa.RecordBatch]:
    """The rows of tables, each in three partitions, that come in any order."""
    plan, forms, packed = job.plan, [], [pa.RecordBatch.from_pylist([CLOSING], PACKED)]
    for name, operator in inputs_of(plan.application).items():
        source = source_pe(plan, plan.home[operator.id])
        forms.append(InputForm(source=source, operator=operator, ends=True))
        parts = [given[name][len(given[name]) * p // 3 : len(given[name]) * (p + 1) // 3] for p in range(3)]
        for number, part in reversed(list(enumerate(parts))):
            if part:
                packed += pack_partition(forms[-1], by_column=False)(iter([batch(part, number)]))
    return list(number_packed(tuple(forms))(iter(packed)))


def run(job: CompiledJob, arrived: list[pa.RecordBatch], program: Path) -> dict[str, list[tuple[Any, ...]]]:
    program.write_bytes(pickle_job(job.program, job.plan, Environment(), job.build))
    for pe in job.plan.pes:
        if pe.role in ("stateless", "stateful"):
            process = (stateless_pe if pe.role == "stateless" else whole_pe)(str(program), job.plan, pe.index)
            arrived = [left for rows in by_channel(arrived, pe.channels) for left in process(iter(rows))]
    return {name: leave(job, sink.id, arrived) for name, sink in outputs_of(job.plan.application).items()}


def by_channel(arrived: list[pa.RecordBatch], channels: int) -> list[list[pa.RecordBatch]]:
    if channels == 1:
        return [arrived]
    return [[b.filter(pa.compute.equal(b.column(1), c)) for b in arrived] for c in reversed(range(channels))]


def leave(job: CompiledJob, sink: str, arrived: list[pa.RecordBatch]) -> list[tuple[Any, ...]]:
    edges = [e for e in job.plan.edges if any(id_ == sink for id_, _ in e.subscribers)]
    schema = job.plan.application.streams[edges[0].stream].schema
    form = OutputForm(edges=frozenset(e.index for e in edges), schema=schema, comes_in_order=False)
    return [tuple(row.values()) for found in decode_output(form)(iter(arrived)) for row in found.to_pylist()]


def two_inputs() -> App:
    app = App()
    both = app.from_spark("left", TRADES).union(app.from_spark("right", TRADES)).named("Both")
    both.to_spark("both")
    sums = both.aggregate(tumbling(count(3)), by="sym", sym=agg.any(col.sym), total=agg.sum(col.n)).named("Sums")
    sums.to_spark("sums")
    return app


@pytest.mark.parametrize("sizes", [(40, 25), (0, 7), (0, 0), (100, 300)])
@pytest.mark.parametrize("channels", [1, 3])
def test_inputs_take_turns_as_the_sources_of_the_reference_do(
    sizes: tuple[int, int], channels: int, tmp_path: Path
) -> None:
    app, given = two_inputs(), {"left": rows(sizes[0], 1), "right": rows(sizes[1], 2)}
    job = compile(app.program(), Options(channels=channels, fusion="all"))
    found = run(job, enter(job, given), tmp_path / "program")
    for name, id_ in (("both", "Both"), ("sums", "Sums")):
        stream = next(s for s in app._streams if s.id == id_)
        assert found[name] == [tuple(row) for row in stream.collect(engine="reference", inputs=given)]


@pytest.mark.parametrize("together", [True, False])
def test_the_end_of_a_table_may_come_with_its_rows(together: bool, tmp_path: Path) -> None:
    app = App()
    trades = app.from_spark("trades", TRADES)
    trades.aggregate(tumbling(count(3)), total=agg.sum(col.n)).to_spark("sums")
    job = compile(app.program(), Options(channels=1, fusion="all"))
    (operator,) = inputs_of(job.plan.application).values()
    form = InputForm(source=source_pe(job.plan, job.plan.home[operator.id]), operator=operator, ends=True)
    given = batch(rows(7, 1), 0)
    end = pa.RecordBatch.from_pylist([{}], given.schema)
    tasks = [[pa.concat_batches([given, end])]] if together else [[given], [end]]
    arrived = [row for task in tasks for row in encode_partition(form)(iter(task))]
    assert run(job, arrived, tmp_path / "program")["sums"] == [(0 + 1 + 2,), (3 + 4 + 5,)]


def test_rows_are_sorted_as_spark_sorts_them() -> None:
    column = pa.array([2.0, float("nan"), None, -0.0, 0.0, 2.0])
    assert sort_rows(column).to_pylist() == [2, 3, 4, 0, 5, 1]
    assert sort_rows(pa.array(["b", None, "a", "b"])).to_pylist() == [1, 2, 0, 3]
