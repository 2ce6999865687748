"""Types a call of an output function, such as `Sum(price)` in the output clause of Aggregate."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import Diagnostic, Span, UserError, did_you_mean
from penstock.expr.functions.overloads import choose_overload
from penstock.expr.functions.prototypes import Prototype, parse_prototype
from penstock.expr.typing import convert, try_convert
from penstock.ir.expressions import Expression, OutputCall
from penstock.ir.types import Type
from penstock.toolkit.core.definition import OperatorDefinition


def output_function_names(definition: OperatorDefinition) -> frozenset[str]:
    """The names that a call in the operator's output clause may use beside the standard functions."""
    return frozenset(parse_prototype(f.prototype).name for f in definition.output_functions)


def output_call(
    definition: OperatorDefinition, name: str, arguments: Sequence[Expression], span: Span | None = None
) -> OutputCall:
    """The call, with its arguments converted to what the chosen overload takes.

    Raises:
        UserError: The operator has no such function, or none that takes these arguments.
    """
    overloads = [p for f in definition.output_functions if (p := parse_prototype(f.prototype)).name == name]
    if not overloads:
        message = f"`{definition.name}` has no output function `{name}`"
        raise UserError(
            Diagnostic(message=message, span=span, hint=did_you_mean(name, output_function_names(definition)))
        )

    def converts(position: int, type_: Type) -> bool:
        return try_convert(arguments[position], type_) is not None

    choice = choose_overload(overloads, [a.type for a in arguments], converts)
    if choice is None:
        raise UserError(_no_overload(name, overloads, arguments, span))
    values = tuple(convert(a, t) for a, t in zip(arguments, choice.parameter_types, strict=True))
    return OutputCall(type=choice.return_type, function=name, arguments=values, span=span)


def _no_overload(
    name: str, overloads: Sequence[Prototype], arguments: Sequence[Expression], span: Span | None
) -> Diagnostic:
    given = ", ".join(str(a.type) for a in arguments)
    known = "; ".join(f"`{p}`" for p in overloads)
    return Diagnostic(message=f"no output function `{name}` takes ({given})", span=span, hint=f"there is {known}")
