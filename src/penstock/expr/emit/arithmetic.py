"""Arithmetic, comparison and membership as Python text, exact to the bit.

Integers wrap around by mask arithmetic; sums, differences and products are a ring, so in `a * b + c` only the result
is wrapped. Integer division truncates as in C. Floats divide by zero as IEEE 754 says. float32 rounds after each
operation: a sum, product or quotient of two float32 values computed in float64 and rounded once is the exact float32
result. A shift takes its count modulo 32, or 64 for 64-bit types, as the hardware does.

Operands that a form needs twice are bound by `:=`, in the order in which they are to be evaluated.
"""

from __future__ import annotations

from penstock.expr.emit.code import (
    ADD,
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARE,
    MULTIPLY,
    NOT,
    SHIFT,
    SIGN,
    TERNARY,
    Code,
    operation,
)
from penstock.expr.emit.parts import is_float_inside
from penstock.expr.emit.scope import Scope
from penstock.ir.types import (
    COMPLEX32,
    FLOAT32,
    TIMESTAMP,
    UNSIGNED,
    EnumType,
    ListType,
    MapType,
    Primitive,
    SetType,
    Type,
    is_collection,
    is_complex,
    is_decimal,
    is_float,
    is_integer,
)

_LEVELS = {"+": ADD, "-": ADD, "*": MULTIPLY, "&": BIT_AND, "|": BIT_OR, "^": BIT_XOR}
_DECIMAL_METHODS = {"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder"}
_DECIMAL_COMPARISONS = {"<": "== -1", "<=": "in (-1, 0)", ">": "== 1", ">=": "in (0, 1)"}
_ZEROS = ("0", "0.0", "-0.0")


def wrap(value: Code, type_: Type) -> Code:
    """An integer brought into the range of its type.

    Example:
        >>> from penstock.ir.types import INT8, UINT8
        >>> wrap(Code("a + b", ADD), UINT8).text, wrap(Code("a + b", ADD), INT8).text
        ('a + b & 0xff', '(a + b + 0x80 & 0xff) - 0x80')
    """
    assert isinstance(type_, Primitive)
    mask = f"{(1 << type_.bits) - 1:#x}"
    if type_.name in UNSIGNED:
        return Code(f"{value.at(ADD)} & {mask}", BIT_AND)
    half = f"{1 << (type_.bits - 1):#x}"
    return Code(f"({value.at(ADD)} + {half} & {mask}) - {half}", ADD)


def ring(operator: str, left: Code, right: Code) -> Code:
    """A sum, difference or product of integers, not yet wrapped."""
    return operation(left, operator, right, _LEVELS[operator])


def arithmetic(operator: str, type_: Type, left: Code, right: Code, scope: Scope) -> Code:
    """An arithmetic or bitwise operator on two values of one type; integer sums come wrapped."""
    if is_integer(type_):
        return _integer(operator, type_, left, right, scope)
    if type_ == FLOAT32:
        return Code(f"round_float32({_float(operator, left, right, scope).text})")
    if is_float(type_):
        return _float(operator, left, right, scope)
    if is_decimal(type_):
        context = decimal_context(type_, scope)
        return Code(f"{context}.{_DECIMAL_METHODS[operator]}({left.text}, {right.text})")
    if is_complex(type_):
        return _complex(operator, type_, left, right)
    if type_ == TIMESTAMP:
        return Code(f"checked({operation(left, operator, right, ADD).text})")
    if isinstance(type_, MapType):
        return Code(f"{{**{left.at(ADD)}, **{right.at(ADD)}}}")
    python = "|" if isinstance(type_, SetType) else operator
    return operation(left, python, right, _LEVELS[python])


def _complex(operator: str, type_: Type, left: Code, right: Code) -> Code:
    divided = Code(f"divide_complex({left.text}, {right.text})")
    found = divided if operator == "/" else operation(left, operator, right, _LEVELS[operator])
    return Code(f"round_complex32({found.text})") if type_ == COMPLEX32 else found


