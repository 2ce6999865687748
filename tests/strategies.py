"""Hypothesis strategies that all tests share: types, values with their edges, schemas, rows, typed expressions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeVar

from hypothesis import strategies as st

from penstock.base.diagnostics import UserError
from penstock.expr import typing as build
from penstock.expr.values import DECIMAL_CONTEXTS, integer_range, round_float32
from penstock.ir.expressions import Attribute, Expression, Literal
from penstock.ir.types import (
    BOOLEAN,
    DECIMALS,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT32,
    INTEGERS,
    RSTRING,
    TIMESTAMP,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Schema,
    SetType,
    TupleType,
    Type,
    TypedName,
    is_decimal,
    is_float,
    is_integer,
    is_numeric,
    is_string,
)

COLORS = EnumType(("red", "green", "blue"))
INTEGER_TYPES = [Primitive(name) for name in INTEGERS]
FLOAT_TYPES = [Primitive(name) for name in FLOATS]
NUMERIC_TYPES = [*INTEGER_TYPES, *FLOAT_TYPES, *(Primitive(name) for name in DECIMALS)]
SCALAR_TYPES: list[Type] = [BOOLEAN, *NUMERIC_TYPES, RSTRING, TIMESTAMP, Primitive("blob"), COLORS]

T = TypeVar("T")
Values = st.SearchStrategy[object]


def types() -> st.SearchStrategy[Type]:
    """Scalar types mostly, and what can be made of them."""
    scalars = st.sampled_from(SCALAR_TYPES)
    keys = st.sampled_from([t for t in SCALAR_TYPES if not is_float(t) and not is_decimal(t)])
    return st.one_of(
        scalars,
        scalars,
        scalars.map(OptionalType),
        scalars.map(ListType),
        keys.map(SetType),
        st.builds(MapType, keys, scalars),
        schemas(scalars, largest=2),
    )


def schemas(inner: st.SearchStrategy[Type] | None = None, *, largest: int = 6) -> st.SearchStrategy[Schema]:
    """Schemas with at least one attribute."""
    attribute_types = st.lists(types() if inner is None else inner, min_size=1, max_size=largest)
    return attribute_types.map(lambda found: TupleType(tuple(TypedName(f"a{i}", t) for i, t in enumerate(found))))


def rows(schema: Schema, *, largest: int = 5) -> st.SearchStrategy[list[tuple[object, ...]]]:
    """A few tuples of a schema."""
    return st.lists(values(schema), max_size=largest)  # type: ignore[arg-type]


def values(type_: Type, primitive: Callable[[Primitive], Values] | None = None) -> Values:
    """Values of a type, the edges of its range often, or as `primitive` draws them."""
    part = functools.partial(values, primitive=primitive)
    match type_:
        case EnumType(symbols=symbols):
            return st.sampled_from(symbols)
        case OptionalType(inner=inner):
            return st.none() | part(inner)
        case ListType(element=element):
            return st.lists(part(element), max_size=3)
        case SetType(element=element):
            return st.sets(part(element), max_size=3)
        case MapType(key=key, value=value):
            return st.dictionaries(part(key), part(value), max_size=3)
        case TupleType(attributes=attributes):
            return st.tuples(*(part(a.type) for a in attributes))
    assert isinstance(type_, Primitive)
    return (primitive or _primitive_values)(type_)


def _primitive_values(type_: Primitive) -> Values:
    if is_integer(type_):
        low, high = integer_range(type_)
        edges = [v for v in (low, low + 1, -2, -1, 0, 1, 2, 7, 31, high - 1, high) if low <= v <= high]
        return st.sampled_from(edges) | st.integers(low, high)
    if is_float(type_):
        found = st.sampled_from([0.0, -0.0, 1.0, -1.5, 1e300, 2.0**63, 1e-320]) | st.floats()
        return found.map(round_float32) if type_ == FLOAT32 else found
    if is_decimal(type_):
        context = DECIMAL_CONTEXTS[type_.name]
        special = st.sampled_from([Decimal("NaN"), Decimal("Infinity"), Decimal("-0"), Decimal("1.50")])
        return (special | st.decimals(allow_nan=False, allow_infinity=False)).map(context.plus)
    if is_string(type_):
        return st.sampled_from(["", "X", "12", "-3.5", "true", "aé"]) | st.text(
            st.characters(exclude_categories=["Cs"]), max_size=4
        )
    return {
        "boolean": st.booleans(),
        "timestamp": st.integers(-(1 << 63), (1 << 63) - 1),
        "blob": st.binary(max_size=3),
    }[type_.name]


@st.composite
def expressions(draw: st.DrawFn, schema: Schema, type_: Type | None = None, *, depth: int = 4) -> Expression:
    """Typed expressions over the attributes of a schema, of one type or of any."""
    return Grower(draw, schema).grow(draw(types()) if type_ is None else type_, depth)


class Grower:
    """Draws expressions from the root down; only forms whose types are right are drawn."""

    def __init__(self, draw: st.DrawFn, schema: Schema) -> None:
        self.draw = draw
        self.schema = schema
        self.depth = 0

    def grow(self, type_: Type, depth: int) -> Expression:
        """An expression of a type, at most so deep."""
        self.depth, outside = depth, self.depth
        leaf = depth == 0 or self.draw(st.integers(0, 3)) == 0
        grown = self.leaf(type_) if leaf else self.choice(self.forms(type_))(type_)
        self.depth = outside
        return grown

    def some(self, type_: Type) -> Expression:
        """A smaller expression of a type."""
        return self.grow(type_, self.depth - 1)

    def choice(self, options: Sequence[T]) -> T:
        """One of several."""
        return self.draw(st.sampled_from(options))

    def leaf(self, type_: Type) -> Expression:
        """An attribute or a constant."""
        found = [Attribute(type=a.type, name=a.name) for a in self.schema.attributes if a.type == type_]
        return self.choice(found) if found and self.draw(st.integers(0, 2)) else self.constant(type_)

    def constant(self, type_: Type) -> Expression:
        """A constant of a type."""
        match type_:
            case OptionalType(inner=inner):
                null = Literal(type=type_, value=None)
                return null if self.draw(st.booleans()) else build.convert(self.constant(inner), type_)
            case ListType(element=element) | SetType(element=element):
                literal = build.list_literal if isinstance(type_, ListType) else build.set_literal
                elements = [self.constant(element) for _ in range(self.draw(st.integers(0, 2)))]
                return build.convert(literal(elements), type_)
            case MapType(key=key, value=value):
                made = build.map_literal([self.constant(key)], [self.constant(value)])
                return build.convert(made if self.draw(st.booleans()) else build.set_literal([]), type_)
            case TupleType(attributes=attributes):
                return build.tuple_literal(type_.names, [self.constant(a.type) for a in attributes])
        return Literal(type=type_, value=self.draw(values(type_)))  # type: ignore[arg-type]

    def time_arithmetic(self, type_: Type) -> Expression:
        """The sum or the difference of two times."""
        return build.binary(self.choice("+-"), self.some(type_), self.some(type_))

    def forms(self, type_: Type) -> list[Callable[[Any], Expression]]:
        """The ways to make a value of a type."""
        forms: list[Callable[[Any], Expression]] = [self.conditional]
        if not isinstance(type_, OptionalType):
            forms += [self.unwrapped, self.or_else]
        if is_numeric(type_):
            forms += [self.arithmetic, self.arithmetic, self.negation, self.number_cast, self.element]
        if type_ == TIMESTAMP:
            forms += [self.time_arithmetic, self.time_arithmetic]
        if is_integer(type_):
            forms += [self.bits, self.shift]
        if is_integer(type_) or is_float(type_):
            forms.append(self.extreme)
        if is_float(type_):
            forms.append(self.float_function)
        if isinstance(type_, Primitive | EnumType) and not is_string(type_):
            forms.append(self.parsed)
        return forms + self._forms_by_kind(type_)

    def _forms_by_kind(self, type_: Type) -> list[Callable[[Any], Expression]]:
        match type_:
            case Primitive(name="boolean"):
                return [self.logical, self.logical, self.negated, self.ordered, self.equal, self.is_null, self.member]
            case Primitive(name="rstring"):
                return [self.joined, self.printed, self.sliced, self.character, self.string_function]
            case Primitive(name="int32"):
                return [self.length]
            case ListType():
                return [self.joined, self.listed] + ([self.mapped, self.broadcast] if is_numeric(type_.element) else [])
            case OptionalType():
                return [self.wrapped]
            case TupleType():
                return [self.tuple_of]
        return []

    def conditional(self, type_: Type) -> Expression:
        return build.conditional(self.some(BOOLEAN), self.some(type_), self.some(type_))

    def unwrapped(self, type_: Type) -> Expression:
        return build.unary("unwrap", self.some(OptionalType(type_)))

    def or_else(self, type_: Type) -> Expression:
        return build.binary("?:", self.some(OptionalType(type_)), self.some(type_))

    def wrapped(self, type_: OptionalType) -> Expression:
        return build.convert(self.some(type_.inner), type_)

    def arithmetic(self, type_: Type) -> Expression:
        return build.binary(self.choice("+-*/%"), self.some(type_), self.some(type_))

    def bits(self, type_: Type) -> Expression:
        return build.binary(self.choice("&|^"), self.some(type_), self.some(type_))

    def shift(self, type_: Type) -> Expression:
        return build.binary(self.choice(["<<", ">>"]), self.some(type_), self.some(self.choice(INTEGER_TYPES)))

    def negation(self, type_: Type) -> Expression:
        return build.unary(self.choice("-~" if is_integer(type_) else "-"), self.some(type_))

    def number_cast(self, type_: Type) -> Expression:
        return build.cast(self.some(self.choice(NUMERIC_TYPES)), type_)

    def element(self, type_: Type) -> Expression:
        if self.draw(st.booleans()):
            return build.index(self.some(ListType(type_)), self.some(self.choice(INTEGER_TYPES)))
        return build.index(self.some(MapType(RSTRING, type_)), self.some(RSTRING))

    def extreme(self, type_: Type) -> Expression:
        return build.call(self.choice(["min", "max"]), [self.some(type_), self.some(type_)])

    def float_function(self, type_: Type) -> Expression:
        return build.call(self.choice(["exp", "sqrt", "floor", "abs"]), [self.some(type_)])

    def parsed(self, type_: Type) -> Expression:
        return build.cast(self.some(RSTRING), type_)

    def logical(self, type_: Type) -> Expression:
        return build.binary(self.choice(["&&", "||"]), self.some(BOOLEAN), self.some(BOOLEAN))

    def negated(self, type_: Type) -> Expression:
        return build.unary("!", self.some(BOOLEAN))

    def ordered(self, type_: Type) -> Expression:
        compared = self.choice(SCALAR_TYPES)
        return build.binary(self.choice(["<", "<=", ">", ">="]), self.some(compared), self.some(compared))

    def equal(self, type_: Type) -> Expression:
        composite = [ListType(FLOAT64), MapType(INT32, FLOAT64), OptionalType(FLOAT64), SetType(INT32)]
        compared = self.choice([*SCALAR_TYPES, *composite])
        return build.binary(self.choice(["==", "!="]), self.some(compared), self.some(compared))

    def is_null(self, type_: Type) -> Expression:
        optional = self.some(OptionalType(self.choice(SCALAR_TYPES)))
        return build.binary(self.choice(["==", "!="]), optional, build.literal(None))

    def member(self, type_: Type) -> Expression:
        container = self.choice([ListType(INT32), ListType(RSTRING), ListType(FLOAT64), SetType(INT32)])
        return build.binary("in", self.some(container.element), self.some(container))

    def joined(self, type_: Type) -> Expression:
        return build.binary("+", self.some(type_), self.some(type_))

    def printed(self, type_: Type) -> Expression:
        return build.cast(self.some(self.choice(SCALAR_TYPES)), RSTRING)

    def sliced(self, type_: Type) -> Expression:
        lower, upper = (self.choice([None, self.some(INT32), self.constant(INT32)]) for _ in range(2))
        return build.slice_(self.some(RSTRING), lower, upper)

    def character(self, type_: Type) -> Expression:
        return build.index(self.some(RSTRING), self.some(INT32))

    def string_function(self, type_: Type) -> Expression:
        return build.call(self.choice(["lower", "upper", "reverse"]), [self.some(RSTRING)])

    def length(self, type_: Type) -> Expression:
        return build.call("length", [self.some(RSTRING)])

    def listed(self, type_: ListType) -> Expression:
        elements = [self.some(type_.element) for _ in range(self.draw(st.integers(0, 3)))]
        return build.convert(build.list_literal(elements), type_)

    def mapped(self, type_: ListType) -> Expression:
        return build.binary(self.choice([".+", ".-", ".*", "./"]), self.some(type_), self.some(type_))

    def broadcast(self, type_: ListType) -> Expression:
        return build.binary(self.choice("+-*"), self.some(type_), self.some(type_.element))

    def tuple_of(self, type_: TupleType) -> Expression:
        return build.tuple_literal(type_.names, [self.some(a.type) for a in type_.attributes])


def any_expressions(schema: Schema) -> st.SearchStrategy[Expression | UserError]:
    """What the typing rules make of operands that do not always fit: a typed expression, or the user's mistake."""
    operands = expressions(schema, depth=1)
    operators = ["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "==", "<", "&&", "||", "in", "?:", ".+", ".=="]
    binary = st.tuples(st.sampled_from(operators), operands, operands).map(lambda p: _attempt(build.binary, *p))
    unary = st.tuples(st.sampled_from(["-", "!", "~", "unwrap"]), operands).map(lambda p: _attempt(build.unary, *p))
    casts = st.tuples(operands, types()).map(lambda p: _attempt(build.cast, *p))
    converts = st.tuples(operands, types()).map(lambda p: _attempt(build.convert, *p))
    indexes = st.tuples(operands, operands).map(lambda p: _attempt(build.index, *p))
    conditionals = st.tuples(operands, operands, operands).map(lambda p: _attempt(build.conditional, *p))
    return st.one_of(binary, unary, casts, converts, indexes, conditionals)


def _attempt(make: Callable[..., Expression], *arguments: object) -> Expression | UserError:
    try:
        return make(*arguments)
    except UserError as error:
        return error
