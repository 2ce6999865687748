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

from penstock.api.lookup.given_tables import conform_table
from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.base.durable_files import make_folder, write_durably
from penstock.ir.types import Schema
from penstock.toolkit.core.program import Program
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
    sink = pa.BufferOutputStream()
    parquet.write_table(conform_table(f"input `{name}`", given, schema), sink, row_group_size=1 << 17)
    write_durably(file, sink.getvalue().to_pybytes())
