"""Pieces of Python text that know how tightly they bind, so that parentheses stand only where they must."""

from __future__ import annotations

import re
from typing import NamedTuple

TERNARY, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT, ADD, MULTIPLY, SIGN, ATOM = range(13)
"""Python's levels of precedence, loosest first. `TERNARY` is also that of `:=` and `lambda`."""

_SIMPLE = re.compile(r"[\w.]+(\[\d+\])?")


class Code(NamedTuple):
    """Python text of an expression, and its level.

    Example:
        >>> Code("a + b", ADD).at(MULTIPLY)
        '(a + b)'
    """

    text: str
    level: int = ATOM

    def at(self, level: int) -> str:
        """The text where something of at least that level is expected."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def is_simple(self) -> bool:
        """Whether the text is a name, a constant or an attribute: cheap, without effect, fit to stand twice."""
        return _SIMPLE.fullmatch(self.text) is not None


def operation(left: Code, operator: str, right: Code, level: int) -> Code:
    """A left-associative Python operator.

    Example:
        >>> operation(Code("a - b", ADD), "-", Code("c - d", ADD), ADD).text
        'a - b - (c - d)'
    """
    return Code(f"{left.at(level)} {operator} {right.at(level + 1)}", level)
