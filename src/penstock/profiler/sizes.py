"""The size of a tuple: what its values take in Arrow memory, the form in which it travels.

Example:
    >>> from penstock.ir.types import parse_schema
    >>> fixed_bytes(parse_schema("int32 n, float64 x")), fixed_bytes(parse_schema("int32 n, rstring s"))
    (12.0, None)
    >>> memory_bytes([(1, "abc"), (2, "de")], parse_schema("int32 n, rstring s"))
    21.0
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.expr.environment import Tuple
from penstock.expr.values import batch_from_rows
from penstock.ir.arrow import arrow_schema
from penstock.ir.types import Schema

_BITS = 8


def fixed_bytes(schema: Schema) -> float | None:
    """The size that all tuples of a schema have; None if they differ."""
    types = [field.type for field in arrow_schema(schema)]
    if not all(pa.types.is_primitive(type_) for type_ in types):
        return None
    return float(sum(type_.bit_width / _BITS for type_ in types))


def memory_bytes(tuples: Sequence[Tuple], schema: Schema) -> float:
    """The size of tuples together, as an Arrow batch."""
    return float(batch_from_rows(tuples, schema).nbytes)
