"""Expressions as Python text.

The text is what a person would write: `price * volume > 100.0` over the first port becomes `t0[1] * t0[2] > 100.0`. It
calls functions only where Python has no operator with SPL's meaning, so it can be inlined into generated loops.

Example:
    >>> from penstock.expr.emit.scope import Module
    >>> from penstock.expr.typing import binary, literal
    >>> from penstock.ir.expressions import Attribute
    >>> from penstock.ir.types import INT32, parse_schema
    >>> schema = parse_schema("rstring symbol, int32 volume")
    >>> scope = Scope(module=Module(), ports=(schema,), tuples=("t0",))
    >>> emit(binary("+", Attribute(name="volume", type=INT32), literal(1)), scope)
    '(t0[1] + 1 + 0x80000000 & 0xffffffff) - 0x80000000'
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isfinite, isnan
from typing import Any

from penstock.expr.emit import arithmetic
from penstock.expr.emit.calls import call_code
from penstock.expr.emit.casts import cast_code
from penstock.expr.emit.code import AND, ATOM, NOT, OR, SIGN, TERNARY, Code
from penstock.expr.emit.ownership import needs_copy
from penstock.expr.emit.parts import is_float_inside
from penstock.expr.emit.scope import Scope
from penstock.expr.emit.store import settle, store_text
from penstock.expr.typing.rules import unbounded
from penstock.ir.expressions import (
    COMPARISON,
    Attribute,
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Field,
    Index,
    InputTuple,
    ListLiteral,
    Literal,
    MapLiteral,
    SetLiteral,
    Slice,
    TupleLiteral,
    Unary,
    Update,
    Variable,
)
from penstock.ir.types import FLOAT64, MapType, TupleType, has_collection, is_collection, is_integer


def emit(expression: Expression, scope: Scope) -> str:
    """The Python text of an expression."""
    return code(expression, scope).text


def code(x: Expression, scope: Scope) -> Code:
    """The Python text of an expression, with its precedence."""
    return _EMITTERS[type(x)](x, scope)


def owned(x: Expression, scope: Scope, *, into_owned: bool = False) -> Code:
    """The text of a value on its way to a new owner, copied where the owners must not share it."""
    value = code(x, scope)
    if not needs_copy(x, scope, into_owned=into_owned):
        return value
    if is_collection(x.type) and not any(has_collection(part) for part in x.type.walk() if part is not x.type):
        return Code(f"{value.at(ATOM)}.copy()")
    return Code(f"{scope.module.define('copy', f'copier({_spell(x)})')}({value.text})")


def _spell(x: Expression) -> str:
    return f'parse_type("{x.type}")'


def _literal(x: Literal, scope: Scope) -> Code:
    match x.value:
        case float(value) if not isfinite(value):
            return Code("nan") if isnan(value) else Code("inf") if value > 0 else Code("-inf", SIGN)
        case Decimal():
            return Code(scope.module.define("decimal", repr(x.value)))
    text = repr(x.value)
    return Code(text, SIGN if text.startswith("-") else ATOM)


def _attribute(x: Attribute, scope: Scope) -> Code:
    return Code(scope.attribute(x.port, x.name))


def _input_tuple(x: InputTuple, scope: Scope) -> Code:
    return Code(scope.tuple(x.port))


def _variable(x: Variable, scope: Scope) -> Code:
    return Code(scope.variables[x.name].text)


def _field(x: Field, scope: Scope) -> Code:
    assert isinstance(x.base.type, TupleType)
    return Code(f"{code(x.base, scope).at(ATOM)}[{x.base.type.position[x.name]}]")


def _index(x: Index, scope: Scope) -> Code:
    base, at = code(x.base, scope), code(x.index, scope)
    if isinstance(x.base.type, MapType):
        return _lookup(x.base.type, base, at, scope)
    values, bind_values = arithmetic.bind(base, scope)
    position, bind_position = arithmetic.bind(at, scope)
    # The base is evaluated first, so that a failure in it is the one reported.
    first = "" if base.is_simple else f"{bind_values} is not None and "
    test = (
        f"{first}{position} < len({values})" if position.isdigit() else f"{first}0 <= {bind_position} < len({values})"
    )
    return Code(f"{values}[{position}] if {test} else not_at({position}, len({values}))", TERNARY)


def _lookup(type_: MapType, base: Code, at: Code, scope: Scope) -> Code:
    found = scope.locals.temporary()
    key, bind_key = arithmetic.bind(at, scope)
    key_type = scope.module.define("type", f'parse_type("{type_.key}")')
    lookup = f"({found} := {base.at(ATOM)}.get({bind_key}, MISSING)) is not MISSING"
    if is_float_inside(type_.key):
        lookup = f"{lookup} and not has_nan({key})"
    return Code(f"{found} if {lookup} else no_key({key}, {key_type})", TERNARY)


def _slice(x: Slice, scope: Scope) -> Code:
    lower, upper = ("" if at is None else _slice_bound(code(at, scope)) for at in (x.lower, x.upper))
    return Code(f"{code(x.base, scope).at(ATOM)}[{lower}:{upper}]")


def _slice_bound(at: Code) -> str:
    return at.text if at.text.isdigit() else f"max({at.text}, 0)"


def _unary(x: Unary, scope: Scope) -> Code:
    if x.operator == "-" and is_integer(x.type):
        return arithmetic.wrap(_ring(x, scope), x.type)
    operand = code(x.operand, scope)
    match x.operator:
        case "-":
            return arithmetic.negative(x.type, operand, scope)
        case "~":
            return arithmetic.complement(x.type, operand)
        case "!":
            return Code(f"not {operand.at(NOT)}", NOT)
    value, bind_value = arithmetic.bind_optional(operand, scope)
    return Code(f"{value} if {bind_value} is not None else no_value()", TERNARY)


def _ring(x: Expression, scope: Scope) -> Code:
    """An operand of a sum or product of integers, itself not wrapped where it is a sum or product."""
    match x:
        case Binary(operator=operator) if arithmetic.is_ring(operator, x.type):
            return arithmetic.ring(operator, _ring(x.left, scope), _ring(x.right, scope))
        case Unary(operator="-") if is_integer(x.type):
            return arithmetic.ring_negative(_ring(x.operand, scope))
    return code(x, scope)


def _binary(x: Binary, scope: Scope) -> Code:
    if arithmetic.is_ring(x.operator, x.type):
        return arithmetic.wrap(_ring(x, scope), x.type)
    left, right = code(x.left, scope), code(x.right, scope)
    match x.operator:
        case "&&":
            return Code(f"{left.at(AND)} and {right.at(AND)}", AND)
        case "||":
            return Code(f"{left.at(OR)} or {right.at(OR)}", OR)
        case "?:":
            value, bind_value = arithmetic.bind_optional(left, scope)
            return Code(f"{value} if {bind_value} is not None else {right.at(TERNARY)}", TERNARY)
        case "in":
            return arithmetic.membership(x.right.type, left, right, scope)
        case "<<" | ">>":
            return arithmetic.shift(x.operator, x.type, left, right)
        case operator if operator in COMPARISON:
            return arithmetic.comparison(operator, x.left.type, left, right, scope)
        case operator if operator.startswith("."):
            return arithmetic.elementwise(operator, x.left.type, x.right.type, left, right, scope)
    if x.type == FLOAT64 and x.operator in "+-*":
        left, right = _mixed(x, left, right, scope)
    return arithmetic.arithmetic(x.operator, x.type, left, right, scope)


def _mixed(x: Binary, left: Code, right: Code, scope: Scope) -> tuple[Code, Code]:
    """The operands, one of them left an integer if it was one: Python then rounds it to a float just as a cast does."""
    match x.left, x.right:
        case (Cast(operand=operand), _) if is_integer(operand.type):
            return code(operand, scope), right
        case (_, Cast(operand=operand)) if is_integer(operand.type):
            return left, code(operand, scope)
    return left, right


def _conditional(x: Conditional, scope: Scope) -> Code:
    then, test, otherwise = code(x.then, scope), code(x.test, scope), code(x.otherwise, scope)
    return Code(f"{then.at(OR)} if {test.at(OR)} else {otherwise.text}", TERNARY)


def _cast(x: Cast, scope: Scope) -> Code:
    return cast_code(code(x.operand, scope), x.operand.type, x.type, scope)


def _call(x: Call, scope: Scope) -> Code:
    return call_code(x, scope, code, owned)


def _parts(parts: Sequence[Expression], scope: Scope) -> str:
    return ", ".join(owned(part, scope).text for part in parts)


def _list_literal(x: ListLiteral, scope: Scope) -> Code:
    return Code(f"[{_parts(x.elements, scope)}]")


def _set_literal(x: SetLiteral, scope: Scope) -> Code:
    return Code(f"{{{_parts(x.elements, scope)}}}" if x.elements else "set()")


def _map_literal(x: MapLiteral, scope: Scope) -> Code:
    pairs = zip(x.keys, x.values, strict=True)
    inside = ", ".join(f"{owned(key, scope).text}: {owned(value, scope).text}" for key, value in pairs)
    return Code(f"{{{inside}}}")


def _tuple_literal(x: TupleLiteral, scope: Scope) -> Code:
    return Code(f"({_parts(x.values, scope)}{',' if len(x.values) == 1 else ''})")


def _update(x: Update, scope: Scope) -> Code:
    """`(positions, old value, store, result)[-1]`, of which most parts are left out in simple cases."""
    target, positions = settle(x.target, scope, code)
    parts = [f"({text})" for text in positions]
    old = code(target, scope)
    if x.postfix:
        name = scope.locals.temporary()
        parts.append(f"({name} := {old.text})")
    value = changed(target, x.operator, x.value, scope)
    parts.append(store_text(target, value, scope, code))
    if x.postfix or not isinstance(target, Variable):
        parts.append(name if x.postfix else old.text)
    return Code(parts[0]) if len(parts) == 1 else Code(f"({', '.join(parts)})[-1]")


def changed(target: Expression, operator: str, value: Expression, scope: Scope) -> Code:
    """The value that an assignment stores."""
    if not operator:
        return owned(value, scope, into_owned=True)
    result_type = unbounded(target.type)
    result = Binary(type=result_type, operator=operator, left=target, right=value)
    return cast_code(owned(result, scope, into_owned=True), result_type, target.type, scope)


_EMITTERS: dict[type[Expression], Callable[[Any, Scope], Code]] = {
    Literal: _literal,
    Attribute: _attribute,
    InputTuple: _input_tuple,
    Variable: _variable,
    Field: _field,
    Index: _index,
    Slice: _slice,
    Unary: _unary,
    Binary: _binary,
    Conditional: _conditional,
    Cast: _cast,
    Call: _call,
    ListLiteral: _list_literal,
    SetLiteral: _set_literal,
    MapLiteral: _map_literal,
    TupleLiteral: _tuple_literal,
    Update: _update,
}
