"""What the experiments on Spark stand on: their input, what they compare, and what they measure."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

from penstock.base.diagnostics import UserError
from penstock.base.process_tree import family
from penstock.bench.crashes import expected
from penstock.bench.crossings import heavy_operators, light_operators
from penstock.bench.keyed_state import count_and_sum
from penstock.bench.measure.processes import peak_memory
from penstock.bench.vs_handwritten import same_bargains, same_suspects
from penstock.bench.workloads.crashing_job import FUSION, program
from penstock.bench.workloads.spark_data import keyed_rows, log_lines, ticks, write_csv, write_slices
from penstock.codegen.plan.physical import physical_plan


def test_slices_hold_the_rows_of_the_file_in_the_order_of_their_times(tmp_path):
    table = ticks(1_000, symbols=20)
    write_csv(table, tmp_path / "ticks.csv")
    write_slices(table, tmp_path / "slices", 3)
    slices = sorted((tmp_path / "slices").iterdir(), key=lambda path: path.stat().st_mtime)
    assert b"".join(path.read_bytes() for path in slices) == (tmp_path / "ticks.csv").read_bytes()


def test_input_is_the_same_for_the_same_seed_and_another_for_another():
    for make in (
        lambda seed: ticks(50, 5, seed),
        lambda seed: log_lines(50, 5, seed),
        lambda seed: keyed_rows(50, 5, seed),
    ):
        assert make(1).equals(make(1))
        assert not make(1).equals(make(2))


def test_every_user_has_a_line_at_the_very_beginning():
    first = log_lines(100, users=10)["line"].to_pylist()[:13]
    assert [line.split()[0] for line in first] == ["0"] * 13
    assert len({line.split()[1] for line in first}) == 13


def write(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_bargains_are_compared_in_order_and_up_to_rounding(tmp_path):
    ours = write(tmp_path / "a", '"IBM",1.5,2', '"HPQ",3,4')
    same_bargains(ours, write(tmp_path / "b", "IBM,1.5,2.0000000000001", "HPQ,3.0,4.0"))
    with pytest.raises(UserError, match="or others"):
        same_bargains(ours, write(tmp_path / "b", "HPQ,3.0,4.0", "IBM,1.5,2.0"))
    with pytest.raises(UserError, match="other values"):
        same_bargains(ours, write(tmp_path / "b", "IBM,1.5,2.1", "HPQ,3.0,4.0"))


def test_suspects_are_compared_as_a_multiset(tmp_path):
    ours = write(tmp_path / "a", "7,120", "7,120", "9,101")
    same_suspects(ours, write(tmp_path / "b", "9,101", "7,120", "7,120"))
    with pytest.raises(UserError, match="1 suspects only by penstock, 0 only by hand"):
        same_suspects(ours, write(tmp_path / "b", "9,101", "7,120"))


def test_the_programs_have_the_pes_that_the_experiments_speak_of():
    light = light_operators(16, 10).application
    assert [pe.role for pe in physical_plan(light, [[o.id] for o in light.operators]).pes].count("stateless") == 16
    heavy = physical_plan(heavy_operators(10).application, [["Numbers"], ["First"], ["Second", "Few"], ["Sink"]])
    assert [pe.role for pe in heavy.pes] == ["source", "stateless", "stateless", "sink"]
    crashing = physical_plan(program().application, (*FUSION, ("Sums", "Counts", "Joined")), 2)
    assert [pe.role for pe in crashing.pes] == ["source", "stateful", "stateful", "sink"]
    assert len(count_and_sum(5).application.operators) == 3


def test_the_crashing_job_gives_every_sink_something():
    assert all(expected().values())


def test_the_family_of_a_process_is_what_it_has_started():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert {os.getpid(), child.pid} <= set(family())
        assert os.getpid() not in family(child.pid)
        child.communicate(b"\n")


def test_memory_grows_with_use():
    with peak_memory(every_seconds=0.01) as peak:
        kept = pa.array(range(3_000_000)).to_pylist()
    assert peak["driver"] > 50
    assert len(kept) == 3_000_000
