"""The operators that the Python files of a toolkit folder define, found by reading the files, not by running them.

A script, a test or an unfinished file in the folder therefore does nothing. What a file defines is an upper bound: a
function with a decorator, a function that is handed to one, or a class with a base, as long as neither is known to come
from Python itself. Only importing the file tells for certain, and that is done for the operators that a program uses.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A function or class that may be an operator.

    Attributes:
        name: Of the function or class.
        namespace: Of the operator; None where it is known only by running the file.
    """

    name: str
    namespace: str | None


class ToolkitFile:
    """A Python file of a toolkit folder.

    Attributes:
        path: Where it lies.
        package: The package that it lies in, which is the namespace of operators that declare none.
    """

    def __init__(self, folder: Path, path: Path) -> None:
        self.path = path
        self.package = ".".join(path.parent.relative_to(folder).parts)

    @cached_property
    def text(self) -> bytes:
        """Its content; nothing if it cannot be read."""
        try:
            return self.path.read_bytes()
        except OSError:
            return b""

    @cached_property
    def _body(self) -> list[ast.stmt] | None:
        """Its statements; None if it is not Python."""
        try:
            return ast.parse(self.text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """The functions and classes of the file that may be operators."""
        return tuple(_Reading(self._body or [], self.package).candidates())

    def mentions(self, word: str) -> bool:
        """Whether a word stands anywhere in it."""
        return word.encode() in self.text

    def may_define(self, name: str, namespace: str) -> bool:
        """Whether importing it may bring an operator."""
        if not self.mentions(name):
            return False
        if self._body is None:
            return self.package == namespace and self._seems_to_define(name)
        return any(c.name == name and c.namespace in (None, namespace) for c in self.candidates)

    def _seems_to_define(self, name: str) -> bool:
        return re.search(rf"^\s*(?:def|class)\s+{re.escape(name)}\b".encode(), self.text, re.MULTILINE) is not None


def python_files(folder: Path) -> tuple[ToolkitFile, ...]:
    """The Python files below a folder, hidden folders left out."""
    paths = sorted(path for path in folder.rglob("*.py") if path.is_file())
    return tuple(ToolkitFile(folder, path) for path in paths if not _is_hidden(path.relative_to(folder)))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__pycache__" for part in path.parts)


class _Reading:
    """One file while its definitions are looked for."""

    def __init__(self, body: Sequence[ast.stmt], package: str) -> None:
        self._package = package
        self._statements = list(_top_level(body))
        self._origin = dict(_imports(self._statements))
        self._classes = {s.name: s for s in self._statements if isinstance(s, ast.ClassDef)}

    def candidates(self) -> Iterator[Candidate]:
        """The functions and classes that may be operators."""
        handed_over = {name for s in self._statements for name in self._names_handed_over(s)}
        for statement in self._statements:
            if isinstance(statement, ast.ClassDef):
                if self._may_be_operator(statement, ()):
                    yield Candidate(name=statement.name, namespace=self._namespace_of_class(statement))
            elif isinstance(statement, ast.FunctionDef):
                if statement.name in handed_over:
                    yield Candidate(name=statement.name, namespace=None)
                elif any(self._is_foreign(d) for d in statement.decorator_list):
                    yield Candidate(name=statement.name, namespace=self._namespace_of_function(statement))

    def _names_handed_over(self, statement: ast.stmt) -> Iterator[str]:
        """The names in calls of what may be a decorator: `Numbers = source(numbers)`."""
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) and statement.value is not None:
            for call in (n for n in ast.walk(statement.value) if isinstance(n, ast.Call)):
                if self._is_foreign(call.func):
                    yield from (a.id for a in call.args if isinstance(a, ast.Name))

    def _is_foreign(self, expression: ast.expr) -> bool:
        """Whether something is neither built in nor of the standard library."""
        root = _root(expression)
        module = self._origin.get(root, "").partition(".")[0]
        return module not in sys.stdlib_module_names and not (root not in self._origin and hasattr(builtins, root))

    def _may_be_operator(self, class_: ast.ClassDef, seen: tuple[str, ...]) -> bool:
        """Whether a base, or a base of one in this file, comes from elsewhere."""
        for base in class_.bases:
            own = self._classes.get(base.id) if isinstance(base, ast.Name) else None
            if own is not None and own.name not in seen:
                if self._may_be_operator(own, (*seen, class_.name)):
                    return True
            elif own is None and self._is_foreign(base):
                return True
        return False

    def _namespace_of_class(self, class_: ast.ClassDef) -> str | None:
        for statement in class_.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            if any(isinstance(t, ast.Name) and t.id == "namespace" for t in targets):
                return _text(getattr(statement, "value", None), self._package)
        return self._package if all(map(self._is_ours, class_.bases)) else None

    def _namespace_of_function(self, function: ast.FunctionDef) -> str | None:
        foreign = [d for d in function.decorator_list if self._is_foreign(d)]
        if not all(map(self._is_ours, foreign)):
            return None
        given = [k for d in foreign if isinstance(d, ast.Call) for k in d.keywords if k.arg in (None, "namespace")]
        return _text(given[0].value if given[0].arg else None, self._package) if given else self._package

    def _is_ours(self, expression: ast.expr) -> bool:
        """Whether something is imported from penstock."""
        return self._origin.get(_root(expression), "").partition(".")[0] == "penstock"


def _text(value: ast.expr | None, package: str) -> str | None:
    """The namespace that a constant gives; None for anything else."""
    if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return None
    return value.value or package


def _root(expression: ast.expr) -> str:
    """The name that `a.b(c)[d]` begins with; nothing if it begins with none."""
    while isinstance(expression, ast.Attribute | ast.Call | ast.Subscript):
        expression = expression.func if isinstance(expression, ast.Call) else expression.value
    return expression.id if isinstance(expression, ast.Name) else ""


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a file is imported, those inside of `if` and `try` included."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for name in ("body", "orelse", "finalbody"):
                yield from _top_level(getattr(statement, name, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _top_level(handler.body)


def _imports(statements: Sequence[ast.stmt]) -> Mapping[str, str]:
    """From each name that is imported to the module that it comes from."""
    found = {}
    for statement in statements:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                found[alias.asname or alias.name.partition(".")[0]] = alias.name
        elif isinstance(statement, ast.ImportFrom):
            module = "." * statement.level + (statement.module or "")
            found |= {alias.asname or alias.name: module for alias in statement.names}
    return found
