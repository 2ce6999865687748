"""Delay: passes on every tuple and window marker some seconds later; the time between them stays the same."""

from __future__ import annotations

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import FLOAT64, UINT32
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.utility.releases import Releases


class DelayRuntime(LogicRuntime):
    """Sets a timer for each tuple."""

    remembers = ("_releases",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._delay_ns = self.duration_ns("delay")
        self._releases = Releases(context, self.pass_on)

    def process(self, port: int, tuple_: Tuple) -> None:
        """Hold the tuple back."""
        self._releases.at(self._due(), tuple_)

    def take_window_marker(self, port: int) -> None:
        """Hold the marker back."""
        self._releases.at(self._due(), Punctuation.WINDOW)

    def is_waiting(self) -> bool:
        """Whether tuples are held back."""
        return self._releases.has_tuples

    def finish(self) -> None:
        """Let go of the rest."""
        self._releases.release_all()

    def _due(self) -> int:
        return self.context.environment.clock.now_ns + self._delay_ns


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it keeps tuples until their time has come")


DEFINITION = OperatorDefinition(
    name="Delay",
    doc="Passes on tuples and window markers a number of seconds later, in order.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="delay", kind=ParamKind.CONSTANT, types=(FLOAT64,), required=True, doc="Seconds."),
        ParamSpec(
            name="bufferSize",
            kind=ParamKind.CONSTANT,
            types=(UINT32,),
            doc="How many tuples may be held back; checked, but the buffer is never full here.",
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(waits_for_time=True, is_repeatable=True),
    model=_model,
    runtime=DelayRuntime,
)
