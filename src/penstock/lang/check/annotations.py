"""Annotations and config settings: values that belong to the compiler and not to the program.

They may name things that are no values (ports, attributes, words such as `periodic`). So names become symbols, and only
what can be computed is typed: literals, standard functions such as getSubmissionTimeValue, casts, operators.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr import typing
from penstock.expr.functions.registry import overloads
from penstock.ir.expressions import Call, Expression, ListLiteral, Symbol, TupleLiteral
from penstock.ir.graph import Annotation, Param
from penstock.ir.types import VOID, ListType, TupleType, TypedName
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.check.scope import Scope
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code

SETTINGS = (
    *("placement", "hostPool", "threadedPort", "restartable", "relocatable", "checkpoint", "logLevel", "tracing"),
    *("defaultPoolSize", "wrapper", "streamViewability", "applicationScope", "inputTransport", "outputTransport"),
)
"""The settings of a config clause; we act on `placement`, and keep the rest for those who read the graph."""


def check_annotation(syntax: ast.AnnotationSyntax, scope: Scope) -> Annotation:
    """The annotation with its arguments.

    Raises:
        UserError: An argument is wrong or given twice.
    """
    names = Names(scope=scope, home=scope)
    arguments: list[Param] = []
    for argument in syntax.arguments:
        if any(a.name == argument.name.text for a in arguments):
            raise error(f"`{argument.name}` of @{syntax.name} is given twice", argument.name.span)
        arguments.append(Param(name=argument.name.text, values=(setting_value(argument.value, names),)))
    return Annotation(name=syntax.name, arguments=tuple(arguments))


def check_setting(syntax: ast.Setting, scope: Scope) -> Param:
    """A config setting that is not a constraint.

    Raises:
        UserError: A value is wrong.
    """
    if syntax.name.text not in SETTINGS:
        hint = did_you_mean(syntax.name.text, SETTINGS) or f"there are {', '.join(SETTINGS)}"
        raise error(f"there is no setting `{syntax.name}`", syntax.name.span, hint)
    names = Names(scope=scope, home=scope)
    values = []
    for value in syntax.values:
        if isinstance(value, ast.NamedArgument | code.TypeSyntax):
            raise error(f"`{syntax.name}` takes values", value.span)
        values.append(setting_value(value, names))
    return Param(name=syntax.name.text, values=tuple(values))


def setting_value(syntax: code.SyntaxExpression, names: Names) -> Expression:
    """A value in which names are symbols.

    Raises:
        UserError: A part of it can be computed, but is wrong.
    """
    match syntax:
        case code.NameSyntax(name=word) if word.text.startswith("$"):
            return _parameter(word, names)
        case code.NameSyntax() | code.FieldSyntax():
            return Symbol(type=VOID, name=_symbol(syntax), span=syntax.span)
        case code.ListSyntax(elements=elements):
            values = tuple(setting_value(e, names) for e in elements)
            return _list(values, syntax)
        case code.TupleLiteralSyntax(fields=fields):
            values = tuple(setting_value(f.value, names) for f in fields)
            attributes = (TypedName(f.name.text, v.type) for f, v in zip(fields, values, strict=True))
            return TupleLiteral(type=TupleType(tuple(attributes)), values=values, span=syntax.span)
        case code.CallSyntax(function=function) if not overloads(function.text):
            values = tuple(setting_value(a, names) for a in syntax.arguments)
            return Call(type=VOID, function=function.text, arguments=values, span=syntax.span)
    return check_expression(syntax, names)


def _parameter(word: code.Word, names: Names) -> Expression:
    binding = names.scope.binding(word)
    actual = binding.actuals[0]
    if not isinstance(actual, code.SyntaxExpression):
        raise error(f"`{word}` is a type, not a value", word.span)
    return setting_value(actual, names.inside(binding.scope))


def _symbol(syntax: code.SyntaxExpression) -> str:
    match syntax:
        case code.NameSyntax(name=word):
            return word.text
        case code.FieldSyntax(base=base, name=word):
            return f"{_symbol(base)}.{word}"
    raise error("expected a name", syntax.span)


def _list(values: Sequence[Expression], syntax: code.ListSyntax) -> Expression:
    try:
        return typing.list_literal(values, syntax.span)
    except UserError:
        return ListLiteral(type=ListType(VOID), elements=tuple(values), span=syntax.span)
