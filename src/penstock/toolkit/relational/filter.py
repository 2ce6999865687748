"""Filter: passes on the tuples that satisfy a condition; the others leave by the second output port, if there is one.

Window markers are passed on. A tuple arrives on exactly one of two output ports, so with both connected the operator
neither loses nor duplicates anything.
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


class FilterRuntime(LogicRuntime):
    """Evaluates the condition for each tuple."""

    def taker(self, port: int) -> Submit:
        """A function that submits the tuple to the port it belongs to."""
        passed = self.submit[0]
        values = self.operator.param("filter")
        if not values:
            return passed
        condition = self.scalar(values[0])
        if len(self.submit) == 1:

            def keep(tuple_: Tuple) -> None:
                if condition(tuple_):
                    passed(tuple_)

            return keep
        rejected = self.submit[1]

        def divide(tuple_: Tuple) -> None:
            if condition(tuple_):
                passed(tuple_)
            else:
                rejected(tuple_)

        return divide


def _model(operator: Operator) -> OperatorModel:
    loses = operator.param("filter") and len(operator.outputs) == 1
    return stateless(operator, Selectivity.AT_MOST_ONE if loses else Selectivity.EXACTLY_ONE)


DEFINITION = OperatorDefinition(
    name="Filter",
    doc="Passes on the tuples that satisfy a condition. The second output port, if there is one, receives the others.",
    inputs=(1, 1),
    outputs=(1, 2),
    params=(ParamSpec(name="filter", types=(BOOLEAN,), doc="The condition; all tuples pass without it."),),
    output=OutputClause.FORWARD,
    facts=Facts(reads=Reads.AND_PASSES_ON, drops_by="filter", rest_port=1, is_repeatable=True),
    model=_model,
    runtime=FilterRuntime,
)
