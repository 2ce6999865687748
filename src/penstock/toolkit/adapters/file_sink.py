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
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import (
    BOOLEAN,
    FLOAT64,
    INT32,
    INT64,
    RSTRING,
    UINT32,
    UINT64,
    EnumType,
    OptionalType,
    Primitive,
    Type,
    is_float,
)
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.core.runtime import Context, Runtime
from penstock.toolkit.files.parquet_parts import file_schema
from penstock.toolkit.files.parquet_sink import ParquetSinkRuntime
from penstock.toolkit.files.partition_folders import partition_keys
from penstock.toolkit.files.partitioned_sink import EXTENSIONS, PartitionedSinkRuntime
from penstock.toolkit.files.single_file_sink import FileSinkRuntime
from penstock.toolkit.formats.file_chunks import COMPRESSIONS
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


_WITH_PARTITIONS = {"file", "format", "separator", "quoteStrings", "eolMarker", "suppress", "partitionBy", "encoding"}
_WITH_PARQUET = {"file", "format", "suppress", "partitionBy"}


def check_folder(operator: Operator, found: Diagnostics) -> None:
    """Report parameters that do not go with a folder of files."""
    format_ = symbol(operator, "format", "csv")
    if format_ == "parquet":
        _check_params(operator, _WITH_PARQUET, "the format parquet", found)
        _check_keys(operator, found)
        if not file_schema(operator).attributes:
            message = "no attribute is left to write: those of `partitionBy` name folders and are not in the files"
            found.error(message, operator.span)
    elif operator.param("partitionBy"):
        _check_params(operator, _WITH_PARTITIONS, "`partitionBy`", found)
        if format_ not in EXTENSIONS:
            allowed = " or ".join([*EXTENSIONS, "parquet"])
            message = f"`partitionBy` goes with the format {allowed}, but the format is {format_}"
            found.error(message, operator.span)
        _check_keys(operator, found)


def _check_params(operator: Operator, allowed: set[str], what: str, found: Diagnostics) -> None:
    for param in operator.params:
        if param.name not in allowed:
            found.error(f"`{param.name}` does not go with {what}", param.values[0].span or operator.span)
    if any(isinstance(e, Attribute | InputTuple) for e in operator.param("file")[0].walk()):
        found.error(f"with {what} `file` names one folder, so it cannot depend on the tuple", operator.span)
    if operator.outputs:
        found.error(f"a FileSink with {what} has no output port, for no file is ever closed", operator.span)


def _check_keys(operator: Operator, found: Diagnostics) -> None:
    for name, type_ in partition_keys(operator):
        if not _names_folders(type_):
            message = f"`partitionBy` takes integers, booleans, strings and enums; `{name}` is of type {type_}"
            found.error(message, operator.span)


def _names_folders(type_: Type) -> bool:
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    return isinstance(inner, EnumType) or (
        isinstance(inner, Primitive) and not is_float(inner) and inner.name != "blob"
    )
