"""Groups are cut at the boundaries of regions, and only as far as PEs would form a cycle otherwise."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from pathlib import Path

import networkx as nx
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import feed, program
from penstock.codegen.plan.channels import Channels
from penstock.codegen.plan.physical import PhysicalPlan, Route, physical_plan
from penstock.codegen.plan.region_cuts import _levels, cut_at_regions
from penstock.expr.environment import Environment
from penstock.ir.graph import Application, InputPort, Operator, OutputPort
from penstock.ir.types import parse_schema
from penstock.lang import compile_file
from penstock.reference import run
from penstock.toolkit.core.program import Program
from plan_runner import run_plan

SCHEMA = parse_schema("int32 x")
BARGAINS = Path(__file__).parents[3] / "examples/bargains/bargains.spl"


def keyed(name: str, of: str) -> str:
    return f"""stream<int32 k, int32 x> {name} = Aggregate({of}) {{
        window {of}: sliding, count(2), partitioned; param partitionBy: k;
        output {name}: k = Any(k), x = Sum(x); }}\n"""


def sequential(name: str, of: str, *more: str) -> str:
    return f"""stream<int32 k, int32 x> {name} = Aggregate({", ".join((of, *more))}) {{
        window {of}: sliding, count(3); output {name}: k = Last(k) * 2 % 5, x = Sum(x); }}\n"""


def sink(of: str) -> str:
    return f'() as Sink{of} = FileSink({of}) {{ param file: "{of}.csv"; }}\n'


def made(graph: str) -> Program:
    return program(graph, A=feed("int32 k, int32 x", [(i * 7 % 5, i) for i in range(40)]))


def fused(source: Program, channels: int = 2) -> PhysicalPlan:
    return physical_plan(source.application, [[o.id for o in source.application.operators]], channels)


def inner(plan: PhysicalPlan) -> list[tuple[str, ...]]:
    return [pe.operators for pe in plan.pes if pe.role not in ("source", "sink")]


def assert_means_the_same(source: Program, plan: PhysicalPlan, folder: Path) -> None:
    found = []
    for name in ("whole", "cut"):
        (folder / name).mkdir()
        surroundings = Environment(data_directory=folder, output_directory=folder / name)
        if name == "whole":
            run(source, environment=surroundings)
        else:
            run_plan(source, plan, surroundings, turns_per_batch=7)
        found.append({path.name: path.read_text() for path in (folder / name).iterdir()})
    assert found[0] == found[1]
    assert any(found[0].values())


def test_what_stands_before_a_region_and_behind_it_shares_a_pe_if_nothing_leads_through_it():
    application = compile_file(BARGAINS).application
    plan = physical_plan(application, [[o.id for o in application.operators]], 2)
    assert [pe.operators for pe in plan.pes if pe.region is None] == [("Ticks",), ("Market", "Report"), ("Sink",)]
    assert len(plan.pes) == 4


def test_what_leads_through_a_region_and_behind_it_stays_in_two_pes(tmp_path):
    source = made(sequential("B", "A") + keyed("C", "B") + sequential("D", "C", "A") + sink("D"))
    assert inner(fused(source)) == [("B",), ("C",), ("D",)]
    assert_means_the_same(source, fused(source), tmp_path)


def test_of_three_levels_those_are_united_that_close_no_cycle(tmp_path):
    source = made(
        sequential("B", "A")
        + keyed("C", "B")
        + sequential("D", "C")
        + keyed("E", "A")
        + sequential("F", "E", "A")
        + sink("D")
        + sink("F")
    )
    plan = fused(source)
    assert [pe.operators for pe in plan.pes if pe.region is None and pe.role == "stateful"] == [("B",), ("D", "F")]
    assert_means_the_same(source, plan, tmp_path)


def test_two_levels_of_one_region_share_a_pe_and_each_stream_is_routed_by_its_key(tmp_path):
    source = made(keyed("B", "A") + sequential("C", "A") + keyed("D", "C") + sink("B") + sink("D"))
    plan = fused(source)
    assert [pe.operators for pe in plan.pes if pe.channels == 2] == [("B", "D")]
    assert [(e.stream, e.route) for e in plan.into(plan.home["D"])] == [("A", Route.KEY), ("C", Route.KEY)]
    assert_means_the_same(source, plan, tmp_path)


def test_a_region_between_two_levels_of_another_keeps_them_apart(tmp_path):
    source = made(keyed("B", "A") + sequential("C", "B") + keyed("D", "C") + sink("D"))
    assert inner(fused(source)) == [("B",), ("C",), ("D",)]
    assert_means_the_same(source, fused(source), tmp_path)


def test_a_loop_stays_in_one_pe_though_a_region_leads_to_one_of_its_operators():
    gate = "stream<A> L = Gate(A; M) { param maxUnackedTupleCount: 1u; numTuplesToAck: 1u; }\n"
    plan = fused(made(keyed("R", "A") + gate + sequential("M", "L", "R") + sink("M")))
    assert inner(plan) == [("R",), ("L", "M")]


@st.composite
def cuts(draw: st.DrawFn) -> tuple[Application, list[list[str]], Channels]:
    """Any graph without loops, with any groups and regions."""
    count = draw(st.integers(1, 9))
    ids = [f"o{i}" for i in range(count)]
    operators = []
    for i, id_ in enumerate(ids):
        before = draw(st.sets(st.sampled_from(ids[:i]), max_size=3)) if i else set()
        port = InputPort(streams=tuple(sorted(before)), schema=SCHEMA)
        outputs = (OutputPort(stream=id_, schema=SCHEMA),)
        operators.append(Operator(id=id_, kind="Functor", inputs=(port,), outputs=outputs))
    group = [draw(st.integers(0, 1)) for _ in ids]
    regions = {id_: draw(st.sampled_from(["", "", "R", "S"])) for id_ in ids}
    found = [[id_ for id_, g in zip(ids, group, strict=True) if g == number] for number in (0, 1)]
    chosen = Channels(region={id_: region for id_, region in regions.items() if region})
    return Application(name="Any", operators=tuple(operators)), found, chosen


@given(cuts())
def test_no_part_spans_a_boundary_and_no_two_could_be_united(drawn):
    application, groups, channels = drawn
    parts = cut_at_regions(application, groups, channels)
    assert sorted(id_ for part in parts for id_ in part) == sorted(o.id for o in application.operators)
    place = {id_: (number, channels.region.get(id_)) for number, group in enumerate(groups) for id_ in group}
    assert all(len({place[id_] for id_ in part}) == 1 for part in parts) or not channels.region
    if not channels.region or has_cycle(application, parts):
        return
    for one, other in combinations(parts, 2):
        if place[one[0]] == place[other[0]]:
            kept = [part for part in parts if part not in (one, other)]
            assert has_cycle(application, [*kept, one + other]), (one, other)


@given(cuts())
def test_one_group_is_never_cut_into_a_cycle(drawn):
    application, groups, channels = drawn
    whole = [[id_ for group in groups for id_ in group]]
    assert not has_cycle(application, cut_at_regions(application, whole, channels))


def has_cycle(application: Application, parts: list[tuple[str, ...]]) -> bool:
    home = {id_: number for number, part in enumerate(parts) for id_ in part}
    edges = {(home[a], home[b]) for a, b, _, _ in application.edges() if home[a] != home[b]}
    return not nx.is_directed_acyclic_graph(nx.DiGraph(edges))


@cache
def _bargains() -> Application:
    return compile_file(BARGAINS).application


@given(st.data())
@settings(max_examples=60)
def test_the_pes_of_a_plan_give_the_plan_again(data):
    application = _bargains()
    inner = [o.id for o in application.operators if o.inputs and o.outputs]
    # Runs of operators that were declared one after the other form no cycle.
    places = sorted(data.draw(st.lists(st.integers(0, 3), min_size=len(inner), max_size=len(inner))))
    runs = [[id_ for id_, place in zip(inner, places, strict=True) if place == n] for n in range(4)]
    plan = physical_plan(application, data.draw(st.permutations(runs)), 2)
    assert physical_plan(application, [pe.operators for pe in plan.pes], 2).pes == plan.pes


def test_a_loop_through_several_regions_has_one_level():
    def operator(id_: str, *inputs: str, feedback: tuple[str, ...] = ()) -> Operator:
        port = InputPort(streams=(*inputs, *feedback), schema=SCHEMA, feedback=frozenset(feedback))
        return Operator(id=id_, kind="Functor", inputs=(port,), outputs=(OutputPort(stream=id_, schema=SCHEMA),))

    source = Operator(id="S", kind="Beacon", outputs=(OutputPort(stream="S", schema=SCHEMA),))
    application = Application(
        name="Main", operators=(source, operator("A", "S", feedback=("C",)), operator("B", "A"), operator("C", "B"))
    )
    channels = Channels(region={"A": "one", "B": "two", "C": "one"})
    assert _levels(application, channels) == {"S": 0, "A": 1, "B": 1, "C": 1}
    assert sorted(cut_at_regions(application, [("A", "B", "C")], channels)) == [("A", "C"), ("B",)]
