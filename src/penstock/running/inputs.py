"""The inputs of a run (`app.run(inputs={"trades": ...})`), brought to the operators that take them.

Whatever is at hand and has an end (rows, a table of pandas, Polars or Arrow, a Parquet file, a DataFrame of Spark that
is no stream) becomes a Parquet file of the run, and the operator one that reads it: every engine can do that, by
columns and in parallel, and a batch that comes again finds the same rows. With a checkpoint the file lies there, so a
run that is resumed goes on with the rows that it began with. A stream of Spark is read by Spark itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from penstock.api.rows import conformer
from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.durable_files import make_folder, write_durably
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import OptionalType, Schema
from penstock.toolkit.core.program import Program
from penstock.toolkit.formats.conform_columns import conform_column
from penstock.toolkit.frames.from_spark import inputs_of
from penstock.toolkit.frames.given_table import DEFINITION as GIVEN_TABLE
from penstock.toolkit.frames.given_table import with_table
from penstock.toolkit.frames.to_spark import not_taken, outputs_of

FOLDER = "inputs"
"""Under the checkpoint, or where a run has its temporary files."""


def bring_inputs(program: Program, inputs: Mapping[str, Any], engine: str, folder: Path) -> Program:
    """The program with everything brought that is not a stream of Spark.

    Args:
        program: That takes inputs.
        inputs: By name.
        engine: What runs it.
        folder: For tables.

    Raises:
        UserError: An input is missing or superfluous or does not fit, or the program makes DataFrames.
    """
    wanted = inputs_of(program.application)
    _check(program, wanted, inputs)
    tables = {}
    for name, operator in wanted.items():
        given = inputs[name]
        if getattr(given, "isStreaming", False):
            if engine != "spark":
                raise UserError(f"the input `{name}` is a stream of Spark, which the engine `{engine}` cannot read")
            continue
        file = folder / FOLDER / f"{name}.parquet"
        if not file.exists():
            make_folder(file.parent)
            _write(file, name, given, operator.outputs[0].schema)
        tables[operator.id] = with_table(operator, file.absolute())
    if not tables:
        return program
    operators = tuple(tables.get(o.id, o) for o in program.application.operators)
    application = replace(program.application, operators=operators)
    return replace(program, application=application, registry=program.registry.extended([GIVEN_TABLE]))


def streams_of(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that Spark reads itself.

    Example:
        >>> streams_of({"trades": [(1,)]})
        {}
    """
    return {name: given for name, given in inputs.items() if getattr(given, "isStreaming", False)}


def _check(program: Program, wanted: Mapping[str, Any], inputs: Mapping[str, Any]) -> None:
    found = Diagnostics()
    for sink in outputs_of(program.application).values():
        error = not_taken(sink).diagnostics[0]
        found.error(error.message, sink.span, hint=error.hint)
    for name, operator in wanted.items():
        if name not in inputs:
            found.error(f"there is no input `{name}`", operator.span, hint=f'bring it: inputs={{"{name}": ...}}')
    for name in inputs:
        if name not in wanted:
            found.error(f"the application takes no input `{name}`", None, hint=did_you_mean(name, wanted))
    found.raise_if_any()


def _write(file: Path, name: str, given: Any, schema: Schema) -> None:
    """Write a table in the types of its attributes."""
    table = _table(name, given, schema)
    columns = []
    for attribute in schema.attributes:
        if attribute.name not in table.schema.names:
            message = f"the input `{name}` has no column `{attribute.name}`; it has {', '.join(table.schema.names)}"
            raise UserError(message)
        try:
            column = conform_column(table.column(attribute.name).combine_chunks(), attribute.type)
        except (pa.ArrowException, ValueError) as error:
            raise UserError(f"the column `{attribute.name}` of `{name}` is not {attribute.type}: {error}") from None
        if column.null_count and not isinstance(attribute.type, OptionalType):
            hint = f"declare it optional<{attribute.type}>, or fill the column before"
            raise UserError(f"there is a null in the column `{attribute.name}` of `{name}`", hint=hint)
        columns.append(column)
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.Table.from_arrays(columns, schema=arrow_schema(schema)), sink, row_group_size=1 << 17)
    write_durably(file, sink.getvalue().to_pybytes())


def _table(name: str, given: Any, schema: Schema) -> pa.Table:
    """What is at hand, as a table."""
    if isinstance(given, str | Path):
        return parquet.read_table(given)
    if isinstance(given, pa.Table | pa.RecordBatch):
        return pa.table(given) if isinstance(given, pa.RecordBatch) else given
    module = type(given).__module__.partition(".")[0]
    if module == "pandas":
        return pa.Table.from_pandas(given, preserve_index=False)
    if module == "polars":
        return given.to_arrow()
    if module == "pyspark":
        return given.toArrow()
    conform = conformer(schema)
    try:
        return pa.Table.from_batches([batch_from_rows([conform(row) for row in given], schema)])
    except (TypeError, ValueError) as error:
        raise UserError(f"the input `{name}` is no table: {error}", hint="give rows, a DataFrame or a table") from None