def decimal_context(type_: Type, scope: Scope) -> str:
    """The name of the context that computes with a decimal type."""
    return scope.module.define(str(type_), f'DECIMAL_CONTEXTS["{type_}"]')


def _integer(operator: str, type_: Type, left: Code, right: Code, scope: Scope) -> Code:
    if operator in ("+", "-", "*"):
        return wrap(ring(operator, left, right), type_)
    if operator in ("/", "%"):
        return _division(operator, type_, left, right, scope)
    return operation(left, operator, right, _LEVELS[operator])


def _division(operator: str, type_: Type, left: Code, right: Code, scope: Scope) -> Code:
    """A truncating division; Python's own floors, so operands of unlike sign take a detour."""
    python = "//" if operator == "/" else "%"
    constant = right.text.isdigit() and right.text not in _ZEROS
    divisor = right if constant else Code(f"({right.at(AND)} or division_by_zero())")
    if str(type_) in UNSIGNED:
        return operation(left, python, divisor, MULTIPLY)
    a, bind_a = bind(left, scope)
    if constant:
        return Code(f"{a} {python} {right.text} if {bind_a} >= 0 else -(-{a} {python} {right.text})", TERNARY)
    b = scope.locals.temporary()
    same_sign = f"{bind_a} ^ ({b} := {right.at(AND)} or division_by_zero())"
    quotient = Code(f"{a} {python} {b} if ({same_sign}) >= 0 else -(-{a} {python} {b})", TERNARY)
    # The least integer divided by -1 is the one quotient that does not fit.
    return wrap(quotient, type_) if operator == "/" else quotient


def bind(value: Code, scope: Scope) -> tuple[str, str]:
    """A text to use a value by, and the text that computes it where it is used first."""
    if value.is_simple:
        return value.text, value.text
    name = scope.locals.temporary()
    return name, f"({name} := {value.text})"


def bind_optional(value: Code, scope: Scope) -> tuple[str, str]:
    """Like `bind`, for a value that is compared with None, which Python warns of where the value is a number."""
    if not value.text[0].isdigit():
        return bind(value, scope)
    name = scope.locals.temporary()
    return name, f"({name} := {value.text})"


def _float(operator: str, left: Code, right: Code, scope: Scope) -> Code:
    if operator == "%":
        return Code(f"remainder({left.text}, {right.text})")
    if operator != "/":
        return operation(left, operator, right, _LEVELS[operator])
    if right.text.replace(".", "", 1).isdigit() and float(right.text):
        return operation(left, "/", right, MULTIPLY)
    a, bind_a = bind(left, scope)
    b, bind_b = bind(right, scope)
    first = "" if left.is_simple else f"{bind_a} is not None and "
    return Code(f"{a} / {b} if {first}{bind_b} else divide_by_zero({a}, {b})", TERNARY)


def shift(operator: str, type_: Type, left: Code, right: Code) -> Code:
    """A shift; the count is taken modulo the width of the register."""
    assert isinstance(type_, Primitive)
    modulus = 64 if type_.bits == 64 else 32
    count = (
        Code(str(int(right.text) % modulus)) if right.text.isdigit() else Code(f"{right.at(ADD)} & {modulus - 1}", 0)
    )
    shifted = Code(f"{left.at(SHIFT)} {operator} {count.at(ADD)}", SHIFT)
    if operator == ">>":
        return shifted
    return wrap(Code(f"({shifted.text})"), type_)


def negative(type_: Type, operand: Code, scope: Scope) -> Code:
    """`-x`."""
    if is_decimal(type_):
        return Code(f"{decimal_context(type_, scope)}.copy_negate({operand.text})")
    return wrap(ring_negative(operand), type_) if is_integer(type_) else ring_negative(operand)


def ring_negative(operand: Code) -> Code:
    """`-x`, not yet wrapped."""
    return Code(f"-{operand.at(SIGN)}", SIGN)


