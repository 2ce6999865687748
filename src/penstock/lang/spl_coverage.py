"""Writes how much of SPL's standard library there is: `python -m penstock.lang.spl_coverage <library>`.

The library is a JSON file: the operators with their parameters and output functions, the functions, types, annotations
and settings of SPL, and notes on what is not there or differs. Whether something is there is asked of the code: the
definitions of the operators, and the typing of a call with arguments of every kind that its prototype allows. A test
compares the page with `docs/reference/spl-coverage.md`, and asks for a note wherever the answer is not a plain yes.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.expr.functions.overloads import without_bounds
from penstock.expr.functions.prototypes import split_parts
from penstock.expr.functions.registry import resolve
from penstock.expr.functions.symbols import SYSTEM_TYPES
from penstock.expr.typing import try_convert
from penstock.ir.expressions import Expression, Variable
from penstock.ir.types import VOID, Type, parse_type
from penstock.lang.check.annotations import SETTINGS
from penstock.lang.check.intrinsics import INTRINSICS
from penstock.lang.compile import compile_text
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.output_calls import output_call

_SAMPLES = {
    "any": "int32 rstring list<int32> tuple<int32_a>",
    "numeric": "int8 uint64 float32 float64 decimal64",
    "integral": "int8 uint16 int32 uint64",
    "float": "float32 float64",
    "decimal": "decimal32 decimal128",
    "floatingpoint": "float64 decimal64",
    "complex": "complex32 complex64",
    "string": "rstring ustring",
    "ordered": "int32 float64 rstring timestamp",
    "enum": "enum{a,b}",
    "collection": "list<int32> set<rstring> map<int32,rstring>",
    "list": "list<int32> list<rstring>",
    "set": "set<int32>",
    "map": "map<rstring,int32>",
    "tuple": "tuple<int32_a>",
    "xml": "xml",
}
"""The types that a call is tried with, for each constraint of a type variable."""


class Answer(Enum):
    """Whether something of the library is there."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One thing of the library.

    Attributes:
        name: What notes call it.
        whole: What it is a part of: an operator, the function that it is an overload of.
        text: As the page shows it.
        answer: What the code says, with the note taken into account.
        note: How it differs, or what to use instead.
    """

    name: str
    whole: str
    text: str
    answer: Answer
    note: str


class Coverage:
    """The coverage of a library: which of its parts the code has."""

    def __init__(self, library: Mapping[str, Any]) -> None:
        self._library = library
        self._notes = {name: note for note, names in library["notes"].items() for name in names}

    def sections(self) -> Iterator[tuple[str, list[Row]]]:
        """The headings of the page, each with its rows."""
        for name, operator in self._library["operators"].items():
            yield f"Operator `{name}`", list(self._operator(name.rpartition("::")[2], operator))
        for namespace, prototypes in self._library["functions"].items():
            yield f"Functions of `{namespace}`", [self._function(p) for p in prototypes]
        yield "Types", [self._row(t, f"`{t}`", _parses(t)) for t in self._library["types"]]
        yield "Annotations", [self._row(a, f"`{a}`", _compiles(a)) for a in self._library["annotations"]]
        yield (
            "Settings of a config clause",
            [self._row(s, f"`{s}`", _is_there(s in SETTINGS)) for s in self._library["settings"]],
        )

    def unused_notes(self) -> set[str]:
        """The notes that speak of nothing."""
        rows = [row for _, section in self.sections() for row in section]
        return set(self._notes) - {row.name for row in rows} - {row.whole for row in rows if row.note}

    def _operator(self, name: str, operator: Mapping[str, Any]) -> Iterator[Row]:
        definition = standard().find(name)
        yield self._row(name, f"`{name}`", _is_there(definition is not None))
        for param, allowed in operator["params"].items():
            answer = _has_param(definition, param, allowed)
            yield self._row(f"{name}.{param}", f"parameter `{param}`", answer, name)
        for prototype in operator["output"]:
            answer = _has_output_function(definition, prototype)
            yield self._row(f"{name}.{prototype}", f"output function `{prototype}`", answer, name)

    def _function(self, prototype: str) -> Row:
        return self._row(prototype, f"`{prototype}`", _calls(prototype), _name(prototype))

    def _row(self, name: str, text: str, answer: Answer, whole: str = "") -> Row:
        """A row with its note, or, where something is missing, with that on the whole that it is a part of."""
        note = self._notes.get(name, "")
        if answer is Answer.YES and note:
            answer = Answer.PARTLY
        elif answer is not Answer.YES:
            note = note or self._notes.get(whole, "")
        return Row(name=name, whole=whole, text=text, answer=answer, note=note)


def _is_there(there: bool) -> Answer:
    return Answer.YES if there else Answer.NO


def _has_param(definition: OperatorDefinition | None, name: str, allowed: str | list[str]) -> Answer:
    """Whether an operator has a parameter; partly if it lacks words or takes other types."""
    param = definition.param(name) if definition is not None else None
    if param is None:
        return Answer.NO
    if isinstance(allowed, list):
        fits = param.kind is ParamKind.SYMBOLS and set(allowed) <= set(param.symbols)
    else:
        fits = allowed == "any" or not param.types or parse_type(allowed) in param.types
    return Answer.YES if fits else Answer.PARTLY


def _has_output_function(definition: OperatorDefinition | None, prototype: str) -> Answer:
    if definition is None:
        return Answer.NO
    find = partial(_output_type, definition)
    return _sum_up(_fits(find, _name(prototype), types, returns) for types, returns in _instances(prototype))


def _calls(prototype: str) -> Answer:
    """Whether a function can be called with arguments of every kind that a prototype allows."""
    if _name(prototype) in INTRINSICS:
        return Answer.YES
    return _sum_up(_fits(_call_type, _name(prototype), types, returns) for types, returns in _instances(prototype))


def _sum_up(tried: Iterator[bool]) -> Answer:
    found = set(tried)
    return Answer.PARTLY if len(found) == 2 else _is_there(found == {True})


def _output_type(definition: OperatorDefinition, name: str, arguments: Sequence[Expression]) -> Type:
    return output_call(definition, name, arguments).type


def _call_type(name: str, arguments: Sequence[Expression]) -> Type:
    def converts(position: int, type_: Type) -> bool:
        return try_convert(arguments[position], type_) is not None

    return resolve(name, [a.type for a in arguments], converts).return_type


def _fits(find: Callable[..., Type], name: str, types: Sequence[Type] | None, returns: Type) -> bool:
    """Whether a call with arguments of these types gives what it should."""
    if types is None:
        return False
    try:
        found = find(name, [Variable(type=t, name=f"v{i}") for i, t in enumerate(types)])
    except UserError:
        return False
    return without_bounds(found) == without_bounds(returns)


def _compiles(annotation: str) -> Answer:
    """Whether a program with the annotation compiles."""
    try:
        compile_text(f"composite Main {{ graph {annotation} stream<int64 x> S = Beacon() {{}} }}")
    except UserError:
        return Answer.NO
    return Answer.YES


def _parses(type_: str) -> Answer:
    if type_ in SYSTEM_TYPES:
        return Answer.YES
    try:
        parse_type(type_)
    except (ValueError, UserError):
        return Answer.NO
    return Answer.YES


_PROTOTYPE = re.compile(
    r"(?:<(?P<variables>[^>]*)>)?(?:\[N(?:, M)?\])?\s*(?P<returns>.+?)\s*\b(?P<name>\w+)\((?P<rest>.*)\)"
)


def _name(prototype: str) -> str:
    found = _PROTOTYPE.fullmatch(prototype)
    assert found is not None, prototype
    return found["name"]


def _instances(prototype: str) -> Iterator[tuple[list[Type] | None, Type]]:
    """The types of the arguments, none if a type is not there, and of the result, for each choice of variables."""
    found = _PROTOTYPE.fullmatch(prototype)
    assert found is not None, prototype
    variables = [v.split() for v in (found["variables"] or "").split(",") if v.strip()]
    texts = [found["returns"], *(p.replace("mutable ", "").strip() for p in split_parts(found["rest"]))]
    for chosen in product(*(_SAMPLES[constraint].split() for constraint, _ in variables)):
        meaning = {name: sample.replace("_", " ") for (_, name), sample in zip(variables, chosen, strict=True)}
        try:
            returns, *types = [_instance(text, meaning) for text in texts]
        except (ValueError, UserError):
            yield None, VOID
        else:
            yield types, returns


def _instance(text: str, meaning: Mapping[str, str]) -> Type:
    if text in SYSTEM_TYPES:
        return SYSTEM_TYPES[text]
    named = re.sub(r"\b\w+\b", lambda word: meaning.get(word[0], word[0]), text)
    return parse_type(re.sub(r"\[[NM]\]", "[4]", named))


_HEAD = """\
# SPL's standard library

