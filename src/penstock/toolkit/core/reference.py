"""Writes the reference of the standard operators from their definitions: `python -m penstock.toolkit.core.reference`.

A test compares the output with `docs/reference/operators.md`, so the page never tells anything else than the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, ParamKind, ParamSpec, WindowUse
from penstock.toolkit.core.operator_registry import standard

_CLAUSES = {
    OutputClause.ASSIGN: "attributes not assigned are copied from the input attribute of the same name and type",
    OutputClause.AGGREGATE: "output functions over the window; attributes not assigned are the `Last` of their name",
    OutputClause.GENERATE: "attributes not assigned have their type's default value",
    OutputClause.READ: "attributes not assigned are read",
    OutputClause.FORWARD: "none; tuples leave as they come, so the schemas are equal",
    OutputClause.FREE: "none",
}

_HEAD = """\
# The standard operators

<!-- Written by `python -m penstock.toolkit.core.reference`; do not edit. -->

A parameter's kind tells how its values are written: an *expression* over the attributes of the input tuples is
evaluated for each tuple; a *constant* has no attributes in it and is evaluated once; *attributes* are names of input
attributes; *symbols* are words that belong to the operator; *text* is a predicate over names that other applications
define. A logic clause may stand on every operator: `onTuple` runs before the operator takes the tuple, and state
variables can be used in parameters and output clauses. `@catch` on an operator sets tuples aside on which it fails.
"""


def reference(definitions: Iterable[OperatorDefinition]) -> str:
    """The page, in Markdown.

    Example:
        >>> print(reference([standard().get("Throttle")]).partition("## ")[2].partition("| name")[0])
        Throttle
        <BLANKLINE>
        Lets tuples pass no faster than at a rate; what comes too early waits.
        ...
    """
    return "\n".join((_HEAD, *(line for d in definitions for line in _section(d))))


def _section(definition: OperatorDefinition) -> Iterator[str]:
    yield f"## {definition.name}\n\n{definition.doc}\n"
    yield f"- input ports: {_range(definition.inputs)}; output ports: {_range(definition.outputs)}"
    if definition.windows is not WindowUse.NONE:
        yield f"- windows: {definition.windows.value}"
    if definition.outputs != (0, 0):
        yield f"- output clause: {_CLAUSES[definition.output]}"
    yield ""
    if definition.params:
        yield "| parameter | kind | type or words | | |\n|---|---|---|---|---|"
        yield from map(_param, definition.params)
        yield ""
    if definition.output_functions:
        yield "| output function | |\n|---|---|"
        yield from (f"| `{f.prototype}` | {_cell(f.doc)} |" for f in definition.output_functions)
        yield ""
    yield from _semantics(definition)


def _range(allowed: tuple[int, int | None]) -> str:
    least, greatest = allowed
    if greatest is None:
        return f"{least} or more"
    return str(least) if least == greatest else f"{least} to {greatest}"


def _param(param: ParamSpec) -> str:
    words = param.symbols if param.kind is ParamKind.SYMBOLS else tuple(map(str, param.types))
    notes = [note for note, given in (("required", param.required), ("several", param.many)) if given]
    cells = (f"`{param.name}`", param.kind.value, ", ".join(words) or "any", ", ".join(notes), param.doc)
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _semantics(definition: OperatorDefinition) -> Iterator[str]:
    """The module docstring of an operator, without its first line, which the definition repeats."""
    text = sys.modules[definition.runtime.__module__].__doc__ or ""
    rest = text.partition("\n\n")[2].strip()
    if rest:
        yield rest
        yield ""


if __name__ == "__main__":
    sys.stdout.write(reference(standard().definitions()))
