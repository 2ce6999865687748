"""The key group of a tuple, and so the channel that it goes to: a hash of its key, over columns or over single values.

Introduction:
    A split sends all tuples of one key to one channel. Splits run in many processes and over many runs of a job, on
    columns where a PE is generated and on single tuples where it is a container, so the hash must be the same
    everywhere, and must agree with what operators take to be equal keys.

Formulation:
    Equal keys have equal codes: 0.0 is -0.0; every NaN is one key; an integer has one code whatever its width; decimals
    are numbers, not digits (1.5 is 1.50); maps and sets are equal whatever order they were filled in. A code has 64
    bits:

    - an integer, a boolean and a timestamp: `mix` of its 64 bits; a float: `mix` of the bits of the float64;
    - text and bytes: `mix` in turn over the length and the words of eight bytes, the last filled with zeros;
    - lists, sets and maps: `mix` of the sum of their elements' codes (a map's element is the pair). A sum, because
      Arrow holds a set as a list; lists that are permutations of each other share a channel, which does no harm;
    - a tuple, and a key of several attributes: `mix` over the parts in turn; null: a constant.

    `mix` is the finalizer of SplitMix64. The group is the upper half of the code, scaled to the number of groups; a
    table of the plan tells the channel that holds the group (`key_groups`).

Example:
    >>> import numpy as np
    >>> group_of([pa.array(["a", "b", "a"]), np.array([1, 1, 1])], 8).tolist()
    [4, 3, 4]
    >>> group_of_values(("a", 1), 8)
    4

When it does not apply:
    Regions without a key take tuples in turns.

Algorithm:
    Arrays are mixed as a whole. Strings are read where they lie, eight bytes of all of them at a time; so the cost is
    linear in the bytes, and a pass for each eight bytes of the longest string. Only decimals are hashed one by one.

Preserves:
    The codes of keys whose state is already stored. Changing this module is a change of format.

Reference:
    Auto-parallelization paper, section 4.2. SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number
    generators" (OOPSLA 2014).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.expr.values import from_arrow_array
from penstock.ir.types import Type, is_complex, is_decimal
from penstock.parallel.routing_values import FACTOR, FIRST, NULL, SECOND, code_of_value, code_of_values

Codes = np.ndarray[Any, np.dtype[np.uint64]]

_NAN = np.array(np.nan).view(np.uint64)
_SHIFTS = tuple(np.uint64(bits) for bits in (30, 27, 31))
_WORD_MASKS = np.array([(1 << (8 * size)) - 1 for size in range(9)], np.uint64)


def group_of(columns: Sequence[Any], groups: int, types: Sequence[Type] | None = None) -> np.ndarray[Any, Any]:
    """The key group of every row.

    Args:
        columns: The parts of the key: Arrow or numpy arrays of one length, at least one.
        groups: How many there are.
        types: Of the columns; needed only where they hold decimals or complex numbers, which Arrow sees as text.

    Returns:
        An array of int64, each from 0 to groups - 1.
    """
    found = code_of(columns, types)
    return (((found >> np.uint64(32)) * np.uint64(groups)) >> np.uint64(32)).astype(np.int64)


def code_of(columns: Sequence[Any], types: Sequence[Type] | None = None) -> Codes:
    """The code of every row; the arguments are those of `group_of`."""
    known: Sequence[Type | None] = types or [None] * len(columns)
    parts = [_codes_of_column(column, type_) for column, type_ in zip(columns, known, strict=True)]
    return parts[0] if len(parts) == 1 else _in_turn(parts)


def group_of_values(values: Sequence[Any], groups: int) -> int:
    """The key group of one key, given as the values of its parts; the same as `group_of` has for it.

    Example:
        >>> group_of_values((0.0,), 5) == group_of_values((-0.0,), 5)
        True
    """
    code = code_of_value(values[0]) if len(values) == 1 else code_of_values(values)
    return ((code >> 32) * groups) >> 32


def _codes_of_column(column: Any, type_: Type | None) -> Codes:
    if type_ is not None and any(is_decimal(part) or is_complex(part) for part in type_.walk()):
        return np.array([code_of_value(value) for value in from_arrow_array(column, type_)], np.uint64)
    if isinstance(column, np.ndarray):
        return _codes_of_numbers(column)
    return _codes(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _codes(array: pa.Array) -> Codes:
    """The codes of an Arrow array, nulls included."""
    found = _codes_of_present(array)
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = NULL
    return found


def _codes_of_present(array: pa.Array) -> Codes:
    """The codes of an Arrow array; those of nulls mean nothing."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _codes(array.dictionary_decode())
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _codes_of_bytes(array, np.int32)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _codes_of_bytes(array, np.int64)
    if pa.types.is_struct(kind):
        return _in_turn([_codes(part) for part in array.flatten()], len(array))
    if pa.types.is_map(kind):
        return _sums(array, _in_turn([_codes(array.keys), _codes(array.items)]))
    if pa.types.is_list(kind):
        return _sums(array, _codes(array.values))
    filled = array.fill_null(False if pa.types.is_boolean(kind) else 0) if array.null_count else array
    return _codes_of_numbers(filled.to_numpy(zero_copy_only=False))


