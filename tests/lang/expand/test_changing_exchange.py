"""Code that changes what its operator exports and imports while it runs."""

from __future__ import annotations

import io

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run

EXPORTER = """composite Exporter { graph
    stream<int32 x> A = Beacon() { param iterations: 6u; period: 1.0; output A: x = (int32) IterationCount(); }
    stream<int32 x> B = Custom(A) { logic onTuple A: { CODE submit(A, B); } }
    () as Out = Export(B) { param properties: {kind = "even", level = 3l}; }
    () as Own = Custom(B) { logic onTuple B: printStringLn("own " + (rstring) x); } }"""

IMPORTER = """composite Importer { graph
    stream<int32 x> I = Import() { param subscription: kind == "even"; }
    stream<int32 n> Ticks = Beacon() { param iterations: 6u; period: 1.0; initDelay: 0.5;
        output Ticks: n = (int32) IterationCount(); }
    () as Sink = Custom(Ticks; I) { logic
        onTuple Ticks: { CODE }
        onTuple I: { printStringLn("got " + (rstring) x); } } }"""


def printed(*texts: str) -> list[str]:
    out = io.StringIO()
    run([compile_text(text) for text in texts], environment=Environment(stdout=out))
    return out.getvalue().splitlines()


def received(exporter: str, importer: str) -> list[str]:
    """What the importer prints."""
    lines = printed(EXPORTER.replace("CODE", exporter), IMPORTER.replace("CODE", importer))
    return [line for line in lines if not line.startswith("own")]


def test_tuples_behind_a_change_of_properties_go_to_others() -> None:
    change = 'if (x == 3) println(setOutputPortExportProperties({kind = "odd", level = 1l}, 0u));'
    assert received(change, "") == ["got 0", "got 1", "got 2", "0"]
    assert printed(EXPORTER.replace("CODE", change))[-3:] == ["own 3", "own 4", "own 5"]


def test_single_properties_are_added_changed_and_removed() -> None:
    change = """if (x == 1) println(setOutputPortExportProperty("kind", "odd", 0u));
        if (x == 2) println(addOutputPortExportProperty("kind", "even", 0u));
        if (x == 3) println(removeOutputPortExportProperty("kind", 0u));
        if (x == 4) println(addOutputPortExportProperty("kind", "even", 0u));
        if (x == 5) { mutable list<tuple<rstring name, rstring value, rstring typ>> l = [];
            println(getOutputPortExportProperties(l, 0u)); println(l); }"""
    listed = '[{name="level",value="3",typ="int64"},{name="kind",value="\\"even\\"",typ="rstring"}]'
    assert received(change, "") == ["got 0", "0", "2", "0", "0", "got 4", "0", listed, "got 5"]


def test_a_subscription_changes_what_comes_in_from_then_on() -> None:
    change = """if (n == 1) println(setInputPortImportSubscription("level > 5", 1u));
        if (n == 2) println(setInputPortImportSubscription("level >", 1u));
        if (n == 3) { mutable int32 e = 7; printStringLn(getInputPortImportSubscription(1u, e)); println(e);
            println(setInputPortImportSubscription("level < 5", 1u)); }"""
    assert received("", change) == ["got 0", "got 1", "0", "2", "level > 5", "0", "0", "got 4", "got 5"]


def test_a_filter_is_set_and_goes_with_a_new_subscription() -> None:
    change = """if (n == 0) println(setInputPortImportFilterExpression("x % 2 == 0", 1u));
        if (n == 1) { mutable int32 e = 7; printStringLn(getInputPortImportFilterExpression(1u, e)); }
        if (n == 3) println(setInputPortImportSubscription("level == 3", 1u));"""
    assert received("", change) == ["got 0", "0", "x % 2 == 0", "got 2", "0", "got 4", "got 5"]


def test_a_stream_of_a_name_has_a_filter_but_no_subscription() -> None:
    exporter = EXPORTER.replace("CODE", "").replace('properties: {kind = "even", level = 3l}', 'streamId: "s"')
    importer = IMPORTER.replace('subscription: kind == "even"', 'streamId: "s"')
    change = """if (n == 0) { println(setInputPortImportSubscription("level == 3", 1u));
        println(setInputPortImportFilterExpression("x > 3", 1u)); }"""
    lines = printed(exporter, importer.replace("CODE", change))
    assert [line for line in lines if not line.startswith("own")] == ["got 0", "1", "0", "got 4", "got 5"]


