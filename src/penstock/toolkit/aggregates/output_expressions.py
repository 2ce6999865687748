"""Expressions over output functions, such as `total = Sum(price * volume) / Sum(volume)`, made ready to run.

Introduction:
    In such an expression the attributes below an output function belong to each tuple of a window, everything above it
    happens once for each firing. So there are two halves: what is read off a tuple when it comes (its row), and
    what is computed from the values of the output functions when the window fires.

Example:
    `Sum(price * volume) / Sum(volume)` has the row `(price * volume, volume)`, the calls `Sum` of column 0 and `Sum` of
    column 1, and the rest `aggregate_0 / aggregate_1`. An attribute that stands outside all calls means its `Last`.

Algorithm:
    One walk over the expressions. Equal calls are computed once, equal arguments kept once. Where all arguments are
    plain attributes, the tuple itself serves as the row. A `Custom(init, process, result)` is code that changes state:
    it is never shared, and its row holds the attributes that `process` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.base.diagnostics import Diagnostics, Span
from penstock.expr.analysis import transform
from penstock.expr.emit.parts import LogicState
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Call, Expression, InputTuple, OutputCall, Variable
from penstock.ir.types import Schema
from penstock.toolkit.aggregates.output_functions import BY_NAME, CUSTOM, Rows, Whole
from penstock.toolkit.aggregates.running import Running
from penstock.toolkit.windows.partition import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPlan:
    """The two halves of expressions over output functions.

    Attributes:
        calls: The distinct output calls, and every `Custom`.
        columns: For each call, where what it reads off a tuple stands in a row.
        arguments: What a row holds; none if the tuple itself is the row.
        rest: The expressions, with `variables[i]` in the place of call i.
        tests: Likewise the conditions on a tuple that comes; attributes outside all calls are that tuple's.
    """

    calls: tuple[OutputCall, ...]
    columns: tuple[tuple[int, ...], ...]
    arguments: tuple[Expression, ...] | None
    rest: tuple[Expression, ...]
    tests: tuple[Expression, ...] = ()

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that replace the calls, one for each."""
        return tuple(Variable(type=call.type, name=_name(i)) for i, call in enumerate(self.calls))

    def row(self, compile_row: Row) -> Callable[[Tuple], Tuple] | None:
        """The function that reads a tuple's row, or none if the tuple is its own row."""
        return None if self.arguments is None else compile_row(self.arguments)

    def finish(self, evaluator: Evaluator, state: LogicState | None) -> Callable[..., Tuple]:
        """The function that makes the output from the values of the calls."""
        return evaluator.row(self.rest, variables=[v.name for v in self.variables], state=state)

    def wholes(self, evaluator: Evaluator, state: LogicState | None) -> list[Whole]:
        """For each call, the function that computes it over a group; `customs` must have seen the group."""
        return [
            _result(evaluator.scalar(call.arguments[2], state=state))
            if call.function == CUSTOM
            else BY_NAME[call.function].whole([a.type for a in call.arguments], columns)
            for call, columns in zip(self.calls, self.columns, strict=True)
        ]

    def customs(self, evaluator: Evaluator, state: LogicState | None) -> Callable[[Rows], None] | None:
        """The function that runs `init` of all `Custom` calls and then `process` of all for each row; none without."""
        found = [
            (
                evaluator.scalar(call.arguments[0], state=state),
                evaluator.scalar(_over_columns(call), variables=[_name(i) for i in range(len(columns))], state=state),
                columns,
            )
            for call, columns in zip(self.calls, self.columns, strict=True)
            if call.function == CUSTOM
        ]

        def see(rows: Rows) -> None:
            for init, _, _ in found:
                init()
            for row in rows:
                for _, process, columns in found:
                    process(*[row[i] for i in columns])

        return see if found else None

    def running(self) -> list[tuple[int, int, Running]]:
        """The calls that can be kept up to date: position, column of the argument, and a fresh aggregate."""
        found = []
        for i, (call, columns) in enumerate(zip(self.calls, self.columns, strict=True)):
            if call.function == CUSTOM:
                continue
            running = BY_NAME[call.function].running([a.type for a in call.arguments])
            if running is not None:
                found.append((i, columns[0], running))
        return found


