"""Checks calls: which function a name means, and whether what it changes may be changed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr import typing
from penstock.expr.functions.registry import names as standard_names
from penstock.expr.functions.registry import overloads
from penstock.ir.expressions import Call, Expression, Field, Index, Variable
from penstock.ir.statements import Function
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import PUNCTUATION, Names
from penstock.lang.syntax import ast_code as code
from penstock.toolkit.core.output_calls import output_call, output_function_names


def check_call(syntax: code.CallSyntax, arguments: Sequence[Expression], names: Names) -> Expression:
    """The typed call.

    A name means, in this order: a parameter of mode function, an output function of the operator, a function of the
    application, a standard function. A function of the application hides only what it takes the arguments of.

    Raises:
        UserError: There is no such function, or none for these arguments.
    """
    word = syntax.function
    if word.text.startswith("$"):
        return _call_parameter(syntax, arguments, names)
    if word.text == "submit":
        raise error("submit gives no value", word.span, "write it as a statement of its own")
    if word.text == "currentPunct":
        return _current_punctuation(syntax, names)
    if names.aggregates is not None and word.text in output_function_names(names.aggregates):
        return output_call(names.aggregates, word.text, arguments, syntax.span)
    own = names.scope.compilation.functions.candidates(word, names.scope)
    if own and not typing.takes(own, arguments) and "::" not in word.text and overloads(word.text):
        with suppress(UserError):
            return _call_standard(syntax, arguments, names)
    if own:
        _check_mutable_own(own, arguments, names)
        return typing.call(own[0].name, arguments, syntax.span, own)
    return _call_standard(syntax, arguments, names)


def check_function(word: code.Word, names: Names) -> None:
    """Raise if no function has a name; what the arguments of such a call mean cannot be told."""
    if word.text.startswith("$") or word.text in ("submit", "currentPunct"):
        return
    if names.aggregates is not None and word.text in output_function_names(names.aggregates):
        return
    if not names.scope.compilation.functions.candidates(word, names.scope):
        _check_standard(word, names)


def _current_punctuation(syntax: code.CallSyntax, names: Names) -> Expression:
    if syntax.arguments or not names.on_punctuation:
        raise error("currentPunct() has no arguments and stands in an onPunct clause", syntax.span)
    return Call(type=PUNCTUATION, function="currentPunct", arguments=(), span=syntax.span)


def _call_parameter(syntax: code.CallSyntax, arguments: Sequence[Expression], names: Names) -> Expression:
    binding = names.scope.binding(syntax.function)
    actual = binding.actuals[0]
    if binding.formal.mode != "function" or not isinstance(actual, code.NameSyntax):
        raise error(f"`{syntax.function}` is not a function", syntax.function.span)
    word = code.Word(span=actual.span, text=actual.name.text)
    call = code.CallSyntax(span=syntax.span, function=word, arguments=syntax.arguments)
    return check_call(call, arguments, names.inside(binding.scope))


def _call_standard(syntax: code.CallSyntax, arguments: Sequence[Expression], names: Names) -> Expression:
    bare = _check_standard(syntax.function, names)
    for definition in overloads(bare):
        if len(definition.prototype.parameters) == len(arguments):
            for position in definition.mutable_positions:
                check_changeable(arguments[position], names)
    return typing.call(bare, arguments, syntax.span)


def _check_standard(word: code.Word, names: Names) -> str:
    """The bare name of a standard function."""
    namespace, _, bare = word.text.rpartition("::")
    is_elsewhere = bool(namespace) and namespace.partition(".")[0] != "spl"
    is_standard = bool(overloads(bare)) and not is_elsewhere
    native = None if is_standard else names.scope.library.describe_native_function(word.text)
    if native is not None:
        raise error(f"there is no function `{word}`", word.span, native)
    if "." in bare or is_elsewhere:
        hint = "call it as `f(x)`, not `x.f()`" if "." in bare else "add the folder that holds it with --toolkit"
        raise error(f"there is no function `{word}`", word.span, hint)
    if not overloads(bare):
        known = {"submit", *standard_names(), *names.scope.compilation.functions.names(names.scope)}
        known.update(output_function_names(names.aggregates) if names.aggregates else ())
        raise error(f"there is no function `{word}`", word.span, did_you_mean(bare, known))
    return bare


def _check_mutable_own(own: Sequence[Function], arguments: Sequence[Expression], names: Names) -> None:
    for function in own:
        if len(function.parameters) == len(arguments):
            for parameter, argument in zip(function.parameters, arguments, strict=True):
                if parameter.mutable:
                    check_changeable(argument, names)


def check_changeable(target: Expression, names: Names) -> None:
    """Raise if code changes a variable that is not mutable, or a part of one."""
    root = target
    while isinstance(root, Field | Index):
        root = root.base
    if isinstance(root, Variable) and root.name in names.locals and not names.locals[root.name].mutable:
        span = target.span or root.span
        assert span is not None
        raise error(f"`{root.name}` is not mutable", span, "declare it with the word `mutable`")
