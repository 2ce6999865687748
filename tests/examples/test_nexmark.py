"""Nexmark: the generator has the published proportions, and every query gives the answer of DuckDB."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from equivalence.test_keyed_operators import draw_fusion
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from plan_runner import run_plan

FOLDER = Path(__file__).parents[2] / "examples" / "nexmark"
EVENTS, RATE, DISORDER = 4000, 100, 60
NAMES = [f"q{i}" for i in range(23)]


@pytest.fixture(scope="module")
def nexmark():
    """The modules of the example, which import each other."""
    sys.path.insert(0, str(FOLDER))
    try:
        yield {name: importlib.import_module(name) for name in ("generate", "nexmark", "answers")}
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("generate", "nexmark", "answers", "classes"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def data(nexmark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("nexmark")
    nexmark["generate"].generate(folder / "events.parquet", EVENTS, rate=RATE, disorder=DISORDER, seed=5)
    return folder


@pytest.fixture(scope="module")
def wanted(nexmark, data):
    return nexmark["answers"].answers_by_sql(data / "events.parquet")


@pytest.mark.parametrize("name", NAMES)
def test_a_query_gives_the_answer_of_duckdb_on_one_channel_and_on_three(name, nexmark, data, wanted, tmp_path):
    program = nexmark["nexmark"].application(name).program()
    files = []
    for channels, turns in ((1, 5000), (3, 700)):
        out = tmp_path / str(channels)
        out.mkdir()
        fusion = draw_fusion(Random(channels), program.application)
        plan = physical_plan(program.application, fusion, channels)
        run_plan(program, plan, Environment(data_directory=data, output_directory=out), turns_per_batch=turns)
        files.append((out / f"{name}.csv").read_bytes())
    assert files[0] == files[1]
    found = nexmark["answers"].read_answer(name, tmp_path / "3" / f"{name}.csv")
    assert found == wanted[name]
    assert found


def test_people_auctions_and_bids_come_as_one_three_and_forty_six(data):
    kinds = pq.read_table(data / "events.parquet", columns=["kind"])["kind"]
    counts = {entry["values"]: entry["counts"] for entry in pc.value_counts(kinds).to_pylist()}
    assert counts == {0: EVENTS // 50, 1: 3 * EVENTS // 50, 2: 46 * EVENTS // 50}


def test_hot_auctions_sellers_and_bidders_have_their_shares(nexmark):
    events = nexmark["generate"].draw_events(200_000, seed=3).to_pandas()
    bids, auctions = events[events["kind"] == 2], events[events["kind"] == 1]
    assert abs((bids["auction"] % 100 == 0).mean() - 0.5) < 0.01, "every other bid is for a hot auction"
    assert abs((bids["person"] % 100 == 1).mean() - 0.75) < 0.02, "a hot bidder is behind a multiple of 100"
    assert abs((auctions["person"] % 100 == 0).mean() - 0.75) < 0.02
    assert bids["price"].between(100, 10**8).all()
    assert (auctions["expires"] > auctions["ts"]).all()


def test_the_same_seed_gives_the_same_events_and_disorder_only_their_order(nexmark):
    draw = nexmark["generate"].draw_events
    assert draw(3000, seed=9).equals(draw(3000, seed=9))
    assert not draw(3000, seed=9).equals(draw(3000, seed=8))
    mixed = draw(3000, seed=9, disorder=100)
    assert not pc.all(pc.less_equal(mixed["ts"][:-1], mixed["ts"][1:])).as_py()
    keys = [("ts", "ascending"), ("person", "ascending"), ("auction", "ascending"), ("price", "ascending")]
    assert mixed.sort_by(keys).equals(draw(3000, seed=9).sort_by(keys))
