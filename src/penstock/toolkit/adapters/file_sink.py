"""FileSink: writes tuples to a file.

A relative name lies in the output directory; directories on the way are made. If the name does not depend on a tuple
the file is made when the application starts, and so exists even if no tuple comes; otherwise with the first tuple.
With `closeMode` the file is closed on an event and the next tuple opens a new one, or, if it is `dynamic`, whenever
the name changes. In a name, `{id}` is the number of files opened before, and `{localtime:F}` and `{gmtime:F}` are the
time in a format of strftime. The output port, if there is one, receives the name of each file that has been closed.

Window and final markers are written if `writePunctuations` is true.

With `partitionBy`, and with `format: parquet`, `file` names a folder (`partitioned_sink`, `parquet_sink`).

A part of the input that is written again after a crash changes nothing: `single_file_sink` says how.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.base.diagnostics import Diagnostics
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64, INT32, INT64, RSTRING, UINT32, UINT64
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.files.parquet_sink import ParquetSinkRuntime
from penstock.toolkit.files.partitioned_sink import PartitionedSinkRuntime
from penstock.toolkit.files.single_file_sink import FileSinkRuntime
from penstock.toolkit.files.sink_folders import check_folder
from penstock.toolkit.formats.files import COMPRESSIONS
from penstock.toolkit.formats.format_params import (
    FORMATS,
    WRITE_PARAMS,
    check_format,
    constant,
    word,
    written_schema,
)

_LIMITS = {"count": "tuplesPerFile", "size": "bytesPerFile", "time": "timePerFile"}


def _runtime(operator: Operator, context: Context) -> Runtime:
    if symbol(operator, "format", "csv") == "parquet":
        return ParquetSinkRuntime(operator, context)
    if operator.param("partitionBy"):
        return PartitionedSinkRuntime(operator, context)
    return FileSinkRuntime(operator, context)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, written_schema(operator), found)
    check_folder(operator, found)
    mode = symbol(operator, "closeMode", "never")
    for wanted, param in _LIMITS.items():
        if bool(operator.param(param)) != (mode == wanted):
            message = f"`{param}` goes with `closeMode: {wanted}`, and only with it; found `closeMode: {mode}`"
            found.error(message, operator.span)
    for port in operator.outputs:
        if [a.type for a in port.schema.attributes] != [RSTRING]:
            message = f"the output of a FileSink has one attribute, the file's name, found {port.schema}"
            found.error(message, operator.span)


def _model(operator: Operator) -> OperatorModel:
    writes_markers = bool(operator.param("writePunctuations")) or symbol(operator, "closeMode", "never") == "punct"
    return replace(not_parallel(operator, "it is a sink", side_effects=True), waits_for_markers=writes_markers)


DEFINITION = OperatorDefinition(
    name="FileSink",
    doc="Writes tuples to a file. The output port, if there is one, receives the names of files that are closed.",
    inputs=(1, 1),
    outputs=(0, 1),
    params=(
        ParamSpec(name="file", types=(RSTRING,), required=True, doc="The file's name."),
        word("format", "Of the data; csv without it.", *FORMATS, "json", "parquet"),
        *(param for param in WRITE_PARAMS if param.name != "format"),
        ParamSpec(
            name="partitionBy",
            kind=ParamKind.ATTRIBUTES,
            many=True,
            doc="Attributes whose values name folders, each with a file of its own, in the folder `file`.",
        ),
        constant("flush", "After how many tuples to flush the file; when it is closed without it.", UINT32),
        constant("flushOnPunctuation", "Whether to flush the file at markers; true without it.", BOOLEAN),
        constant("append", "Whether to keep what the file holds already; false without it.", BOOLEAN),
        word("compression", "Of the file; none without it.", *COMPRESSIONS),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        word(
            "closeMode",
            "When to close the file and open another; never without it.",
            "punct",
            "count",
            "size",
            "time",
            "dynamic",
            "never",
        ),
        constant("tuplesPerFile", "For `closeMode: count`.", UINT32, INT32, UINT64, INT64),
        constant("bytesPerFile", "For `closeMode: size`.", UINT32, INT32, UINT64, INT64),
        constant("timePerFile", "Seconds, for `closeMode: time`.", FLOAT64),
        constant("moveFileToDirectory", "Where to move a file that has been closed.", RSTRING),
        constant("truncateOnReset", "Accepted; a file is always cut back to what it held.", BOOLEAN),
        constant("writeStateHandlerCallbacks", "Accepted; nothing but tuples and markers is written.", BOOLEAN),
        word(
            "writeFailureAction",
            "Accepted; a file that cannot be written to is always an error here.",
            "ignore",
            "log",
            "terminate",
        ),
    ),
    facts=Facts(
        waits_for_time_with=("hasDelayField", "timePerFile"), is_repeatable=True, writes=("file", "moveFileToDirectory")
    ),
    model=_model,
    check=_check,
    runtime=_runtime,
)
