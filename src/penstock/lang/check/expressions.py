"""Checks expressions: syntax in, typed expression out.

The rules of types are those of `expr.typing`; here names are given their meaning, and what the place of an expression
expects is passed down to literals. All mistakes of an expression are found, not the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from penstock.base.diagnostics import Diagnostics, Span, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Expression, InputTuple, Literal
from penstock.ir.types import BLOB, EnumType, ListType, MapType, OptionalType, SetType, TupleType, Type
from penstock.lang.check.calls import check_call, check_changeable, check_function
from penstock.lang.check.history import past_tuple
from penstock.lang.check.intrinsics import intrinsic
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.check.scope import Binding
from penstock.lang.check.type_syntax import resolve_type
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.lang.syntax.literals import number, string
from penstock.toolkit.core.complete_outputs import default_expression


def check_expression(syntax: code.SyntaxExpression, names: Names, expected: Type | None = None) -> Expression:
    """The typed expression.

    Args:
        syntax: As written.
        names: What it may name.
        expected: The type that its place asks for. Literals and enum symbols follow it; it is not converted to it.

    Raises:
        UserError: With every mistake in it.
    """
    return _CHECKS[type(syntax)](syntax, names, expected)


def check_converted(syntax: code.SyntaxExpression, names: Names, type_: Type) -> Expression:
    """The typed expression, converted to a type.

    Raises:
        UserError: With every mistake in it, or that it does not convert.
    """
    return typing.convert(check_expression(syntax, names, type_), type_, syntax.span)


def check_all(
    parts: Sequence[code.SyntaxExpression], names: Names, expected: Sequence[Type | None] = ()
) -> list[Expression]:
    """Several expressions.

    Raises:
        UserError: With the mistakes of all of them.
    """
    types = [*expected, *[None] * (len(parts) - len(expected))]
    return _all(_attempt(part, names, type_) for part, type_ in zip(parts, types, strict=True))


def _attempt(syntax: code.SyntaxExpression, names: Names, expected: Type | None = None) -> Expression | UserError:
    try:
        return check_expression(syntax, names, expected)
    except UserError as problem:
        return problem


def _all(attempts: Iterable[Expression | UserError]) -> list[Expression]:
    """The expressions, if all attempts succeeded; otherwise the mistakes of all."""
    checked, problems = [], []
    for attempt in attempts:
        if isinstance(attempt, UserError):
            problems.append(attempt)
        else:
            checked.append(attempt)
    if problems:
        raise UserError(tuple(d for problem in problems for d in problem.diagnostics))
    return checked


def _number(syntax: code.NumberSyntax, names: Names, expected: Type | None) -> Expression:
    return number(syntax.text, syntax.span)


def _string(syntax: code.StringSyntax, names: Names, expected: Type | None) -> Expression:
    return string(syntax.text, syntax.span)


def _constant(syntax: code.ConstantSyntax, names: Names, expected: Type | None) -> Expression:
    return typing.literal(syntax.value, None, syntax.span)


def _name(syntax: code.NameSyntax, names: Names, expected: Type | None) -> Expression:
    word = syntax.name
    if word.text.startswith("$"):
        return _parameter(names.scope.binding(word), word, names, expected)
    found = names.value(word)
    if found is not None:
        return found
    wanted = expected.inner if isinstance(expected, OptionalType) else expected
    if isinstance(wanted, EnumType) and word.text in wanted.symbols:
        return Literal(type=wanted, value=word.text, span=word.span)
    if names.scope.stream(word.text) is not None:
        inputs = ", ".join(f"`{p.names[0]}`" for p in names.ports) or "none"
        raise error(f"the stream `{word}` is not an input here", word.span, f"inputs: {inputs}")
    raise names.unknown(word)


def _parameter(binding: Binding, word: code.Word, names: Names, expected: Type | None) -> Expression:
    """The value of a composite parameter: what was given, in the scope in which it was given."""
    mode = binding.formal.mode
    if mode not in ("expression", "attribute"):
        raise error(f"`{word}` is of mode {mode}, not a value", word.span)
    if len(binding.actuals) != 1:
        raise error(f"`{word}` stands for {len(binding.actuals)} values, but one is needed here", word.span)
    actual = binding.actuals[0]
    if not isinstance(actual, code.SyntaxExpression):
        raise error(f"`{word}` is of mode {mode}, but a type was given for it", actual.span)
    inside = names.inside(binding.scope)
    if binding.formal.type is None:
        return check_expression(actual, inside, expected)
    return check_converted(actual, inside, resolve_type(binding.formal.type, names.scope))


def _parenthesised(syntax: code.ParenthesisedName, names: Names, expected: Type | None) -> Expression:
    return check_expression(syntax.inner, names, expected)


def _field(syntax: code.FieldSyntax, names: Names, expected: Type | None) -> Expression:
    if syntax.name.text.startswith("$"):
        return _parameter_field(syntax, names)
    dotted = _dotted(syntax.base)
    if dotted is not None and not _is_value(syntax.base, names):
        symbol = names.enum_symbol(dotted, syntax.name, syntax.span)
        if symbol is not None:
            return symbol
        if isinstance(syntax.base, code.NameSyntax) and names.scope.stream(dotted) is None:
            raise names.unknown(syntax.base.name, "variable, attribute, port or enumeration")
    base = check_expression(syntax.base, names)
    if not isinstance(base.type, TupleType):
        raise error(f"`.{syntax.name}` needs a tuple, found {base.type}", syntax.name.span)
    if syntax.name.text not in base.type.position:
        known = ", ".join(base.type.names)
        hint = did_you_mean(syntax.name.text, base.type.names)
        raise error(f"there is no attribute `{syntax.name}`; the tuple has {{{known}}}", syntax.name.span, hint)
    return typing.field(base, syntax.name.text, syntax.span)


def _parameter_field(syntax: code.FieldSyntax, names: Names) -> Expression:
    """`tuple.$name` where `$name` is of mode attribute, perhaps one that a composite around this one was given."""
    scope = names.scope
    actual: ast.Actual = syntax
    while isinstance(actual, code.NameSyntax | code.FieldSyntax) and actual.name.text.startswith("$"):
        binding = scope.binding(actual.name)
        if binding.formal.mode != "attribute":
            break
        scope, actual = binding.scope, binding.actuals[0]
    if not isinstance(actual, code.NameSyntax | code.FieldSyntax) or actual.name.text.startswith("$"):
        raise error(f"`{syntax.name}` is not the name of an attribute", syntax.name.span)
    return _field(code.FieldSyntax(span=syntax.span, base=syntax.base, name=actual.name), names, None)


def _dotted(syntax: code.SyntaxExpression) -> str | None:
    match syntax:
        case code.NameSyntax(name=word) if not word.text.startswith("$"):
            return word.text
        case code.FieldSyntax(base=base, name=word):
            prefix = _dotted(base)
            return None if prefix is None else f"{prefix}.{word}"
    return None


def _is_value(syntax: code.SyntaxExpression, names: Names) -> bool:
    """Whether a dotted name starts with a variable, an attribute or a port."""
    while isinstance(syntax, code.FieldSyntax):
        syntax = syntax.base
    return isinstance(syntax, code.NameSyntax) and names.value(syntax.name) is not None


def _index(syntax: code.IndexSyntax, names: Names, expected: Type | None) -> Expression:
    base = _attempt(syntax.base, names)
    key = base.type.key if isinstance(base, Expression) and isinstance(base.type, MapType) else None
    base, at = _all((base, _attempt(syntax.index, names, key)))
    if isinstance(base, InputTuple):
        return past_tuple(base, at, names, syntax.span)
    return typing.index(base, at, syntax.span)


def _slice(syntax: code.SliceSyntax, names: Names, expected: Type | None) -> Expression:
    given = [part for part in (syntax.base, syntax.lower, syntax.upper) if part is not None]
    base, *bounds = check_all(given, names)
    lower = bounds.pop(0) if syntax.lower is not None else None
    upper = bounds.pop(0) if syntax.upper is not None else None
    return typing.slice_(base, lower, upper, syntax.span)


def _call(syntax: code.CallSyntax, names: Names, expected: Type | None) -> Expression:
    found = intrinsic(syntax, names)
    if found is not None:
        return found
    check_function(syntax.function, names)
    return check_call(syntax, check_all(syntax.arguments, names), names)


def _prefix(syntax: code.PrefixSyntax, names: Names, expected: Type | None) -> Expression:
    if syntax.operator == "-" and isinstance(syntax.operand, code.NumberSyntax):
        return _negative(syntax.operand, syntax.span)
    operand = check_expression(syntax.operand, names, expected)
    if syntax.operator == "+":
        return typing.unary("-", typing.unary("-", operand, syntax.span), syntax.span)
    return typing.unary(syntax.operator, operand, syntax.span)


def _negative(operand: code.NumberSyntax, span: Span) -> Expression:
    """A negative number; one that does not fit, such as `-1u`, is computed and wraps."""
    try:
        return number(f"-{operand.text}", span)
    except UserError as problem:
        try:
            return typing.unary("-", number(operand.text, operand.span), span)
        except UserError:
            raise problem from None


def _binary(syntax: code.BinarySyntax, names: Names, expected: Type | None) -> Expression:
    left, right = _sides(syntax, names)
    return typing.binary(syntax.operator, left, right, syntax.span)


def _sides(syntax: code.BinarySyntax, names: Names) -> list[Expression]:
    """Both sides; the symbol of an enumeration may stand alone beside a value of its type."""
    left = _attempt(syntax.left, names)
    right = _attempt(syntax.right, names, _enum_type(left))
    if isinstance(left, UserError) and isinstance(syntax.left, code.NameSyntax):
        left = _attempt(syntax.left, names, _enum_type(right))
    return _all((left, right))


def _enum_type(side: Expression | UserError) -> Type | None:
    return side.type if isinstance(side, Expression) and isinstance(side.type, EnumType) else None


def _conditional(syntax: code.ConditionalSyntax, names: Names, expected: Type | None) -> Expression:
    parts = (syntax.test, syntax.then, syntax.otherwise)
    test, then, otherwise = check_all(parts, names, (None, expected, expected))
    return typing.conditional(test, then, otherwise, syntax.span)


def _cast(syntax: code.CastSyntax, names: Names, expected: Type | None) -> Expression:
    type_ = resolve_type(syntax.type, names.scope, names.types)
    return typing.cast(check_expression(syntax.operand, names, type_), type_, syntax.span)


def _list(syntax: code.ListSyntax, names: Names, expected: Type | None) -> Expression:
    if not syntax.elements and expected == BLOB:
        return Literal(type=BLOB, value=b"", span=syntax.span)
    element = expected.element if isinstance(expected, ListType) else None
    elements = check_all(syntax.elements, names, [element] * len(syntax.elements))
    return typing.list_literal(elements, syntax.span)


def _set(syntax: code.SetSyntax, names: Names, expected: Type | None) -> Expression:
    if not syntax.elements and isinstance(expected, TupleType):
        return replace(default_expression(expected), span=syntax.span)
    element = expected.element if isinstance(expected, SetType) else None
    elements = check_all(syntax.elements, names, [element] * len(syntax.elements))
    return typing.set_literal(elements, syntax.span)


def _map(syntax: code.MapSyntax, names: Names, expected: Type | None) -> Expression:
    key, value = (expected.key, expected.value) if isinstance(expected, MapType) else (None, None)
    size = len(syntax.entries)
    parts = [k for k, _ in syntax.entries] + [v for _, v in syntax.entries]
    checked = check_all(parts, names, [key] * size + [value] * size)
    return typing.map_literal(checked[:size], checked[size:], syntax.span)


def _tuple(syntax: code.TupleLiteralSyntax, names: Names, expected: Type | None) -> Expression:
    wanted = expected if isinstance(expected, TupleType) else None
    if wanted is not None:
        _check_fields(syntax, wanted)
    types = [_attribute_type(wanted, f.name.text) for f in syntax.fields]
    values = check_all([f.value for f in syntax.fields], names, types)
    field_names = [f.name.text for f in syntax.fields]
    for i, field in enumerate(syntax.fields):
        if field.name.text in field_names[:i]:
            raise error(f"attribute `{field.name}` is given twice", field.name.span)
    return typing.tuple_literal(field_names, _converted(syntax, values, types), syntax.span)


def _converted(
    syntax: code.TupleLiteralSyntax, values: Sequence[Expression], types: Sequence[Type | None]
) -> list[Expression]:
    """The values as the attributes want them, so that a wrong one is named and not the whole tuple."""
    found = Diagnostics()
    converted = []
    for field, value, type_ in zip(syntax.fields, values, types, strict=True):
        try:
            converted.append(value if type_ is None else typing.convert(value, type_, field.value.span))
        except UserError as problem:
            found.extend(problem)
    found.raise_if_any()
    return converted


def _attribute_type(wanted: TupleType | None, name: str) -> Type | None:
    return wanted.attribute(name).type if wanted is not None and name in wanted.position else None


def _check_fields(syntax: code.TupleLiteralSyntax, wanted: TupleType) -> None:
    """Report attributes that the expected tuple type does not have, and those that are missing."""
    found = Diagnostics()
    listing = f"the type is {{{', '.join(wanted.names)}}}"
    for field in syntax.fields:
        if field.name.text not in wanted.position:
            hint = did_you_mean(field.name.text, wanted.names)
            found.error(f"there is no attribute `{field.name}`; {listing}", field.name.span, hint=hint)
    given = {f.name.text for f in syntax.fields}
    missing = [name for name in wanted.names if name not in given]
    if missing and not found:
        found.error(f"the tuple lacks {', '.join(f'`{m}`' for m in missing)}; {listing}", syntax.span)
    found.raise_if_any()


def _assign(syntax: code.AssignSyntax, names: Names, expected: Type | None) -> Expression:
    target = check_expression(syntax.target, names)
    check_changeable(target, names)
    value = (
        typing.literal(1, None, syntax.span)
        if syntax.value is None
        else check_expression(syntax.value, names, target.type)
    )
    return typing.update(target, value, syntax.operator, postfix=syntax.postfix, span=syntax.span)


_CHECKS: dict[type, Callable[..., Expression]] = {
    code.NumberSyntax: _number,
    code.StringSyntax: _string,
    code.ConstantSyntax: _constant,
    code.NameSyntax: _name,
    code.ParenthesisedName: _parenthesised,
    code.FieldSyntax: _field,
    code.IndexSyntax: _index,
    code.SliceSyntax: _slice,
    code.CallSyntax: _call,
    code.PrefixSyntax: _prefix,
    code.BinarySyntax: _binary,
    code.ConditionalSyntax: _conditional,
    code.CastSyntax: _cast,
    code.ListSyntax: _list,
    code.SetSyntax: _set,
    code.MapSyntax: _map,
    code.TupleLiteralSyntax: _tuple,
    code.AssignSyntax: _assign,
}
