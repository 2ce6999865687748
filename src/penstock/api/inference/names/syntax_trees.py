"""Finds the syntax tree of a live Python function, lambdas included."""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionTree:
    """A function and its source.

    Attributes:
        function: The live object, for its globals and closure.
        node: Its definition.
        module: The whole file's tree, to see who else writes a global.
    """

    function: FunctionType
    node: FunctionNode
    module: ast.Module

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the positional parameters."""
        arguments = self.node.args
        return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))

    @property
    def body(self) -> list[ast.stmt]:
        """The statements; a lambda is one `return`."""
        if isinstance(self.node, ast.Lambda):
            return [ast.Return(value=self.node.body)]
        return self.node.body


@lru_cache(maxsize=1024)
def function_tree(function: Any) -> FunctionTree | None:
    """The tree of a Python function, or None where there is no source or it cannot be told apart.

    Example:
        >>> import textwrap
        >>> function_tree(textwrap.dedent).parameters
        ('text',)
        >>> function_tree(len) is None
        True
    """
    if not isinstance(function, FunctionType):
        return None
    code = function.__code__
    # A file that was changed and imported anew would otherwise be read as it was.
    linecache.checkcache(code.co_filename)
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    module = parse_module(text)
    if module is None or code not in _codes(text, code.co_filename):
        return None
    matching = [node for node in nodes_of(module) if _is_definition(node, code)]
    if len(matching) > 1:
        matching = [node for node in matching if _holds(node, code)]
    node = matching[0] if len(matching) == 1 else None
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return None
    return FunctionTree(function=function, node=node, module=module)


@lru_cache(maxsize=256)
def parse_module(text: str) -> ast.Module | None:
    """The tree of a file, or None where there is none."""
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


@lru_cache(maxsize=256)
def nodes_of(module: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a file's tree, as `ast.walk` gives them."""
    return tuple(ast.walk(module))


def _is_definition(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    return False


@lru_cache(maxsize=64)
def _codes(text: str, path: str) -> frozenset[CodeType]:
    """The code of every function of a file: a function whose code is not among them was not made from this text."""
    ready = [compile(text, path, "exec", dont_inherit=True)]
    found: set[CodeType] = set()
    while ready:
        inner = [c for c in ready.pop().co_consts if isinstance(c, CodeType)]
        found.update(inner)
        ready.extend(inner)
    return frozenset(found)


def _holds(node: ast.AST, code: CodeType) -> bool:
    """Whether all instructions of a code come from the body of a definition; tells lambdas on one line apart."""
    body = node.body if isinstance(node, ast.Lambda) else None
    if body is None:
        return False
    first, last = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    places = [p for p in code.co_positions() if None not in p and (p[0], p[2]) != (code.co_firstlineno, 0)]
    return bool(places) and all((p[0], p[2]) >= first and (p[1], p[3]) <= last for p in places)
