"""Match: finds sequences of tuples that fit a pattern.

Introduction:
    `pattern` is a regular expression over predicates (`match_pattern` has its syntax) and `predicates` says what each
    of them means: a tuple literal of conditions on the tuple that comes, which may also use output functions over the
    tuples that the match holds so far. When a match is complete, one output tuple sums it up with output functions.
    With `partitionBy`, each partition is a sequence of its own.

Example:
    A price that rises and then falls below where it began::

        param pattern: ". rise+ drop+ deep";
              partitionBy: symbol;
              predicates: {rise = price > Last(price), drop = price <= Last(price) && price >= First(price),
                           deep = price < First(price)};
        output Dips: symbol = symbol, from = First(seq), to = Last(seq), tuples = Count(), top = Max(price);

Semantics:
    Matches are contiguous: within the partition no tuple is left out. A match is complete as soon as it can be; a
    longer one that begins with it is not looked for. When several are complete with the same tuple, the one that began
    first wins. Matches do not overlap: after a complete one everything begins anew with the next tuple. For the first
    tuple of a match, output functions in predicates have the default value of their type (0, empty). The markers of
    the input do not go through, and what is not complete at the end is not sent. With `partitionAge` the matches that
    have begun in a partition are dropped when no tuple of it has come for so many seconds.

Algorithm:
    Every tuple may begin a match. A partial match is the set of pattern positions that its last tuple may stand at,
    and its rows. A tuple advances each of them, the oldest first, by testing the predicates of the positions that may
    follow. Where no predicate looks back at the match, partial matches at equal positions have the same future and
    only the oldest is kept, so there are at most as many as reachable sets of positions; otherwise there may be as
    many as tuples, each tested for each tuple.

Reference:
    The Match of the Twitter CEP kernel, auto-parallelization paper, section 5.3; the MatchRegex operator of SPL's
    complex event processing toolkit for the form of its parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.expr.values import default_value
from penstock.ir.expressions import Expression, Literal, TupleLiteral
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Forwarding, Markers, OperatorModel, Selectivity, State, Why
from penstock.ir.types import BOOLEAN, RSTRING, TupleType
from penstock.toolkit.aggregates.output_expressions import check_outputs, plan_outputs
from penstock.toolkit.aggregates.output_functions import OUTPUT_FUNCTIONS
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Remembering
from penstock.toolkit.core.runtime import Context, Submit
from penstock.toolkit.relational.aggregate import picks_key
from penstock.toolkit.relational.match_pattern import Pattern, Positions, parse_pattern
from penstock.toolkit.windows.age import partitions_by
from penstock.toolkit.windows.partition import check_keys, key_attributes, key_function, key_names
from penstock.toolkit.windows.policy import AGE, check_param_age, param_age_ns

START: Positions = frozenset({-1})
"""Where a match stands that has no tuple yet."""


class _Partial:
    """A match that has begun: where it stands, and the rows of its tuples."""

    __slots__ = ("positions", "rows")

    def __init__(self, positions: Positions = START, rows: Sequence[Tuple] = ()) -> None:
        self.positions = positions
        self.rows = list(rows)


class _Predicate:
    """A condition on a tuple, given the rows of the match so far.

    Attributes:
        looks_back: Whether it uses the rows.
    """

    def __init__(self, test: Callable[..., Any], calls: Sequence[tuple[Callable[..., Any], Any]]) -> None:
        self.test = test
        self.calls = calls
        self.looks_back = bool(calls)

    def holds(self, tuple_: Tuple, rows: list[Tuple]) -> bool:
        """Whether it holds on a tuple."""
        if rows:
            return bool(self.test(tuple_, *[compute(rows, (rows,)) for compute, _ in self.calls]))
        return bool(self.test(tuple_, *[default for _, default in self.calls]))


class Matcher(Remembering):
    """Looks for a pattern in one sequence of tuples."""

    def __init__(self, pattern: Pattern, predicates: dict[str, _Predicate]) -> None:
        self.pattern = pattern
        self.predicates = predicates
        self.looks_back = any(p.looks_back for p in predicates.values())
        self.partials: list[_Partial] = []

    def snapshot(self) -> list[tuple[list[int], list[Tuple]]]:
        """Where each partial match stands, and its rows."""
        return [(sorted(partial.positions), partial.rows) for partial in self.partials]

    def restore(self, state: list[tuple[list[int], list[Tuple]]]) -> None:
        """Take up the partial matches of another matcher."""
        self.partials = [_Partial(frozenset(positions), rows) for positions, rows in state]

    def is_blank(self) -> bool:
        """Whether no match has begun."""
        return not self.partials

    def step(self, tuple_: Tuple, row: Tuple) -> list[Tuple] | None:
        """Take a tuple; the rows of the match that it completes, if it does."""
        survivors: list[_Partial] = []
        seen: set[Positions] = set()
        for partial in (*self.partials, _Partial()):
            positions = self._advance(partial, tuple_)
            if not positions or (not self.looks_back and positions in seen):
                continue
            seen.add(positions)
            partial.positions = positions
            partial.rows.append(row)
            if positions & self.pattern.last:
                self.partials = []
                return partial.rows
            survivors.append(partial)
        self.partials = survivors
        return None

    def _advance(self, partial: _Partial, tuple_: Tuple) -> Positions:
        verdicts: dict[str | None, bool] = {None: True}
        reached = []
        for position in self._next(partial.positions):
            name = self.pattern.names[position]
            if name not in verdicts:
                verdicts[name] = self.predicates[name].holds(tuple_, partial.rows)  # type: ignore[index]
            if verdicts[name]:
                reached.append(position)
        return frozenset(reached)

    def _next(self, positions: Positions) -> list[int]:
        follow = self.pattern.follow
        reachable = self.pattern.first if positions == START else frozenset().union(*(follow[p] for p in positions))
        return sorted(reachable)


class MatchRuntime(LogicRuntime):
    """A Match at work."""

    remembers = ("matchers",)
    asks_by_key = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        names, conditions = _predicates(operator)
        outputs = [a.value for a in operator.outputs[0].assignments]
        plan = plan_outputs(outputs, operator.inputs[0].schema, tests=conditions)
        self.row_of = plan.row(self.row)
        self.finish_row = plan.finish(context.evaluator, self._state)
        self.wholes = plan.wholes(context.evaluator, self._state)
        defaults = [default_value(call.type) for call in plan.calls]
        self.predicates: dict[str, _Predicate] = {}
        for name, test in zip(names, plan.tests, strict=True):
            used = [i for i, variable in enumerate(plan.variables) if variable in test.walk()]
            function = self.scalar(test, variables=[plan.variables[i] for i in used])
            self.predicates[name] = _Predicate(function, [(self.wholes[i], defaults[i]) for i in used])
        self.pattern = _pattern(self.constant("pattern"), names)
        by = operator.param("partitionBy")
        age_ns, clock = param_age_ns(operator, context.evaluator), context.environment.clock
        self.matchers = partitions_by(key_function(by, self.row), self._make_matcher, key_names(by), age_ns, clock)

    def taker(self, port: int) -> Submit:
        """Let the matcher of each tuple's partition take it, and send what it completes."""
        matcher_of, row_of, wholes, finish_row = self.matchers.of, self.row_of, self.wholes, self.finish_row
        submit = self.submit[0]

        def take(tuple_: Tuple) -> None:
            rows = matcher_of(tuple_).step(tuple_, tuple_ if row_of is None else row_of(tuple_))
            if rows is not None:
                submit(finish_row(*[whole(rows, (rows,)) for whole in wholes]))

        return take

    def take_window_marker(self, port: int) -> None:
        """Markers of the input stop here."""

    def _make_matcher(self, key: Hashable) -> Matcher:
        return Matcher(self.pattern, self.predicates)


