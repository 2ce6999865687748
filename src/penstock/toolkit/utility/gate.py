"""Gate: lets a number of tuples through and waits until they are acknowledged before it lets more through.

Acknowledgements come in on the second input port, usually from an operator behind the gate, by a feedback edge. Window
markers of the first port keep their place between the tuples.
"""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import INT32, INT64, UINT32, UINT64
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.utility.held_items import HoldingRuntime

_COUNTS = (UINT32, INT32, UINT64, INT64)


class GateRuntime(HoldingRuntime):
    """Counts the tuples that have passed and are not acknowledged."""

    remembers = ("_held", "_unacknowledged")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._most: int = max(1, self.constant("maxUnackedTupleCount"))
        self._unacknowledged = 0
        values = operator.param("numTuplesToAck")
        self._acknowledged = self.scalar(values[0]) if values else lambda _, control: 1

    def is_open(self) -> bool:
        """Whether fewer tuples are out than may be."""
        return self._unacknowledged < self._most

    def passed(self) -> None:
        """Wait for one acknowledgement more."""
        self._unacknowledged += 1

    def control(self, tuple_: Tuple) -> None:
        """Take acknowledgements."""
        self._unacknowledged = max(0, self._unacknowledged - self._acknowledged(None, tuple_))


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it counts the acknowledgements of all tuples")


DEFINITION = OperatorDefinition(
    name="Gate",
    doc="Lets a number of tuples of the first port through until they are acknowledged on the second.",
    inputs=(2, 2),
    outputs=(1, 1),
    params=(
        ParamSpec(
            name="maxUnackedTupleCount",
            kind=ParamKind.CONSTANT,
            types=_COUNTS,
            required=True,
            doc="How many tuples may pass before they are acknowledged; at least 1.",
        ),
        ParamSpec(
            name="numTuplesToAck",
            types=_COUNTS,
            ports=(1,),
            doc="How many tuples a tuple of the second port acknowledges; 1 without it.",
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(is_repeatable=True),
    model=_model,
    runtime=GateRuntime,
)
