"""The frames of an analysis: the names of one function, or of one comprehension in it, and what they may mean."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FunctionType

from penstock.api.inference.values import NOTHING, Value

Scope = ast.FunctionDef | ast.Lambda | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(slots=True, eq=False)
class Frame:
    """One activation, or all that are alike.

    Attributes:
        function: The live function whose globals and closure the free names belong to.
        names: What each name that is bound here may mean.
        parent: The frame around, for a comprehension or a closure.
        declared: The names that `nonlocal` or `global` declares here.
        is_comprehension: Whether a walrus binds in the frame around.
        returned: What it returns.
        yielded: What it yields, if it is a generator.
    """

    function: FunctionType
    names: dict[str, Value]
    parent: Frame | None = None
    declared: frozenset[str] = frozenset()
    is_comprehension: bool = False
    returned: Value = NOTHING
    yielded: Value = NOTHING
    children: dict[object, Frame] = field(default_factory=dict)

    def owner_of(self, name: str) -> Frame | None:
        """The frame that binds a name, or None for a global or a cell of the function's closure."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame
            frame = frame.parent
        return None

    def mangle(self, name: str) -> str:
        """A name as Python stores it: a private one of a class is preceded by that of the class."""
        around = self.function.__code__.co_qualname.split(".")[-2:-1]
        is_private = name.startswith("__") and not name.endswith("__") and around not in ([], ["<locals>"])
        return f"_{around[0].lstrip('_')}{name}" if is_private and around[0].strip("_") else name

    @property
    def home(self) -> Frame:
        """The frame of the function that a comprehension stands in."""
        return self.parent.home if self.is_comprehension and self.parent is not None else self


def walk_scope(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes that belong to one scope: not those inside nested functions, lambdas and classes.

    Example:
        >>> body = ast.parse("def f():\\n    yield 1\\nx = [lambda: 2]").body
        >>> sorted({type(n).__name__ for n in walk_scope(body)} & {"Yield", "Lambda", "Constant"})
        ['Lambda']
    """
    for node in nodes:
        yield node
        yield from walk_scope(outer_parts(node) if isinstance(node, Scope) else ast.iter_child_nodes(node))


def outer_parts(scope: Scope) -> list[ast.AST]:
    """The parts of a definition that belong to the scope around it: decorators, defaults, annotations and bases."""
    inside = scope.body if isinstance(scope.body, list) else [scope.body]
    parts = [n for n in ast.iter_child_nodes(scope) if n not in inside and not isinstance(n, ast.arguments)]
    if isinstance(scope, ast.ClassDef):
        return parts
    notes = [a.annotation for a in ast.walk(scope.args) if isinstance(a, ast.arg)]
    return [n for n in (*parts, *scope.args.defaults, *scope.args.kw_defaults, *notes) if n is not None]


def bound_names(body: Iterable[ast.AST]) -> Iterator[str]:
    """The names that the statements of a function bind, with repetitions; a comprehension keeps its own."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.Lambda():
                pass
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield from (n.target.id for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case _:
                yield from _named_by(node)
                yield from bound_names(ast.iter_child_nodes(node))


def _named_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ExceptHandler(name=str() as name) | ast.MatchStar(name=str() as name):
            yield name
        case ast.MatchAs(name=str() as name) | ast.MatchMapping(rest=str() as name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]


def is_generator(body: Iterable[ast.AST]) -> bool:
    """Whether a function with this body is a generator."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in walk_scope(body))


def arguments_of(arguments: ast.arguments) -> list[str]:
    """The names of all parameters."""
    stars = [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars)]
