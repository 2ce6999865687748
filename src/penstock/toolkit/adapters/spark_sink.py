"""SparkSink: writes tuples in any format that Spark has a writer for, to a path or to a table.

`format` is what `df.write.format` takes: `parquet`, `json`, `orc`, `csv`, `text`, `delta`, `iceberg`, `jdbc`, or the
name of a class. `options` are those of the format. Every batch is appended. A relative `path` lies in the output
folder.

It runs on Spark. Tasks write the tuples of a batch to the checkpoint; Spark's writer then reads them there, so that
nothing is computed twice, and nothing passes through the driver.
"""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import RSTRING, MapType
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.formats.format_params import constant


class _OnlyOnSpark(Runtime):
    """An operator that the reference interpreter cannot run."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        message = f"{operator.kind} writes through Spark's own writers, so it runs on Spark only"
        raise UserError(message, hint="run it with --engine spark, or put a FileSink in its place")


def _check(operator: Operator, found: Diagnostics) -> None:
    given = [name for name in ("path", "table") if operator.param(name)]
    if len(given) == 2:
        found.error("a SparkSink writes to a `path` or to a `table`, found both", operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


DEFINITION = OperatorDefinition(
    name="SparkSink",
    doc="Writes tuples in any format that Spark has a writer for, to a path or to a table.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ParamSpec(
            name="format",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="Of Spark: `parquet`, `json`, `orc`, `csv`, `delta`, `iceberg`, `jdbc`, ...",
        ),
        constant("path", "Where to write; a relative one lies in the output folder.", RSTRING),
        constant("table", "A table of Spark's catalog, in the place of a path.", RSTRING),
        constant("options", "The options of the format.", MapType(RSTRING, RSTRING)),
        ParamSpec(
            name="partitionBy",
            kind=ParamKind.ATTRIBUTES,
            many=True,
            doc="Attributes by whose values Spark divides what it writes.",
        ),
    ),
    facts=Facts(reaches_out=True),
    model=_model,
    check=_check,
    runtime=_OnlyOnSpark,
)
