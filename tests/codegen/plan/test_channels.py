"""Which regions run on several channels, and which of them count as one."""

from __future__ import annotations

from pathlib import Path

from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import PhysicalPlan, Route, physical_plan
from penstock.ir.graph import Application
from penstock.lang import compile_file, compile_text

HEAD = "stream<int32 k, int32 x> A = Beacon() { param iterations: 5; }\n"
COUNT = "window {0}: tumbling, count(2), partitioned; param partitionBy: k; output {1}: k = Any(k), x = Sum(x);"


def fused(graph: str, channels: int | None = 3) -> PhysicalPlan:
    application = compile_text(f"composite Main {{ graph {HEAD}{graph} }}").application
    return physical_plan(application, [[o.id for o in application.operators]], channels)


def aggregate(name: str, of: str) -> str:
    return f"stream<int32 k, int32 x> {name} = Aggregate({of}) {{ {COUNT.format(of, name)} }}\n"


def sink(of: str) -> str:
    return f'() as Sink{of} = FileSink({of}) {{ param file: "{of}"; }}\n'


def test_regions_with_the_same_key_share_a_pe_and_a_stream_is_routed_once():
    plan = fused(aggregate("B", "A") + aggregate("C", "A") + sink("B") + sink("C"))
    assert [pe.operators for pe in plan.pes if pe.channels == 3] == [("B", "C")]
    assert [(e.stream, e.key) for e in plan.edges if e.route is Route.KEY] == [("A", ("k",))]


def test_a_region_that_sends_to_another_of_the_same_key_stays_apart():
    changed = "stream<int32 k, int32 x> F = Functor(B) { output F: k = k / 2; }\n"
    plan = fused(aggregate("B", "A") + changed + aggregate("C", "F") + sink("C"))
    home = {id_: pe.region for pe in plan.pes for id_ in pe.operators}
    assert home["B"] != home["C"]
    assert any(e.route is Route.KEY and e.consumer == plan.home["C"] for e in plan.edges)


def test_two_regions_that_fire_by_time_stay_apart():
    timed = [aggregate(n, "A").replace("count(2)", "time(1)") for n in "BC"]
    plan = fused("".join(timed) + sink("B") + sink("C"))
    assert [pe.operators for pe in plan.pes if pe.channels == 3] == [("B",), ("C",)]


def test_one_channel_makes_no_regions_and_annotations_make_them_without_a_number():
    graph = f"@parallel(width=4) {aggregate('B', 'A')}{sink('B')}"
    assert fused(graph, 1).channels == 1
    assert fused(graph, None).channels == 4
    assert choose_channels(fused(graph).application, None).width == {"R1": 4}


def test_a_partitioned_sink_runs_on_the_channels_of_its_region_and_the_others_in_the_driver():
    application = network_kernel()
    plan = physical_plan(application, [["Failures"], ["Summaries", "Suspects"]], 3)
    assert [(pe.operators, pe.role, pe.channels) for pe in plan.pes] == [
        (("Messages",), "source", 1),
        (("Failures",), "stateless", 3),
        (("Summaries", "Suspects"), "stateful", 3),
        (("Sink",), "stateful", 3),
    ]
    assert [(e.stream, e.route) for e in plan.edges] == [
        ("Messages", Route.KEY),
        ("Failures", Route.KEY),
        ("Suspects", Route.SAME),
    ]
    last = physical_plan(application, [["Failures"], ["Summaries", "Suspects"]]).pes[-1]
    assert (last.operators, last.role) == (("Sink",), "sink")


def network_kernel() -> Application:
    return compile_file(Path(__file__).parents[3] / "examples/network_monitoring/network_kernel.spl").application
