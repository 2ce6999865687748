"""ThreadedSplit: spreads tuples over the output ports.

In SPL each output port has a thread and a buffer, and a tuple goes wherever there is room, so the choice is not
determined. Here tuples go to the ports in turn. Window markers go to every port.
"""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import UINT32
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Submit


class ThreadedSplitRuntime(LogicRuntime):
    """Deals tuples out to the output ports."""

    remembers = ("_turn",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._turn = 0

    def taker(self, port: int) -> Submit:
        """A function that submits each tuple to the next port."""
        ports, count = self.submit, len(self.submit)

        def deal(tuple_: Tuple) -> None:
            turn = self._turn
            self._turn = (turn + 1) % count
            ports[turn](tuple_)

        return deal


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "its outputs take turns")


DEFINITION = OperatorDefinition(
    name="ThreadedSplit",
    doc="Spreads tuples over its output ports, to let them be processed at the same time; the ports take turns.",
    inputs=(1, 1),
    outputs=(1, None),
    params=(
        ParamSpec(
            name="bufferSize",
            kind=ParamKind.CONSTANT,
            types=(UINT32,),
            required=True,
            doc="Of each output port, in tuples; checked, but nothing waits in a buffer here.",
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=_model,
    runtime=ThreadedSplitRuntime,
)
