"""From tuples to bytes: the writers of all formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.values import text_form
from penstock.expr.values.binary import encoder
from penstock.ir.types import FLOAT64, Schema
from penstock.toolkit.core.runtime import Punctuation
from penstock.toolkit.formats import csv, txt
from penstock.toolkit.formats.items import Settings
from penstock.toolkit.formats.json_text import json_writer

_NAMES = {Punctuation.WINDOW: "WindowMarker", Punctuation.FINAL: "FinalMarker"}
_BYTES = {Punctuation.WINDOW: b"\1", Punctuation.FINAL: b"\2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """The functions of a format.

    Attributes:
        tuple: The bytes of a tuple.
        marker: The bytes of a punctuation, for a format that writes them.
        delay: The bytes of a delay in seconds, which stand before a tuple or punctuation.
    """

    tuple: Callable[[Tuple], bytes]
    marker: Callable[[Punctuation], bytes]
    delay: Callable[[float], bytes]


def writer(schema: Schema, settings: Settings) -> Writer:
    """The writer of a format.

    Args:
        schema: Of the attributes that are written; one rstring or blob attribute for `line` and `block`.
        settings: How the records are written.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> writer(parse_schema("rstring name, int32 age"), Settings(format="txt")).tuple(("Ada", 36))
        b'{name="Ada",age=36}\\n'
    """
    match settings.format:
        case "bin":
            return _binary_writer(schema, settings)
        case "block":
            return Writer(tuple=_only, marker=_BYTES.__getitem__, delay=encoder(FLOAT64))
        case "line":
            return _text_writer(_only, settings.eol_marker, settings)
        case "txt":
            return _text_writer(txt.row_writer(schema), "\n", settings)
        case "json":
            return _text_writer(json_writer(schema), "\n", settings)
    return _text_writer(csv.row_writer(schema, settings), "\n", settings)


def _only(values: Tuple) -> Any:
    return values[0]


def _text_writer(write: Callable[[Tuple], str], end: str, settings: Settings) -> Writer:
    encoding, seconds = settings.encoding, text_form(FLOAT64)
    return Writer(
        tuple=lambda values: (write(values) + end).encode(
            encoding, "surrogatepass" if encoding == "utf-8" else "strict"
        ),
        marker=lambda punctuation: f"Punctuation received: {_NAMES[punctuation]}\n".encode(encoding),
        delay=lambda delay: f"{seconds(delay)},".encode(encoding),
    )


def _binary_writer(schema: Schema, settings: Settings) -> Writer:
    encode = encoder(schema)
    tagged = (lambda values: b"\0" + encode(values)) if settings.has_punctuations else encode
    return Writer(tuple=tagged, marker=_BYTES.__getitem__, delay=encoder(FLOAT64))
