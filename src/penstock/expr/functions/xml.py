"""XML documents: made from text, and asked by paths.

A path is of names, `*`, `.`, `..`, `text()` and `@name`, as in XMLParse; a document is asked from its root.
"""

from __future__ import annotations

import errno
from typing import Any

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.expr.values.scalars import parse_xml
from penstock.expr.xml_tree import Path, XMLReader, parse_path


@function("<xml X> boolean isDefaultValue(X value)")
def is_default(value: str) -> bool:
    """Whether there is no document."""
    return not value


@function("<xml X, string T> boolean convertToXML(mutable X value, T text)")
def convert(value: str, text: str) -> tuple[bool, str]:
    """Read a document from its text; false, and no change, if that is not well-formed."""
    try:
        return True, parse_xml(text)
    except ValueError:
        return False, value


@function("<xml X, string T> boolean convertToXML(mutable X value, T text, mutable int32 error)")
def convert_or_tell(value: str, text: str, error: int) -> tuple[bool, str, int]:
    """Read a document from its text; the error is 0, or another number if that is not well-formed."""
    done, found = convert(value, text)
    return done, found, 0 if done else errno.EINVAL


@function(
    "<xml X, string T> list<T> xquery(X value, T path)",
    "<xml X, string T> list<T> xquery(X value, T path, map<T, T> variables)",
)
def query(value: str, path: str, *variables: Any) -> list[str]:
    """The texts or attributes that a path leads to in a document."""
    try:
        return _query(value, path)
    except ValueError as problem:
        raise EvaluationError(str(problem)) from None


@function(
    "<xml X, string T> list<T> xquery(X value, T path, mutable int32 error)",
    "<xml X, string T> list<T> xquery(X value, T path, map<T, T> variables, mutable int32 error)",
)
def query_or_tell(value: str, path: str, *more: Any) -> tuple[list[str], int]:
    """The same; the error is 0, or another number if the path is none."""
    try:
        return _query(value, path), 0
    except ValueError:
        return [], errno.EINVAL


def _query(value: str, text: str) -> list[str]:
    path = parse_path(text)
    # The trigger of one step keeps the whole document.
    found = [path.texts(root) for _, root in XMLReader([Path(steps=("*",))], str).read(value)]
    return found[0] if found else []
