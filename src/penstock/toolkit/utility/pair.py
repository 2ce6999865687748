"""Pair: waits for a tuple from every input port and sends them one after the other, in order of the ports.

All ports have one schema. The n-th tuple of each port meets the n-th tuples of the others; with `partitionBy`, the n-th
of its partition. A window marker follows each meeting. Tuples that still wait at the end are not sent, and the window
markers of the inputs do not go through.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause
from penstock.toolkit.core.runtime import Punctuation
from penstock.toolkit.utility.barrier import PARAMS, MeetingRuntime, check_meeting, meeting_model


class PairRuntime(MeetingRuntime):
    """A Pair at work."""

    def send(self, met: Sequence[Tuple]) -> None:
        """Send the tuples as they are, then a window marker."""
        submit = self.submit[0]
        for tuple_ in met:
            submit(tuple_)
        self.punctuate[0](Punctuation.WINDOW)


def check(operator: Operator, found: Diagnostics) -> None:
    """Find what the declarations of the parameters cannot express."""
    check_meeting(operator, found)
    check_equal_schemas(operator, found)


def check_equal_schemas(operator: Operator, found: Diagnostics) -> None:
    """Report input ports whose schema is not that of the first."""
    first = operator.inputs[0].schema
    for i, port in enumerate(operator.inputs):
        if port.schema != first:
            message = f"`{operator.kind}` passes all its inputs on, but port {i} has {port.schema} and port 0 {first}"
            found.error(message, operator.span, hint="put a Functor before it")


def model(operator: Operator) -> OperatorModel:
    """The model of an instance."""
    why = "a tuple waits for those of the other ports and leaves together with them"
    return meeting_model(operator, why, Markers.OWN)


DEFINITION = OperatorDefinition(
    name="Pair",
    doc="Waits for a tuple from every input port and sends them one after the other.",
    inputs=(2, None),
    outputs=(1, 1),
    params=PARAMS,
    output=OutputClause.FORWARD,
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=model,
    check=check,
    runtime=PairRuntime,
)