def _codes_of_numbers(column: np.ndarray[Any, Any]) -> Codes:
    if column.dtype.kind != "f":
        whole = column if column.dtype == np.uint64 else column.astype(np.int64)
        return _mix(whole.view(np.uint64))
    with np.errstate(invalid="ignore"):
        # Adding zero makes -0.0 the 0.0 that it equals.
        exact = column.astype(np.float64) + 0.0
    return _mix(np.where(np.isnan(exact), _NAN, exact.view(np.uint64)))


def _codes_of_bytes(array: pa.Array, offset_type: type[np.signedinteger[Any]]) -> Codes:
    """The codes of strings, read eight bytes at a time from where they lie."""
    if not len(array):
        return np.zeros(0, np.uint64)
    _, offsets_at, data_at = array.buffers()
    offsets = np.frombuffer(offsets_at, offset_type, len(array) + 1 + array.offset)[array.offset :].astype(np.int64)
    starts, lengths = offsets[:-1], np.diff(offsets)
    data = np.zeros(int(offsets[-1] - offsets[0]) + 8, np.uint8)
    if data_at is not None:
        data[:-8] = np.frombuffer(data_at, np.uint8)[int(offsets[0]) : int(offsets[-1])]
    # Every position is the start of a word: the words overlap, and nothing is copied.
    words = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, strides=(1,))
    found = _mix(lengths.view(np.uint64))
    _mix_words(found, words, starts - offsets[0], lengths)
    return found


def _mix_words(found: Codes, words: Codes, starts: np.ndarray[Any, Any], lengths: np.ndarray[Any, Any]) -> None:
    """Mix the words of every string into its code."""
    rows: Any = slice(None) if lengths.all() else np.flatnonzero(lengths)
    at, left = starts[rows], lengths[rows]
    while len(at):
        word = words[at] & _WORD_MASKS[np.minimum(left, 8)]
        found[rows] = _mix(found[rows] ^ word)
        more = np.flatnonzero(left > 8)
        rows = np.arange(len(found))[rows][more] if isinstance(rows, slice) else rows[more]
        at, left = at[more] + 8, left[more] - 8


def _sums(array: pa.Array, elements: Codes) -> Codes:
    """The codes of lists or maps, from those of all their elements."""
    offsets = array.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(elements, dtype=np.uint64)])
    return _mix(running[offsets[1:]] - running[offsets[:-1]] + np.diff(offsets).astype(np.uint64))


def _in_turn(parts: Sequence[Codes], rows: int = 0) -> Codes:
    """One code of the codes of several parts, which are not exchangeable."""
    found = np.zeros(len(parts[0]) if parts else rows, np.uint64)
    for part in parts:
        found = _mix(found * np.uint64(FACTOR) + part)
    return found


def _mix(bits: Codes) -> Codes:
    """SplitMix64's finalizer of every element."""
    found = bits + np.uint64(FACTOR)
    for shift, factor in zip(_SHIFTS, (FIRST, SECOND, None), strict=True):
        found ^= found >> shift
        if factor is not None:
            found *= np.uint64(factor)
    return found
