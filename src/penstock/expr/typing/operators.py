"""The typing rules of operators."""

from __future__ import annotations

from typing import NoReturn

from penstock.base.diagnostics import Span
from penstock.expr.typing.convert import convert, fail, is_flexible, try_convert, unify
from penstock.expr.typing.rules import fits, is_ordered, unbounded
from penstock.ir.expressions import (
    ARITHMETIC,
    BITWISE,
    COMPARISON,
    LOGICAL,
    Binary,
    Conditional,
    Expression,
    Literal,
    Unary,
)
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    TIMESTAMP,
    VOID,
    ListType,
    MapType,
    OptionalType,
    SetType,
    Type,
    is_collection,
    is_complex,
    is_integer,
    is_numeric,
    is_string,
)

_SHIFTS = ("<<", ">>")
_MAPPED = tuple("." + operator for operator in (*ARITHMETIC, *BITWISE, *COMPARISON))
_NULL = Literal(type=OptionalType(VOID), value=None)


def unary(operator: str, x: Expression, span: Span | None = None) -> Expression:
    """`-x`, `!x`, `~x`, `x!` (`unwrap`), `x??` (`present`, which is `x != null`).

    Example:
        >>> from penstock.expr.typing import literal
        >>> unary("-", literal(5))
        Literal(type=Primitive(name='int32', bound=None), value=-5)
        >>> unary("!", literal(5))
        Traceback (most recent call last):
        penstock.UserError: error: `!` is not defined on int32; it needs boolean
    """
    if operator == "present":
        return binary("!=", x, _NULL, span)
    if operator == "unwrap":
        if not isinstance(x.type, OptionalType) or x.type.inner == VOID:
            fail(f"`!` unwraps an optional, found {x.type}", span or x.span)
        return Unary(type=x.type.inner, operator=operator, operand=x, span=span)
    allowed, needed = {
        "-": (_is_number, "a numeric type"),
        "~": (is_integer, "an integer type"),
        "!": (lambda type_: type_ == BOOLEAN, "boolean"),
    }[operator]
    if not allowed(x.type):
        fail(f"`{operator}` is not defined on {x.type}", span or x.span, f"it needs {needed}")
    folded = _negated(x, span) if operator == "-" else None
    return folded or Unary(type=x.type, operator=operator, operand=x, span=span)


def _is_number(type_: Type) -> bool:
    return is_numeric(type_) or is_complex(type_)


def _negated(x: Expression, span: Span | None) -> Literal | None:
    """A negative literal, so that it stays flexible and `-2147483648` is an int32."""
    if not isinstance(x, Literal) or x.value is None or isinstance(x.value, str | bytes | bool):
        return None
    value = x.value.copy_negate() if not isinstance(x.value, int | float) else -x.value
    if isinstance(value, int) and is_integer(x.type) and not fits(value, x.type):
        return None
    return Literal(type=x.type, value=value, span=span)


def binary(operator: str, left: Expression, right: Expression, span: Span | None = None) -> Expression:
    """`left operator right`, with both sides converted to a common type.

    Example:
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.expressions import Attribute
        >>> from penstock.ir.types import FLOAT64, INT64
        >>> str(binary("*", Attribute(name="price", type=FLOAT64), Attribute(name="n", type=INT64)).type)
        'float64'
        >>> binary("+", literal("a"), literal(1))
        Traceback (most recent call last):
        penstock.UserError: error: `+` is not defined on rstring and int32; cast the other side: `(rstring)`
    """
    if operator in LOGICAL:
        return _logical(operator, left, right, span)
    if operator == "?:":
        return _or_else(left, right, span)
    if operator == "in":
        return _membership(left, right, span)
    if operator in _MAPPED:
        return _mapped(operator, left, right, span)
    if operator in _SHIFTS:
        return _shift(operator, left, right, span)
    if operator in COMPARISON:
        return _comparison(operator, left, right, span)
    if operator in ARITHMETIC or operator in BITWISE:
        return _arithmetic(operator, left, right, span)
    fail(f"there is no operator `{operator}`", span)


def _logical(operator: str, left: Expression, right: Expression, span: Span | None) -> Expression:
    for side in (left, right):
        if side.type != BOOLEAN:
            fail(f"`{operator}` needs boolean on both sides, found {side.type}", side.span or span)
    return Binary(type=BOOLEAN, operator=operator, left=left, right=right, span=span)


def _or_else(left: Expression, right: Expression, span: Span | None) -> Expression:
    if not isinstance(left.type, OptionalType):
        fail(f"`?:` needs an optional on its left, found {left.type}", left.span or span)
    if left.type.inner == VOID:
        return right
    wanted = left.type if isinstance(right.type, OptionalType) else left.type.inner
    default = convert(right, wanted, right.span or span)
    return Binary(type=wanted, operator="?:", left=left, right=default, span=span)


def _membership(left: Expression, right: Expression, span: Span | None) -> Expression:
    match right.type:
        case ListType(element=element) | SetType(element=element) | MapType(key=element):
            element_type = left.type if element == VOID else element
            sought = convert(left, element_type, left.span or span)
            return Binary(type=BOOLEAN, operator="in", left=sought, right=right, span=span)
    fail(f"`in` needs a list, a set or a map on its right, found {right.type}", right.span or span)


def _shift(operator: str, left: Expression, right: Expression, span: Span | None) -> Expression:
    if _is_broadcast(left, right):
        return _mapped(f".{operator}", left, right, span)
    if not (is_integer(left.type) and is_integer(right.type)):
        _undefined(operator, left, right, span, "it needs integers")
    return Binary(type=left.type, operator=operator, left=left, right=right, span=span)


