"""The param clause of an invocation of a primitive operator: each value is read as its parameter asks for.

A parameter takes symbols (`csv`), names of attributes, constants, or expressions over the attributes of some input
ports. What only the operator's definition can tell, such as types, is checked later by `toolkit.core.check_params`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.base.diagnostics import did_you_mean
from penstock.ir.expressions import Attribute, Expression, Literal, Symbol
from penstock.ir.graph import Param
from penstock.ir.types import RSTRING, VOID
from penstock.lang.check.attempts import Attempts
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.lang.syntax.literals import string
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec

_PREDICATES = frozenset({("Import", "subscription"), ("Import", "filter")})
"""Parameters that are predicates over the properties or attributes of streams of other applications."""

_WITH_FUNCTIONS = frozenset({("Match", "predicates")})
"""Parameters that may call the operator's output functions."""


def check_param_clause(
    settings: Sequence[ast.Setting], definition: OperatorDefinition, names: Names, attempts: Attempts
) -> list[Param]:
    """The parameters that an invocation gives; those with mistakes are incomplete after these are reported."""
    params: list[Param] = []
    for setting in settings:
        spec = definition.param(setting.name.text)
        if spec is None and not definition.any_params:
            _report_unknown(setting.name, definition, attempts)
        elif any(p.name == setting.name.text for p in params):
            attempts.found.error(f"the parameter `{setting.name}` is given twice", setting.name.span)
        else:
            values = _values(setting, definition, names, attempts)
            params.append(Param(name=setting.name.text, values=values))
    return params


def _report_unknown(word: code.Word, definition: OperatorDefinition, attempts: Attempts) -> None:
    known = [p.name for p in definition.params]
    listing = f"it takes {{{', '.join(known)}}}" if known else "it takes none"
    message = f"`{definition.name}` has no parameter `{word}`; {listing}"
    attempts.found.error(message, word.span, hint=did_you_mean(word.text, known))


def _values(
    setting: ast.Setting, definition: OperatorDefinition, names: Names, attempts: Attempts
) -> tuple[Expression, ...]:
    which = (definition.kind, setting.name.text)
    if which in _PREDICATES:
        return (_as_text(setting),)
    if which in _WITH_FUNCTIONS:
        names = replace(names, aggregates=definition)
    spec = definition.param(setting.name.text)
    given = attempts.of(lambda: list(_spread(setting, spec, names))) or []
    values = (attempts.of(_value, actual, spec, inside) for actual, inside in given)
    return tuple(value for value in values if value is not None)


def _as_text(setting: ast.Setting) -> Expression:
    """A predicate over names that only exist when applications meet, kept as the text that was written."""
    first = setting.values[0]
    if len(setting.values) == 1 and isinstance(first, code.StringSyntax):
        return string(first.text, first.span)
    written = setting.span.source.text[setting.span.start : setting.span.end]
    text = written.partition(":")[2].rpartition(";")[0].strip()
    return Literal(type=RSTRING, value=text, span=first.span)


def _spread(setting: ast.Setting, spec: ParamSpec | None, names: Names) -> Iterator[tuple[ast.Actual, Names]]:
    """The values of a parameter with the names they may use; `$name` stands for all the values given for it."""
    is_symbol = spec is not None and spec.kind is ParamKind.SYMBOLS
    for value in setting.values:
        assert not isinstance(value, ast.NamedArgument)
        current, inside = value, names
        while isinstance(current, code.NameSyntax) and current.name.text.startswith("$"):
            binding = inside.scope.binding(current.name)
            if binding.formal.type is not None and len(binding.actuals) == 1 and not is_symbol:
                break
            inside = inside.inside(binding.scope)
            *first, current = binding.actuals
            yield from ((actual, inside) for actual in first)
        yield current, inside


def _value(value: ast.Actual, spec: ParamSpec | None, names: Names) -> Expression:
    if isinstance(value, code.TypeSyntax):
        raise error("expected a value, found a type", value.span)
    if spec is not None and spec.ports:
        names = names.on_ports(spec.ports)
    if isinstance(value, code.NameSyntax):
        found = _named_value(value.name, spec, names)
        if found is not None:
            return found
        if spec is not None and spec.many and not spec.ports:
            names = _on_first_port(value.name, names)
    expected = spec.types[0] if spec is not None and spec.types else None
    return check_expression(value, names, expected)


def _named_value(word: code.Word, spec: ParamSpec | None, names: Names) -> Expression | None:
    """The value of a lone name by itself: a symbol, or an attribute that a source makes."""
    if spec is not None and spec.kind is ParamKind.SYMBOLS:
        return Symbol(type=VOID, name=word.text, span=word.span)
    if (spec is None or spec.kind is ParamKind.ATTRIBUTES) and not names.ports:
        found = _source_attribute(word, names)
        if found is not None:
            return found
    if spec is None and not word.text.startswith("$") and names.value(word) is None:
        return Symbol(type=VOID, name=word.text, span=word.span)
    return None


def _on_first_port(word: code.Word, names: Names) -> Names:
    """A key such as `partitionBy: k` may speak of the first input port for all of them."""
    first = names.on_ports((0,))
    return first if first.ports and word.text in first.ports[0].schema.position else names


def _source_attribute(word: code.Word, names: Names) -> Expression | None:
    """An attribute of an operator without inputs: that of the tuples it makes."""
    for schema in names.output_schemas:
        if word.text in schema.position:
            return Attribute(type=schema.attribute(word.text).type, name=word.text, span=word.span)
    return None
