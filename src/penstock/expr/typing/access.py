"""The typing rules of literals, access to parts, and changes of variables."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from penstock.base.diagnostics import Span, did_you_mean
from penstock.expr.typing.convert import convert, fail, is_flexible, try_convert, unify
from penstock.expr.typing.operators import binary
from penstock.expr.typing.rules import fits, is_hashable
from penstock.expr.values import integer_range
from penstock.ir.expressions import (
    Attribute,
    Binary,
    Expression,
    Field,
    Index,
    InputTuple,
    ListLiteral,
    Literal,
    MapLiteral,
    Scalar,
    SetLiteral,
    Slice,
    TupleLiteral,
    Update,
    Variable,
)
from penstock.ir.statements import Assign
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    DECIMAL64,
    FLOAT64,
    INT32,
    INT64,
    RSTRING,
    UINT8,
    UINT64,
    VOID,
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
    is_integer,
    is_string,
)


def literal(value: Scalar, type_: Type | None = None, span: Span | None = None) -> Literal:
    """A constant; without a type, the type that SPL gives a literal without suffix.

    Example:
        >>> [str(literal(v).type) for v in (True, 5, 5_000_000_000, 2.5, "x", None)]
        ['boolean', 'int32', 'int64', 'float64', 'rstring', 'optional<void>']
    """
    type_ = type_ or _natural_type(value, span)
    if isinstance(value, int) and isinstance(type_, Primitive) and is_integer(type_) and not fits(value, type_):
        low, high = integer_range(type_)
        fail(f"{value} does not fit {type_} ({low} to {high})", span)
    if isinstance(type_, EnumType) and value not in type_.symbols:
        fail(f"`{value!s}` is not a symbol of {type_}", span, did_you_mean(str(value), type_.symbols))
    return Literal(type=type_, value=value, span=span)


def _natural_type(value: Scalar, span: Span | None) -> Type:
    match value:
        case None:
            return OptionalType(VOID)
        case bool():
            return BOOLEAN
        case int():
            found = next((t for t in (INT32, INT64, UINT64) if fits(value, t)), None)
            return found or fail(f"{value} does not fit any integer type", span)
        case float():
            return FLOAT64
        case Decimal():
            return DECIMAL64
        case bytes():
            return BLOB
    return RSTRING


def field(base: Expression, name: str, span: Span | None = None) -> Expression:
    """`base.name`.

    Example:
        >>> from penstock.ir.expressions import InputTuple
        >>> from penstock.ir.types import tuple_type
        >>> field(InputTuple(type=tuple_type(price=FLOAT64)), "prise")
        Traceback (most recent call last):
        penstock.UserError: error: tuple<float64 price> has no attribute `prise`; did you mean `price`?
    """
    if not isinstance(base.type, TupleType):
        fail(f"`.{name}` needs a tuple, found {base.type}", span or base.span)
    if name not in base.type.position:
        fail(f"{base.type} has no attribute `{name}`", span, did_you_mean(name, base.type.names))
    type_ = base.type.attribute(name).type
    if isinstance(base, InputTuple):
        return Attribute(type=type_, name=name, port=base.port, span=span)
    return Field(type=type_, base=base, name=name, span=span)


def index(base: Expression, at: Expression, span: Span | None = None) -> Expression:
    """`base[at]` of a list, map, string or blob.

    Example:
        >>> str(index(literal("abc"), literal(1)).type)
        'rstring'
    """
    if isinstance(base.type, MapType):
        key = at if base.type.key == VOID else convert(at, base.type.key, at.span or span)
        return Index(type=base.type.value, base=base, index=key, span=span)
    type_ = base.type.element if isinstance(base.type, ListType) else UINT8 if base.type == BLOB else None
    if type_ is None and is_string(base.type):
        type_ = _character_type(base.type)
    if type_ is None:
        fail(f"`[]` is not defined on {base.type}", span or base.span, "it needs a list, map, string or blob")
    return Index(type=type_, base=base, index=_position(at, span), span=span)


def _character_type(type_: Type) -> Type:
    return RSTRING if str(type_).startswith("rstring") else type_


def _position(at: Expression, span: Span | None) -> Expression:
    if not is_integer(at.type):
        fail(f"a position must be an integer, found {at.type}", at.span or span)
    return at


def slice_(
    base: Expression, lower: Expression | None, upper: Expression | None, span: Span | None = None
) -> Expression:
    """`base[lower:upper]` of a list, string or blob.

    Example:
        >>> str(slice_(literal("abc"), None, literal(2)).type)
        'rstring'
    """
    if not (isinstance(base.type, ListType) or is_string(base.type) or base.type == BLOB):
        fail(f"a slice is not defined on {base.type}", span or base.span, "it needs a list, string or blob")
    for at in (lower, upper):
        if at is not None:
            _position(at, span)
    type_: Type = base.type
    if isinstance(type_, ListType):
        type_ = ListType(type_.element)
    elif is_string(type_):
        type_ = _character_type(type_)
    return Slice(type=type_, base=base, lower=lower, upper=upper, span=span)


def list_literal(elements: Sequence[Expression], span: Span | None = None) -> Expression:
    """`[a, b]`; empty, it converts to a list of any type.

    Example:
        >>> str(list_literal([literal(1), literal(2.5)]).type)
        'list<float64>'
    """
    kept = _elements(elements, "list", span)
    return ListLiteral(type=ListType(kept[0].type if kept else VOID), elements=kept, span=span)


def set_literal(elements: Sequence[Expression], span: Span | None = None) -> Expression:
    """`{a, b}`; empty, it converts to a set or a map of any type.

    Example:
        >>> str(set_literal([literal("a")]).type)
        'set<rstring>'
    """
    kept = _elements(elements, "set", span)
    type_ = SetType(kept[0].type if kept else VOID)
    if kept:
        check_type(type_, span)
    return SetLiteral(type=type_, elements=kept, span=span)


def map_literal(keys: Sequence[Expression], values: Sequence[Expression], span: Span | None = None) -> Expression:
    """`{k: v}`.

    Example:
        >>> str(map_literal([literal("a")], [literal(1)]).type)
        'map<rstring, int32>'
    """
    kept_keys, kept_values = _elements(keys, "map", span), _elements(values, "map", span)
    type_ = MapType(kept_keys[0].type, kept_values[0].type) if kept_keys else MapType(VOID, VOID)
    if kept_keys:
        check_type(type_, span)
    return MapLiteral(type=type_, keys=kept_keys, values=kept_values, span=span)


def _elements(elements: Sequence[Expression], what: str, span: Span | None) -> tuple[Expression, ...]:
    kept = unify(elements)
    if kept is None:
        types = ", ".join(dict.fromkeys(str(e.type) for e in elements))
        fail(f"the elements of a {what} need a common type, found {types}", span or elements[0].span)
    return kept


def tuple_literal(names: Sequence[str], values: Sequence[Expression], span: Span | None = None) -> Expression:
    """`{name = value}`.

    Example:
        >>> str(tuple_literal(["a", "b"], [literal(1), literal("x")]).type)
        'tuple<int32 a, rstring b>'
    """
    repeated = next((n for i, n in enumerate(names) if n in names[:i]), None)
    if repeated is not None:
        fail(f"attribute `{repeated}` is given twice", span)
    type_ = TupleType(tuple(TypedName(n, v.type) for n, v in zip(names, values, strict=True)))
    return TupleLiteral(type=type_, values=tuple(values), span=span)


def check_type(type_: Type, span: Span | None = None) -> Type:
    """The type itself, if sets and map keys in it can be kept apart by value.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> check_type(parse_type("set<list<int32>>"))
        Traceback (most recent call last):
        penstock.UserError: error: list<int32> cannot be an element of a set; ...
    """
    hint = "use a primitive type, an enum, or a tuple of these"
    for part in type_.walk():
        if isinstance(part, SetType) and not is_hashable(part.element):
            fail(f"{part.element} cannot be an element of a set", span, hint)
        if isinstance(part, MapType) and not is_hashable(part.key):
            fail(f"{part.key} cannot be the key of a map", span, hint)
    return type_


def assign(target: Expression, value: Expression, operator: str = "", span: Span | None = None) -> Assign:
    """`target operator= value;`.

    Example:
        >>> from penstock.ir.expressions import Variable
        >>> assign(Variable(name="n", type=INT64), literal(1), "+").value.type == INT64
        True
    """
    check_assignable(target, span)
    operator, value = _assigned(target, value, operator, span)
    return Assign(target=target, value=value, operator=operator, span=span)


def update(
    target: Expression, value: Expression, operator: str = "", *, postfix: bool = False, span: Span | None = None
) -> Expression:
    """A change of a variable used as a value: `n++`, `n += 2`, `n = 3`.

    Example:
        >>> from penstock.ir.expressions import Variable
        >>> str(update(Variable(name="n", type=UINT8), literal(1), "+", postfix=True).type)
        'uint8'
    """
    check_assignable(target, span)
    operator, value = _assigned(target, value, operator, span)
    return Update(type=target.type, target=target, value=value, operator=operator, postfix=postfix, span=span)


def check_assignable(target: Expression, span: Span | None = None) -> None:
    """Raise unless the expression names a variable, a tuple of an input port, or a part of one."""
    part = target
    while isinstance(part, Field | Index):
        if isinstance(part, Index) and is_string(part.base.type):
            fail("a character of a string cannot be assigned to", span or target.span)
        part = part.base
    if not isinstance(part, Variable | Attribute | InputTuple):
        fail("only a variable or a part of one can be assigned to", span or target.span)


def _assigned(target: Expression, value: Expression, operator: str, span: Span | None) -> tuple[str, Expression]:
    """The operator and the value of an assignment, converted so that the result is of the target's type."""
    if not operator:
        return operator, convert(value, target.type, value.span or span)
    fitted = try_convert(value, target.type) if is_flexible(value) and operator not in ("<<", ">>") else None
    result = binary(operator, target, fitted or value, span)
    if not isinstance(result, Binary) or try_convert(result, target.type) is None or result.left is not target:
        fail(f"`{operator}=` on {target.type} gives {result.type}", span, f"cast the value: `({target.type})`")
    return result.operator, result.right
