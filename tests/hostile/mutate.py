"""Mutations of bytes, of texts by their words, and of JSON by its values."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

_WORD = re.compile(rb"\w+|\s+|[^\w\s]")
_NUMBERS = (
    b"0 -1 1 2147483647 2147483648 -2147483649 9223372036854775808 18446744073709551616 1e308 1e309 -0.0 1e-320 "
    b"NaN inf 0x10 007 1_000 999999999999999999999999999999999999 99999999999999999999.5e99999 3.0w 5ub 7l"
).split()
_TEXTS: Sequence[bytes] = (
    *(b"", b"\0", b"\xff\xfe", b"\xed\xa0\x80", "\u202e\ufeff".encode(), b"'" * 3, b'"', b"\\", b"\\u12", b"/*", b"//"),
    *(b"<%", b"A" * 5_000, b"../" * 20, b"{" * 300, b"(" * 300, b"[" * 300, b"%s%n", b"\r\n", b"\x1a", b"$(x)"),
    "ﷺ".encode() * 100,
)


def mutate(data: bytes, others: Sequence[bytes], rng: random.Random) -> bytes:
    """A few mutations of one input, with pieces of others."""
    kinds: list[Callable[[bytes], bytes]] = [
        lambda d: _flip(d, rng),
        lambda d: _cut(d, rng),
        lambda d: _repeat(d, rng),
        lambda d: _splice(d, rng.choice(others), rng),
        *(lambda d: _words(d, rng.choice(others), rng),) * 6,
    ]
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 6))):
        data = rng.choice(kinds)(data)
    return data[:200_000]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(rng.choice((1, 1, 4))):
        changed[rng.randrange(len(changed))] = rng.choice((rng.randrange(256), 0, 255, 10, 34, 44))
    return bytes(changed)


def _span(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + rng.choice((1, 2, 8, 40, 400)))


def _cut(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] if rng.random() < 0.3 else data[:start] + data[end:]


def _repeat(data: bytes, rng: random.Random) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[start:end] * rng.choice((2, 2, 3, 50)) + data[end:]


def _splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    (start, end), (first, last) = _span(data, rng), _span(other, rng)
    return data[:start] + other[first:last] + data[end:]


def _words(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Change, swap, drop or put in a word."""
    words, more = _WORD.findall(data), _WORD.findall(other)
    if not words:
        return data
    at = rng.randrange(len(words))
    match rng.randrange(6):
        case 0:
            words[at] = rng.choice(_NUMBERS)
        case 1:
            words[at] = rng.choice(_TEXTS)
        case 2:
            del words[at]
        case 3:
            words[at] = rng.choice(more or words)
        case 4:
            i = rng.randrange(len(words))
            words[at], words[i] = words[i], words[at]
        case _:
            words.insert(at, rng.choice(more or words))
    return b"".join(words)


def mutate_json(value: Any, rng: random.Random) -> Any:
    """A value of which one part, wherever it is, has become something else."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.85:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = rng.choice(keys)
        changed = value.copy()
        what = rng.random()
        if what < 0.08:
            del changed[key]
        elif what < 0.14 and isinstance(changed, dict):
            changed[rng.choice(keys) + rng.choice(("", "x", "\0", " "))] = changed.pop(key)
        elif what < 0.2 and isinstance(changed, list):
            changed += [changed[key]] * rng.choice((1, 2, 200))
        elif what < 0.26:
            changed[key] = changed[rng.choice(keys)]
        else:
            changed[key] = mutate_json(changed[key], rng)
        return changed
    return _other(value, rng)


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and rng.random() < 0.6:
        factor = rng.choice((-1, 0, 0.5, 1e9, 1e300, 1e-300, 1e18, float("inf"), float("nan")))
        return value * factor if rng.random() < 0.9 else str(value)
    if isinstance(value, str) and rng.random() < 0.3:
        return value[: rng.randrange(len(value) + 1)] + rng.choice(("", "é", "\0", "'", "A" * 3_000))
    nested: Any = []
    for _ in range(rng.choice((1, 5, 200))):
        nested = [nested] if rng.random() < 0.5 else {"a": nested}
    return rng.choice((None, True, False, 0, -1, 1.5, 2**63, 2**70, 1e400, "", "x", [], {}, [None], {"": 0}, nested))


def json_bytes(value: Any) -> bytes:
    """The text of a value; what JSON has no words for is written as Python does."""
    return json.dumps(value).encode()
