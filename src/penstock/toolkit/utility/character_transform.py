"""CharacterTransform: changes the encoding of texts that lie in blobs.

The output clause says what is converted, `data = Convert("UTF-8", "ISO-8859-1", data)`; attributes not assigned are
copied from the input by name. Bytes that are not a text of the one encoding, and characters that the other does not
have, are failures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.ir.expressions import Literal, OutputCall
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.output_values import bind_output_calls
from penstock.toolkit.core.runtime import Submit


class CharacterTransformRuntime(LogicRuntime):
    """Converts the arguments of each `Convert`, then evaluates the output clause."""

    def taker(self, port: int) -> Submit:
        """A function that submits the converted tuple."""
        submit, bound = self.submit[0], bind_output_calls([a.value for a in self.operator.outputs[0].assignments])
        make: Callable[..., Tuple] = self.row(bound.expressions, variables=bound.variables)
        calls: list[Callable[..., Any]] = [self.row(call.arguments) for call in bound.calls]

        def transform(tuple_: Tuple) -> None:
            submit(make(tuple_, *[convert_text(*arguments(tuple_)) for arguments in calls]))

        return transform


def convert_text(source: str, target: str, data: bytes) -> bytes:
    """The bytes of a text in another encoding.

    Example:
        >>> convert_text("UTF-8", "ISO-8859-1", "é".encode())
        b'\\xe9'
    """
    try:
        return data.decode(source).encode(target)
    except LookupError as error:
        raise EvaluationError(str(error)) from None
    except UnicodeError as error:
        raise EvaluationError(f"the text cannot be converted from {source} to {target}: {error}") from None


def _check(operator: Operator, found: Diagnostics) -> None:
    calls = [part for a in operator.outputs[0].assignments for part in a.value.walk() if isinstance(part, OutputCall)]
    for call in calls:
        names = call.arguments[:2] if call.function == "Convert" else ()
        for name in [n for n in names if isinstance(n, Literal) and not _is_encoding(n.value)]:
            found.error(f"there is no encoding `{name.value!s}`", name.span or operator.span, hint="for example UTF-8")


def _is_encoding(name: Any) -> bool:
    try:
        return isinstance("".encode(name), bytes)
    except LookupError:
        return False


def _model(operator: Operator) -> OperatorModel:
    return stateless(operator, Selectivity.EXACTLY_ONE)


DEFINITION = OperatorDefinition(
    name="CharacterTransform",
    doc="Changes the encoding of texts in blobs, where the output clause says `Convert(from, to, data)`.",
    inputs=(1, 1),
    outputs=(1, 1),
    output=OutputClause.ASSIGN,
    output_functions=(
        OutputFunction(
            prototype="blob Convert(rstring fromEncoding, rstring toEncoding, blob data)",
            doc="The text in another encoding.",
        ),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(is_repeatable=True),
    model=_model,
    check=_check,
    runtime=CharacterTransformRuntime,
)
