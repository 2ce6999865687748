"""Effects of the code of an operator: calls with effects, and the variables and attributes that it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.base.diagnostics import UserError
from penstock.expr.analysis import calls_of, functions_used, logic_parts, own_function, root_of, targets_of
from penstock.expr.functions.registry import resolve
from penstock.ir.expressions import Attribute, Call, Expression, Field, Index, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.statements import Declare, Function, Logic, Statement

PRINTING = frozenset({"print", "println", "printString", "printStringLn"})
"""The functions that print."""


def operator_parts(operator: Operator) -> tuple[Expression | Statement, ...]:
    """The code of an operator: parameters, output clauses, and the statements of its logic, outermost ones only."""
    params = (value for param in operator.params for value in param.values)
    outputs = (assignment.value for port in operator.outputs for assignment in port.assignments)
    return (*params, *outputs, *(() if operator.logic is None else logic_parts(operator.logic)))


def stateful_calls(operator: Operator, functions: Sequence[Function]) -> tuple[str, ...]:
    """The names of the stateful functions that an operator calls, each once.

    A function that is neither a standard one nor among the application's is taken for stateful.
    """
    parts = operator_parts(operator)
    used = functions_used(parts, functions)
    calls = calls_of(*parts, *(function.body for function in used))
    return tuple(dict.fromkeys(call.function for call in calls if _is_stateful(call, functions)))


def does_print(operator: Operator, functions: Sequence[Function]) -> bool:
    """Whether an operator prints."""
    return operator.kind == "ConsoleSink" or not PRINTING.isdisjoint(stateful_calls(operator, functions))


def _is_stateful(call: Call, functions: Sequence[Function]) -> bool:
    own = own_function(call, functions)
    if own is not None:
        return own.stateful
    try:
        return resolve(call.function, [a.type for a in call.arguments]).definition.stateful
    except UserError:
        return True


def changed_variables(operator: Operator, functions: Sequence[Function]) -> frozenset[str]:
    """The state variables of an operator that some code of it changes."""
    if operator.logic is None:
        return frozenset()
    state = {("variable", declared.name) for declared in operator.logic.state}
    targets = (target for part in operator_parts(operator) for target in targets_of(part, functions))
    return frozenset(str(root[1]) for target in targets if (root := root_of(target)) in state and root is not None)


def immutable_locals(logic: Logic) -> Mapping[str, Expression]:
    """The values of the immutable local variables of a logic clause; a name that is declared twice is left out."""
    declared: dict[str, Expression | None] = {}
    for statement in logic.statements():
        if isinstance(statement, Declare) and statement not in logic.state:
            unclear = statement.name in declared or statement.mutable
            declared[statement.name] = None if unclear else statement.value
    return {name: value for name, value in declared.items() if value is not None}


def changed_attributes(logic: Logic, functions: Sequence[Function], port: int) -> frozenset[str] | None:
    """The attributes of an input port that the logic changes; None if it changes the tuple as a whole."""
    names = [name for target in _targets(logic, functions) for name in _attribute_of(target, port)]
    return None if None in names else frozenset(name for name in names if name is not None)


def _targets(logic: Logic, functions: Sequence[Function]) -> Iterator[Expression]:
    for part in logic_parts(logic):
        yield from targets_of(part, functions)


def _attribute_of(target: Expression, port: int) -> tuple[str | None, ...]:
    """The attribute that a target is part of, None if it is the whole tuple; nothing if it is not of the port."""
    while isinstance(target, Field | Index):
        if isinstance(target, Field) and isinstance(target.base, InputTuple):
            return (target.name,) if target.base.port == port else ()
        target = target.base
    if isinstance(target, InputTuple):
        return (None,) if target.port == port else ()
    return (target.name,) if isinstance(target, Attribute) and target.port == port else ()
