"""Cuts a file into the pieces that can be left out without disturbing the rest: for recovery from syntax errors.

It works on tokens and braces alone, because it is needed exactly where the grammar does not fit.

Example:
    >>> text = "composite Main { graph stream<A B = F() { } () as S = G(B) { } }"
    >>> start, end = enclosing_piece(text, text.index("B ="))
    >>> text[start:end]
    'stream<A B = F() { }'
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""//[^\n]*|/\*[\s\S]*?\*/|(?P<token>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[A-Za-z_]\w*|[{}()]|[^\s\w])"""
)
_CLAUSES = frozenset({"graph", "param", "type", "config"})
_CONTINUES = frozenset({";", ",", ">", ")", "="})


@dataclass(frozen=True, slots=True)
class _Lexeme:
    text: str
    start: int
    end: int


def enclosing_piece(text: str, offset: int) -> tuple[int, int]:
    """The start and end of the piece that an offset lies in, or of all the rest if there is none."""
    lexemes = [_Lexeme(m["token"], m.start(), m.end()) for m in _TOKEN.finditer(text) if m["token"]]
    definition = _piece_at(list(_pieces(lexemes)), offset)
    if not definition:
        return offset, len(text)
    words = [lexeme.text for lexeme in definition]
    if "composite" in words and "{" in words:
        opening = words.index("{")
        if offset > definition[opening].start and words[-1] == "}":
            inner = _piece_at(list(_pieces(definition[opening + 1 : -1])), offset)
            if inner:
                return _without_clause_word(inner)
    return definition[0].start, definition[-1].end


def _without_clause_word(piece: Sequence[_Lexeme]) -> tuple[int, int]:
    first = piece[1] if len(piece) > 1 and piece[0].text in _CLAUSES else piece[0]
    return first.start, piece[-1].end


def _pieces(lexemes: Sequence[_Lexeme]) -> Iterator[Sequence[_Lexeme]]:
    """Runs of lexemes that end with a `;` or `}` outside all brackets."""
    braces, brackets, first = 0, 0, 0
    for i, lexeme in enumerate(lexemes):
        braces = max(0, braces + (lexeme.text == "{") - (lexeme.text == "}"))
        # A brace ends all brackets: one that was not closed must not swallow the rest of the file.
        brackets = 0 if lexeme.text in "{}" else max(0, brackets + (lexeme.text == "(") - (lexeme.text == ")"))
        following = lexemes[i + 1].text if i + 1 < len(lexemes) else ""
        ends = lexeme.text == ";" or (lexeme.text == "}" and following not in _CONTINUES)
        if braces == 0 and brackets == 0 and ends:
            yield lexemes[first : i + 1]
            first = i + 1
    if first < len(lexemes):
        yield lexemes[first:]


def _piece_at(pieces: Sequence[Sequence[_Lexeme]], offset: int) -> Sequence[_Lexeme]:
    """The piece that holds an offset, or the last one that starts before it."""
    i = bisect_right([piece[0].start for piece in pieces], offset)
    return pieces[i - 1] if i else ()
