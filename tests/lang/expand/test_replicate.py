"""Copies for the channels of parallel regions: where they are made, and where one is as good as many."""

from __future__ import annotations

import io

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.parallel.regions import parallel_regions
from penstock.reference import run

NUMBERS = """composite Numbers(output O) { graph
  stream<int32 i> O = Beacon() { param iterations: 2; output O: i = (int32) IterationCount() + 10 * getChannel(); } }"""


def compile_graph(graph: str, before: str = NUMBERS) -> Application:
    return compile_text(f"{before}\ncomposite Main {{ graph {graph} }}").application


def printed(graph: str, before: str = NUMBERS, **values: list[str]) -> str:
    out = io.StringIO()
    program = compile_text(f"{before}\ncomposite Main {{ graph {graph} }}", compile_values=values)
    run(program, environment=Environment(stdout=out, submission_values=values))
    return out.getvalue()


PRINT = "() as P = Custom(T) { logic onTuple T: println(i); }"


def test_a_composite_with_a_source_gives_the_tuples_of_every_channel() -> None:
    graph = f"@parallel(width=2) stream<int32 i> T = Numbers() {{ }} {PRINT}"
    assert printed(graph) == "0\n10\n1\n11\n"
    app = compile_graph(graph)
    assert [o.id for o in app.operators] == ["T[0].O", "T[1].O", "P"]
    assert app.operator["P"].inputs[0].streams == ("T[0].O", "T[1].O")
    assert all(o.annotations == () for o in app.operators)


def test_an_annotated_source_is_replicated_too() -> None:
    source = "Beacon() { param iterations: 1; output T: i = getChannel() * 10 + getMaxChannels(); }"
    assert printed(f"@parallel(width=3) stream<int32 i> T = {source} {PRINT}") == "3\n13\n23\n"


@pytest.mark.parametrize("width", ["1", "4"])
def test_the_width_may_be_a_submission_time_value(width: str) -> None:
    graph = f'@parallel(width=(int32) getSubmissionTimeValue("w")) stream<int32 i> T = Numbers() {{ }} {PRINT}'
    assert len(printed(graph, w=[width]).splitlines()) == 2 * int(width)


def test_a_width_that_nobody_gave_makes_no_copies() -> None:
    graph = f'@parallel(width=(int32) getSubmissionTimeValue("w")) stream<int32 i> T = Numbers() {{ }} {PRINT}'
    assert [o.id for o in compile_graph(graph).operators] == ["T.O", "P"]


STATELESS = "composite Part(output O; input I) { graph stream<int32 i> O = Functor(I) { output O: i = i + 1; } }"
KEYED = """composite Part(output O; input I) { graph stream<int32 i> O = Aggregate(I) {
    window I: tumbling, count(2), partitioned; param partitionBy: i; output O: i = Sum(i); } }"""
COUNTS = """composite Part(output O; input I) { graph stream<int32 i> O = Custom(I) {
    logic state: mutable int32 n = 0; onTuple I: { n++; submit({i = n}, O); } } }"""
PRINTS = """composite Part(output O; input I) { graph stream<int32 i> O = Custom(I) {
    logic onTuple I: { println(i); submit(I, O); } } }"""
SOURCE = "stream<int32 i> N = Beacon() { param iterations: 4; output N: i = (int32) IterationCount(); }"


@pytest.mark.parametrize(
    ("part", "arguments", "copies"),
    [
        (STATELESS, "", False),
        (PRINTS, "", False),
        (KEYED, ", partitionBy=[{port=N, attributes=[i]}]", False),
        (KEYED, "", True),
        (COUNTS, "", True),
        (COUNTS, ", partitionBy=[{port=N, attributes=[i]}]", True),
    ],
)
def test_copies_are_made_where_one_means_something_else(part: str, arguments: str, copies: bool) -> None:
    app = compile_graph(f"{SOURCE} @parallel(width=2{arguments}) stream<int32 i> T = Part(N) {{ }}", part)
    assert ("T[1].O" in app.operator) is copies
    if not copies:
        assert [a.name for a in app.operator["T.O"].annotations] == ["parallel"]


