"""Decompress: makes the compressed stream of bytes that the blobs of its input are plain again.

The bytes come out in blobs of 64 KiB, and what is left at a flush: at the end, with a window marker behind it; with
`flushOnPunct` at every window marker, which follows. With `flushPerTuple` each blob is a compressed stream of its own
and gives one tuple; window markers are passed on.

What it remembers is the part of the compressed stream that it has read: a fresh instance reads it again.
"""

from __future__ import annotations

import zlib
from operator import itemgetter
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.types import BOOLEAN
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.formats.file_chunks import new_decompressor
from penstock.toolkit.utility.compress import bytes_params, check_blobs, model_stream_of_bytes

_CHUNK = 1 << 16


class DecompressRuntime(LogicRuntime):
    """Feeds a decompressor with blobs.

    Attributes:
        _read: The compressed bytes since the stream, or the last of several in a row, has begun.
        _plain: The bytes that have not been submitted.
        _has_input: Whether a blob has come since the last flush.
    """

    remembers = ("_read", "_plain", "_has_input")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._compression = self.symbol("compression")
        self._flushes = bool(self.constant("flushOnPunct", False))
        self._is_per_tuple = bool(self.constant("flushPerTuple", False))
        values = operator.param("decompressionInput")
        self._blob = self.scalar(values[0]) if values else itemgetter(0)
        self._begin()

    def _begin(self) -> None:
        self._decompressor: Any = new_decompressor(self._compression)
        self._read, self._plain, self._has_input = b"", b"", False

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Read the bytes again that another instance had read."""
        super().restore_from(whole, parts)
        self._decompressor.decompress(self._read)

    def process(self, port: int, tuple_: Tuple) -> None:
        """Give out what the blob completes."""
        self._has_input = True
        try:
            self._add(self._blob(tuple_))
            if self._is_per_tuple:
                self._check_end()
        except EvaluationError:
            self._begin()
            raise
        while len(self._plain) >= _CHUNK and not self._is_per_tuple:
            chunk, self._plain = self._plain[:_CHUNK], self._plain[_CHUNK:]
            self.submit[0]((chunk,))
        if self._is_per_tuple:
            plain = self._plain
            self._begin()
            self.submit[0]((plain,))

    def take_window_marker(self, port: int) -> None:
        """Flush if that is asked for; pass the marker on if each tuple is by itself."""
        if self._flushes and self._has_input:
            self._flush()
        elif not self._is_per_tuple:
            return
        self.punctuate[0](Punctuation.WINDOW)

    def take_final_marker(self, port: int) -> None:
        """Give out what is left."""
        if self._has_input:
            self._flush()
        if not self._flushes and not self._is_per_tuple:
            self.punctuate[0](Punctuation.WINDOW)

    def _add(self, data: bytes) -> None:
        while data:
            try:
                self._plain += self._decompressor.decompress(data)
            except (zlib.error, OSError) as error:
                raise EvaluationError(f"the bytes are not compressed by {self._compression}: {error}") from None
            self._read += data
            if not self._decompressor.eof:
                return
            data, self._read = self._decompressor.unused_data, b""
            self._decompressor = new_decompressor(self._compression)

    def _check_end(self) -> None:
        if self._read:
            raise EvaluationError("the compressed bytes end too early")

    def _flush(self) -> None:
        self._check_end()
        plain = self._plain
        self._begin()
        if plain:
            self.submit[0]((plain,))


def _check(operator: Operator, found: Diagnostics) -> None:
    check_blobs(operator, "decompressionInput", found)
    if operator.param("flushOnPunct") and operator.param("flushPerTuple"):
        found.error("a Decompress has `flushOnPunct` or `flushPerTuple`, not both", operator.span)


DEFINITION = OperatorDefinition(
    name="Decompress",
    doc="Decompresses the blobs of its input, which together are one stream of bytes.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=(
        *bytes_params("compress", "decompressionInput"),
        ParamSpec(
            name="flushPerTuple",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether each tuple is a compressed stream of its own.",
        ),
    ),
    output=OutputClause.FREE,
    facts=Facts(is_repeatable=True),
    model=model_stream_of_bytes,
    check=_check,
    runtime=DecompressRuntime,
)
