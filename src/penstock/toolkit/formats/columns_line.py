"""Lines of text, all of a block at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema
from penstock.toolkit.formats.items import Settings

_MOST_BYTES = 2**31 - 1
"""The most bytes that the 32-bit offsets of an Arrow string array can address."""


def fast_reader(schema: Schema, settings: Settings) -> Callable[[bytes], pa.RecordBatch | None] | None:
    """A function from a block to its lines; None for a block that is not UTF-8.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> fast_reader(parse_schema("rstring line"), Settings(format="line"))(b"a\\n\\nb").to_pydict()
        {'line': ['a', '', 'b']}
    """
    fields = arrow_schema(schema)

    def read(block: bytes) -> pa.RecordBatch | None:
        if not is_text(block) or len(block) > _MOST_BYTES:
            return None
        ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
        if block and block[-1:] != b"\n":
            ends = np.append(ends, len(block))
        offsets = np.zeros(len(ends) + 1, np.int32)
        # The markers before the end of a line are not part of the text.
        offsets[1:] = ends - np.arange(len(ends))
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block.replace(b"\n", b""))]
        return pa.RecordBatch.from_arrays([pa.Array.from_buffers(pa.string(), len(ends), buffers)], schema=fields)

    return read


def is_text(block: bytes) -> bool:
    """Whether a block is UTF-8 text."""
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True
