"""What the expansion of composites makes: ids, streams, feedback, constraints, annotations."""

from collections.abc import Iterator

import pytest
from programs import messages

from penstock.base.diagnostics import UserError
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.expressions import Literal
from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.lang import compile_text


def application(graph: str, before: str = "", config: str = "") -> Application:
    source = "stream<int32 x> N = Beacon() { }"
    return compile_text(f"{before} composite Main {{ graph {source} {graph} {config} }}").application


def feedback(app: Application) -> Iterator[tuple[str, str]]:
    return ((o.id, stream) for o in app.operators for port in o.inputs for stream in sorted(port.feedback))


def test_ids_are_paths_without_the_main_composite() -> None:
    before = """
        composite Inner(output O; input I) { graph stream<int32 x> O = Functor(I) { } () as Sink = Custom(O) { } }
        composite Outer(output O; input I) { graph
          stream<int32 x> Mid = Inner(I) { } stream<int32 x> O = Functor(Mid) { } }
    """
    app = application("stream<int32 x> A = Outer(N) { } (stream<int32 x> B) as Named = Inner(A) { }", before)
    assert [o.id for o in app.operators] == ["N", "A.Mid.O", "A.Mid.Sink", "A.O", "Named.O", "Named.Sink"]
    assert app.operator["A.O"].inputs[0].streams == ("A.Mid.O",)
    assert app.operator["Named.O"].inputs[0].streams == ("A.O",)


def test_an_operator_with_several_outputs_and_no_alias_has_the_name_of_the_first() -> None:
    app = application("(stream<int32 x> A; stream<int32 x> B) = Filter(N) { param filter: true; }")
    assert [o.id for o in app.operators] == ["N", "A"]
    assert list(app.streams) == ["N", "A", "B"]


def test_fan_in_through_a_composite_reaches_the_operator_inside() -> None:
    before = "composite Part(input I) { graph () as S = Custom(I) { } }"
    app = application("stream<int32 x> M = Beacon() { } () as P = Part(N, M) { }", before)
    assert app.operator["P.S"].inputs[0].streams == ("N", "M")


def test_a_composite_may_pass_its_input_through() -> None:
    before = "composite Same(output I; input I) { graph }"
    assert application("stream<int32 x> A = Same(N) { } () as S = Custom(A) { }", before).operator["S"].inputs[
        0
    ].streams == ("N",)


def test_only_a_subscription_that_closes_a_loop_is_feedback() -> None:
    loop = """stream<int32 x> A = Functor(N, C) { } stream<int32 x> B = Functor(A) { }
        stream<int32 x> C = Functor(B) { }"""
    assert list(feedback(application(loop))) == [("A", "C")]
    forward = "() as Early = Custom(Late) { } stream<int32 x> Late = Functor(N) { }"
    assert list(feedback(application(forward))) == []


def test_the_feedback_of_entangled_loops_is_minimal() -> None:
    # B uses C before its declaration, but the loop is cut where its first operator A receives D.
    graph = """stream<int32 x> A = Functor(N, D) { } stream<int32 x> B = Functor(C) { }
        stream<int32 x> C = Functor(A) { } stream<int32 x> D = Functor(B) { }"""
    assert list(feedback(application(graph))) == [("A", "D")]


def test_an_operator_may_feed_itself() -> None:
    graph = "stream<int32 x> A = Custom(N; A) { logic onTuple N: submit(N, A); }"
    assert list(feedback(application(graph))) == [("A", "A")]


def test_tags_become_groups_and_isolation_single_demands() -> None:
    graph = """
        stream<int32 x> A = Functor(N) { config placement: partitionColocation("p"), hostExlocation("h"); }
        stream<int32 x> B = Functor(A) { config placement: partitionColocation("p"), partitionIsolation; }
        stream<int32 x> C = Functor(B) { config placement: hostExlocation("h"), hostIsolation, hostColocation("a"); }
        stream<int32 x> D = Functor(C) { config placement: partitionExlocation("q"); }
        stream<int32 x> E = Functor(D) { config placement: partitionExlocation("q"), hostColocation("r"); }
        () as F = Custom(E) { config placement: hostColocation("r"); }
    """
    assert application(graph).constraints == (
        Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("A", "B")),
        Constraint(kind=ConstraintKind.HOST_EXLOCATION, operators=("A", "C")),
        Constraint(kind=ConstraintKind.PE_EXLOCATION, operators=("D", "E")),
        Constraint(kind=ConstraintKind.HOST_COLOCATION, operators=("E", "F")),
        Constraint(kind=ConstraintKind.PE_DEDICATION, operators=("B",)),
        Constraint(kind=ConstraintKind.HOST_DEDICATION, operators=("C",)),
    )


def test_hosts_come_by_name_by_pool_and_by_tag() -> None:
    graph = """
        () as A = Custom(N) { config placement: host("h9"); }
        () as B = Custom(N) { config placement: host(P); }
        () as C = Custom(N) { config placement: host(P[1]); }
        () as D = Custom(N) { config placement: host(Q); }
    """
    config = 'config hostPool: P = ["h1", "h2"], Q = createPool({size = 2u, tags = ["gpu"]}, Sys.Shared);'
    found = {c.operators[0]: c.hosts for c in application(graph, config=config).constraints}
    assert found == {"A": ("h9",), "B": ("h1", "h2"), "C": ("h2",), "D": ("gpu",)}


