"""ConsoleSink: prints tuples where the application was started.

Each tuple is a line, as FileSink writes it; by default as a tuple literal, `{name="John",age=40}`. On Spark that is the
driver's standard output. A terminal cannot be cut back: what was printed before a crash, of a batch that then comes
again, is printed again. Within a run every tuple is printed once.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Submit
from penstock.toolkit.formats import Settings, writer
from penstock.toolkit.formats.column_text import text_of
from penstock.toolkit.formats.format_params import check_format, word, written_schema

FORMATS = ("txt", "csv", "line", "json")


class ConsoleSinkRuntime(LogicRuntime):
    """Prints tuples."""

    def taker(self, port: int) -> Submit:
        """A function that prints a tuple."""
        schema = written_schema(self.operator)
        select = projection(self.operator.inputs[0].schema, schema.names)
        encode, write = writer(schema, self._settings).tuple, self.context.environment.stdout.write

        def print_tuple(tuple_: Tuple) -> None:
            write(encode(select(tuple_)).decode())

        return print_tuple

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """A function that prints all tuples of a batch."""
        if self.logic is not None:
            return None
        schema, stdout = written_schema(self.operator), self.context.environment.stdout
        chosen = [self.operator.inputs[0].schema.position[name] for name in schema.names]

        def print_tuples(batch: pa.RecordBatch) -> None:
            stdout.write(text_of(batch.select(chosen), schema, self._settings).decode())
            stdout.flush()

        return print_tuples

    def take_window_marker(self, port: int) -> None:
        """Markers are not printed."""

    def finish(self) -> None:
        """Let everything be seen."""
        self.context.environment.stdout.flush()

    @property
    def _settings(self) -> Settings:
        return Settings(format=self.symbol("format", "txt"))


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, written_schema(operator), found)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="ConsoleSink",
    doc="Prints tuples where the application was started.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        word("format", "Of the lines; txt, tuple literals, without it.", *FORMATS),
        ParamSpec(name="suppress", kind=ParamKind.ATTRIBUTES, many=True, doc="Attributes that are not printed."),
    ),
    model=_model,
    check=_check,
    runtime=ConsoleSinkRuntime,
)
