"""Format: writes each tuple into a blob, in any format of FileSink.

The output clause says where the bytes go, `data = Output()`; attributes not assigned are copied from the input by
name. Window markers are passed on; with `writePunctuations` they are bytes as well, and make a tuple of their own,
whose other attributes have their types' defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.values import default_value
from penstock.ir.expressions import OutputCall
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, Selectivity
from penstock.toolkit.analysis.logic_analysis import not_parallel, stateless
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.output_values import bind_output_calls
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.format_params import WRITE_PARAMS, check_format, write_settings, written_schema


class FormatRuntime(LogicRuntime):
    """Writes tuples to bytes."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._settings = write_settings(self)
        if self._settings.has_delay_field:
            self.remembers = ("_last_ns",)
        schema = written_schema(operator)
        self._writer = writer(schema, self._settings)
        self._select = projection(operator.inputs[0].schema, schema.names)
        bound = bind_output_calls([a.value for a in operator.outputs[0].assignments])
        self._make: Callable[..., Tuple] = self.row(bound.expressions, variables=bound.variables)
        self._last_ns = context.environment.clock.now_ns

    def process(self, port: int, tuple_: Tuple) -> None:
        """Submit a tuple with the bytes of this one."""
        data = self._delay() + self._writer.tuple(self._select(tuple_))
        self.submit[0](self._make(tuple_, data))

    def take_window_marker(self, port: int) -> None:
        """Write the marker if that is asked for, and pass it on."""
        if self._settings.has_punctuations:
            data = self._delay() + self._writer.marker(Punctuation.WINDOW)
            port_ = self.operator.outputs[0]
            values = [
                data if isinstance(a.value, OutputCall) else default_value(a.value.type) for a in port_.assignments
            ]
            self.submit[0](tuple(values))
        super().take_window_marker(port)

    def _delay(self) -> bytes:
        if not self._settings.has_delay_field:
            return b""
        now_ns = self.context.environment.clock.now_ns
        seconds, self._last_ns = (now_ns - self._last_ns) / 1e9, now_ns
        return self._writer.delay(seconds)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, written_schema(operator), found)
    values = [a.value for a in operator.outputs[0].assignments]
    if not any(isinstance(part, OutputCall) for value in values for part in value.walk()):
        found.error("the output clause of a Format never uses `Output()`", operator.span, hint="assign it to a blob")


def _model(operator: Operator) -> OperatorModel:
    writes_markers = bool(operator.param("writePunctuations"))
    if operator.param("hasDelayField") or writes_markers:
        sequential = not_parallel(operator, "it writes down what lies between the tuples")
        return replace(sequential, waits_for_markers=writes_markers)
    return stateless(operator, Selectivity.EXACTLY_ONE)


DEFINITION = OperatorDefinition(
    name="Format",
    doc="Writes each tuple into a blob attribute, where the output clause says `Output()`.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=WRITE_PARAMS,
    output=OutputClause.ASSIGN,
    output_functions=(
        OutputFunction(prototype="blob Output()", doc="The bytes of the tuple."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(waits_for_time_with=("hasDelayField",), is_repeatable=True),
    model=_model,
    check=_check,
    runtime=FormatRuntime,
)
