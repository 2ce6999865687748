"""The reference of the standard functions, made from their prototypes and docstrings.

`python -m penstock.expr.functions.functions_page > docs/reference/functions.md` writes it; a test keeps the two equal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby

from penstock.expr.functions.registry import FAMILIES, FunctionDefinition, names, overloads

_INTRODUCTION = """\
# Standard functions

Every SPL program and every Python application can call these. A prototype reads as in SPL: `<string T>` stands for any
type of that kind, `mutable` marks an argument that the call changes, and `stateful` a function that has an effect on
the world or may answer differently the next time: an operator that calls one runs on one channel. An argument is
converted to the parameter's type where SPL converts implicitly.

This page is made from the functions themselves by `python -m penstock.expr.functions.functions_page`.
"""


def reference() -> str:
    """The text of the reference, in Markdown.

    Example:
        >>> reference().splitlines()[0]
        '# Standard functions'
    """
    return "\n".join([_INTRODUCTION, *_families()])


def _families() -> Iterator[str]:
    definitions = [d for name in names() for d in overloads(name) if not d.internal]
    for family in FAMILIES:
        yield f"## {family.capitalize()}\n"
        yield f"{_about(family)}\n"
        yield "| prototype | meaning |\n|---|---|"
        yield from _rows([d for d in definitions if d.family == family])
        yield ""


def _about(family: str) -> str:
    module = import_module(f"penstock.expr.functions.{family}")
    return " ".join((module.__doc__ or "").split())


def _rows(definitions: list[FunctionDefinition]) -> Iterator[str]:
    for (_, doc), group in groupby(definitions, key=lambda d: (d.name, d.doc)):
        prototypes = "<br>".join(f"`{d.prototype}`" for d in group)
        yield f"| {prototypes} | {doc} |"


if __name__ == "__main__":
    sys.stdout.write(reference())
