"""Functions that pick attributes out of tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

from penstock.expr.environment import Tuple
from penstock.ir.types import Schema


def projection(schema: Schema, names: Sequence[str]) -> Callable[[Tuple], Tuple]:
    """The function that makes a tuple of some attributes, in the order given.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> projection(parse_schema("int32 a, int32 b, int32 c"), ["c", "a"])((1, 2, 3))
        (3, 1)
    """
    if tuple(names) == schema.names:
        return _itself
    positions = [schema.position[name] for name in names]
    if len(positions) != 1:
        return itemgetter(*positions) if positions else lambda tuple_: ()
    (only,) = positions
    return lambda tuple_: (tuple_[only],)


def _itself(tuple_: Tuple) -> Tuple:
    return tuple_
