"""Window clauses by event time: `Port: timeInterval, intervalDuration(60.0), creationPeriod(10.0), partitioned;`.

Such a window becomes one that is made by markers, and what it says an annotation for `lang.expand.event_time`, which
puts the operator that makes the markers in front.
"""

from __future__ import annotations

from penstock.base.diagnostics import did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Expression
from penstock.ir.graph import Annotation, Param, Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import FLOAT64, is_numeric
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.toolkit.core.definition import OperatorDefinition

INTERVAL = "time interval"
"""The annotation; no program can write its name."""

LENGTHS = {
    "intervalDuration": "size",
    "creationPeriod": "period",
    "intervalOffset": "offset",
    "discardAge": "discardAge",
}
"""The parts of the clause, and the parameters of EventPanes that they become."""

_USERS = ("Aggregate", "Sort")


def is_interval(setting: ast.Setting) -> bool:
    """Whether a window clause is one by event time."""
    return any(isinstance(v, code.NameSyntax) and v.name.text == "timeInterval" for v in setting.values)


def check_interval(setting: ast.Setting, definition: OperatorDefinition, names: Names) -> tuple[Window, Annotation]:
    """The window in its place, and the annotation that says what it is.

    Raises:
        UserError: The clause is wrong, or the operator has no such windows.
    """
    if definition.name not in _USERS:
        listing = " and ".join(_USERS)
        raise error(f"`{definition.name}` has no timeInterval windows; {listing} have", setting.span)
    partitioned = False
    lengths: dict[str, Param] = {}
    for value in setting.values:
        match value:
            case code.NameSyntax(name=word) if word.text == "timeInterval":
                continue
            case code.NameSyntax(name=word) if word.text == "partitioned" and not partitioned:
                partitioned = True
            case code.CallSyntax(function=word, arguments=(seconds,)) if word.text in LENGTHS:
                if word.text in lengths:
                    raise error(f"`{word}` is given twice", word.span)
                lengths[word.text] = Param(name=LENGTHS[word.text], values=(_seconds(seconds, names),))
            case _:
                raise _not_a_part(value)
    if "intervalDuration" not in lengths:
        message = f"the window of `{setting.name}` has no intervalDuration"
        raise error(message, setting.name.span, "write `timeInterval, intervalDuration(60.0)`")
    policy = Policy(kind=PolicyKind.PUNCTUATION)
    window = Window(kind=WindowKind.TUMBLING, eviction=policy, partitioned=partitioned)
    return window, Annotation(name=INTERVAL, arguments=tuple(lengths.values()))


def _seconds(syntax: code.SyntaxExpression, names: Names) -> Expression:
    seconds = check_expression(syntax, names)
    if not is_numeric(seconds.type):
        raise error(f"a duration is a number of seconds, found {seconds.type}", syntax.span)
    return typing.cast(seconds, FLOAT64, syntax.span)


def _not_a_part(value: ast.Actual | ast.NamedArgument) -> Exception:
    match value:
        case code.NameSyntax(name=word) | code.CallSyntax(function=word):
            written = word.text
        case _:
            written = "this"
    hint = did_you_mean(written, [*LENGTHS, "partitioned"])
    expected = ", ".join(f"{name}(s)" for name in LENGTHS)
    return error(
        f"`{written}` is not part of a timeInterval window; expected {expected} or `partitioned`", value.span, hint
    )
