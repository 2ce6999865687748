"""Counts how many tuples a piece of logic submits: the least and the greatest number over all its paths.

Section 3.2 of the auto-parallelization paper: the minimum and the maximum along each path through `if` (and `switch`);
a `submit` inside a loop makes the number unknown. Where we go further: `break`, `continue` and `return` end a path, so
that `if (bad) return; submit(...)` counts as at most one.

Example:
    >>> from penstock.ir.expressions import InputTuple
    >>> from penstock.ir.statements import Block, Submit
    >>> from penstock.ir.types import parse_schema
    >>> once = Submit(value=InputTuple(type=parse_schema("int32 x")))
    >>> count_submits(Block(body=(once, once)))
    SubmitCount(least=2, greatest=2)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.ir.statements import (
    Block,
    Break,
    Continue,
    For,
    If,
    Return,
    Statement,
    Submit,
    Switch,
    While,
)


@dataclass(frozen=True, slots=True)
class SubmitCount:
    """A range of numbers of tuples; no greatest for any number."""

    least: int
    greatest: int | None

    def then(self, other: SubmitCount) -> SubmitCount:
        """The count of one piece of code followed by another."""
        open_ended = self.greatest is None or other.greatest is None
        greatest = None if open_ended else (self.greatest or 0) + (other.greatest or 0)
        return SubmitCount(self.least + other.least, greatest)

    def either(self, other: SubmitCount) -> SubmitCount:
        """The count of one of two alternatives."""
        open_ended = self.greatest is None or other.greatest is None
        greatest = None if open_ended else max(self.greatest or 0, other.greatest or 0)
        return SubmitCount(min(self.least, other.least), greatest)


NOTHING = SubmitCount(0, 0)
ONE = SubmitCount(1, 1)
ANY_NUMBER = SubmitCount(0, None)


def count_submits(body: Statement) -> SubmitCount:
    """The range of the number of tuples that one execution submits, over all output ports. Linear in the code."""
    paths = _paths(body)
    return _either(paths.on, paths.broke, paths.continued, paths.returned) or NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class _Paths:
    """The counts of the paths through a statement by the way they leave it; None where no path leaves so."""

    on: SubmitCount | None = None
    broke: SubmitCount | None = None
    continued: SubmitCount | None = None
    returned: SubmitCount | None = None


def _either(*counts: SubmitCount | None) -> SubmitCount | None:
    found: SubmitCount | None = None
    for count in counts:
        if count is not None:
            found = count if found is None else found.either(count)
    return found


def _after(first: SubmitCount, second: SubmitCount | None) -> SubmitCount | None:
    return None if second is None else first.then(second)


def _paths(statement: Statement) -> _Paths:
    match statement:
        case Submit():
            return _Paths(on=ONE)
        case Block(body=body):
            return _sequence(body)
        case If(then=then, otherwise=otherwise):
            return _join((_paths(then), _paths(otherwise) if otherwise is not None else _Paths(on=NOTHING)))
        case While(body=inner) | For(body=inner):
            return _loop(_paths(inner))
        case Switch():
            return _switch(statement)
        case Break():
            return _Paths(broke=NOTHING)
        case Continue():
            return _Paths(continued=NOTHING)
        case Return():
            return _Paths(returned=NOTHING)
    return _Paths(on=NOTHING)


def _join(alternatives: Iterable[_Paths]) -> _Paths:
    every = tuple(alternatives)
    return _Paths(
        on=_either(*(p.on for p in every)),
        broke=_either(*(p.broke for p in every)),
        continued=_either(*(p.continued for p in every)),
        returned=_either(*(p.returned for p in every)),
    )


def _sequence(body: Sequence[Statement]) -> _Paths:
    before = NOTHING
    left: list[_Paths] = []
    for statement in body:
        paths = _paths(statement)
        left.append(
            _Paths(
                broke=_after(before, paths.broke),
                continued=_after(before, paths.continued),
                returned=_after(before, paths.returned),
            )
        )
        if paths.on is None:
            return _join(left)
        before = before.then(paths.on)
    return _join((*left, _Paths(on=before)))


def _loop(body: _Paths) -> _Paths:
    once = _either(body.on, body.broke, body.continued)
    rounds = NOTHING if once is None or once.greatest == 0 else ANY_NUMBER
    return _Paths(on=rounds, returned=_after(rounds, body.returned))


def _switch(switch: Switch) -> _Paths:
    entries = [_sequence([s for case in switch.cases[i:] for s in case.body]) for i in range(len(switch.cases))]
    if all(case.values for case in switch.cases):
        entries.append(_Paths(on=NOTHING))
    joined = _join(entries)
    return _Paths(on=_either(joined.on, joined.broke), continued=joined.continued, returned=joined.returned)
