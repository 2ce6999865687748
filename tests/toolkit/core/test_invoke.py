import pytest

from penstock.base.diagnostics import Diagnostics, SourceFile, Span, UserError
from penstock.expr.typing import binary, literal
from penstock.ir.expressions import Cast, Literal, OutputCall
from penstock.ir.graph import Annotation, ErrorPolicy, InputPort, OutputPort, Policy, PolicyKind, Window, WindowKind
from penstock.ir.statements import Assign, Block, Handler, Logic, Submit
from penstock.ir.types import INT32, UINT32, parse_schema
from penstock.toolkit.core.invoke import invoke
from penstock.toolkit.core.operator_registry import standard
from toolkit.harness import attribute, build, errors, start, word

X = "int32 x"


def test_the_numbers_of_ports_are_checked():
    assert errors("Filter", [], [X]) == ["`Filter` has 1 input ports, found 0"]
    assert errors("Filter", [X], [X] * 3) == ["`Filter` has 1 to 2 output ports, found 3"]
    assert errors("Union", [X], [X]) == ["`Union` has at least 2 input ports, found 1"]


def test_an_unknown_parameter_gets_a_suggestion():
    (message,) = errors("Filter", [X], [X], {"filtre": True})
    assert message == "`Filter` has no parameter `filtre`; it takes {filter}; did you mean `filter`?"


def test_all_mistakes_of_an_invocation_are_reported():
    found = errors("Punctor", [X], [X], {"punctuate": 5, "place": word("before")})
    assert [m.split(";")[0] for m in found] == [
        "the parameter `punctuate` of `Punctor` is of type boolean, found int32",
        "`Punctor` has no parameter `place`",
        "`Punctor` needs the parameter `position`",
    ]


def test_a_word_must_be_one_of_the_operators():
    (message,) = errors("Punctor", [X], [X], {"punctuate": True, "position": word("befor")})
    assert message == (
        "the parameter `position` of `Punctor` takes one of `before`, `after`, found `befor`; did you mean `before`?"
    )
    (message,) = errors("Punctor", [X], [X], {"punctuate": True, "position": "before"})
    assert message.endswith("takes one of `before`, `after`, found a value of type rstring")


def test_a_parameter_takes_one_value_unless_it_says_so():
    (message,) = errors("Filter", [X], [X], {"filter": [True, False]})
    assert message == "the parameter `filter` of `Filter` takes one value, found 2"


def test_a_constant_reads_no_attributes():
    (message,) = errors("Beacon", [], [X], {"iterations": attribute("x", X)})
    assert message == "the parameter `iterations` of `Beacon` is evaluated once, so `x` cannot stand in it"


def test_a_parameter_of_one_port_reads_no_attribute_of_another():
    (message,) = errors("Switch", ["boolean on", X], ["boolean on"], {"status": attribute("on", "boolean on")})
    assert message == ("the parameter `status` of `Switch` speaks of input port 1, but `on` belongs to port 0")


def test_attribute_parameters_take_names_only():
    (message,) = errors("FileSink", [X], [], {"file": "f", "suppress": 5})
    assert message == "the parameter `suppress` of `FileSink` takes names of input attributes"


def test_values_are_converted_to_the_first_type_that_takes_them():
    operator = build("Beacon", [], [X], {"iterations": 10, "period": 1})
    assert operator.param("iterations")[0] == Literal(type=UINT32, value=10)
    assert operator.param("period")[0].type.name == "float64"


def test_windows_are_refused_where_there_are_none_and_asked_for_where_they_are_needed():
    window = Window(kind=WindowKind.TUMBLING, eviction=Policy(kind=PolicyKind.COUNT, size=literal(3)))

    def messages(kind, window):
        found = Diagnostics()
        port = InputPort(streams=("A",), schema=parse_schema(X), window=window)
        output = OutputPort(stream="B", schema=parse_schema(X))
        assert invoke(standard().get(kind), id="B", inputs=[port], outputs=[output], found=found) is None
        return [d.message for d in found]

    assert messages("Filter", window) == ["`Filter` has no windows, but `A` is given one"]
    assert messages("Aggregate", None) == ["`Aggregate` needs a window on `A`"]


