"""Functor: makes a tuple for each output port from each input tuple that satisfies a condition.

An output attribute that is not assigned is copied from the input attribute of the same name and type. Window markers
are passed on.
"""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity
from penstock.ir.types import BOOLEAN
from penstock.toolkit.analysis.logic_analysis import stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Submit


class FunctorRuntime(LogicRuntime):
    """Evaluates the condition and the output clauses for each tuple."""

    def taker(self, port: int) -> Submit:
        """A function that submits what the output clauses make of the tuple."""
        send = self._sender()
        values = self.operator.param("filter")
        if not values:
            return send
        condition = self.scalar(values[0])

        def send_if(tuple_: Tuple) -> None:
            if condition(tuple_):
                send(tuple_)

        return send_if

    def _sender(self) -> Submit:
        if len(self.submit) == 1:
            submit, make = self.submit[0], self.output_row(0)
            return lambda tuple_: submit(make(tuple_))
        outputs = [(submit, self.output_row(i)) for i, submit in enumerate(self.submit)]

        def send_all(tuple_: Tuple) -> None:
            for submit, make in outputs:
                submit(make(tuple_))

        return send_all


def _model(operator: Operator) -> OperatorModel:
    count = len(operator.outputs)
    if count > 1:
        return stateless(operator, Selectivity.UNKNOWN, f"it makes {count} tuples of one, one for each output port")
    return stateless(operator, Selectivity.AT_MOST_ONE if operator.param("filter") else Selectivity.EXACTLY_ONE)


DEFINITION = OperatorDefinition(
    name="Functor",
    doc="Makes new tuples from each tuple, one for each output port. Attributes not assigned are copied by name.",
    inputs=(1, 1),
    outputs=(1, None),
    params=(ParamSpec(name="filter", types=(BOOLEAN,), doc="Which tuples are taken; all without it."),),
    output=OutputClause.ASSIGN,
    facts=Facts(reads=Reads.EXPRESSIONS, drops_by="filter", is_repeatable=True),
    model=_model,
    runtime=FunctorRuntime,
)
