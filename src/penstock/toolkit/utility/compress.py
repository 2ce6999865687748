"""Compress: makes the blobs of its input one compressed stream of bytes, given out in blobs.

With `flushOnPunct` a window marker ends the compressed stream and follows it, and the next tuple begins another;
without it there is one stream, and a window marker behind it. No tuples at all make the stream of no bytes.

A block of bytes is compressed by itself, so that what the operator remembers is a checksum and the bytes of the block
that is not full: deflate blocks that end at a byte may follow one another in a gzip or zlib stream, and bzip2 streams
may follow one another in a file.
"""

from __future__ import annotations

import bz2
import struct
import zlib
from dataclasses import replace
from operator import itemgetter

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Markers, OperatorModel
from penstock.ir.types import BLOB, BOOLEAN
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.formats.file_chunks import COMPRESSIONS

_BLOCK = 1 << 16
_LAST = b"\x03\x00"
_HEADS = {"gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "zlib": b"\x78\x9c", "bzip2": b""}


class CompressRuntime(LogicRuntime):
    """Compresses a block as soon as it is full.

    Attributes:
        _is_open: Whether a compressed stream has begun and not ended.
        _block: The bytes that are not compressed yet.
        _length: The bytes of the stream that are.
        _checksum: Of these.
    """

    remembers = ("_is_open", "_block", "_length", "_checksum")

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._compression = self.symbol("compression")
        self._flushes = bool(self.constant("flushOnPunct", False))
        values = operator.param("compressionInput")
        self._blob = self.scalar(values[0]) if values else itemgetter(0)
        self._begin()

    def _begin(self) -> None:
        self._is_open, self._block, self._length = True, b"", 0
        self._checksum = zlib.adler32(b"") if self._compression == "zlib" else 0

    def process(self, port: int, tuple_: Tuple) -> None:
        """Compress the blob with those before it."""
        if not self._is_open:
            self._begin()
        self._block += self._blob(tuple_)
        if len(self._block) >= _BLOCK:
            self.submit[0]((self._compress_block(),))

    def take_window_marker(self, port: int) -> None:
        """End the stream if that is asked for; otherwise the marker is dropped."""
        if self._flushes:
            self._end()
            self.punctuate[0](Punctuation.WINDOW)

    def take_final_marker(self, port: int) -> None:
        """End the stream."""
        self._end()
        if not self._flushes:
            self.punctuate[0](Punctuation.WINDOW)

    def _end(self) -> None:
        if self._is_open:
            rest = self._compress_block() + self._trailer()
            self._is_open = False
            if rest:
                self.submit[0]((rest,))

    def _compress_block(self) -> bytes:
        """The compressed bytes of the block, behind the head of the stream if it is the first."""
        block, self._block = self._block, b""
        head = b"" if self._length else _HEADS[self._compression]
        self._length += len(block)
        if self._compression == "bzip2":
            return bz2.compress(block) if block or self._length == 0 else b""
        update = zlib.crc32 if self._compression == "gzip" else zlib.adler32
        self._checksum = update(block, self._checksum)
        deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
        return head + deflate.compress(block) + deflate.flush(zlib.Z_SYNC_FLUSH)

    def _trailer(self) -> bytes:
        match self._compression:
            case "gzip":
                return _LAST + struct.pack("<II", self._checksum, self._length & 0xFFFFFFFF)
            case "zlib":
                return _LAST + struct.pack(">I", self._checksum)
        return b""


def check_blobs(operator: Operator, input_param: str, found: Diagnostics) -> None:
    """Check that bytes come in and go out."""
    source, target = operator.inputs[0].schema, operator.outputs[0].schema
    if not operator.param(input_param) and [a.type for a in source.attributes] != [BLOB]:
        message = f"a {operator.kind} without `{input_param}` has one input attribute, a blob, found {source}"
        found.error(message, operator.span, hint=f"say with `{input_param}` which attribute it is")
    if [a.type for a in target.attributes] != [BLOB]:
        message = f"the output of a {operator.kind} has one attribute, a blob, found {target}"
        found.error(message, operator.span)


def model_stream_of_bytes(operator: Operator) -> OperatorModel:
    """The model of an operator that makes bytes of bytes."""
    sequential = not_parallel(operator, "its tuples are parts of one stream of bytes")
    flushes = bool(operator.param("flushOnPunct"))
    return replace(sequential, markers=Markers.OWN, waits_for_markers=flushes)


def bytes_params(verb: str, input_param: str) -> tuple[ParamSpec, ...]:
    """The parameters that Compress and Decompress have alike."""
    return (
        ParamSpec(
            name="compression",
            kind=ParamKind.SYMBOLS,
            symbols=COMPRESSIONS,
            required=True,
            doc=f"How the bytes are {verb}ed.",
        ),
        ParamSpec(name=input_param, types=(BLOB,), doc="The bytes of an input tuple; its only attribute without it."),
        ParamSpec(
            name="flushOnPunct",
            kind=ParamKind.CONSTANT,
            types=(BOOLEAN,),
            doc="Whether a window marker ends the stream of bytes.",
        ),
    )


DEFINITION = OperatorDefinition(
    name="Compress",
    doc="Compresses the blobs of its input, which together are one stream of bytes.",
    inputs=(1, 1),
    outputs=(1, 1),
    params=bytes_params("compress", "compressionInput"),
    output=OutputClause.FREE,
    facts=Facts(is_repeatable=True),
    model=model_stream_of_bytes,
    check=lambda operator, found: check_blobs(operator, "compressionInput", found),
    runtime=CompressRuntime,
)
