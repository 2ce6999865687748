"""Finds the syntax tree of a live Python function, lambdas included."""

from __future__ import annotations

import ast
import inspect
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

    def lookup(self, name: str) -> Any:
        """The object that a free name means now; `KeyError` if none."""
        found = inspect.getclosurevars(self.function)
        for scope in (found.nonlocals, found.globals, found.builtins):
            if name in scope:
                return scope[name]
        return self.function.__globals__[name]


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
    lines = linecache.getlines(code.co_filename, function.__globals__)
    module = _parse("".join(lines))
    if module is None:
        return None
    matching = [node for node in ast.walk(module) if _is_definition(node, code)]
    if len(matching) > 1:
        matching = [node for node in matching if _same_code(node, code)]
    node = matching[0] if len(matching) == 1 else None
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return None
    return FunctionTree(function=function, node=node, module=module)


@lru_cache(maxsize=64)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text) if text else None
    except SyntaxError:
        return None


def _is_definition(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if isinstance(node, ast.FunctionDef):
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return node.name == code.co_name and first == code.co_firstlineno
    return False


def _same_code(node: ast.AST, code: CodeType) -> bool:
    """Whether a lambda compiles to this code; tells several lambdas on one line apart."""
    if not isinstance(node, ast.Lambda):
        return False
    compiled = compile(ast.Expression(node), "<lambda>", "eval")
    inner = next((c for c in compiled.co_consts if isinstance(c, CodeType)), None)
    if inner is None:
        return False
    # A closure's free variables compile as globals here, so only names and constants are compared.
    names = {*code.co_names, *code.co_freevars}
    return names == set(inner.co_names) and code.co_consts == inner.co_consts and code.co_varnames == inner.co_varnames