def complement(type_: Type, operand: Code) -> Code:
    """`~x`."""
    assert isinstance(type_, Primitive)
    if type_.name in UNSIGNED:
        return Code(f"{operand.at(BIT_XOR)} ^ {(1 << type_.bits) - 1:#x}", BIT_XOR)
    return Code(f"~{operand.at(SIGN)}", SIGN)


def comparison(operator: str, type_: Type, left: Code, right: Code, scope: Scope) -> Code:
    """A comparison of two values of one type."""
    if operator in ("==", "!="):
        return _equality(operator, type_, left, right, scope)
    if isinstance(type_, EnumType):
        order = scope.module.define("order", repr({symbol: i for i, symbol in enumerate(type_.symbols)}))
        left, right = Code(f"{order}[{left.text}]"), Code(f"{order}[{right.text}]")
    if is_decimal(type_):
        compared = f"{decimal_context(type_, scope)}.compare({left.text}, {right.text})"
        return Code(f"{compared} {_DECIMAL_COMPARISONS[operator]}", COMPARE)
    return Code(f"{left.at(COMPARE + 1)} {operator} {right.at(COMPARE + 1)}", COMPARE)


def _equality(operator: str, type_: Type, left: Code, right: Code, scope: Scope) -> Code:
    if "None" in (left.text, right.text):
        python = "is" if operator == "==" else "is not"
        _, tested = bind_optional(right if left.text == "None" else left, scope)
        return Code(f"{tested} {python} None", COMPARE)
    if not isinstance(type_, Primitive | EnumType) and is_float_inside(type_):
        equal = scope.module.define("equal", f'equality(parse_type("{type_}"))')
        called = Code(f"{equal}({left.text}, {right.text})")
        return called if operator == "==" else Code(f"not {called.text}", NOT)
    return Code(f"{left.at(COMPARE + 1)} {operator} {right.at(COMPARE + 1)}", COMPARE)


def membership(container: Type, left: Code, right: Code, scope: Scope) -> Code:
    """`left in right`."""
    match container:
        case ListType(element=element) if is_float_inside(element):
            inside = scope.module.define("inside", f'membership(parse_type("{element}"))')
            return Code(f"{inside}({left.text}, {right.text})")
        case SetType(element=element) | MapType(key=element) if is_float_inside(element):
            return Code(f"contains({left.text}, {right.text})")
    return Code(f"{left.at(COMPARE + 1)} in {right.at(COMPARE + 1)}", COMPARE)


def elementwise(operator: str, left_type: Type, right_type: Type, left: Code, right: Code, scope: Scope) -> Code:
    """A mapped operator such as `.+`; a side that is a single value meets every element of the other."""
    part = left_type if not is_collection(left_type) else _part(left_type)
    function = scope.module.define("mapped", _element_function(operator[1:], part, scope))
    is_list = isinstance(left_type, ListType) or isinstance(right_type, ListType)
    if is_collection(left_type) and is_collection(right_type):
        return Code(f"{'map_lists' if is_list else 'map_maps'}({function}, {left.text}, {right.text})")
    helper = ("each_right" if is_collection(right_type) else "each_left") + ("" if is_list else "_value")
    return Code(f"{helper}({function}, {left.text}, {right.text})")


def _part(type_: Type) -> Type:
    assert isinstance(type_, ListType | MapType)
    return type_.element if isinstance(type_, ListType) else type_.value


def _element_function(operator: str, type_: Type, scope: Scope) -> str:
    a, b = Code("a"), Code("b")
    if operator in ("<<", ">>"):
        body = shift(operator, type_, a, b)
    elif operator in ("==", "!=", "<", "<=", ">", ">="):
        body = comparison(operator, type_, a, b, scope)
    else:
        body = arithmetic(operator, type_, a, b, scope)
    return f"lambda a, b: {body.text}"


def is_ring(operator: str, type_: Type) -> bool:
    """Whether wrapping may wait until after the operator."""
    return operator in ("+", "-", "*") and is_integer(type_)
