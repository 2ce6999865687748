"""The entry of a PE in pieces: deals an edge out to several of them.

In the sequential program the subscribers of a stream fire in order of declaration, so the items that come by one edge
get a step more on their path, by which piece after piece takes its turn.

Example:
    >>> from penstock.codegen.transport.batches import TUPLE, Item, decode, encode
    >>> from penstock.ir.types import parse_schema
    >>> schema = parse_schema("int32 x")
    >>> (value,) = encode([Item(5, 0, b"", TUPLE, (7,))], schema)
    >>> decode(with_step(value, 1), schema)[0].path
    b'\\x00\\x00\\x00\\x01'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa

from penstock.codegen.plan.physical import Edge
from penstock.codegen.rows.paths import Paths
from penstock.codegen.transport.batches import HEADER, encoded_batches, read_batches


def dealt_out(
    values: Iterable[tuple[int, bytes]], dealt: Mapping[int, tuple[Edge, ...]]
) -> Iterator[tuple[int, bytes]]:
    """Values by edge, those of edges that lead to several pieces once for each."""
    for number, value in values:
        if number not in dealt:
            yield number, value
        for step, edge in enumerate(dealt.get(number, ())):
            yield edge.index, with_step(value, step)


def with_step(value: bytes, step: int) -> bytes:
    """The same items, each a step further on its path."""
    header, tuples = read_batches(value)
    paths = Paths.of(header.column(2)).grown(np.arange(header.num_rows), step)
    columns = [header.column(0), header.column(1), paths, header.column(3)]
    return encoded_batches(pa.RecordBatch.from_arrays(columns, schema=HEADER), tuples)
