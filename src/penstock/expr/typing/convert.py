"""Conversions of typed expressions: implied, written, and to a common type.

A literal is flexible: an integer literal becomes a literal of any numeric type that holds its value, a float literal
one of any float or decimal type, a string literal one of either string type, an empty collection one of any element
type. So do literals inside collection literals, tuple literals and the branches of a conditional.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import NoReturn

from penstock.base.diagnostics import Diagnostic, Span, UserError
from penstock.expr.typing.rules import can_cast, can_convert, common_type, fits
from penstock.expr.values import as_type, integer_range
from penstock.ir.expressions import (
    Cast,
    Conditional,
    Expression,
    ListLiteral,
    Literal,
    MapLiteral,
    Scalar,
    SetLiteral,
    TupleLiteral,
)
from penstock.ir.types import (
    VOID,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    is_decimal,
    is_float,
    is_integer,
    is_string,
)


def fail(message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    """Raise a user's mistake."""
    raise UserError(Diagnostic(message=message, span=span, hint=hint))


def cast(x: Expression, type_: Type, span: Span | None = None) -> Expression:
    """`(type) x`, as the user wrote it.

    Example:
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.types import INT32
        >>> str(cast(literal(2.5), INT32).type)
        'int32'
    """
    converted = try_convert(x, type_)
    if converted is not None:
        return converted
    if isinstance(x.type, OptionalType) and not isinstance(type_, OptionalType):
        fail(f"{x.type} cannot be cast to {type_}", span or x.span, "unwrap it first with `!` or `?:`")
    if not can_cast(x.type, type_):
        fail(f"{x.type} cannot be cast to {type_}", span or x.span)
    return Cast(type=type_, operand=x, span=span or x.span)


def convert(x: Expression, type_: Type, span: Span | None = None) -> Expression:
    """The expression as a value of a type, by implicit conversion.

    Raises:
        UserError: There is no implicit conversion; the hint says whether a cast would do.

    Example:
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.types import INT8, UINT64
        >>> convert(literal(7), UINT64)
        Literal(type=Primitive(name='uint64', bound=None), value=7)
        >>> convert(literal(700), INT8)
        Traceback (most recent call last):
        penstock.UserError: error: 700 does not fit int8 (-128 to 127)
    """
    converted = try_convert(x, type_)
    if converted is not None:
        return converted
    where = span or x.span
    match x:
        case Literal(value=int(value)) if is_integer(x.type) and isinstance(type_, Primitive) and is_integer(type_):
            low, high = integer_range(type_)
            fail(f"{value} does not fit {type_} ({low} to {high})", where)
        case Literal(value=None):
            fail(f"null is not a value of {type_}", where, f"optional<{type_}> allows it")
    fail(f"expected {type_}, found {x.type}", where, _conversion_hint(x.type, type_))


def _conversion_hint(source: Type, target: Type) -> str | None:
    if isinstance(source, OptionalType) and can_convert(source.inner, target):
        return "unwrap it with `!` or `?:`"
    return f"cast it: `({target})`" if can_cast(source, target) and VOID not in target.walk() else None


def try_convert(x: Expression, type_: Type) -> Expression | None:
    """The expression as a value of a type, or none if there is no implicit conversion.

    Example:
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.types import INT32
        >>> try_convert(literal(1.5), INT32) is None
        True
    """
    if x.type == type_:
        return x
    if isinstance(type_, OptionalType) and not isinstance(x.type, OptionalType):
        inner = try_convert(x, type_.inner)
        return None if inner is None else Cast(type=type_, operand=inner, span=x.span)
    distributed = _distribute(x, type_)
    if distributed is not None:
        return distributed
    return Cast(type=type_, operand=x, span=x.span) if can_convert(x.type, type_) else None


