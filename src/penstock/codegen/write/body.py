"""The body of a generated function: its lines, and names for what stands in them."""

from __future__ import annotations

import re
from collections.abc import Hashable

from penstock.codegen.write.layout import laid_out
from penstock.codegen.write.module_imports import SOURCES, WHOLE
from penstock.expr.emit.scope import INDENT, Locals, Module
from penstock.ir.types import Type

Mark = tuple[int, int]


class Body:
    """The lines of a generated function in the making.

    Attributes:
        module: Where definitions go.
        lines: Of the function, indented.
        locals: The names of its variables.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.locals = Locals(taken=("pe", "np", "at", "times", "turn", *SOURCES, *WHOLE))
        self._shared: dict[Hashable, str] = {}

    def add(self, *lines: str) -> None:
        """Append lines."""
        self.lines.extend(text for line in lines for text in laid_out(f"{INDENT}{line}".rstrip()))

    def name(self, wanted: str) -> str:
        """A new variable, near a name of the user's such as `Group0.Trades`."""
        return self.locals.name(re.sub(r"\W+", "_", wanted).strip("_").lower() or "stream")

    def type(self, type_: Type) -> str:
        """The name of a type."""
        return self.module.define("type", f'parse_type("{type_}")')

    def shared(self, key: Hashable, hint: str, text: str) -> str:
        """The variable that holds a value; a line assigns it unless an earlier one has."""
        if key not in self._shared:
            self._shared[key] = self.name(hint)
            self.add(f"{self._shared[key]} = {text}")
        return self._shared[key]

    def mark(self) -> Mark:
        """Where the body stands now."""
        return len(self.lines), len(self._shared)

    def undo(self, mark: Mark) -> None:
        """Forget what has been written since."""
        lines, shared = mark
        del self.lines[lines:]
        for key in list(self._shared)[shared:]:
            del self._shared[key]
