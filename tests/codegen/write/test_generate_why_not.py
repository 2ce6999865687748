"""PEs without a generated form: the reason is said, and the container runs them."""

from __future__ import annotations

import pytest
from pes import assert_same, inner_pe, plan_of, tuples

from feeding import feed, program
from penstock.codegen.build import build
from penstock.codegen.write.generate import generate


def reason(graph: str) -> object:
    made = program(f'{graph}\n() as Sink = FileSink(O) {{ param file: "o"; }}', A=feed("int32 n, float64 x", []))
    plan = plan_of(made)
    return generate(made, plan, inner_pe(plan))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("stream<A> O = Sort(A) { window A: sliding, count(3); param sortBy: n; }", "`O` (Sort) has no generated form"),
        (
            "stream<A> O = Aggregate(A) { window A: sliding, time(3.0); }",
            "`O` (Aggregate) has a window that slides by time",
        ),
        (
            "stream<A> O = Aggregate(A) { window A: tumbling, count(3); output O: n = CountDistinct(n); }",
            "`O` (Aggregate) calls `CountDistinct`, which has no kernel for its type",
        ),
        (
            "stream<A> O = Join(A as L; A as R) { window L: sliding, count(2); R: sliding, count(0);"
            " output O: n = L.n, x = R.x; }",
            "`O` (Join) joins with more than the last tuple",
        ),
        (
            "stream<A> O = Custom(A) { logic onTuple A: submit(A, O); onPunct A: submit(currentPunct(), O); }",
            "`O` (Custom) has code for punctuation",
        ),
        (
            "stream<A> O = Custom(A) { logic onTuple A: { submit(A, O); submit(Sys.WindowMarker, O); } }",
            "`O` (Custom) submits markers",
        ),
        ("@catch stream<A> O = Filter(A) {}", "`O` (Filter) sets tuples aside that it cannot process"),
        (
            "stream<A> O = Punctor(A) { param punctuate: random() < 0.5; position: after; }",
            "`O` (Punctor) has an effect, or asks for the time or for random numbers",
        ),
    ],
)
def test_what_has_no_generated_form_is_said(graph, expected):
    assert reason(graph) == expected


def test_a_loop_of_the_graph_is_left_to_the_container():
    assert "closes a loop" in str(
        reason(
            "stream<A> M = Union(A; F) {}\nstream<A> F = Filter(M) { param filter: n > 3; }\nstream<A> O = Filter(M) {}"
        )
    )


def test_a_build_has_a_module_or_a_reason_for_every_pe_inside(tmp_path):
    made = program(
        "stream<A> O = Filter(A) {}\nstream<A> P = Delay(O) { param delay: 1.0; }\n"
        '() as Sink = FileSink(P) { param file: "o"; }',
        A=feed("int32 n", []),
    )
    plan = plan_of(made, [["O"], ["P"]])
    built = build(made, plan)
    assert list(built.modules) == ["pe_1"]
    assert built.reasons == {2: "`P` (Delay) has no generated form"}
    (path,) = built.write(tmp_path / "build")
    assert path.name == "pe_1.py"
    assert path.read_text() == built.modules["pe_1"].text


def test_a_build_has_a_module_for_each_generated_piece_of_a_pe():
    made = program(
        "stream<A> O = Filter(A) {}\nstream<A> P = Delay(O) { param delay: 1.0; }\nstream<A> Q = Filter(P) {}\n"
        '() as Sink = FileSink(Q) { param file: "o"; }',
        A=feed("int32 n", []),
    )
    built = build(made, plan_of(made))
    assert list(built.modules) == ["pe_1_0", "pe_1_2"]
    assert built.reasons == {1: "`P` (Delay) has no generated form"}


def test_code_that_asks_for_the_time_or_for_random_numbers_has_it_in_a_loop():
    made = program(
        """stream<A, tuple<float64 r, timestamp at>> O = Functor(A) {
             output O: r = random(), at = getTimestamp(); }
           () as Sink = FileSink(O) { param file: "o"; }""",
        A=feed("int32 n", []),
    )
    plan = plan_of(made)
    batches = [[(0, item) for item in tuples([(1,), (2,), (3,)], start=start)] for start in (5, 9)]
    assert_same(made, plan, inner_pe(plan), batches)
