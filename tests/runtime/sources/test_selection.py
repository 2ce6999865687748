"""Filters behind a source drop tuples where it is read, and nobody can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from penstock.codegen.plan.physical import physical_plan
from penstock.lang import compile_text
from penstock.profiler.sampling import Sampling
from penstock.runtime.sources import selection as source_selection
from penstock.runtime.sources.selection import Selection, selection
from spark_session import everything_fused, nothing_fused, run_reference, run_spark

pytestmark = pytest.mark.xdist_group("spark")

SOURCE = 'stream<int32 x, rstring s> In = FileSource() { param file: "in.csv"; }'
LARGE = "stream<In> Large = Filter(In) { param filter: x > 90; }"
SMALL = "stream<int32 x> Small = Functor(In) { param filter: x < 5; output Small: x = x + 1; }"
SINKS = """() as A = FileSink(Large) { param file: "large.csv"; }
    () as B = FileSink(Small) { param file: "small.csv"; }"""


def program(*invocations: str):
    return compile_text(f"composite Main {{ graph {SOURCE} {' '.join(invocations)} }}")


def chosen(*invocations: str, signals: Sampling | None = None) -> Selection | None:
    application = program(*invocations).application
    plan = replace(physical_plan(application, everything_fused(application)), signals=signals)
    return selection(plan, next(e for e in plan.edges if e.stream == "In"))


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch({"x": pa.array(values, pa.int32()), "s": [""] * len(values)})


def test_a_tuple_travels_if_one_of_those_behind_the_edge_wants_it():
    found = chosen(LARGE, SMALL, SINKS)
    assert found is not None
    wanted = found.wanted(batch(1, 50, 95, 60))
    assert wanted is not None
    assert wanted.tolist() == [True, False, True, False]
    assert found.told() == {"Large": [2], "Small": [2]}
    assert found.told() == {"Large": [0], "Small": [0]}


@pytest.mark.parametrize(
    "invocations",
    [
        [
            "stream<int32 n> All = Aggregate(In) { window In: tumbling, count(3); output All: n = Count(); }",
            '() as C = FileSink(All) { param file: "all"; }',
            *(LARGE, SMALL, SINKS),
        ],
        ['stream<In> Large = Filter(In) {} () as A = FileSink(Large) { param file: "a"; }'],
        ['stream<In> L = Filter(In) { param filter: 7 / x > 1; } () as A = FileSink(L) { param file: "a"; }'],
        ['stream<In> L = Filter(In) { param filter: length(s) > 1; } () as A = FileSink(L) { param file: "a"; }'],
        [
            "stream<In> L = Filter(In) { param filter: (int32) (x * 1.5) > 1; }",
            '() as A = FileSink(L) { param file: "a"; }',
        ],
        [
            "(stream<In> L; stream<In> Rest) = Filter(In) { param filter: x > 1; }",
            '() as A = FileSink(L) { param file: "a"; } () as B = FileSink(Rest) { param file: "b"; }',
        ],
    ],
)
def test_where_somebody_takes_all_or_may_fail_everything_travels(invocations):
    assert chosen(*invocations) is None


def test_a_profiled_job_sees_every_tuple():
    assert chosen(LARGE, SMALL, SINKS, signals=Sampling()) is None


def test_a_selection_that_drops_next_to_nothing_gives_up(monkeypatch):
    monkeypatch.setattr(source_selection, "_ENOUGH_SEEN", 20)
    found = chosen(LARGE, '() as A = FileSink(Large) { param file: "a"; }')
    assert found is not None
    assert np.count_nonzero(found.wanted(batch(50, *[99] * 19))) == 19
    assert found.wanted(batch(1, 2, 3)) is None


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("fusion", [everything_fused, nothing_fused])
def test_sinks_and_counts_are_those_of_the_reference(tmp_path: Path, channels, fusion):
    rows = "".join(f"{(7 * i) % 100},{'ab'[i % 2]}\n" for i in range(2_000))
    (tmp_path / "in.csv").write_text(rows)
    made = program(LARGE, SMALL, SINKS)
    found, outcome = run_spark(made, tmp_path, fusion(made.application), turns_per_batch=500, channels=channels)
    assert found == run_reference(made, tmp_path)
    assert outcome.totals.received["Large"] == [2_000] == outcome.totals.received["Small"]
    assert outcome.totals.submitted["In"] == [2_000]
