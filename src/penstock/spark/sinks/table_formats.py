"""What SparkSink knows of table formats: what would be refused with the first batch is refused before it.

- *Delta*: no rows are appended to an empty copy of the table, so Delta itself says whether it takes such rows.
- *JDBC*: no rows are appended, which connects, makes the table where there is none, and compares the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

FILE_FORMATS = frozenset({"parquet", "json", "orc", "csv", "text", "avro"})


def check_options(operator: str, format_: str, options: Mapping[str, str], *, has_target: bool) -> None:
    """Refuse options that cannot be enough.

    Raises:
        UserError: Something is missing; the message says what.
    """
    names = {name.lower() for name in options}
    if format_ == "jdbc":
        missing = next((name for name in ("url", "dbtable") if name not in names), None)
        if missing is not None:
            example = '"url": "jdbc:postgresql://HOST/DATABASE"' if missing == "url" else '"dbtable": "TABLE"'
            raise UserError(
                f"`{operator}` writes by JDBC without `{missing}`", hint=f"add {{{example}}} to its options"
            )
    elif format_ in FILE_FORMATS | {"delta", "iceberg"} and not has_target and "path" not in names:
        raise UserError(f"`{operator}` writes {format_}, but not where to", hint="give it a `path` or a `table`")


def try_delta(frame: DataFrame, writer: DataFrameWriter, path: str, aside: str) -> None:
    """Append no rows to an empty copy of a Delta table, or to a new one, as Delta would append the rows of a batch.

    Args:
        frame: No rows, with the columns of the batches.
        writer: Of that.
        path: The table, which need not be there.
        aside: Where the copy may be.
    """
    session = frame.sparkSession
    found = session.sql(f"DESCRIBE DETAIL delta.`{path}`") if _is_delta(session, path) else None
    if found is not None:
        partitions = found.select("partitionColumns").head()
        copy = session.read.format("delta").load(path).limit(0).write.format("delta")
        copy.partitionBy(*(partitions[0] if partitions else ())).save(aside)
    writer.save(aside)


def _is_delta(session: SparkSession, path: str) -> bool:
    jvm = session._jvm
    found: bool = jvm.io.delta.tables.DeltaTable.isDeltaTable(session._jsparkSession, path)  # type: ignore[union-attr]
    return found


def check_table(session: SparkSession, table: str, columns: Sequence[str], *, may_grow: bool) -> None:
    """Compare the columns of a catalog's table, if it is there, with those of the batches.

    Raises:
        UserError: The table lacks a column.
    """
    if not session.catalog.tableExists(table):
        return
    there = {name.lower() for name in session.table(table).columns}
    lacking = [name for name in columns if name.lower() not in there]
    if lacking and not may_grow:
        raise UserError(f"it has no column `{lacking[0]}`")