def plan_outputs(
    expressions: Sequence[Expression],
    schema: Schema,
    *,
    keep: Sequence[Expression] = (),
    tests: Sequence[Expression] = (),
) -> OutputPlan:
    """Split expressions over the tuples of a window.

    Args:
        expressions: What the operator computes when it fires.
        schema: Of the tuples.
        keep: Further expressions that a row must hold; `column_of` finds them.
        tests: Conditions on a tuple that comes, over the tuples that are there already.
    """
    calls = _Calls()
    rest = tuple(calls.rewrite(e, bare_means_last=True) for e in expressions)
    changed_tests = tuple(calls.rewrite(e, bare_means_last=False) for e in tests)
    arguments = list(dict.fromkeys([*(a for call in calls.found for a in _read(call)), *keep]))
    plain = all(isinstance(a, Attribute) for a in arguments)
    plan = OutputPlan(
        calls=tuple(calls.found),
        columns=(),
        arguments=None if plain else tuple(arguments),
        rest=rest,
        tests=changed_tests,
    )
    columns = tuple(tuple(column_of(plan, schema, a) for a in _read(call)) for call in calls.found)
    return replace(plan, columns=columns)


def column_of(plan: OutputPlan, schema: Schema, argument: Expression) -> int:
    """Where an argument stands in a row."""
    if plan.arguments is not None:
        return plan.arguments.index(argument)
    assert isinstance(argument, Attribute)
    return schema.position[argument.name]


def check_outputs(expressions: Iterable[Expression], span: Span | None, found: Diagnostics) -> None:
    """Report output functions below output functions."""
    for expression in expressions:
        for call in expression.walk():
            inside = [e for a in _arguments(call) for e in a.walk() if isinstance(e, OutputCall)]
            if inside:
                message = f"`{inside[0].function}` cannot stand inside `{_function(call)}`"
                found.error(message, inside[0].span or span, hint="compute it in an Aggregate of its own")
            if isinstance(call, OutputCall) and call.function == CUSTOM:
                _check_custom(call, span, found)


def _check_custom(call: OutputCall, span: Span | None, found: Diagnostics) -> None:
    """Report a `Custom` whose parts are no calls, or read a tuple where there is none."""
    for name, part in zip(("init", "process", "result"), call.arguments, strict=True):
        if not isinstance(part, Call):
            message = f"the {name} of `Custom` must be a call of a function"
            found.error(message, part.span or span, hint="write `Custom(init(c), process(value, c), result(c))`")
        elif name != "process" and _attributes(part):
            message = f"the {name} of `Custom` reads an attribute, but only its process sees tuples"
            found.error(message, part.span or span, hint="keep what it needs in the state")


def _attributes(expression: Expression) -> tuple[Expression, ...]:
    """The attributes and whole tuples that an expression reads, each once."""
    return tuple(dict.fromkeys(e for e in expression.walk() if isinstance(e, Attribute | InputTuple)))


def _read(call: OutputCall) -> tuple[Expression, ...]:
    """What a call reads off a tuple."""
    return _attributes(call.arguments[1]) if call.function == CUSTOM else call.arguments


def _over_columns(call: OutputCall) -> Expression:
    """The `process` of a `Custom`, with variables for what it reads off a tuple."""
    variables = {read: Variable(type=read.type, name=_name(i)) for i, read in enumerate(_read(call))}
    return transform(call.arguments[1], lambda node: variables.get(node, node))


def _result(compute: Callable[[], Any]) -> Whole:
    return lambda rows, groups: compute()


def _arguments(expression: Expression) -> tuple[Expression, ...]:
    return expression.arguments if isinstance(expression, OutputCall) else ()


def _function(expression: Expression) -> str:
    return expression.function if isinstance(expression, OutputCall) else ""


def _name(index: int) -> str:
    return f"aggregate_{index}"


class _Calls:
    """The output calls of expressions, equal ones once, and the variables that stand for them."""

    def __init__(self) -> None:
        self.found: list[OutputCall] = []
        self._variables: dict[OutputCall, Variable] = {}

    def rewrite(self, expression: Expression, *, bare_means_last: bool) -> Expression:
        """The expression with variables for its calls, and for attributes outside all calls if those mean `Last`."""
        bound = transform(expression, self._bind)
        return transform(bound, self._bind_bare) if bare_means_last else bound

    def _bind(self, expression: Expression) -> Expression:
        if not isinstance(expression, OutputCall):
            return expression
        if expression.function == CUSTOM or expression not in self._variables:
            self._variables[expression] = Variable(type=expression.type, name=_name(len(self.found)))
            self.found.append(expression)
        return self._variables[expression]

    def _bind_bare(self, expression: Expression) -> Expression:
        if not isinstance(expression, Attribute | InputTuple):
            return expression
        return self._bind(OutputCall(type=expression.type, function="Last", arguments=(expression,)))
