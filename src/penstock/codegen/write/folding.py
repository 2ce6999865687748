"""The analysis of an expression before any row is seen: constants, conjuncts, the variables that it reads."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.expr.analysis import transform
from penstock.expr.errors import EvaluationError
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Binary, Cast, Expression, InputTuple, Literal, Unary, Variable


def variables_of(x: Expression) -> frozenset[Variable]:
    """The variables that an expression reads."""
    return frozenset(n for n in x.walk() if isinstance(n, Variable))


def is_fixed(x: Expression) -> bool:
    """Whether an expression reads no row."""
    return not any(isinstance(n, Attribute | Variable | InputTuple) for n in x.walk())


def fold(x: Expression) -> Expression:
    """The expression with what reads no row replaced by its value; what fails, or calls a function, stays.

    Example:
        >>> from penstock.expr.typing import binary, literal
        >>> fold(binary("*", literal(6), literal(7))).value
        42
    """
    return transform(x, _folded)


def _folded(x: Expression) -> Expression:
    children = list(x.children())
    if not children or not isinstance(x, Unary | Binary | Cast) or not all(isinstance(c, Literal) for c in children):
        return x
    try:
        value = Evaluator().constant(x)
    except EvaluationError:
        return x
    return Literal(type=x.type, span=x.span, value=value) if isinstance(value, bool | int | float | str) else x


def is_nonzero(x: Expression) -> bool:
    """Whether an expression is known not to be zero."""
    return isinstance(x, Literal) and x.value != 0


def conjuncts(x: Expression) -> Iterator[Expression]:
    """The conditions that `&&` joins, in order; each is evaluated only where those before it hold."""
    if isinstance(x, Binary) and x.operator == "&&":
        yield from conjuncts(x.left)
        yield from conjuncts(x.right)
    else:
        yield x