def _distribute(x: Expression, type_: Type) -> Expression | None:
    """The conversion done inside a literal or a conditional, if all parts convert."""
    match x, type_:
        case Literal(), _:
            return _convert_literal(x, type_)
        case ListLiteral(), ListType(element=element):
            return _rebuild(x.elements, [element] * len(x.elements), lambda e: replace(x, type=type_, elements=e))
        case SetLiteral(), SetType(element=element):
            return _rebuild(x.elements, [element] * len(x.elements), lambda e: replace(x, type=type_, elements=e))
        case SetLiteral(elements=()), MapType():
            return MapLiteral(type=type_, keys=(), values=(), span=x.span)
        case MapLiteral(), MapType(key=key, value=value):
            size = len(x.keys)
            types = [key] * size + [value] * size
            return _rebuild(
                (*x.keys, *x.values), types, lambda p: replace(x, type=type_, keys=p[:size], values=p[size:])
            )
        case TupleLiteral(), TupleType():
            return _convert_tuple_literal(x, type_)
        case Conditional(), _:
            types = [x.test.type, type_, type_]
            return _rebuild(
                (x.test, x.then, x.otherwise),
                types,
                lambda p: Conditional(type=type_, test=p[0], then=p[1], otherwise=p[2], span=x.span),
            )
    return None


def _rebuild(
    parts: Sequence[Expression], types: Sequence[Type], build: Callable[[tuple[Expression, ...]], Expression]
) -> Expression | None:
    converted = [try_convert(part, type_) for part, type_ in zip(parts, types, strict=True)]
    kept = tuple(part for part in converted if part is not None)
    return build(kept) if len(kept) == len(converted) else None


def _convert_tuple_literal(x: TupleLiteral, type_: TupleType) -> Expression | None:
    given = dict(zip(_tuple_type(x.type).names, x.values, strict=True))
    if given.keys() != set(type_.names) or _reorders(x, type_):
        return None
    values = [given[name] for name in type_.names]
    return _rebuild(values, [a.type for a in type_.attributes], lambda v: replace(x, type=type_, values=v))


def _reorders(x: TupleLiteral, type_: TupleType) -> bool:
    """Whether the values would be computed in another order, which only literals allow."""
    return _tuple_type(x.type).names != type_.names and not all(isinstance(v, Literal) for v in x.values)


def _tuple_type(type_: Type) -> TupleType:
    assert isinstance(type_, TupleType)
    return type_


def _convert_literal(x: Literal, type_: Type) -> Expression | None:
    value = _literal_value(x, type_)
    return None if value is _NONE else Literal(type=type_, value=value, span=x.span)  # type: ignore[arg-type]


_NONE = object()


def _literal_value(x: Literal, type_: Type) -> Scalar | object:
    match x.value:
        case None if isinstance(type_, OptionalType):
            return None
        case str() as text if is_string(x.type) and type_ in (Primitive("rstring"), Primitive("ustring")):
            return text
        case int() as number if is_integer(x.type) and is_integer(type_):
            return number if fits(number, type_) else _NONE
        case int() | float() | Decimal() if is_integer(x.type) or is_float(x.type) or x.type == type_:
            return _fraction(x.value, type_)
    return _NONE


def _fraction(value: int | float | Decimal, type_: Type) -> Scalar | object:
    """A number as a value of a float or decimal type."""
    return as_type(value, type_) if is_float(type_) or is_decimal(type_) else _NONE


def is_flexible(x: Expression) -> bool:
    """Whether the type of an expression gives way to the type of what it is used with: a literal, or made of such."""
    match x:
        case Literal():
            return True
        case ListLiteral() | SetLiteral() | MapLiteral() | TupleLiteral():
            return all(is_flexible(child) for child in x.children())
    return False


def unify(values: Sequence[Expression]) -> tuple[Expression, ...] | None:
    """The expressions converted to one type, flexible ones following the others; none if there is no such type.

    Example:
        >>> from penstock.expr.typing import literal
        >>> [str(x.type) for x in unify([literal(1), literal(2.5)])]
        ['float64', 'float64']
    """
    wanted: Type | None = None
    for value in [v for v in values if not is_flexible(v)] + [v for v in values if is_flexible(v)]:
        if wanted is None:
            wanted = value.type
        elif try_convert(value, wanted) is None:
            wanted = common_type(wanted, value.type)
            if wanted is None:
                return None
    converted = [try_convert(value, wanted) for value in values] if wanted is not None else []
    kept = tuple(value for value in converted if value is not None)
    return kept if len(kept) == len(values) else None
