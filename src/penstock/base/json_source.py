"""JSON files as users write them: read as a whole, and what is wrong with one said with its line.

Besides what is not JSON, this refuses what would go wrong later and far from its cause: a key that stands twice in one
object (the parser would drop the first in silence), half a surrogate pair (a text that cannot be printed), and numbers
or nesting beyond what the parser takes. A byte order mark is passed over.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from penstock.base.diagnostics import Diagnostic, SourceFile, Span, UserError, did_you_mean

_MOST_WORDS = 2000


def read_json(path: Path) -> object:
    """The value in a JSON file.

    Raises:
        UserError: The file cannot be read, or is not JSON.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"cannot read `{path}`: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"cannot read `{path}`: it is not a UTF-8 text file") from error
    return parse_json(text, str(path))


def parse_json(text: str, path: str) -> object:
    """The value of a JSON text; `path` is for messages.

    Raises:
        UserError: The text is not JSON.

    Example:
        >>> parse_json('{"mips": 5}', "jobs.json")
        {'mips': 5}
        >>> parse_json('{"mips": 5, "mips": 7}', "jobs.json")
        Traceback (most recent call last):
        penstock.UserError: error: jobs.json: the key `mips` stands twice in one object; keep one of them
    """
    try:
        value: object = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        span = Span(source=SourceFile(path=path, text=text), start=error.pos, end=error.pos + 1)
        hint = "the file is cut short" if error.pos >= len(text.rstrip()) else None
        raise UserError(Diagnostic(message=f"not JSON: {error.msg.lower()}", span=span, hint=hint)) from error
    except _Twice as twice:
        raise UserError(f"{path}: the key `{twice}` stands twice in one object", hint="keep one of them") from twice
    except RecursionError as error:
        raise UserError(f"{path}: lists and objects are nested too deeply to be read") from error
    except ValueError as error:
        raise UserError(f"{path}: a number has too many digits", hint="write it as 1e15, say") from error
    _refuse_half_pairs(text, value, path)
    return value


def kind_of(value: object) -> str:
    """The kind of a JSON value, in words.

    Example:
        >>> kind_of([1]), kind_of(None), kind_of("x")
        ('a list', 'null', 'a string')
    """
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def nearest(word: str, known: Collection[str]) -> str | None:
    """A hint that names the nearest known word; none where there are too many to compare each mistake with.

    Example:
        >>> nearest("cuont", ["count", "split"])
        'did you mean `count`?'
    """
    return did_you_mean(word, known) if len(known) <= _MOST_WORDS else None


class _Twice(Exception):
    """A key stands twice."""


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Twice(next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1))
    return value


def _refuse_half_pairs(text: str, value: object, path: str) -> None:
    """Only an escape can bring half a surrogate pair into a text that is UTF-8."""
    if "\\u" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise UserError(f"{path}: `{half}` is half a character", hint="write both halves, or the letter") from error
