"""Checks of the parameters of a FileSink that writes a folder, and not a file."""

from __future__ import annotations

from penstock.base.diagnostics import Diagnostics
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.graph import Operator
from penstock.ir.types import EnumType, OptionalType, Primitive, Type, is_float
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.files.parquet_parts import file_schema
from penstock.toolkit.files.partition_folders import partition_keys
from penstock.toolkit.files.partitioned_sink import EXTENSIONS

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
