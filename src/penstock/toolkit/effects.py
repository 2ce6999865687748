"""What code does beyond computing a value: calls with effects, variables and attributes that it changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.diagnostics import UserError
from penstock.expr.functions.registry import resolve
from penstock.ir.expressions import Attribute, Call, Expression, Field, Index, InputTuple, Update, Variable
from penstock.ir.graph import Operator
from penstock.ir.statements import Assign, Declare, Function, Logic, Statement


class FunctionEffects:
    """Tells what calls of the standard functions and of an application's own functions do.

    A function that neither side knows is taken for stateful, and all its arguments for changed.

    Example:
        >>> from penstock.ir.types import FLOAT64
        >>> FunctionEffects().is_stateful(Call(type=FLOAT64, function="random", arguments=()))
        True
    """

    def __init__(self, functions: Iterable[Function] = ()) -> None:
        self._functions = {f.name: f for f in functions}

    def is_stateful(self, call: Call) -> bool:
        """Whether a call has an effect or may give another value the next time."""
        if call.function in self._functions:
            return self._functions[call.function].stateful
        try:
            return resolve(call.function, [a.type for a in call.arguments]).definition.stateful
        except UserError:
            return True

    def changed_arguments(self, call: Call) -> Iterator[Expression]:
        """The arguments that a call changes."""
        if call.function in self._functions:
            parameters = self._functions[call.function].parameters
            yield from (a for a, p in zip(call.arguments, parameters, strict=True) if p.mutable)
            return
        try:
            positions = resolve(call.function, [a.type for a in call.arguments]).definition.mutable_positions
        except UserError:
            positions = tuple(range(len(call.arguments)))
        yield from (call.arguments[i] for i in positions)

    def changed(self, expression: Expression) -> Iterator[Expression]:
        """What evaluating an expression changes: variables, attributes, or parts of them."""
        for part in expression.walk():
            if isinstance(part, Update):
                yield part.target
            elif isinstance(part, Call):
                yield from self.changed_arguments(part)


def root(target: Expression) -> Expression:
    """The variable, attribute or tuple that a target is a part of."""
    while isinstance(target, Field | Index):
        target = target.base
    return target


def operator_expressions(operator: Operator) -> Iterator[Expression]:
    """Every expression of an operator: parameters, output clauses, logic."""
    for param in operator.params:
        yield from param.values
    for port in operator.outputs:
        yield from (assignment.value for assignment in port.assignments)
    if operator.logic is not None:
        for statement in operator.logic.statements():
            yield from statement.expressions()


def stateful_calls(operator: Operator, effects: FunctionEffects) -> tuple[str, ...]:
    """The names of the stateful functions that an operator calls, each once."""
    parts = (part for expression in operator_expressions(operator) for part in expression.walk())
    return tuple(dict.fromkeys(p.function for p in parts if isinstance(p, Call) and effects.is_stateful(p)))


def changed_targets(statement: Statement, effects: FunctionEffects) -> Iterator[Expression]:
    """What a statement itself changes, statements inside it apart."""
    if isinstance(statement, Assign):
        yield statement.target
    for expression in statement.expressions():
        yield from effects.changed(expression)


def changed_variables(operator: Operator, effects: FunctionEffects) -> frozenset[str]:
    """The state variables of an operator that some code of it changes."""
    if operator.logic is None:
        return frozenset()
    state = {d.name for d in operator.logic.state}
    targets = [t for s in operator.logic.statements() for t in changed_targets(s, effects)]
    targets += [t for e in operator_expressions(operator) for t in effects.changed(e)]
    roots = (root(target) for target in targets)
    return frozenset(r.name for r in roots if isinstance(r, Variable) and r.name in state)


def immutable_locals(logic: Logic) -> Mapping[str, Expression]:
    """What the immutable local variables of a logic clause stand for; a name that is declared twice is left out."""
    declared: dict[str, Expression | None] = {}
    for statement in logic.statements():
        if isinstance(statement, Declare) and statement not in logic.state:
            unclear = statement.name in declared or statement.mutable
            declared[statement.name] = None if unclear else statement.value
    return {name: value for name, value in declared.items() if value is not None}


def changed_attributes(logic: Logic, effects: FunctionEffects, port: int) -> frozenset[str] | None:
    """The attributes of an input port that the logic changes; None if it changes the tuple as a whole."""
    names = set()
    for statement in logic.statements():
        for target in changed_targets(statement, effects):
            attribute = _attribute_of(target, port)
            if attribute is None:
                return None
            names.add(attribute)
    return frozenset(names - {""})


def _attribute_of(target: Expression, port: int) -> str | None:
    """The attribute that a target is part of, "" if it is not of the port, None if it is the whole tuple."""
    while isinstance(target, Field | Index):
        if isinstance(target, Field) and isinstance(target.base, InputTuple) and target.base.port == port:
            return target.name
        target = target.base
    if isinstance(target, InputTuple) and target.port == port:
        return None
    return target.name if isinstance(target, Attribute) and target.port == port else ""
