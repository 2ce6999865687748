"""PostgresSink: writes tuples to a table of a PostgreSQL database.

The table has a column of the same name for each attribute; with `createTable` it is made if it is not there. Rows are
added to what the table holds.

On Spark the rows of a batch and the batch's id are committed together, so a batch that comes again changes nothing. The
reference interpreter commits all rows at the end of its run, or none if it fails.

An error names the column and the tuple, where PostgreSQL knows them.
"""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.evaluate import Evaluator
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, RSTRING
from penstock.toolkit.adapters.postgres_table import PostgresTable, unsupported
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context
from penstock.toolkit.formats.format_params import constant

ROWS_AT_ONCE = 5_000


class PostgresSinkRuntime(LogicRuntime):
    """Writes all rows in one transaction."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._table = table_of(operator, context.evaluator)
        self._rows: list[Tuple] = []
        self._table.open()

    def process(self, port: int, tuple_: Tuple) -> None:
        """Write the tuple with others."""
        self._rows.append(tuple_)
        if len(self._rows) == ROWS_AT_ONCE:
            self._flush()

    def finish(self) -> None:
        """Commit."""
        self._flush()
        self._table.commit()

    def close(self) -> None:
        """Close the connection; rows that are not committed are not written."""
        self._table.close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        self._table.add(rows)


def table_of(operator: Operator, evaluator: Evaluator) -> PostgresTable:
    """The table that an operator writes to."""

    def value(name: str) -> object:
        return next((evaluator.constant(v) for v in operator.param(name)), None)

    return PostgresTable(
        url=str(value("url")),
        table=str(value("table")),
        schema=operator.inputs[0].schema,
        operator=operator.id,
        creates=bool(value("createTable")),
    )


def _check(operator: Operator, found: Diagnostics) -> None:
    for attribute in operator.inputs[0].schema.attributes:
        if unsupported(attribute.type):
            message = f"the attribute `{attribute.name}` of type {attribute.type} has no column type in PostgreSQL"
            found.error(message, operator.span, hint="turn it into text with `(rstring)` in a Functor before")


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="PostgresSink",
    doc="Writes tuples to a table of a PostgreSQL database, each exactly once.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ParamSpec(
            name="url",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="The database: `postgresql://user@host:port/name`.",
        ),
        ParamSpec(
            name="table",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="The table's name, with its schema in front where it is not the usual one.",
        ),
        constant("createTable", "Whether to make the table if it is not there; false without it.", BOOLEAN),
    ),
    facts=Facts(reaches_out=True),
    model=_model,
    check=_check,
    runtime=PostgresSinkRuntime,
)
