"""The history of a port: `In[1].price` is the price of the tuple before the current one.

Parameters and output clauses may ask for the tuples that came before on a port. These become state variables of the
operator, which its logic clause moves on by one with every tuple, before anything else; before there are tuples they
have the default value of their type. `In[0]` is the current tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from penstock.base.diagnostics import Span
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute, Call, Expression, InputTuple, Variable
from penstock.ir.graph import InputPort
from penstock.ir.statements import Assign, Block, Declare, Handler, Logic
from penstock.ir.types import Schema
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.toolkit.core.complete_outputs import default_expression

MOST_PAST = 1000
"""How far back a history goes at most."""

_NAME_OF = "_history{}_{}"
_NAME = re.compile(r"_history(\d+)_(\d+)")


def past_tuple(port: InputTuple, at: Expression, names: Names, span: Span) -> Expression:
    """The tuple that came so many tuples before the current one.

    Raises:
        UserError: The number is no constant, or the code is none that has a history.
    """
    if not names.has_history:
        raise error("the history of a port is there in parameters and output clauses", span, "keep it in the state")
    is_constant = not any(isinstance(part, Attribute | Call | InputTuple | Variable) for part in at.walk())
    past = Evaluator().constant(at) if is_constant else None
    if not isinstance(past, int) or isinstance(past, bool) or not 0 <= past <= MOST_PAST:
        raise error(f"the place in a history is a constant from 0 to {MOST_PAST}", span)
    return Variable(type=port.type, name=_NAME_OF.format(port.port, past), span=span) if past else port


def with_history(logic: Logic | None, inputs: Sequence[InputPort], code: Iterable[Expression]) -> Logic | None:
    """The logic clause of an operator that keeps the history which its code asks for."""
    depth: dict[int, int] = {}
    for part in (part for expression in code for part in expression.walk()):
        if isinstance(part, Variable) and (found := _NAME.fullmatch(part.name)):
            port, past = map(int, found.groups())
            depth[port] = max(past, depth.get(port, 0))
    for port, deepest in sorted(depth.items()):
        logic = _remember(logic or Logic(), port, inputs[port].schema, deepest)
    return logic


def _remember(logic: Logic, port: int, schema: Schema, deepest: int) -> Logic:
    variables = [Variable(type=schema, name=_NAME_OF.format(port, past)) for past in range(deepest + 1)]
    declared = [Declare(name=v.name, type=schema, value=default_expression(schema), mutable=True) for v in variables]
    values = (InputTuple(type=schema, port=port), *variables)
    moves = [Assign(target=v, value=value) for v, value in zip(variables, values, strict=False)]
    before = next((h.body.body for h in logic.on_tuple if h.port == port), ())
    handler = Handler(port=port, body=Block(body=(*reversed(moves), *before)))
    others = (h for h in logic.on_tuple if h.port != port)
    return Logic(
        state=(*logic.state, *declared),
        on_tuple=tuple(sorted((*others, handler), key=lambda h: h.port)),
        on_punctuation=logic.on_punctuation,
        on_process=logic.on_process,
    )
