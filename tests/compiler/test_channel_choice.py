"""`--channels auto`: as many channels as the model sees a gain in, and no more."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from optimizer_settings import setting

from penstock.base.diagnostics import UserError
from penstock.compiler import Options, compile
from penstock.compiler.channel_choice import fewest_channels
from penstock.lang import compile_text
from penstock.model import equal_hosts
from penstock.spark.checkpoint.plan_record import claim

HEAVY = """
composite Main {
  graph
    stream<int32 a, float64 b> In = Beacon() { param iterations: 10; }
    stream<In> Work = Functor(In) { output Work: b = b + 1.0; }
    () as Out = FileSink(Work) { param file: "out"; }
}
"""


def channels(work_us: float, cores: int) -> int:
    costs = {"In": 0.01, "Work": work_us}
    made = setting(compile_text(HEAVY).application, costs, hosts=equal_hosts(1, cores=cores), batch_tuples=2_000.0)
    return fewest_channels(made, cores)


def test_heavy_work_gets_a_channel_for_every_core():
    assert channels(5000.0, 4) == 4


def test_light_work_stays_on_one_channel():
    assert channels(0.01, 4) == 1


KEYED = """
composite Main {
  graph
    stream<int32 a, float64 b> In = Beacon() { param iterations: 10; }
    stream<In> Sums = Aggregate(In) { window In: tumbling, count(3), partitioned; param partitionBy: a;
      output Sums: a = Any(a), b = Sum(b); }
    () as Out = FileSink(Sums) { param file: "out"; }
}
"""
ODD = tuple(Random(1).randrange(3) for _ in range(12))
TWELVE = Options(fusion="all", channels=3, key_groups=12)


@pytest.mark.parametrize("name", ["R1", "Sums"])
def test_a_table_of_key_groups_may_be_any_and_goes_by_region_or_operator(name):
    job = compile(compile_text(KEYED), replace(TWELVE, tables={name: ODD}))
    assert job.plan.tables == {"R1": ODD}
    assert {edge.table for edge in job.plan.edges if edge.key} == {ODD}


def test_the_table_of_a_checkpoint_stays_as_long_as_there_are_as_many_channels(tmp_path):
    program = compile_text(KEYED)
    claim(tmp_path, compile(program, replace(TWELVE, tables={"Sums": ODD})).plan)
    resumed = replace(TWELVE, checkpoint=tmp_path)
    assert compile(program, resumed).plan.tables == {"R1": ODD}
    assert compile(program, replace(resumed, channels=None, fusion="auto")).plan.tables == {"R1": ODD}
    assert compile(program, replace(resumed, channels=2)).plan.tables == {"R1": (0,) * 6 + (1,) * 6}
    assert compile(program, replace(resumed, tables={"Sums": ODD[::-1]})).plan.tables == {"R1": ODD[::-1]}
    assert compile(program, replace(resumed, tables={})).plan.tables == {"R1": (0,) * 4 + (1,) * 4 + (2,) * 4}


def test_a_table_for_one_region_leaves_that_of_another_as_it_was(tmp_path):
    two = KEYED.replace(
        "() as Out",
        """stream<In> Highs = Aggregate(In) { window In: tumbling, count(3), partitioned;
      param partitionBy: b; output Highs: a = Max(a), b = Any(b); }
    () as More = FileSink(Highs) { param file: "more"; }
    () as Out""",
    )
    program = compile_text(two)
    claim(tmp_path, compile(program, replace(TWELVE, tables={"Sums": ODD, "Highs": ODD})).plan)
    resumed = replace(TWELVE, checkpoint=tmp_path)
    tables = compile(program, replace(resumed, tables={"Highs": ODD[::-1]})).plan.tables
    assert sorted(tables.values()) == sorted([ODD, ODD[::-1]])


def test_a_table_that_does_not_fit_is_refused():
    program = compile_text(KEYED)
    with pytest.raises(
        UserError, match="the table of `Sums`: key group 2 goes to channel 3, and there are channels 0 to"
    ):
        compile(program, replace(TWELVE, tables={"Sums": [0, 1, 3, *ODD[3:]]}))
    with pytest.raises(UserError, match="`Out` has no table of key groups") as caught:
        compile(program, replace(TWELVE, tables={"Out": ODD}))
    assert "there are tables for `R1`, `Sums`" in str(caught.value)
