"""String functions.

Positions count characters from 0. The letters of an rstring that have case are the ASCII ones, because an rstring is
raw bytes in SPL; a ustring follows Unicode.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import Implementation, function
from penstock.ir.types import USTRING, Primitive, Type

_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_ASCII_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def _ascii_upper(text: str) -> str:
    return text.upper() if text.isascii() else text.translate(_ASCII_UPPER)


def _vector_for_rstring(kernel: Implementation) -> Callable[[Type], Implementation]:
    """A vector factory that offers a kernel to rstrings alone."""

    def run(text: pa.Array) -> pa.Array:
        return kernel(text)

    def decline(text: pa.Array) -> object:
        return NotImplemented

    return lambda type_: run if type_ != USTRING else decline


@function("<string T> T lower(T str)", needs_types=True, vector=_vector_for_rstring(pc.ascii_lower))
def lower(type_: Primitive) -> Callable[[str], str]:
    """The string in lower case."""
    return str.lower if type_ == USTRING else _ascii_lower


@function("<string T> T upper(T str)", needs_types=True, vector=_vector_for_rstring(pc.ascii_upper))
def upper(type_: Primitive) -> Callable[[str], str]:
    """The string in upper case."""
    return str.upper if type_ == USTRING else _ascii_upper


@function("<string T> int32 length(T str)", vector=pc.utf8_length)
def length(text: str) -> int:
    """The number of characters."""
    return len(text)


def _trim_with(kernel: Implementation) -> Implementation:
    def trim_vector(text: pa.Array, characters: pa.Scalar) -> object:
        constant = isinstance(characters, pa.Scalar) and isinstance(text, pa.Array)
        # Arrow refuses an empty set of characters; nothing is trimmed then.
        if not constant or not characters.as_py():
            return text if constant else NotImplemented
        return kernel(text, characters=characters.as_py())

    return trim_vector


@function("<string T> T trim(T str, T chars)", vector=_trim_with(pc.utf8_trim))
def trim(text: str, characters: str) -> str:
    """The string without the given characters at its start and end."""
    return text.strip(characters) if characters else text


@function("<string T> T ltrim(T str, T chars)", vector=_trim_with(pc.utf8_ltrim))
def ltrim(text: str, characters: str) -> str:
    """The string without the given characters at its start."""
    return text.lstrip(characters) if characters else text


@function("<string T> T rtrim(T str, T chars)", vector=_trim_with(pc.utf8_rtrim))
def rtrim(text: str, characters: str) -> str:
    """The string without the given characters at its end."""
    return text.rstrip(characters) if characters else text


def _substring_vector(text: Any, start: Any, count: Any) -> object:
    constant = isinstance(start, pa.Scalar) and isinstance(count, pa.Scalar) and isinstance(text, pa.Array)
    if not constant or start.as_py() < 0 or count.as_py() <= 0:
        return NotImplemented
    first = start.as_py()
    if len(text) and pc.min(pc.utf8_length(text)).as_py() < first:
        return NotImplemented
    return pc.utf8_slice_codeunits(text, start=first, stop=first + count.as_py())


@function("<string T> T substring(T str, int32 start, int32 length)", vector=_substring_vector)
def substring(text: str, start: int, count: int) -> str:
    """At most `length` characters from `start` on; what lies before 0 counts but is not there."""
    if start < 0:
        start, count = 0, count + start
    if count <= 0:
        return ""
    if start > len(text):
        raise EvaluationError(f"substring starts at {start} in a string of {len(text)} characters")
    return text[start : start + count]


@function("<string T> T substring(T str, int32 start)")
def substring_to_end(text: str, start: int) -> str:
    """The characters from `start` to the end."""
    return substring(text, max(start, 0), max(len(text), 1))


@function("<string T> T reverse(T str)", vector=pc.utf8_reverse)
def reverse(text: str) -> str:
    """The characters in opposite order."""
    return text[::-1]


def _concat_vector(left: Any, right: Any) -> object:
    return pc.binary_join_element_wise(left, right, "") if isinstance(left, pa.Array) else NotImplemented


@function("<string T> T concat(T left, T right)", vector=_concat_vector)
def concat(left: str, right: str) -> str:
    """The two strings joined."""
    return left + right


@function("<string T> void appendM(mutable T str, T value)", needs_types=True)
def append_to_string(type_: Primitive, _: Type) -> Callable[[str, str], tuple[None, str]]:
    """Add to the end of a string; a bounded one keeps what fits."""
    bound = type_.bound
    return lambda text, value: (None, (text + value)[:bound])


def _find_first_vector(text: pa.Array, pattern: pa.Scalar) -> object:
    if not isinstance(pattern, pa.Scalar) or not isinstance(text, pa.Array):
        return NotImplemented
    # Arrow counts bytes: the same as characters only where all of them are ASCII.
    if len(text) and not pc.all(pc.string_is_ascii(text)).as_py():
        return NotImplemented
    return pc.find_substring(text, pattern=pattern.as_py())


@function("<string T> int32 findFirst(T str, T part)", vector=_find_first_vector)
def find_first(text: str, part: str) -> int:
    """The position of the first occurrence of a part, or -1."""
    return text.find(part)


@function("<string T> int32 findFirst(T str, T part, int32 start)")
def find_first_from(text: str, part: str, start: int) -> int:
    """The position of the first occurrence of a part from `start` on, or -1."""
    return text.find(part, max(start, 0))


@function("<string T> int32 findLast(T str, T part)")
def find_last(text: str, part: str) -> int:
    """The position of the last occurrence of a part, or -1."""
    return text.rfind(part)


@function("<string T> int32 findLast(T str, T part, int32 last)")
def find_last_from(text: str, part: str, last: int) -> int:
    """The position of the last occurrence of a part that starts at `last` or before, or -1."""
    return -1 if last < 0 else text.rfind(part, 0, last + len(part))


@function("<string T> int32 findFirstOf(T str, T chars)", "<string T> int32 findFirstOf(T str, T chars, int32 start)")
def find_first_of(text: str, characters: str, start: int = 0) -> int:
    """The position of the first character that is one of `chars`, or -1."""
    return _first(text, start, lambda c: c in characters)


@function(
    "<string T> int32 findFirstNotOf(T str, T chars)", "<string T> int32 findFirstNotOf(T str, T chars, int32 start)"
)
def find_first_not_of(text: str, characters: str, start: int = 0) -> int:
    """The position of the first character that is none of `chars`, or -1."""
    return _first(text, start, lambda c: c not in characters)


@function("<string T> int32 findLastOf(T str, T chars, int32 last)")
def find_last_of(text: str, characters: str, last: int) -> int:
    """The position of the last character, at `last` or before, that is one of `chars`, or -1."""
    return _last(text, last, lambda c: c in characters)


@function("<string T> int32 findLastNotOf(T str, T chars, int32 last)")
def find_last_not_of(text: str, characters: str, last: int) -> int:
    """The position of the last character, at `last` or before, that is none of `chars`, or -1."""
    return _last(text, last, lambda c: c not in characters)


def _first(text: str, start: int, accepts: Callable[[str], bool]) -> int:
    return next((i for i in range(max(start, 0), len(text)) if accepts(text[i])), -1)


def _last(text: str, last: int, accepts: Callable[[str], bool]) -> int:
    return next((i for i in range(min(last, len(text) - 1), -1, -1) if accepts(text[i])), -1)


@lru_cache(maxsize=256)
def _delimiters(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(characters)}]")


@function("<string T> list<T> tokenize(T str, T delimiters, boolean keepEmptyTokens)")
def tokenize(text: str, delimiters: str, keep_empty: bool) -> list[str]:
    """The parts between delimiters; each character of `delimiters` is one."""
    if not delimiters:
        tokens = [text]
    elif len(delimiters) == 1:
        tokens = text.split(delimiters)
    else:
        tokens = _delimiters(delimiters).split(text)
    return tokens if keep_empty else [t for t in tokens if t]


@function(
    "<string T> void tokenize(T str, T delimiters, boolean keepEmptyTokens, boolean multipleDelimiters, "
    "mutable list<T> tokens)"
)
def tokenize_into(text: str, delimiters: str, keep_empty: bool, multiple: bool, tokens: list[str]) -> None:
    """The parts between delimiters; if not `multipleDelimiters`, the whole of `delimiters` is one delimiter."""
    if multiple or not delimiters:
        tokens[:] = tokenize(text, delimiters, keep_empty)
    else:
        tokens[:] = [t for t in text.split(delimiters) if t or keep_empty]


_CSV_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?=,|\Z)|[^,]*', re.DOTALL)


@function("<string T> list<T> csvTokenize(T str)")
def csv_tokenize(text: str) -> list[str]:
    """The parts between commas; a part in double quotes may hold commas and keeps its quotes."""
    tokens, position = [], 0
    while True:
        match = _CSV_TOKEN.match(text, position)
        assert match is not None
        tokens.append(match[0])
        position = match.end() + 1
        if position > len(text):
            return tokens


@function("<string T> list<T> split(T str, T delimiter)")
def split(text: str, delimiter: str) -> list[str]:
    """The parts between occurrences of a whole delimiter, empty ones included."""
    return text.split(delimiter) if delimiter else [text]


@function("<string T> T join(list<T> strs, T separator)")
def join(texts: list[str], separator: str) -> str:
    """The strings one after the other, with a separator between them."""
    return separator.join(texts)


@function("<string T> T replace(T str, T old, T new)")
def replace(text: str, old: str, new: str) -> str:
    """The string with every occurrence of a part replaced."""
    return text.replace(old, new) if old else text


def _matching_vector(kernel: Implementation) -> Implementation:
    def run(text: Any, pattern: Any) -> object:
        constant = isinstance(text, pa.Array) and isinstance(pattern, pa.Scalar)
        return kernel(text, pattern=pattern.as_py()) if constant else NotImplemented

    return run


@function("<string T> boolean startsWith(T str, T prefix)", vector=_matching_vector(pc.starts_with))
def starts_with(text: str, prefix: str) -> bool:
    """Whether the string starts with a prefix."""
    return text.startswith(prefix)


@function("<string T> boolean endsWith(T str, T suffix)", vector=_matching_vector(pc.ends_with))
def ends_with(text: str, suffix: str) -> bool:
    """Whether the string ends with a suffix."""
    return text.endswith(suffix)