def test_a_pool_without_hosts_asks_for_none_and_a_tag_is_for_all_members() -> None:
    graph = """
        () as A = Custom(N) { config placement: host(Any); }
        () as B = Custom(N) { config placement: host(Any[2]); }
        () as C = Custom(N) { config placement: host(Tagged[4]); }
    """
    config = """config hostPool: Any = createPool({size = 5u}, Sys.Exclusive),
        Tagged = createPool({size = 5u, tags = ["gpu"]}, Sys.Shared);"""
    found = {c.operators[0]: c.hosts for c in application(graph, config=config).constraints}
    assert found == {"C": ("gpu",)}
    with pytest.raises(UserError, match="the pool `Any` has 5 members"):
        application(graph.replace("Any[2]", "Any[5]"), config=config)
    with pytest.raises(UserError, match="expected uint32, found tuple<int32 n>"):
        application(graph, config=config.replace("{size = 5u}", "{size = {n = 5}}"))


def test_settings_of_a_composite_hold_for_all_operators_inside() -> None:
    before = """composite Part(output O; input I) { graph stream<int32 x> M = Functor(I) { }
        stream<int32 x> O = Functor(M) { } config restartable: true; }"""
    graph = """@parallel(width=3) stream<int32 x> A = Part(N) { config placement: partitionColocation("t"); }"""
    app = application(graph, before)
    assert app.constraints == (Constraint(kind=ConstraintKind.PE_COLOCATION, operators=("A.M", "A.O")),)
    for id_ in ("A.M", "A.O"):
        assert [a.name for a in app.operator[id_].annotations] == ["parallel"]
        assert [c.name for c in app.operator[id_].config] == ["restartable"]
    assert app.operator["N"].annotations == ()


def test_an_annotation_keeps_its_arguments() -> None:
    graph = '@view(name="v", port=N, sampleSize=10) @catch stream<int32 x> A = Functor(N) { }'
    operator: Operator = application(graph).operator["A"]
    view, catch = operator.annotations
    assert [a.name for a in view.arguments] == ["name", "port", "sampleSize"]
    assert view.arguments[2].values == (Literal(value=10, type=view.arguments[2].values[0].type),)
    assert catch.arguments == ()
    assert operator.on_error is ErrorPolicy.SKIP


def test_an_actual_parameter_means_what_it_means_where_it_was_written() -> None:
    before = """
        composite Part(output O; input I) { param expression<int32> $v; type T = rstring y;
          graph stream<int32 x> O = Functor(I) { output O: x = $v + 1; } }
        composite Around(output O; input I) { param expression<int32> $v : 5;
          graph stream<int32 x> O = Part(I) { param v: $v * I.x; } }
    """
    app = application("stream<int32 x> A = Around(N) { param v: N.x + 2; }", before)
    assert str(app.operator["A.O.O"].outputs[0].assignments[0].value).count("Attribute") == 2


def test_an_operator_with_a_wrong_schema_causes_no_further_messages() -> None:
    text = """composite Main { graph
        stream<int33 x> A = Beacon() { }
        stream<A> B = Functor(A) { output B: x = y; }
        () as S = FileSink(B) { param file: x; }
    }"""
    assert messages(text) == ["test.spl:2:16: error: there is no type `int33`; did you mean `int32`?"]


def test_a_wrong_declaration_causes_no_further_messages() -> None:
    text = """composite Main { graph () as A = Custom() { logic onProcess: {
        nothing a = 1; println(a + 1); a = 3; for (int32 b in a) println(b); } } }"""
    assert messages(text) == ["test.spl:2:9: error: there is no type `nothing`"]


def test_application_functions_are_those_that_operators_call() -> None:
    before = """int32 used(int32 n) { return helper(n); } int32 helper(int32 n) { return n; }
        int32 unused() { return 1; } int32 noisy(int32 n) { println(n); return n; }"""
    app = application("stream<int32 x> A = Functor(N) { output A: x = used(x) + noisy(x); }", before)
    assert [(f.name, f.stateful) for f in app.functions] == [("used", False), ("noisy", True), ("helper", False)]


def test_a_composite_that_nobody_invokes_is_checked_as_far_as_it_can_be() -> None:
    text = """composite Unused(output O; input I, stream<int32 y> J) { param expression<int32> $n; type $t; operator $o;
          graph stream<int32 x> A = Functor(I) { output A: x = whatever + $n; }
            stream<$t> T = Beacon() { }
            stream<int32 x> P = $o(T) { param anything: 1; }
            stream<int32 x> B = Functor(J) { output B: x = z; }
            stream<int32 x> C = Nothing(I) { } }
        composite Main { graph }"""
    assert messages(text) == [
        "test.spl:1:25: error: no invocation of `Unused` makes its output `O`",
        "test.spl:5:60: error: there is no variable or attribute `z` here",
        "test.spl:6:33: error: there is no operator `Nothing`",
    ]
