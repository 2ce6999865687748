"""Whole applications that are stopped between two items of their sources and wired anew."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from types import ModuleType

import pytest

from cutting import run_cut, run_whole
from feeding import feed
from feeding import program as program_of
from penstock.expr.environment import Clock, Environment
from penstock.lang import compile_file
from penstock.toolkit.core.program import Program
from toolkit.memory_cases import SCHEMA, random_items

EXAMPLES = Path(__file__).parents[3] / "examples"

TIMED = f"""
    stream<{SCHEMA}> Slow = Throttle(A) {{ param rate: 3.0; }}
    stream<{SCHEMA}> Let = Gate(Slow; Done) {{ param maxUnackedTupleCount: 2u; }}
    stream<{SCHEMA}> Late = Delay(Let) {{ param delay: 0.8; }}
    stream<{SCHEMA}> Done = Filter(Late) {{ param filter: true; }}
    stream<{SCHEMA}> Both = Join(Late; B) {{ window Late: sliding, time(2); B: sliding, count(3);
        param equalityLHS: Late.k; equalityRHS: B.k; output Both: k = Late.k, x = B.x, f = Late.f; }}
    stream<{SCHEMA}> Sorted = Sort(Both) {{ window Both: tumbling, time(1.5); param sortBy: x; }}
    stream<int32 k, int32 n> Counts = Aggregate(Sorted) {{ window Sorted: sliding, time(3), time(1), partitioned;
        param partitionBy: k; output Counts: k = Any(k), n = Count(); }}
    () as Sink = FileSink(Counts) {{ param file: "counts.csv"; }}
"""


def example(path: str) -> ModuleType:
    name = "memory_" + path.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def check(program: Program, data: Path, tmp_path: Path, seed: int, often: float, file: str) -> None:
    folders = [tmp_path / "whole", tmp_path / "cut"]

    def environment(folder: Path) -> Environment:
        folder.mkdir(exist_ok=True)
        return Environment(data_directory=data, output_directory=folder, clock=Clock())

    wanted = run_whole(program, environment(folders[0]))
    found = run_cut(program, lambda: environment(folders[1]), Random(seed), often)
    assert str(found.all_seen()) == str(wanted.all_seen())
    assert found.counts() == wanted.counts()
    assert (folders[1] / file).read_text() == (folders[0] / file).read_text() != ""


@pytest.mark.parametrize("seed", range(5))
def test_a_loop_with_delays_joins_and_windows(seed: int, tmp_path: Path):
    random = Random(seed)
    fed = {name: feed(SCHEMA, random_items(random, 120)) for name in "AB"}
    check(program_of(TIMED, **fed), tmp_path, tmp_path, seed, 0.3, "counts.csv")


@pytest.mark.parametrize("front_end", ["spl", "py"])
def test_bargains(front_end: str, tmp_path: Path):
    example("bargains/generate.py").generate(tmp_path / "ticks.csv", ticks=2_000, symbols=8, seed=3)
    path = EXAMPLES / f"bargains/bargains.{front_end}"
    program = compile_file(path) if front_end == "spl" else example("bargains/bargains.py").app().program()
    check(program, tmp_path, tmp_path, 1, 0.005, "bargains.csv")


def test_network_monitoring(tmp_path: Path):
    example("network_monitoring/generate.py").generate(tmp_path, seconds=20)
    program = compile_file(EXAMPLES / "network_monitoring/network_monitoring.spl")
    check(program, tmp_path, tmp_path, 2, 0.002, "suspects.csv")
