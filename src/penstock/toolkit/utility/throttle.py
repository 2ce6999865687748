"""Throttle: lets tuples pass no faster than at a given rate.

A tuple leaves when it arrives or `1 / rate` seconds after the one before, whichever is later. SPL averages over
`period` seconds and so lets short bursts through; over longer times the rate is the same.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.utility.held_items import Item
from penstock.toolkit.utility.releases import Releases


class ThrottleRuntime(LogicRuntime):
    """Holds back what comes too early."""

    remembers = ("_releases", "_free_ns", "_last_ns")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._interval_ns = round(1_000_000_000 / self.constant("rate"))
        self._counts_markers = self.constant("includePunctuations", False)
        self._releases = Releases(context, self.pass_on)
        self._free_ns = 0
        self._last_ns = 0

    def process(self, port: int, tuple_: Tuple) -> None:
        """Send the tuple as soon as the rate allows."""
        self._take(tuple_, counts=True)

    def take_window_marker(self, port: int) -> None:
        """Send the marker behind the tuples before it."""
        self._take(Punctuation.WINDOW, counts=self._counts_markers)

    def is_waiting(self) -> bool:
        """Whether tuples are held back."""
        return self._releases.has_tuples

    def finish(self) -> None:
        """Let go of the rest."""
        self._releases.release_all()

    def _take(self, item: Item, *, counts: bool) -> None:
        now_ns = self.context.environment.clock.now_ns
        self._last_ns = max(now_ns, self._free_ns if counts else self._last_ns)
        if counts:
            self._free_ns = self._last_ns + self._interval_ns
        if self._last_ns == now_ns and not self._releases:
            self.pass_on(item)
        else:
            self._releases.at(self._last_ns, item)


def _check(operator: Operator, found: Diagnostics) -> None:
    (rate,) = operator.param("rate")
    if isinstance(rate, Literal) and isinstance(rate.value, float) and rate.value <= 0:
        found.error(f"the rate of a Throttle must be above 0, found {rate.value}", rate.span or operator.span)


def _model(operator: Operator) -> OperatorModel:
    counts_markers = bool(operator.param("includePunctuations"))
    return replace(not_parallel(operator, "its rate is that of the whole stream"), waits_for_markers=counts_markers)


DEFINITION = OperatorDefinition(
    name="Throttle",
    doc="Lets tuples pass no faster than at a rate; what comes too early waits.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        ParamSpec(name="rate", kind=ParamKind.CONSTANT, types=(FLOAT64,), required=True, doc="Tuples a second."),
        ParamSpec(
            name="period",
            kind=ParamKind.CONSTANT,
            types=(FLOAT64,),
            doc="Seconds over which SPL averages; accepted, but every two tuples are kept apart here.",
        ),
        ParamSpec(
            name="includePunctuations",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether window markers count as tuples; false without it.",
        ),
        ParamSpec(
            name="precise",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Asks for exact waiting; it always is here.",
        ),
    ),
    output=OutputClause.FORWARD,
    facts=Facts(waits_for_time=True, is_repeatable=True),
    model=_model,
    check=_check,
    runtime=ThrottleRuntime,
)
