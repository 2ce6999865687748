"""Runs: counts, limits, errors, several applications, deep graphs, interruption."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from feeding import FINAL, WINDOW, Feed, after, feed, numbers, program, run_graph
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Application, Assignment, InputPort, Operator, OutputPort
from penstock.ir.types import INT32, parse_schema
from penstock.reference import OperatorFailed, StopReason, run
from penstock.toolkit.core.program import Program

ENDLESS = "stream<int32 x> A = Beacon() { param period: 0.5; output A: x = (int32) IterationCount(); }"


def test_tuples_are_counted_for_every_port():
    graph = """
        stream<int32 x> C = Functor(A, B) { param filter: x % 2 == 0; }
        (stream<int32 x> D; stream<int32 x> E) = Filter(C) { param filter: x == 0; }
        stream<int32 x> F = Union(A; D) {}"""
    result = run_graph(graph, A=numbers(3), B=numbers(5))
    assert result.received == {"C": (8,), "D": (5,), "F": (3, 2)}
    assert result.submitted == {"A": (3,), "B": (5,), "C": (5,), "D": (2, 3), "F": (5,)}
    assert result.tuples == 18
    assert result.stopped is StopReason.DONE


def test_collected_streams_hold_tuples_and_punctuation_in_order():
    result = run_graph("", collect=["A"], A=feed("int32 x", [(1,), WINDOW, (2,)]))
    assert result.collected["A"] == [(1,), WINDOW, (2,), FINAL]
    assert result.tuples_of("A") == [(1,), (2,)]


def test_collecting_a_stream_that_is_not_there_is_explained():
    with pytest.raises(UserError, match="there is no stream `Aa`; did you mean `A`"):
        run_graph("", collect=["Aa"], A=numbers(1))


def test_an_endless_source_stops_when_its_time_is_over():
    result = run_graph(ENDLESS, collect=["A"], max_time_ns=2_000_000_000)
    assert (len(result.tuples_of("A")), result.stopped) == (5, StopReason.TIME)
    assert result.collected["A"][-1] is FINAL
    assert result.end_time_ns == 2_000_000_000


def test_an_endless_source_stops_after_a_number_of_tuples():
    result = run_graph(ENDLESS, collect=["A"], max_tuples=7)
    assert (len(result.tuples_of("A")), result.stopped) == (7, StopReason.TUPLES)


def test_an_endless_on_process_loop_stops_too():
    graph = """stream<int32 x> A = Custom() {
        logic onProcess: { mutable int32 i = 0; while (true) { submit({x = i++}, A); } } }"""
    result = run_graph(graph, collect=["A"], max_tuples=4)
    assert result.tuples_of("A") == [(0,), (1,), (2,), (3,)]


def test_a_limit_beyond_the_end_changes_nothing():
    result = run_graph("", A=numbers(3), max_tuples=50, max_time_ns=10**12)
    assert result.stopped is StopReason.DONE


def test_what_is_held_back_leaves_when_a_limit_is_reached():
    graph = ENDLESS + " stream<int32 x> B = Delay(A) { param delay: 100.0; }"
    result = run_graph(graph, collect=["B"], max_tuples=3)
    assert result.tuples_of("B") == [(0,), (1,), (2,)]


def test_a_failure_names_the_operator_the_tuple_and_the_cause():
    graph = "stream<int32 y> B = Functor(A) { output B: y = 10 / x; }"
    with pytest.raises(OperatorFailed) as failure:
        run_graph(graph, A=feed("int32 x, rstring s", [(0, "why")]))
    assert 'operator `B` (Functor) failed on {x=0,s="why"}: division by zero' in str(failure.value)
    assert (failure.value.operator, failure.value.reason) == ("B", "division by zero")
    assert failure.value.exit_status == 1


def test_a_tuple_that_fails_is_set_aside_where_errors_are_caught():
    graph = "@catch(exception=all) stream<int32 y> B = Functor(A) { output B: y = 10 / x; }"
    result = run_graph(graph, collect=["B"], A=feed("int32 x", [(5,), (0,), (2,), (0,)]))
    assert result.tuples_of("B") == [(2,), (5,)]
    (letter, _) = result.dead_letters
    assert (letter.operator, letter.reason, letter.record) == ("B", "division by zero", "{x=0}")
    assert result.rejected == {"B": 2}


def test_an_operator_does_not_catch_what_fails_behind_it():
    graph = """@catch(exception=all) stream<int32 x> B = Functor(A) {}
        stream<int32 y> C = Functor(B) { output C: y = 10 / x; }"""
    with pytest.raises(OperatorFailed, match="operator `C`"):
        run_graph(graph, A=numbers(1))


def test_a_failing_timer_names_its_operator():
    graph = """stream<int32 n> B = Aggregate(A) { window A: tumbling, time(1); output B: n = 1 / (Count() - 1); }"""
    with pytest.raises(OperatorFailed, match="operator `B` \\(Aggregate\\) failed: division by zero"):
        run_graph(graph, A=feed("int32 x", [(1,), after(2), (2,)]))


def test_a_failing_source_names_itself():
    graph = """stream<int32 x> A = Beacon() { param iterations: 3u; output A: x = 1 / (int32) IterationCount(); }"""
    with pytest.raises(OperatorFailed, match="operator `A` \\(Beacon\\) failed: division by zero"):
        run_graph(graph)


def exporter(main: str, param: str, fed: Feed) -> Program:
    return program(f"() as E = Export(A) {{ param {param}; }}", main=main, A=fed)


def importer(main: str, param: str) -> Program:
    return program(f"stream<int32 x> I = Import() {{ param {param}; }} stream<int32 x> F = Functor(I) {{}}", main=main)


def test_an_exported_stream_reaches_every_importer():
    programs = [
        importer("One", 'streamId: "s"'),
        exporter("Out", 'streamId: "s"', feed("int32 x", [(1,), WINDOW, (2,)])),
        importer("Two", 'applicationName: "Out"; streamId: "s"'),
        importer("Other", 'streamId: "t"'),
    ]
    result = run(programs, collect=["One.F", "Two.F", "Other.F"])
    assert result.collected["One.F"] == result.collected["Two.F"] == [(1,), WINDOW, (2,), FINAL]
    assert result.collected["Other.F"] == [FINAL]
    assert result.received["Out.E"] == (2,)


def test_a_subscription_takes_the_streams_whose_properties_fit():
    programs = [
        exporter("A", 'properties: {kind = "trade", level = 1}', numbers(2)),
        exporter("B", 'properties: {kind = "trade", level = 7}', numbers(2, start=10)),
        exporter("C", 'properties: {kind = "quote", level = 9}', numbers(2, start=20)),
        importer("All", "subscription: \"kind == 'trade'\""),
        importer("High", "subscription: \"kind == 'trade' && level > 5\""),
    ]
    result = run(programs, collect=["All.F", "High.F"])
    assert sorted(result.tuples_of("All.F")) == [(0,), (1,), (10,), (11,)]
    assert result.tuples_of("High.F") == [(10,), (11,)]


def test_applications_that_import_from_each_other_end():
    graph = """
        stream<int32 x> I = Import() {{ param streamId: "{takes}"; }}
        stream<int32 x> F = Filter(I{more}) {{ param filter: x < 5; }}
        stream<int32 x> N = Functor(F) {{ output N: x = x + 1; }}
        () as E = Export(N) {{ param streamId: "{gives}"; }}"""
    ping = program(graph.format(takes="pong", gives="ping", more=", A"), main="Ping", A=numbers(1))
    pong = program(graph.format(takes="ping", gives="pong", more=""), main="Pong")
    result = run([ping, pong], collect=["Ping.F", "Pong.F"])
    assert result.tuples_of("Ping.F") == [(0,), (2,), (4,)]
    assert result.tuples_of("Pong.F") == [(1,), (3,)]
    assert all(items[-1] is FINAL for items in result.collected.values())


def test_two_copies_of_an_application_are_told_apart():
    result = run([program("", A=numbers(1)), program("", A=numbers(2))])
    assert result.submitted == {"Main.A": (1,), "Main#2.A": (2,)}


def chain(length: int) -> Program:
    """Beacon, then as many Functors in a row, built directly because the length is the point."""
    start = program("stream<int32 x> B = Functor(A) {}", A=numbers(3))
    schema = parse_schema("int32 x")
    assign = (Assignment(attribute="x", value=Attribute(type=INT32, name="x")),)
    functors = [
        Operator(
            id=f"F{i}",
            kind="Functor",
            inputs=(InputPort(streams=(f"F{i - 1}" if i else "B",), schema=schema),),
            outputs=(OutputPort(stream=f"F{i}", schema=schema, assignments=assign),),
        )
        for i in range(length)
    ]
    application = Application(name="Chain", operators=(*start.application.operators, *functors))
    return Program(application=application, registry=start.registry)


def test_ten_thousand_operators_in_a_row_do_not_overflow_the_stack():
    limit = sys.getrecursionlimit()
    result = run(chain(10_000), collect=["F9999"])
    assert result.collected["F9999"] == [(0,), (1,), (2,), FINAL]
    assert sys.getrecursionlimit() == limit


def test_a_deep_graph_reports_its_failures_as_a_shallow_one_does():
    deep = chain(2_000)
    failing = program("stream<int32 x> B = Functor(A) { output B: x = 1 / x; }", A=numbers(1)).application
    operators = (*failing.operators, *deep.application.operators[2:])
    with pytest.raises(OperatorFailed, match="operator `B`"):
        run(Program(application=Application(name="Deep", operators=operators), registry=deep.registry))


@pytest.mark.parametrize("length", [1, 3_000])
def test_an_interrupt_stops_between_two_items_and_ends_every_stream(length):
    start = chain(length)
    last = f"F{length - 1}"
    taken: list[object] = []

    def interrupt_once(stream: str, item: object) -> None:
        if stream == last:
            taken.append(item)
            if len(taken) == 2:
                os.kill(os.getpid(), signal.SIGINT)
                # Python runs the handler between two instructions of the main thread.
                while not environment.is_shutdown:
                    pass

    environment = Environment()
    handler = signal.getsignal(signal.SIGINT)
    result = run(start, on_tuple=interrupt_once, environment=environment)
    assert result.stopped is StopReason.INTERRUPTED
    assert taken == [(0,), (1,), FINAL]
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_breaks_an_endless_loop_and_counts_what_it_drops():
    graph = """
        stream<int32 x> Loop = Functor(A, Back) {}
        stream<int32 x> Back = Functor(Loop) { output Back: x = x + 1; }"""

    def interrupt_late(stream: str, item: object) -> None:
        if item == (1000,):
            os.kill(os.getpid(), signal.SIGINT)

    result = run(program(graph, A=numbers(1)), on_tuple=interrupt_late)
    assert result.stopped is StopReason.INTERRUPTED
    assert result.dropped == {"Loop": 1}


def test_an_environment_serves_for_one_run_after_the_other():
    environment = Environment()
    run_graph(ENDLESS, environment=environment, max_tuples=1)
    again = run_graph("", environment=environment, A=numbers(3))
    assert (again.submitted["A"], environment.is_shutdown) == ((3,), False)


def test_an_operator_that_cannot_start_says_so():
    graph = (
        """stream<int32 x> B = Functor(A) { logic state: int32 n = 1 / (int32) getSubmissionTimeValue("n", "0"); }"""
    )
    with pytest.raises(OperatorFailed, match="operator `B` \\(Functor\\) failed: it cannot start: division by zero"):
        run_graph(graph, A=numbers(1))


def test_custom_metrics_are_in_the_result():
    graph = """() as S = Custom(A) {
        logic onTuple A: {
          if (x == 0) { createCustomMetric("seen", "tuples seen", Sys.Counter); }
          incrementCustomMetricValue("seen", 1l); } }"""
    assert run_graph(graph, A=numbers(3)).metrics["seen"] == 3
