"""The typing rules: what converts, what is refused, and how it is said."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.base.diagnostics import Diagnostic, SourceFile, Span, UserError
from penstock.expr import typing as build
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Cast, Expression, InputTuple, Literal, Variable
from penstock.ir.statements import Block, Function, Parameter
from penstock.ir.types import TupleType, Type, TypedName, parse_type
from strategies import any_expressions, schemas, types

SPAN = Span(source=SourceFile(path="a.spl", text="x + y"), start=0, end=5)


def some(type_: str) -> Expression:
    return Variable(name="v", type=parse_type(type_))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("int8", "int8", "int8"),
        ("int8", "int64", "int64"),
        ("int32", "uint32", "int64"),
        ("uint8", "int8", "int16"),
        ("int64", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int64", "decimal32", "decimal32"),
        ("rstring", "rstring[4]", "rstring"),
        ("list<int32>[3]", "list<int32>", "list<int32>"),
        ("set<rstring>", "set<rstring>", "set<rstring>"),
        ("blob", "blob", "blob"),
        ("int32", "list<int32>", "list<int32>"),
    ],
)
def test_operands_of_plus_meet_in_the_narrowest_common_type(left: str, right: str, expected: str) -> None:
    assert str(build.binary("+", some(left), some(right)).type) == expected


UNWRAP = "unwrap the optional first with `!` or `?:`"
WRONG_OPERANDS = [
    ("+", "int64", "uint64", "cast one side to the type of the other"),
    ("+", "rstring", "int32", "cast the other side: `(rstring)`"),
    ("+", "float64", "decimal64", "cast one side to the type of the other"),
    ("-", "rstring", "rstring", None),
    ("+", "optional<int32>", "int32", UNWRAP),
    ("==", "optional<int32>", "int32", UNWRAP),
    ("<", "optional<int32>", "optional<int32>", UNWRAP),
    ("<", "list<int32>", "list<int32>", "there is no order on these values"),
    ("==", "int32", "rstring", "the sides have no common type"),
    ("<<", "int32", "float64", "it needs integers"),
    (".+", "int32", "int32", "it needs two lists, two maps, or one of them and a single value"),
    (".+", "list<int32>", "list<float64>", "the elements must be of one type"),
]


@pytest.mark.parametrize(("operator", "left", "right", "hint"), WRONG_OPERANDS)
def test_an_operator_that_is_not_defined_says_on_what(operator: str, left: str, right: str, hint: str | None) -> None:
    with pytest.raises(UserError) as found:
        build.binary(operator, some(left), some(right), SPAN)
    message = f"`{operator}` is not defined on {left} and {right}"
    assert found.value.diagnostics == (Diagnostic(message=message, span=SPAN, hint=hint),)


@pytest.mark.parametrize(
    ("operator", "left", "right", "message"),
    [
        ("&&", "int32", "boolean", "`&&` needs boolean on both sides, found int32"),
        ("in", "int32", "rstring", "`in` needs a list, a set or a map on its right, found rstring"),
        ("in", "rstring", "list<int32>", "expected int32, found rstring"),
        ("?:", "int32", "int32", "`?:` needs an optional on its left, found int32"),
        ("?:", "optional<int32>", "rstring", "expected int32, found rstring"),
        ("<>", "int32", "int32", "there is no operator `<>`"),
    ],
)
def test_a_wrong_operand_is_named(operator: str, left: str, right: str, message: str) -> None:
    with pytest.raises(UserError) as found:
        build.binary(operator, some(left), some(right), SPAN)
    assert found.value.diagnostics[0].message == message
    assert found.value.diagnostics[0].span is SPAN


@pytest.mark.parametrize(
    ("value", "type_", "converts"),
    [
        (5, "uint64", True),
        (5, "float32", True),
        (5, "decimal64", True),
        (-5, "uint8", False),
        (300, "int8", False),
        (2.5, "float32", True),
        (2.5, "decimal64", True),
        (2.5, "int32", False),
        ("x", "ustring", True),
        ("x", "rstring[3]", True),
        (True, "int32", False),
        (None, "optional<rstring>", True),
        (None, "rstring", False),
        (5, "optional<int64>", True),
    ],
)
def test_literals_take_the_type_that_is_wanted(value: object, type_: str, converts: bool) -> None:
    x = build.try_convert(build.literal(value), parse_type(type_))  # type: ignore[arg-type]
    assert (x is not None) is converts
    assert x is None or x.type == parse_type(type_)


def test_the_literals_inside_a_literal_convert_with_it() -> None:
    xs = build.list_literal([build.literal(1), build.literal(2)])
    assert str(build.convert(xs, parse_type("list<float64>")).type) == "list<float64>"
    pairs = build.map_literal([build.literal("a")], [build.list_literal([])])
    assert str(build.convert(pairs, parse_type("map<rstring, list<int8>>")).type) == "map<rstring, list<int8>>"


def test_a_variable_inside_a_list_does_not_narrow() -> None:
    xs = build.list_literal([some("int64")])
    with pytest.raises(UserError, match="expected list<int32>, found list<int64>"):
        build.convert(xs, parse_type("list<int32>"))


def test_arithmetic_on_literals_keeps_its_type() -> None:
    x = build.convert(build.binary("+", build.literal(2147483647), build.literal(1)), parse_type("int64"))
    assert isinstance(x, Cast)
    assert Evaluator().constant(x) == -2147483648


def test_tuples_convert_by_attribute_name() -> None:
    x = build.convert(some("tuple<int32 a, rstring b>"), parse_type("tuple<rstring b, int64 a>"))
    assert str(x.type) == "tuple<rstring b, int64 a>"
    with pytest.raises(UserError, match="expected tuple<int32 a>, found tuple<int32 b>"):
        build.convert(some("tuple<int32 b>"), parse_type("tuple<int32 a>"))


@pytest.mark.parametrize(
    ("source", "target", "hint"),
    [
        ("int64", "int32", "cast it: `(int32)`"),
        ("optional<int32>", "int32", "unwrap it with `!` or `?:`"),
        ("list<int32>", "boolean", None),
    ],
)
def test_a_refused_conversion_says_what_would_do(source: str, target: str, hint: str | None) -> None:
    with pytest.raises(UserError) as found:
        build.convert(some(source), parse_type(target), SPAN)
    assert found.value.diagnostics[0].hint == hint


def test_the_branches_of_a_conditional_need_a_common_type() -> None:
    with pytest.raises(UserError, match=r"the branches of `\?:` have no common type: int32 and rstring"):
        build.conditional(some("boolean"), some("int32"), some("rstring"))
    with pytest.raises(UserError, match=r"the test of `\?:` needs boolean, found int32"):
        build.conditional(some("int32"), some("int32"), some("int32"))


def test_a_field_of_an_input_tuple_is_its_attribute() -> None:
    schema = parse_type("tuple<int32 a>")
    assert build.field(InputTuple(type=schema, port=1), "a") == Attribute(type=parse_type("int32"), name="a", port=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: build.index(some("int32"), some("int32")), "`[]` is not defined on int32"),
        (lambda: build.index(some("list<int32>"), some("rstring")), "a position must be an integer, found rstring"),
        (lambda: build.slice_(some("map<int32, int32>"), None, None), "a slice is not defined on map<int32, int32>"),
        (lambda: build.field(some("int32"), "a"), "`.a` needs a tuple, found int32"),
        (lambda: build.set_literal([some("list<int32>")]), "list<int32> cannot be an element of a set"),
        (lambda: build.map_literal([some("set<int32>")], [some("int32")]), "set<int32> cannot be the key of a map"),
        (lambda: build.list_literal([some("int32"), some("rstring")]), "the elements of a list need a common type"),
        (lambda: build.tuple_literal(["a", "a"], [some("int32")] * 2), "attribute `a` is given twice"),
        (lambda: build.assign(some("int8"), some("int32"), "+"), "`+=` on int8 gives int32"),
        (lambda: build.assign(build.literal(1), some("int32")), "only a variable or a part of one can be assigned to"),
        (lambda: build.assign(build.index(some("rstring"), some("int32")), some("rstring")), "a character of a string"),
        (lambda: build.cast(some("boolean"), parse_type("timestamp")), "boolean cannot be cast to timestamp"),
        (lambda: build.cast(some("optional<int32>"), parse_type("int64")), "optional<int32> cannot be cast to int64"),
        (lambda: build.literal("yellow", parse_type("enum{red, green}")), "`yellow` is not a symbol of"),
        (lambda: build.literal(1 << 70), "does not fit any integer type"),
        (lambda: build.unary("unwrap", some("int32")), "`!` unwraps an optional, found int32"),
        (lambda: build.call("appendM", [build.list_literal([]), some("int32")]), ""),
    ],
)
def test_a_mistake_is_a_users_error(make: object, message: str) -> None:
    with pytest.raises(UserError) as found:
        make()  # type: ignore[operator]
    assert message in str(found.value)


def test_a_function_of_the_application_goes_before_a_standard_one() -> None:
    own = Function(
        name="length",
        parameters=(Parameter(name="x", type=parse_type("int64")),),
        returns=parse_type("boolean"),
        body=Block(body=()),
    )
    x = build.call("length", [build.literal(3)], functions=[own])
    assert str(x.type) == "boolean"
    assert list(x.children()) == [Literal(type=parse_type("int64"), value=3)]
    with pytest.raises(
        UserError, match=r"no function `length` takes \(rstring\); there is `boolean length\(int64 x\)`"
    ):
        build.call("length", [build.literal("x")], functions=[own])


@pytest.mark.parametrize("depth", [300, 3000])
def test_deep_nesting_is_a_users_error(depth: int) -> None:
    x: Expression = some("boolean")
    for _ in range(depth):
        x = build.conditional(x, some("boolean"), some("boolean"))
    with pytest.raises(UserError, match="nested too deeply"):
        Evaluator().scalar(x, variables=["v"])


def test_a_long_chain_is_not_deep() -> None:
    x: Expression = some("int32")
    for _ in range(150):
        x = build.binary("+", x, some("int32"))
    assert Evaluator().scalar(x, variables=["v"])(1) == 151


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas().flatmap(any_expressions))
def test_whatever_is_combined_gives_an_expression_or_a_users_error(found: Expression | UserError) -> None:
    if isinstance(found, UserError):
        assert all(d.message and d.message[0] != "" for d in found.diagnostics)
    else:
        assert all(isinstance(node.type, Type) for node in found.walk())


@settings(max_examples=300, deadline=None)
@given(types(), types())
def test_what_converts_can_also_be_cast(source: Type, target: Type) -> None:
    assert not build.can_convert(source, target) or build.can_cast(source, target)


@settings(max_examples=300, deadline=None)
@given(types(), types())
def test_the_common_type_is_one_that_both_convert_to(left: Type, right: Type) -> None:
    common = build.common_type(left, right)
    if common is not None:
        assert build.can_convert(left, common)
        assert build.can_convert(right, common)
        assert build.common_type(right, left) == common or isinstance(common, TupleType)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_declared_type_that_passes_the_check_has_only_hashable_keys(data: st.DataObject) -> None:
    type_ = data.draw(types())
    assert build.check_type(type_) is type_
    wrapped = TupleType((TypedName("s", parse_type(f"set<{type_}>")),))
    if build.is_hashable(type_):
        assert build.check_type(wrapped) is wrapped
    else:
        with pytest.raises(UserError, match="cannot be an element of a set"):
            build.check_type(wrapped)