def test_forwarding_operators_need_equal_schemas():
    (message,) = errors("Filter", [X], ["int64 x"])
    assert message.startswith("`Filter` passes its tuples on as they are, but `Out0` has the schema tuple<int64 x>")


def test_an_output_clause_where_there_is_none_is_an_error():
    (message,) = errors("Filter", [X], [X], assign={"x": 5})
    assert message == "`Filter` has no output clause, but `x` is assigned; use a Functor behind it"


def test_attributes_not_assigned_are_copied_by_name():
    operator = build("Functor", ["int32 x, rstring s"], ["rstring s, int64 y"], assign={"y": attribute("x", X)})
    first, second = operator.outputs[0].assignments
    assert (first.attribute, first.value) == ("s", attribute("s", "rstring s"))
    assert isinstance(second.value, Cast)


def test_an_attribute_that_nobody_gives_is_an_error():
    what = "is not assigned, and no input has an attribute of that name; assign it in the output clause"
    assert errors("Functor", ["int32 x"], ["int32 x, int32 y, rstring x2"]) == [
        f"`int32 y` of `Out0` {what}",
        f"`rstring x2` of `Out0` {what}",
    ]
    (message,) = errors("Functor", ["int32 x"], ["rstring x"])
    assert message.startswith("`rstring x` of `Out0` is not assigned, and the input's `x` is int32")


def test_an_assignment_to_an_unknown_attribute_gets_a_suggestion():
    (message,) = errors("Functor", [X], ["int32 price"], assign={"prise": 3, "price": 3})
    assert message == "`Out0` has no attribute `prise`; its schema is {price}; did you mean `price`?"


def test_an_assignment_of_a_wrong_type_is_an_error_at_its_place():
    source = SourceFile(path="a.spl", text="output Out: x = 'a';")
    value = Literal(type=literal("a").type, value="a", span=Span(source=source, start=16, end=19))
    with pytest.raises(UserError, match=r"^a\.spl:1:17: error: .*int32"):
        build("Functor", [X], [X], assign={"x": value})


def test_generated_tuples_default_to_zero_and_empty():
    operator = build("Beacon", [], ["int32 a, rstring b, list<int8> c, optional<int32> d, enum{red, green} e"])
    assert start(operator).produce(most=1) == [(0.0, (0, "", [], None, "red"))]


def test_only_a_custom_submits_or_changes_its_tuple():
    body = Block(body=(Submit(value=attribute("x", X)), Assign(target=attribute("x", X), value=literal(1))))
    logic = Logic(on_tuple=(Handler(port=0, body=body),))
    assert errors("Filter", [X], [X], logic=logic) == [
        "`Filter` cannot call submit; only a Custom can",
        "`Filter` cannot change the tuple it receives; only a Custom can",
    ]


def test_catch_and_permissive_parsing_set_the_error_policy():
    assert build("Filter", [X], [X]).on_error is ErrorPolicy.FAIL
    assert build("Filter", [X], [X], annotations=[Annotation(name="catch")]).on_error is ErrorPolicy.SKIP
    params = {"file": "f", "parsing": word("permissive")}
    assert build("FileSource", [], [X], params).on_error is ErrorPolicy.SKIP
    assert build("FileSource", [], [X], params | {"parsing": word("strict")}).on_error is ErrorPolicy.FAIL


def test_aggregate_clauses_default_to_last():
    window = Window(kind=WindowKind.TUMBLING, eviction=Policy(kind=PolicyKind.COUNT, size=literal(3)))
    port = InputPort(streams=("A",), schema=parse_schema("int32 x, int32 y"), window=window)
    output = OutputPort(stream="B", schema=parse_schema("int32 x"))
    operator = invoke(standard().get("Aggregate"), id="B", inputs=[port], outputs=[output], found=Diagnostics())
    assert operator is not None
    assert operator.outputs[0].assignments[0].value == OutputCall(
        type=INT32, function="Last", arguments=(attribute("x", X),)
    )


def test_the_model_is_that_of_the_instance():
    x = attribute("x", X)
    kept = build("Functor", [X], [X], {"filter": binary(">", x, literal(1))})
    assert kept.model.selectivity.value == "at most one"
    assert build("Functor", [X], [X]).model.selectivity.value == "exactly one"