def _predicates(operator: Operator) -> tuple[tuple[str, ...], tuple[Expression, ...]]:
    (literal,) = operator.param("predicates")
    assert isinstance(literal, TupleLiteral)
    assert isinstance(literal.type, TupleType)
    return literal.type.names, literal.values


def _pattern(text: str, names: Sequence[str]) -> Pattern:
    try:
        return parse_pattern(text, names)
    except ValueError as error:
        raise UserError(f"`{text}` is not a pattern: {error}") from error


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    check_keys(operator, ("partitionBy",), found)
    check_param_age(operator, operator.param("partitionBy"), found)
    check_outputs((a.value for a in operator.outputs[0].assignments), operator.span, found)
    (literal,) = operator.param("predicates")
    if not isinstance(literal, TupleLiteral) or not isinstance(literal.type, TupleType):
        message = f"`predicates` must be a tuple literal of conditions, found {literal.type}"
        found.error(message, literal.span or operator.span, hint="write `predicates: {rise = price > Last(price)}`")
        return
    check_outputs(literal.values, operator.span, found)
    for attribute, value in zip(literal.type.attributes, literal.values, strict=True):
        if attribute.type != BOOLEAN:
            message = f"the predicate `{attribute.name}` must be boolean, found {attribute.type}"
            found.error(message, value.span or operator.span)
    (pattern,) = operator.param("pattern")
    if isinstance(pattern, Literal):
        try:
            _pattern(str(pattern.value), literal.type.names)
        except UserError as error:
            found.error(error.diagnostics[0].message, pattern.span or operator.span)


def model(operator: Operator) -> OperatorModel:
    """Partitioned by its key; a tuple completes at most one match."""
    key = key_attributes(operator.param("partitionBy"))
    base = OperatorModel(selectivity=Selectivity.AT_MOST_ONE, forwarding=Forwarding.FUNCTION_ANY, markers=Markers.NONE)
    if key is None:
        reason = "its matches run over the tuples of all partitions; give it a `partitionBy` of plain attributes"
        return replace(base, why=(Why(Flag.STATE, reason),))
    return replace(base, state=State.PARTITIONED, partition_by=(key,), forwards=picks_key(operator, key))


DEFINITION = OperatorDefinition(
    name="Match",
    doc="Finds sequences of tuples that fit a pattern over named predicates.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="pattern",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="A regular expression over the predicates' names.",
        ),
        ParamSpec(name="predicates", required=True, doc="A tuple literal of conditions, one for each name."),
        ParamSpec(name="partitionBy", many=True, doc="Matches hold tuples with equal values of these."),
        AGE,
    ),
    output=OutputClause.AGGREGATE,
    output_functions=OUTPUT_FUNCTIONS,
    facts=Facts(is_repeatable=True),
    model=model,
    check=check,
    runtime=MatchRuntime,
)
