"""Switch: lets tuples through while it is on.

Each tuple of the second input port sets it: on where `status` is true. Tuples and window markers that come while it is
off wait, and leave in order when it is switched on.
"""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.utility.held_items import HoldingRuntime


class SwitchRuntime(HoldingRuntime):
    """Remembers whether it is on."""

    remembers = ("_held", "_is_on")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._is_on: bool = self.constant("initialStatus", False)
        self._status = self.scalar(operator.param("status")[0])

    def is_open(self) -> bool:
        """Whether it is on."""
        return self._is_on

    def control(self, tuple_: Tuple) -> None:
        """Switch it on or off."""
        self._is_on = self._status(None, tuple_)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "its second input switches the whole stream")


DEFINITION = OperatorDefinition(
    name="Switch",
    doc="Lets the tuples of the first port through while it is on; the second port switches it on and off.",
    inputs=(2, 2),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="status",
            types=(BOOLEAN,),
            ports=(1,),
            required=True,
            doc="Whether a tuple of the second port switches on (true) or off.",
        ),
        ParamSpec(
            name="initialStatus",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether it is on at the start; off without it.",
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=_model,
    runtime=SwitchRuntime,
)
