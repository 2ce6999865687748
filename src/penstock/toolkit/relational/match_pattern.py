"""Patterns over named predicates, such as `. rise+ drop+`, as automata.

Syntax:
    A name is one tuple on which that predicate holds, `.` any one tuple. Things that follow each other match one after
    the other, `|` is either, parentheses group, and behind a thing `*` is any number of times, `+` at least once, `?`
    at most once, `{n}`, `{n,}` and `{n,m}` a number of times.

Algorithm:
    The position automaton of the expression: a state for each occurrence of a name. `first` are the positions where a
    match can begin, `follow[p]` those that can come after p, `last` those where it can end. It has no empty moves, so
    a step over a tuple looks at the predicates of the positions that may come next, and at nothing else. Its size
    is the number of names, repetitions written out, squared.

Example:
    >>> pattern = parse_pattern("a b* c", {"a", "b", "c"})
    >>> pattern.names
    ('a', 'b', 'c')
    >>> [sorted(positions) for positions in (pattern.first, pattern.follow[0], pattern.last)]
    [[0], [1, 2], [2]]

Reference:
    V. M. Glushkov, The abstract theory of automata, 1961.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce

from penstock.base.diagnostics import did_you_mean

_TOKEN = re.compile(r"\s*(?:([A-Za-z_]\w*)|(\{\s*\d+\s*(?:,\s*\d*\s*)?\})|([.|()*+?]))")
LARGEST = 2_000

Positions = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern:
    """The automaton of a pattern.

    Attributes:
        names: For each position, the predicate that must hold; none for `.`.
        first: Where a match can begin.
        follow: For each position, what can come next.
        last: Where a match can end.
    """

    names: tuple[str | None, ...]
    first: Positions
    follow: tuple[Positions, ...]
    last: Positions


def parse_pattern(text: str, names: Collection[str]) -> Pattern:
    """Read a pattern.

    Raises:
        ValueError: It is not a pattern, names an unknown predicate, or matches no tuple at all; the message says so.
    """
    parser = _Parser(text, names)
    tree = parser.either()
    if parser.token:
        raise ValueError(f"unexpected `{parser.token}` at {parser.where()}")
    automaton = _Automaton()
    whole = automaton.build(tree)
    if whole.may_be_empty:
        raise ValueError("it can match without any tuple; a match must hold at least one")
    follow = tuple(map(frozenset, automaton.follow))
    return Pattern(names=tuple(automaton.names), first=whole.first, follow=follow, last=whole.last)


@dataclass(frozen=True, slots=True)
class _One:
    """One tuple on which a predicate holds, or any tuple."""

    name: str | None


@dataclass(frozen=True, slots=True)
class _Then:
    """Parts one after the other."""

    parts: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Either:
    """One of several parts."""

    parts: tuple[_Tree, ...]


@dataclass(frozen=True, slots=True)
class _Repeat:
    """A part, `least` to `greatest` times; without `greatest` any number of times."""

    part: _Tree
    least: int
    greatest: int | None


_Tree = _One | _Then | _Either | _Repeat

_REPEATS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class _Parser:
    """Recursive descent over the tokens of a pattern."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text = text
        self.names = names
        self.token = ""
        self.start = self.end = 0
        self.advance()

    def where(self) -> str:
        return f"character {self.start + 1} of `{self.text}`"

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.end)
        if match is None:
            rest = self.text[self.end :].strip()
            self.start = len(self.text) - len(self.text[self.end :].lstrip())
            self.token = ""
            if rest:
                raise ValueError(f"unexpected `{rest[0]}` at {self.where()}")
            return
        self.token = match.group().strip()
        self.start, self.end = match.end() - len(self.token), match.end()

    def either(self) -> _Tree:
        parts = [self.then()]
        while self.token == "|":
            self.advance()
            parts.append(self.then())
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def then(self) -> _Tree:
        parts = [self.repeat()]
        while self.token and self.token not in "|)":
            parts.append(self.repeat())
        return parts[0] if len(parts) == 1 else _Then(tuple(parts))

    def repeat(self) -> _Tree:
        part = self.one()
        while self.token and self.token[0] in "*+?{":
            least, greatest = _REPEATS.get(self.token) or _bounds(self.token)
            if greatest is not None and greatest < max(least, 1):
                raise ValueError(f"`{self.token}` at {self.where()} can never be")
            part = _Repeat(part, least, greatest)
            self.advance()
        return part

    def one(self) -> _Tree:
        token = self.token
        if token == "(":
            self.advance()
            part = self.either()
            if self.token != ")":
                raise ValueError(f"expected `)` at {self.where()}")
            self.advance()
            return part
        if token != "." and not token.isidentifier():
            found = f"`{token}`" if token else "the end"
            raise ValueError(f"expected a predicate, found {found} at {self.where()}")
        if token != "." and token not in self.names:
            hint = did_you_mean(token, self.names)
            raise ValueError(f"there is no predicate `{token}`" + (f"; {hint}" if hint else ""))
        self.advance()
        return _One(None if token == "." else token)


def _bounds(token: str) -> tuple[int, int | None]:
    """The numbers of `{n}`, `{n,}` or `{n,m}`."""
    least, comma, greatest = token.strip("{}").partition(",")
    if not comma:
        return int(least), int(least)
    return int(least), int(greatest) if greatest.strip() else None


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece of the automaton: where it begins, where it ends, and whether it can be passed by."""

    first: Positions
    last: Positions
    may_be_empty: bool


_NOTHING = _Part(frozenset(), frozenset(), True)


class _Automaton:
    """Builds the position automaton of a tree, from the leaves up."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self.follow: list[set[int]] = []

    def build(self, tree: _Tree) -> _Part:
        match tree:
            case _One(name=name):
                return self.one(name)
            case _Then(parts=parts):
                return reduce(self.then, map(self.build, parts))
            case _Either(parts=parts):
                return reduce(_either, map(self.build, parts))
            case _Repeat(part=part, least=least, greatest=greatest):
                return self.repeat(part, least, greatest)

    def one(self, name: str | None) -> _Part:
        if len(self.names) == LARGEST:
            raise ValueError(f"it is too large: with repetitions written out it has more than {LARGEST} names")
        self.names.append(name)
        self.follow.append(set())
        here = frozenset({len(self.names) - 1})
        return _Part(here, here, False)

    def then(self, part: _Part, after: _Part) -> _Part:
        for position in part.last:
            self.follow[position] |= after.first
        first = part.first | after.first if part.may_be_empty else part.first
        last = part.last | after.last if after.may_be_empty else after.last
        return _Part(first, last, part.may_be_empty and after.may_be_empty)

    def repeat(self, tree: _Tree, least: int, greatest: int | None) -> _Part:
        required = [self.build(tree) for _ in range(least)]
        if greatest is None:
            many = required.pop() if required else _optional(self.build(tree))
            self.then(many, many)
            return reduce(self.then, [*required, many], _NOTHING)
        rest = _NOTHING
        for _ in range(greatest - least):
            rest = _optional(self.then(self.build(tree), rest))
        return self.then(reduce(self.then, required, _NOTHING), rest)


def _either(part: _Part, other: _Part) -> _Part:
    return _Part(part.first | other.first, part.last | other.last, part.may_be_empty or other.may_be_empty)


def _optional(part: _Part) -> _Part:
    return _Part(part.first, part.last, True)
