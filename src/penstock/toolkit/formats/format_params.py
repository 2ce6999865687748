"""The parameters that describe a format, shared by FileSource, Parse, FileSink and Format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.typing import convert, try_convert
from penstock.ir.graph import Operator
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    INT8,
    RSTRING,
    UINT8,
    UINT32,
    Schema,
    TupleType,
    Type,
    is_string,
)
from penstock.toolkit.core.definition import ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.formats import Settings

FORMATS = ("csv", "txt", "bin", "line", "block")
READ_FORMATS = (*FORMATS, "json", "parquet")


def constant(name: str, doc: str, *types: Type) -> ParamSpec:
    """An optional parameter that is evaluated once."""
    return ParamSpec(name=name, kind=ParamKind.CONSTANT, types=types, doc=doc)


def word(name: str, doc: str, *symbols: str) -> ParamSpec:
    """An optional parameter that is one of some words."""
    return ParamSpec(name=name, kind=ParamKind.SYMBOLS, symbols=symbols, doc=doc)


_SEPARATOR = constant("separator", "Between csv values: one character; a comma without it.", RSTRING, UINT8, INT8)
_EOL_MARKER = constant("eolMarker", "Between lines of the line format: one or two characters.", RSTRING)

READ_PARAMS = (
    word("format", "Of the data; csv without it.", *READ_FORMATS),
    constant("defaultTuple", "A tuple with the values of empty csv fields; the types' defaults without it."),
    word(
        "parsing",
        "What a malformed record does: `strict` fails, `permissive` sets it aside and goes on; `fast` is strict here.",
        "strict",
        "permissive",
        "fast",
    ),
    _EOL_MARKER,
    constant("blockSize", "Bytes of a block; all bytes are one block without it.", UINT32),
    _SEPARATOR,
    constant("hasHeaderLine", "Whether csv starts with a line to skip, or how many.", BOOLEAN, UINT32),
    constant("readPunctuations", "Whether markers stand between the tuples of the bin format.", BOOLEAN),
    constant("hasDelayField", "Whether each tuple has its delay in seconds before it; false without it.", BOOLEAN),
    constant("ignoreExtraCSVValues", "Whether csv lines may have more values than there are attributes.", BOOLEAN),
)
"""Of operators that read."""

WRITE_PARAMS = (
    word("format", "Of the data; csv without it.", *FORMATS),
    _EOL_MARKER,
    _SEPARATOR,
    constant("quoteStrings", "Whether csv has its strings in quotes; true without it.", BOOLEAN),
    constant("writePunctuations", "Whether markers are written between the tuples; false without it.", BOOLEAN),
    constant(
        "hasDelayField", "Whether the seconds since the tuple before are written first; false without it.", BOOLEAN
    ),
    ParamSpec(name="suppress", kind=ParamKind.ATTRIBUTES, many=True, doc="Attributes that are not written."),
)
"""Of operators that write."""


def read_settings(runtime: LogicRuntime, schema: Schema) -> Settings:
    """The settings of an operator that reads, from its parameters; `schema` is that of the attributes read."""
    return Settings(
        format=runtime.symbol("format", "csv"),
        separator=_separator(runtime),
        eol_marker=runtime.constant("eolMarker", "\n"),
        header_lines=int(runtime.constant("hasHeaderLine", 0)),
        has_delay_field=runtime.constant("hasDelayField", False),
        ignores_extra=runtime.constant("ignoreExtraCSVValues", False),
        defaults=_defaults(runtime, schema),
        block_size=runtime.constant("blockSize"),
        has_punctuations=runtime.constant("readPunctuations", False),
        encoding=runtime.constant("encoding", "utf-8"),
    )


def write_settings(runtime: LogicRuntime) -> Settings:
    """The settings of an operator that writes, from its parameters."""
    return Settings(
        format=runtime.symbol("format", "csv"),
        separator=_separator(runtime),
        eol_marker=runtime.constant("eolMarker", "\n"),
        has_delay_field=runtime.constant("hasDelayField", False),
        has_punctuations=runtime.constant("writePunctuations", False),
        quotes_strings=runtime.constant("quoteStrings", True),
        encoding=runtime.constant("encoding", "utf-8"),
    )


def _separator(runtime: LogicRuntime) -> str:
    given = runtime.constant("separator", ",")
    return given if isinstance(given, str) else chr(given & 0xFF)


def _defaults(runtime: LogicRuntime, schema: Schema) -> tuple[Any, ...] | None:
    for value in runtime.operator.param("defaultTuple"):
        whole = runtime.operator.outputs[0].schema
        values = runtime.context.evaluator.constant(convert(value, whole))
        return tuple(values[whole.position[name]] for name in schema.names)
    return None


def written_schema(operator: Operator) -> Schema:
    """The attributes that an operator writes: those of its input that are not suppressed."""
    suppressed = {getattr(value, "name", "") for value in operator.param("suppress")}
    return TupleType(tuple(a for a in operator.inputs[0].schema.attributes if a.name not in suppressed))


_ONLY_WITH = {
    "defaultTuple": ("csv",),
    "separator": ("csv",),
    "hasHeaderLine": ("csv",),
    "ignoreExtraCSVValues": ("csv",),
    "quoteStrings": ("csv",),
    "eolMarker": ("line",),
    "blockSize": ("block",),
    "readPunctuations": ("bin",),
    "writePunctuations": ("csv", "txt", "bin"),
    "hasDelayField": ("csv", "txt", "bin"),
    "encoding": ("csv", "txt", "line", "json"),
}


def check_format(operator: Operator, schema: Schema, found: Diagnostics) -> None:
    """Report parameters that do not go with the format, and a schema that it cannot hold."""
    format_ = symbol(operator, "format", "csv")
    for param in operator.params:
        allowed = _ONLY_WITH.get(param.name, READ_FORMATS)
        if format_ not in allowed:
            message = f"`{param.name}` goes with the format {_either(allowed)}, but the format is {format_}"
            found.error(message, param.values[0].span or operator.span)
    types = [a.type for a in schema.attributes]
    if format_ == "line" and not (len(types) == 1 and is_string(types[0])):
        _report_single(operator, "line", RSTRING, types, found)
    if format_ == "block" and types != [BLOB]:
        _report_single(operator, "block", BLOB, types, found)
    _check_default_tuple(operator, found)


def _report_single(operator: Operator, format_: str, type_: Type, types: Sequence[Type], found: Diagnostics) -> None:
    given = ", ".join(map(str, types)) or "none"
    message = f"the format {format_} holds exactly one attribute, of type {type_}, found {given}"
    found.error(message, operator.span)


def _check_default_tuple(operator: Operator, found: Diagnostics) -> None:
    for value in operator.param("defaultTuple"):
        if try_convert(value, operator.outputs[0].schema) is None:
            message = f"`defaultTuple` has the type {value.type}, but the stream has {operator.outputs[0].schema}"
            found.error(message, value.span or operator.span)


def _either(words: Iterable[str]) -> str:
    return " or ".join(words)
