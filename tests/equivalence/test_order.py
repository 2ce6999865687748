"""Order on channels: whatever is parallel, every sink receives what the sequential program gives it, in the same order.

The pipelines combine every state with every selectivity and with keys that are compatible, incompatible and absent. On
Spark all of them are one application, on 1, 2, 5 and 8 channels; in this process on the numbers between, and there are
random ones too.
"""

from __future__ import annotations

import runpy
from functools import cache
from pathlib import Path

import pytest
from pipelines import application, every_pair, few_regions, random_pipelines

from penstock.codegen.plan.physical import Route, physical_plan
from penstock.codegen.transport.batches import FINAL, PULSE, decode
from penstock.ir.models import State
from penstock.lang import compile_file
from penstock.parallel.extensions import BEYOND
from penstock.parallel.region_plan import Joint
from penstock.parallel.regions import parallel_regions
from penstock.toolkit.core.program import Program
from plan_runner import run_plan
from spark_session import environment, everything_fused, files, nothing_fused, run_reference, run_spark

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"


@cache
def all_pairs() -> tuple[Program, dict[str, bytes]]:
    program = few_regions()
    return program, run_reference(program, HERE)


def run_in_process(program: Program, out: Path, channels: int, *, fused: bool = True) -> dict[str, bytes]:
    fusion = (everything_fused if fused else nothing_fused)(program.application)
    plan = physical_plan(program.application, fusion, channels)
    assert plan.channels == channels
    run_plan(program, plan, environment(HERE, out), turns_per_batch=25)
    return files(out)


def differing(found: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    return sorted(name for name in found.keys() | wanted.keys() if found.get(name) != wanted.get(name))


def test_the_pipelines_are_every_combination():
    program, wanted = all_pairs()
    assert len(every_pair()) == len({*every_pair()}) == 117
    assert len(wanted) == 119
    assert all(len(content.splitlines()) > 5 for content in wanted.values())
    regions = parallel_regions(program.application, BEYOND).regions
    assert [(sorted(r.key), r.first_joint) for r in regions] == [
        (["k"], Joint.SPLIT),
        (["l"], Joint.SHUFFLE),
        (["k"], Joint.SPLIT),
    ]
    states = {program.application.operator[id_].model.state for r in regions for id_ in r.operators}
    assert states == {State.STATELESS, State.PARTITIONED}


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("channels", [1, 2, 5, 8])
def test_117_pipelines_keep_their_order_on_spark(channels):
    program, wanted = all_pairs()
    fusion = everything_fused(program.application)
    found, outcome = run_spark(program, HERE, fusion, turns_per_batch=25, channels=channels)
    assert outcome.batches > 1
    assert differing(found, wanted) == []


@pytest.mark.parametrize("channels", [3, 4, 6, 7])
def test_117_pipelines_keep_their_order_in_this_process(channels, tmp_path):
    program, wanted = all_pairs()
    assert differing(run_in_process(program, tmp_path, channels), wanted) == []


SLOW = """
import time

from penstock import OperatorModel, Selectivity, State, map_
from penstock.ir.models import Forwarding


@map_(model=OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE, forwarding=Forwarding.ALWAYS,
                          forwards=frozenset("klm")))
def Slow(t):
    if t.k == 1:
        time.sleep(0.02)
    return t
"""


@pytest.mark.xdist_group("spark")
def test_117_pipelines_keep_their_order_on_spark_if_one_channel_is_slow(tmp_path):
    package = f"slow_{tmp_path.name}"
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / package / "operators.py").write_text(SLOW)
    program = few_regions(first=f"{package}::Slow(IN) {{ }}", toolkits=[tmp_path])
    wanted = run_reference(program, HERE)
    found, _ = run_spark(program, HERE, everything_fused(program.application), turns_per_batch=25, channels=4)
    assert differing(found, wanted) == []


@pytest.mark.parametrize("seed", range(6))
def test_random_pipelines_keep_their_order_in_this_process(seed, tmp_path):
    program = application(list(random_pipelines(seed, 12)), meetings=["k", "l", "k"])
    found = run_in_process(program, tmp_path, seed + 2, fused=seed % 2 == 0)
    assert differing(found, run_reference(program, HERE)) == []


@pytest.mark.parametrize("fused", [True, False])
def test_groups_of_bargain_detection_in_which_streams_meet_keep_their_order(fused, tmp_path):
    generate = runpy.run_path(str(EXAMPLES / "bargains/generate.py"))["generate"]
    generate(tmp_path / "ticks.csv", ticks=1500, symbols=8, seed=2)
    program = compile_file(EXAMPLES / "bargains/bargains.spl")
    wanted = run_reference(program, tmp_path)
    plan = physical_plan(program.application, (everything_fused if fused else nothing_fused)(program.application), 3)
    assert {pe.channels for pe in plan.pes if any(id_.startswith("Group") for id_ in pe.operators)} == {3}
    (tmp_path / "out").mkdir()
    run_plan(program, plan, environment(tmp_path, tmp_path / "out"), turns_per_batch=400)
    assert files(tmp_path / "out") == wanted
    assert wanted["bargains.csv"].count(b"\n") > 10


def unordered(container, values):
    """The items of a batch as they came, ends behind all others."""
    streams = container.plan.application.streams
    edges = {e.index: streams[e.stream].schema for e in container.plan.into(container.pe)}
    items = [(edge, item) for edge, value in values if edge in edges for item in decode(value, edges[edge])]
    return [(e, i) for e, i in items if i.kind != FINAL and i.kind != PULSE]


def unmerged(runs):
    """The chunks of all runs of values, one run after the other."""
    return (value.chunk() for run in runs for value in run)


def test_without_the_merges_order_every_pipeline_on_channels_differs(tmp_path, monkeypatch):
    program, wanted = all_pairs()
    plan = physical_plan(program.application, everything_fused(program.application), 3)
    monkeypatch.setattr("penstock.runtime.pes.container_instance.in_order", unordered)
    monkeypatch.setattr("penstock.runtime.sinks.order._merged", unmerged)
    run_plan(program, plan, environment(HERE, tmp_path), turns_per_batch=1000)
    found = files(tmp_path)
    merged = {f"{e.stream}.csv" for e in plan.edges if e.senders > 1 and e.route is Route.ONE} & wanted.keys()
    assert len(merged) > 80
    assert merged <= set(differing(found, wanted))
    for name in merged:
        assert sorted(found[name].splitlines()) == sorted(wanted[name].splitlines())