def test_each_channel_counts_for_itself_and_tuples_go_round() -> None:
    assert printed(f"{SOURCE} @parallel(width=2) stream<int32 i> T = Part(N) {{ }} {PRINT}", COUNTS) == "1\n1\n2\n2\n"


def test_a_port_of_several_streams_is_dealt_out_as_one() -> None:
    other = SOURCE.replace("N", "M")
    app = compile_graph(f"{SOURCE} {other} @parallel(width=2) stream<int32 i> T = Part(N, M as Both) {{ }}", COUNTS)
    assert app.operator["T.Both"].inputs[0].streams == ("N", "M")
    assert app.operator["T[1].O"].inputs[0].streams == ("T.Both[1]",)


def test_an_operator_with_state_is_not_cut_up_by_an_annotation_of_its_own() -> None:
    custom = "Custom(N) { logic state: mutable int32 n = 0; onTuple N: { n++; submit({i = n}, T); } }"
    app = compile_graph(f"{SOURCE} @parallel(width=2) stream<int32 i> T = {custom} {PRINT}")
    assert "T" in app.operator
    assert len(parallel_regions(app).warnings) == 1


def test_settings_hold_for_every_copy() -> None:
    graph = """@parallel(width=2) stream<int32 i> T = Numbers() { config placement: partitionColocation("t"); }"""
    (constraint,) = compile_graph(graph).constraints
    assert constraint.operators == ("T[0].O", "T[1].O")


def test_mistakes_are_reported_once_and_not_for_every_copy() -> None:
    with pytest.raises(UserError) as caught:
        compile_graph("@parallel(width=3) stream<int32 i> T = Wrong() { }", NUMBERS.replace("Numbers", "Wrong") + "}")
    assert len(caught.value.diagnostics) == 1


COUNTING = """composite Counting(output O; input I, J) { graph
  stream<int32 i> O = Custom(I; J) { logic state: { mutable int32 n = 0; }
    onTuple I: { n++; submit({i = n}, O); } onTuple J: { n++; submit({i = 100 * n}, O); } } }"""
TWO = "stream<int32 i> A = Beacon() { param iterations: 2; } stream<int32 i> B = Beacon() { param iterations: 2; }"


def test_one_stream_on_two_ports_is_dealt_out_once() -> None:
    app = compile_graph(f"{TWO} @parallel(width=2) stream<int32 i> T = Counting(A; A) {{ }} {PRINT}", COUNTING)
    assert [o.id for o in app.operators] == ["A", "B", "T.A", "T[0].O", "T[1].O", "P"]
    assert [port.streams for port in app.operator["T[1].O"].inputs] == [("T.A[1]",), ("T.A[1]",)]


def test_ports_that_share_a_stream_and_are_not_alike_stay_on_one_channel() -> None:
    app = compile_graph(f"{TWO} @parallel(width=2) stream<int32 i> T = Counting(A, B; A) {{ }} {PRINT}", COUNTING)
    assert [o.id for o in app.operators] == ["A", "B", "T.O", "P"]
    assert len(parallel_regions(app).warnings) == 1


def test_an_operator_inside_may_have_the_name_of_a_stream_that_enters() -> None:
    inner = COUNTING.replace("stream<int32 i> O = Custom(I; J)", "stream<int32 i> O = Custom(A as I; J)").replace(
        "graph", "graph stream<int32 i> A = Functor(I) { }"
    )
    app = compile_graph(f"{TWO} @parallel(width=2) stream<int32 i> T = Counting(A; B) {{ }} {PRINT}", inner)
    assert [o.id for o in app.operators] == ["A", "B", "T.A_0", "T.B", "T[0].A", "T[0].O", "T[1].A", "T[1].O", "P"]