<!-- Written by `python -m penstock.lang.spl_coverage docs/reference/spl-library.json`; do not edit. -->

What there is of SPL's standard library: its operators with every parameter and output function, its functions, types,
annotations and settings. *yes*: as in SPL. *partly*: with the difference that the note names. *no*: the note says what
to use instead. The answers come from the definitions themselves: a parameter is looked up, a function is called with
arguments of every kind that its prototype allows.
"""


def write_page(library: Mapping[str, Any]) -> str:
    """The page, in Markdown."""
    lines = [_HEAD, *_summary(library), ""]
    for heading, rows in Coverage(library).sections():
        lines += [f"## {heading}", "", "| | | |", "|---|---|---|", *map(_line, rows), ""]
    return "\n".join(lines)


def _summary(library: Mapping[str, Any]) -> Iterator[str]:
    """How many of each kind there are, by answer."""
    yield "| | yes | partly | no |\n|---|---|---|---|"
    counts: dict[str, Counter[Answer]] = {}
    for heading, rows in Coverage(library).sections():
        for row in rows:
            kind = row.text.partition(" `")[0] if heading.startswith("Operator") else heading.partition(" of ")[0]
            counts.setdefault("Operators" if kind.startswith("`") else kind.capitalize(), Counter())[row.answer] += 1
    yield from (f"| {kind} | {' | '.join(str(count[a]) for a in Answer)} |" for kind, count in counts.items())


def _line(row: Row) -> str:
    return f"| {row.text} | {row.answer.value} | {row.note} |".replace("  |", " |")


if __name__ == "__main__":
    sys.stdout.write(write_page(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