def test_other_subscribers_of_an_imported_stream_keep_theirs() -> None:
    importer = IMPORTER.replace(
        "} } }", '} } () as Other = Custom(I) { logic onTuple I: printStringLn("other " + (rstring) x); } }'
    )
    lines = printed(
        EXPORTER.replace("CODE", ""),
        importer.replace("CODE", 'if (n == 0) println(setInputPortImportSubscription("level == 4", 1u));'),
    )
    assert [line for line in lines if line.startswith("other")] == [f"other {x}" for x in range(6)]
    assert [line for line in lines if line.startswith("got")] == ["got 0"]


def test_the_tuple_that_comes_in_may_be_changed_and_passed_on() -> None:
    importer = (
        IMPORTER.replace("() as Sink = Custom(Ticks; I)", "stream<int32 x> Sink = Custom(Ticks; I)")
        .replace('printStringLn("got " + (rstring) x);', "I.x += 10; assignFrom(I, {x = x * 2}); submit(I, Sink);")
        .replace(
            "} } }", '} } () as Last = Custom(Sink) { logic onTuple Sink: printStringLn("got " + (rstring) x); } }'
        )
    )
    lines = printed(
        EXPORTER.replace("CODE", ""),
        importer.replace("CODE", 'if (n == 1) setInputPortImportSubscription("level == 4", 1u);'),
    )
    assert [line for line in lines if line.startswith("got")] == ["got 20", "got 22"]


def test_a_marker_goes_where_the_tuple_before_it_went() -> None:
    exporter = EXPORTER.replace("CODE submit(A, B);", "CODE submit(A, B); submit(Sys.WindowMarker, B);")
    importer = IMPORTER.replace("} } }", '} onPunct I: printStringLn("mark"); } }')
    lines = printed(
        exporter.replace("CODE", 'if (x == 2) setOutputPortExportProperties({kind = "odd"}, 0u);'),
        importer.replace("CODE", 'if (n == 0) setInputPortImportFilterExpression("x != 0", 1u);'),
    )
    assert [line for line in lines if not line.startswith("own")] == ["got 0", "mark", "got 1", "mark", "mark"]


def test_a_port_that_is_not_exchanged_answers_1() -> None:
    text = """composite Main { graph stream<int32 x> A = Beacon() { param iterations: 1u; }
        stream<int32 x> B = Custom(A) { logic onTuple A: { mutable int32 e = 0;
            println(setOutputPortExportProperties({a = 1l}, 0u)); println(setInputPortImportSubscription("a == 1", 0u));
            println(setInputPortImportFilterExpression("a == 1", 7u));
            println(setOutputPortExportProperties({a = 1l}, 5u));
            printStringLn(getInputPortImportSubscription(0u, e)); println(e); } } }"""
    assert printed(text) == ["1", "1", "1", "1", "", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "stream<int32 x> B = Functor(A) { logic onTuple A: setOutputPortExportProperties({a = 1l}, 0u); }",
            "`setOutputPortExportProperties` is called in a Functor",
        ),
        (
            "stream<int32 x> B = Custom(A) { logic onTuple A: setOutputPortExportProperties({a = 1l}, (uint32) x); }",
            "the port of `setOutputPortExportProperties` is not a literal",
        ),
        (
            """stream<int32 x> B = Custom(A) { logic onTuple A: setOutputPortExportProperties({a = 1l}, 0u); }
            () as E = Export(B) { param properties: {a = 2l}; } () as F = Export(B) { param properties: {a = 3l}; }""",
            "a port whose properties code changes has one Export alone",
        ),
        (
            """stream<int32 x> I = Import() { param subscription: a == 1; }
            () as B = Custom(A, I) { logic onTuple A: setInputPortImportSubscription("b == 1", 0u); }""",
            "a port whose subscription code changes has one Import alone",
        ),
    ],
)
def test_what_cannot_be_followed_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        compile_text(f"composite Main {{ graph stream<int32 x> A = Beacon() {{ param iterations: 1u; }} {text} }}")
    assert message in str(raised.value)


def test_a_function_cannot_change_its_callers_ports() -> None:
    with pytest.raises(UserError, match="is called in the function `change`"):
        compile_text("""stateful int32 change() { return setInputPortImportSubscription("b == 1", 0u); }
            composite Main { graph stream<int32 x> A = Beacon() { param iterations: 1u; }
            () as B = Custom(A) { logic onTuple A: println(change()); } }""")
