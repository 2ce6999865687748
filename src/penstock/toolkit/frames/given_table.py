"""GivenTable: the rows of a table that a run was given, in the place of a FromSpark; the run has them in a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Literal
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator, Param
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.column_source import ColumnSource
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.files.file_columns import ParquetColumns
from penstock.toolkit.formats import Malformed
from penstock.toolkit.formats.parquet import read


class GivenTableRuntime(Runtime):
    """Gives the rows of the file."""

    remembers = ("_given",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        (name,) = operator.param("file")
        self._path = Path(str(context.evaluator.constant(name)))
        self._schema = operator.outputs[0].schema
        self._given = 0

    def produce(self) -> Iterator[Tuple]:
        """The rows that were not given yet."""
        items = read(self._schema, iter([self._path.read_bytes()]))
        for number, item in enumerate(items):
            if isinstance(item, Malformed):
                raise UserError(f"the table of `{self.operator.id}` cannot be read: {item.reason}")
            if number >= self._given:
                self._given = number + 1
                yield item  # type: ignore[misc] # a table has no delays

    def columns(self, *, follows: bool = False) -> ColumnSource:
        """The rows, by columns; no marker follows them, as none follows rows of Spark."""
        return ParquetColumns(
            path=self._path,
            name=str(self._path),
            schema=self._schema,
            output=lambda batch: batch,
            ends_with_marker=False,
        )


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="GivenTable",
    namespace="penstock",
    doc="Gives the rows of a table that the run was given.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(ParamSpec(name="file", kind=ParamKind.CONSTANT, types=(RSTRING,), required=True, doc="Where it lies."),),
    facts=Facts(is_repeatable=True),
    model=_model,
    runtime=GivenTableRuntime,
)


def with_table(operator: Operator, file: Path) -> Operator:
    """A GivenTable in the place of an operator that takes an input."""
    value = Literal(type=RSTRING, value=str(file))
    model = replace(operator.model, facts=DEFINITION.facts)
    return replace(operator, kind=DEFINITION.kind, params=(Param(name="file", values=(value,)),), model=model)
