"""The failure of generated code, told as the reference interpreter tells it.

The item on which the code failed is known (`codegen.run.failing`). A container with the operators that share its
loop, with their variables as they were, takes the tuples of that item and fails in turn, with the operator and the
tuple. Where it does not, because what the operator had in its windows is missing, the failure names the tuple that
came.
"""

from __future__ import annotations

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import refined
from penstock.codegen.run.failing import Failing
from penstock.codegen.transport.batches import TUPLE, Item
from penstock.codegen.write.generate import Module
from penstock.expr.environment import Environment
from penstock.expr.values import text_form
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.toolkit.core.logic_runtime import VARIABLES
from penstock.toolkit.core.program import Program


def told(program: Program, module: Module, failing: Failing) -> OperatorFailed:
    """The failure as a user is to read it."""
    operator = program.application.operator[failing.error.operator]
    reason = reason_of(failing.error.error)
    try:
        _repeat(program, module, failing)
    except OperatorFailed as failure:
        if failure.reason == reason:
            return failure
    if not failing.tuples:
        return OperatorFailed(operator, reason)
    port, tuple_ = failing.tuples[-1]
    return OperatorFailed(operator, reason, text_form(operator.inputs[port].schema)(tuple_))


def _repeat(program: Program, module: Module, failing: Failing) -> None:
    """Let the reference interpreter take the tuples."""
    head = failing.error.operator
    inside = module.loops.get(head, (head,))
    plan, pe = module.part.plan, module.part.pe
    rest = tuple(o.id for o in module.part.operators if o.id not in inside)
    finer = refined(plan, pe, [inside, rest])
    container = Container(program, finer, len(plan.pes), Environment())
    for id_, variables in failing.variables.items():
        if id_ in inside:
            container.node[id_].runtime.restore(({VARIABLES: variables}, {}))
    for id_, memory in failing.memories.items():
        if id_ in inside:
            container.node[id_].runtime.restore(memory)
    for number, (port, tuple_) in enumerate(failing.tuples):
        container.take([(_edge(finer, len(plan.pes), head, port), Item(0, number, b"", TUPLE, tuple_))])


def _edge(plan: PhysicalPlan, pe: int, operator: str, port: int) -> int:
    """An edge that leads to a port of an operator."""
    return next(e.index for e in plan.into(pe) if (operator, port) in e.subscribers)
