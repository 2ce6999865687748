"""Tables that a user has at hand, in the types of attributes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from penstock.api.rows import conformer
from penstock.base.diagnostics import UserError
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import OptionalType, Schema
from penstock.toolkit.formats.conform_columns import conform_column


def conform_table(name: str, given: Any, schema: Schema) -> pa.Table:
    """A table in the types of its attributes.

    Args:
        name: What it is called in messages, such as "input `trades`".
        given: Rows, a table of pandas, Polars or Arrow, a DataFrame of Spark that is no stream, the path of a Parquet
            file or of a folder of these.
        schema: That it is to have; other columns are left out.

    Raises:
        UserError: It is no table, or a column is missing or does not fit.
    """
    table = _table(name, given, schema)
    columns = []
    for attribute in schema.attributes:
        if attribute.name not in table.schema.names:
            message = f"the {name} has no column `{attribute.name}`; it has {', '.join(table.schema.names)}"
            raise UserError(message)
        try:
            column = conform_column(table.column(attribute.name).combine_chunks(), attribute.type)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(f"the column `{attribute.name}` of the {name} is not {attribute.type}: {error}") from None
        if column.null_count and not isinstance(attribute.type, OptionalType):
            hint = f"declare it optional<{attribute.type}>, or fill the column before"
            raise UserError(f"there is a null in the column `{attribute.name}` of the {name}", hint=hint)
        columns.append(column)
    return pa.Table.from_arrays(columns, schema=arrow_schema(schema))


def _table(name: str, given: Any, schema: Schema) -> pa.Table:
    """What is at hand, as a table."""
    found = columns_of(given)
    if found is not None:
        return found
    conform = conformer(schema)
    try:
        return pa.Table.from_batches([batch_from_rows([conform(row) for row in given], schema)])
    except (TypeError, ValueError) as error:
        raise UserError(f"the {name} is no table: {error}", hint="give rows, a DataFrame or a table") from None


def columns_of(given: Any) -> pa.Table | None:
    """What has columns, as a table of Arrow; None for what may be rows."""
    if isinstance(given, str | Path):
        return parquet.read_table(given)
    if isinstance(given, pa.Table | pa.RecordBatch):
        return pa.table(given) if isinstance(given, pa.RecordBatch) else given
    module = type(given).__module__.partition(".")[0]
    if module == "pandas":
        return pa.Table.from_pandas(given, preserve_index=False)
    if module == "polars":
        return given.to_arrow()
    return given.toArrow() if module == "pyspark" else None
