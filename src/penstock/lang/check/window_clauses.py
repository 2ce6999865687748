"""Window clauses: `Port: sliding, count(10), time(5), partitioned, partitionAge(60);`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Expression, Literal
from penstock.ir.graph import Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import FLOAT64, INT32, TIMESTAMP, is_integer, is_numeric
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code

_KINDS = {kind.value: kind for kind in WindowKind}
_POLICIES = {kind.value: kind for kind in PolicyKind}
_AGE = "partitionAge"


def check_window(setting: ast.Setting, names: Names) -> Window:
    """The window that a clause describes, over the port's tuples.

    Raises:
        UserError: It is not a window.
    """
    kind, policies, partitioned, age = None, [], False, None
    for value in setting.values:
        match value:
            case code.NameSyntax(name=word) if word.text in _KINDS and kind is None:
                kind = _KINDS[word.text]
            case code.NameSyntax(name=word) if word.text == "partitioned" and not partitioned:
                partitioned = True
            case code.CallSyntax(function=word, arguments=(seconds,)) if word.text == _AGE and age is None:
                age = _seconds(seconds, names)
            case code.CallSyntax():
                policies.append(_policy(value, names))
            case _:
                raise _not_a_part(value)
    if kind is None:
        raise error(f"the window of `{setting.name}` is neither tumbling nor sliding", setting.name.span)
    return replace(_window(setting, kind, policies, partitioned), partition_age=age)


def _not_a_part(value: ast.Actual | ast.NamedArgument) -> UserError:
    words = [*_KINDS, "partitioned", *_POLICIES, _AGE]
    written = value.name.text if isinstance(value, code.NameSyntax) else "this"
    expected = "`tumbling`, `sliding`, `partitioned`, or one of count(n), time(s), delta(attribute, d), punct()"
    return error(f"`{written}` is not part of a window; expected {expected}", value.span, did_you_mean(written, words))


def _window(setting: ast.Setting, kind: WindowKind, policies: Sequence[Policy], partitioned: bool) -> Window:
    most = 2 if kind is WindowKind.SLIDING else 1
    if not policies:
        hint = "add count(n), time(s), delta(attribute, d) or punct()"
        raise error(f"the window of `{setting.name}` has no size", setting.name.span, hint)
    if len(policies) > most:
        what = "an eviction and a trigger" if most == 2 else "one policy"
        raise error(f"a {kind.value} window has {what}, found {len(policies)} policies", setting.span)
    trigger = policies[1] if len(policies) > 1 else None
    return Window(kind=kind, eviction=policies[0], trigger=trigger, partitioned=partitioned)


def _policy(syntax: code.CallSyntax, names: Names) -> Policy:
    name, arguments = syntax.function.text, syntax.arguments
    if name not in _POLICIES:
        hint = did_you_mean(name, [*_POLICIES, _AGE])
        raise error(f"there is no window policy `{name}`; there are {', '.join(_POLICIES)}", syntax.function.span, hint)
    kind = _POLICIES[name]
    wanted = {PolicyKind.PUNCTUATION: 0, PolicyKind.DELTA: 2}.get(kind, 1)
    if len(arguments) != wanted:
        raise error(f"`{name}` takes {wanted} arguments, found {len(arguments)}", syntax.span)
    match kind:
        case PolicyKind.PUNCTUATION:
            return Policy(kind=kind)
        case PolicyKind.DELTA:
            attribute = check_expression(arguments[0], names)
            return Policy(kind=kind, size=_delta(arguments[1], attribute, names), attribute=attribute)
        case PolicyKind.COUNT:
            return Policy(kind=kind, size=_number_of_tuples(arguments[0], names))
    return Policy(kind=kind, size=_seconds(arguments[0], names))


def _number_of_tuples(syntax: code.SyntaxExpression, names: Names) -> Expression:
    number = check_expression(syntax, names, INT32)
    if not is_integer(number.type):
        raise error(f"a count is a number of tuples, found {number.type}", syntax.span)
    return typing.convert(number, INT32, syntax.span) if isinstance(number, Literal) else number


def _seconds(syntax: code.SyntaxExpression, names: Names) -> Expression:
    seconds = check_expression(syntax, names)
    if not is_numeric(seconds.type):
        raise error(f"a time is a number of seconds, found {seconds.type}", syntax.span)
    return typing.cast(seconds, FLOAT64, syntax.span)


def _delta(syntax: code.SyntaxExpression, attribute: Expression, names: Names) -> Expression:
    size = check_expression(syntax, names)
    if attribute.type == TIMESTAMP and is_numeric(size.type):
        return typing.cast(size, FLOAT64, syntax.span)
    return typing.convert(size, attribute.type, syntax.span)
