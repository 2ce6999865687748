"""Breaks the long lines of generated code, so that a person can read it."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from itertools import pairwise

from penstock.expr.emit.scope import INDENT

WIDTH = 110


def laid_out(line: str) -> Iterator[str]:
    """A line, or several if it is too long: the contents of its widest brackets, one part a line.

    Example:
        >>> for part in laid_out("x = f(" + ", ".join(["a" * 30] * 4) + ")"): print(part)
        x = f(
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
            aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa,
        )
    """
    margin = line[: len(line) - len(line.lstrip())]
    code = line[len(margin) :]
    found = None if len(line) <= WIDTH or code.startswith("#") else _widest_brackets(code)
    if found is None:
        yield line
        return
    start, commas, end = found
    bounds = [start, *commas, end]
    parts = [code[a + 1 : b].strip() for a, b in pairwise(bounds)]
    yield f"{margin}{code[: start + 1]}"
    for part in filter(None, parts):
        yield from laid_out(f"{margin}{INDENT}{part},")
    yield f"{margin}{code[end:]}"


def _widest_brackets(code: str) -> tuple[int, list[int], int] | None:
    """Where the widest brackets that hold commas open and close, and their commas."""
    best: tuple[int, list[int], int] | None = None
    opened: list[tuple[int | None, list[int]]] = []
    for token in _tokens(code):
        column = token.start[1]
        if token.string in ("(", "[", "{"):
            opened.append((column, []))
        elif token.string in ("for", "lambda") and opened:
            # The commas after it do not separate parts.
            opened[-1] = (None, [])
        elif token.string == "," and opened:
            opened[-1][1].append(column)
        elif token.string in (")", "]", "}") and opened:
            start, commas = opened.pop()
            if start is not None and commas and (best is None or column - start > best[2] - best[0]):
                best = start, commas, column
    return best


def _tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(code).readline):
            if token.type in (tokenize.OP, tokenize.NAME):
                yield token
    except (tokenize.TokenError, IndentationError):
        return