def _comparison(operator: str, left: Expression, right: Expression, span: Span | None) -> Expression:
    sides = unify((left, right))
    if sides is None:
        _undefined(operator, left, right, span, "the sides have no common type")
    type_ = sides[0].type
    if isinstance(type_, OptionalType):
        _check_optionals(operator, left, right, span)
    elif operator not in ("==", "!=") and not is_ordered(type_):
        _undefined(operator, left, right, span, "there is no order on these values")
    return Binary(type=BOOLEAN, operator=operator, left=sides[0], right=sides[1], span=span)


def _check_optionals(operator: str, left: Expression, right: Expression, span: Span | None) -> None:
    both = isinstance(left.type, OptionalType) and isinstance(right.type, OptionalType)
    if operator not in ("==", "!=") or not both:
        _undefined(operator, left, right, span, "unwrap the optional first with `!` or `?:`")


def _arithmetic(operator: str, left: Expression, right: Expression, span: Span | None) -> Expression:
    if _is_broadcast(left, right):
        return _mapped(f".{operator}", left, right, span)
    if OptionalType in (type(left.type), type(right.type)):
        _undefined(operator, left, right, span, "unwrap the optional first with `!` or `?:`")
    sides = unify((left, right))
    if sides is None or not _defines(operator, sides[0].type):
        _undefined(operator, left, right, span, _arithmetic_hint(operator, left, right))
    type_ = unbounded(sides[0].type)
    return Binary(type=type_, operator=operator, left=sides[0], right=sides[1], span=span)


def _defines(operator: str, type_: Type) -> bool:
    if operator in ARITHMETIC:
        joins = operator == "+" and (is_string(type_) or is_collection(type_) or type_ == BLOB)
        joins = joins or (type_ == TIMESTAMP and operator in "+-")
        return is_numeric(type_) or joins or (is_complex(type_) and operator != "%")
    return is_integer(type_) or (type_ == BOOLEAN and operator in "&|^")


def _arithmetic_hint(operator: str, left: Expression, right: Expression) -> str | None:
    if operator == "+" and (is_string(left.type) or is_string(right.type)):
        text = left.type if is_string(left.type) else right.type
        return f"cast the other side: `({text})`"
    if is_numeric(left.type) and is_numeric(right.type):
        return "cast one side to the type of the other"
    if TIMESTAMP in (left.type, right.type):
        return "times go with times: cast seconds with `(timestamp)`, or call add or diffAsSecs"
    return None


def _undefined(operator: str, left: Expression, right: Expression, span: Span | None, hint: str | None) -> NoReturn:
    fail(f"`{operator}` is not defined on {left.type} and {right.type}", span or left.span, hint)


def _is_broadcast(left: Expression, right: Expression) -> bool:
    """Whether one side is a list or map of values and the other is one value, as in `2 * xs`."""
    return (_part(left.type) is None) != (_part(right.type) is None) and not (
        is_collection(left.type) and is_collection(right.type)
    )


def _part(type_: Type) -> Type | None:
    match type_:
        case ListType(element=part) | MapType(value=part):
            return part
    return None


def _mapped(operator: str, left: Expression, right: Expression, span: Span | None) -> Expression:
    """An operator over the elements of lists or the values of maps; a side that is one value meets each of them."""
    whole = left.type if _part(left.type) is not None else right.type
    a, b = (_part(side.type) or side.type for side in (left, right))
    if _part(whole) is None or (_part(left.type) and _part(right.type) and not _same_shape(left.type, right.type)):
        _undefined(operator, left, right, span, "it needs two lists, two maps, or one of them and a single value")
    left, right = _match_single(left, right)
    a, b = (_part(side.type) or side.type for side in (left, right))
    element = binary(operator[1:], _probe(a), _probe(b), span)
    if not isinstance(element, Binary) or (element.left.type, element.right.type) != (a, b) or is_collection(a):
        _undefined(operator, left, right, span, "the elements must be of one type")
    return Binary(type=_with_part(whole, element.type), operator=operator, left=left, right=right, span=span)


def _match_single(left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """A flexible side converted to the element type of the other."""
    for one, other, swap in ((left, right, False), (right, left, True)):
        part = _part(other.type)
        if part is not None and is_flexible(one):
            wanted = part if _part(one.type) is None else _with_part(one.type, part)
            converted = try_convert(one, wanted) or one
            return (other, converted) if swap else (converted, other)
    return left, right


def _same_shape(left: Type, right: Type) -> bool:
    match left, right:
        case ListType(), ListType():
            return True
        case MapType(key=a), MapType(key=b):
            return a == b
    return False


def _with_part(whole: Type, part: Type) -> Type:
    return ListType(part) if isinstance(whole, ListType) else MapType(whole.key, part)  # type: ignore[attr-defined]


def _probe(type_: Type) -> Expression:
    """An inflexible expression of a type, to ask what an operator makes of it."""
    return Expression(type=type_)


def conditional(test: Expression, then: Expression, otherwise: Expression, span: Span | None = None) -> Expression:
    """`test ? then : otherwise`.

    Example:
        >>> from penstock.expr.typing import literal
        >>> str(conditional(literal(True), literal(1), literal(None)).type)
        'optional<int32>'
    """
    if test.type != BOOLEAN:
        fail(f"the test of `?:` needs boolean, found {test.type}", test.span or span)
    sides = unify((then, otherwise))
    if sides is None:
        fail(f"the branches of `?:` have no common type: {then.type} and {otherwise.type}", span or then.span)
    return Conditional(type=sides[0].type, test=test, then=sides[0], otherwise=sides[1], span=span)
