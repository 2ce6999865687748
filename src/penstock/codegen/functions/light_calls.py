"""Functions that take the values they use instead of a row, and give what they change instead of a tuple.

Introduction:
    A function that is not understood is called for every row. The row costs as much as a cheap function does: all its
    values become Python's, it is made, and each attribute is looked up in it. Where the source shows that the function
    only reads attributes of the row, it is compiled once more with these as its parameters.

Formulation:
    Let t be the parameter of the row. If t occurs in no other way than `t.a` or `t[2]`, the function is the same with
    a parameter for each attribute that it reads in the place of t. If besides every `return` of a map is a tuple, a
    list or a dict of all attributes, `t`, or `t._replace(...)`, then those that are an attribute of the row in all of
    them are columns that came, and the function gives a tuple of the others, in the order in which they are evaluated.

Example:
    `def hashed(t): return {"n": t.n, "s": md5(t.s.encode()).hexdigest()}` becomes

        def hashed(t.s): return md5(t.s.encode()).hexdigest()

    with `n` copied. No name that a user can write has a dot in it, so the new ones are never his.

When it does not apply:
    Where t is handed to somebody, iterated or bound anew, where the function looks at its own frame (`locals`,
    `super`), has names that a class mangles, or where there is no source.

Preserves:
    All that the function does, in its order: its globals, its closure, its defaults, the lines of its tracebacks.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from operator import or_
from types import CodeType, FunctionType, MethodType
from typing import Any

from penstock.api.inference.names.syntax_trees import FunctionTree, function_tree
from penstock.api.rows import row_class
from penstock.codegen.functions.light_results import Results, meaning, read_attribute
from penstock.ir.types import Schema

_LOOKS_AT_FRAMES = frozenset({"locals", "vars", "dir", "eval", "exec", "super", "__class__"})
_FRAMES = frozenset({"_getframe", "currentframe", "f_locals", "stack"})


@dataclass(frozen=True, slots=True)
class LightCall:
    """A function of values.

    Attributes:
        call: Takes the values of `reads`, in this order.
        reads: The attributes of the input that it takes.
        copies: The attributes of the output that are some of the input.
        gives: The attributes that it gives: one alone, several as a tuple; None if it gives what the user's gives.
    """

    call: Callable[..., Any]
    reads: tuple[str, ...]
    copies: dict[str, str]
    gives: Schema | None


def lighten(call: Any, role: str, inputs: Schema, outputs: Schema) -> LightCall | None:
    """A function as one of values, or None if it needs its rows.

    Args:
        call: The function, a `partial` of it with parameters by name, or an object with `__call__`.
        role: `map`, `filter` or `flat map`.
        inputs: The schema of its rows.
        outputs: Of the tuples that it gives.
    """
    inner = call.func if isinstance(call, partial) and not call.args else call
    method, self_ = _method(inner)
    if not isinstance(method, FunctionType):
        return None
    own = len(self_)
    light = _lighten(method, method.__code__, own, role, inputs, outputs)
    keywords = call.keywords if isinstance(call, partial) else {}
    if light is None or not light.is_so(method) or not set(keywords) <= set(light.parameters):
        return None
    bound = light.bind(method)
    bound = partial(bound, *self_, **keywords) if own or keywords else bound
    return LightCall(bound, light.reads, light.copies, light.gives)


def lighten_method(method: Any, inputs: Schema) -> LightCall | None:
    """A method of an instance and a row as one of an instance and values, or None if it needs its rows."""
    if not isinstance(method, FunctionType):
        return None
    # What a filter gives is never looked at.
    light = _lighten(method, method.__code__, 1, "filter", inputs, inputs)
    return None if light is None else LightCall(light.bind(method), light.reads, {}, None)


def _method(call: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function that a call ends in, with the instance that it is given first."""
    if isinstance(call, FunctionType | type):
        return call, ()
    return (call.__func__, (call.__self__,)) if isinstance(call, MethodType) else (type(call).__call__, (call,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Light:
    """The code of a function of values.

    Attributes:
        parameters: Those behind the row, which may be bound by name.
        classes: What names of classes have to mean for it.
    """

    code: CodeType
    parameters: tuple[str, ...]
    classes: dict[str, Any]
    reads: tuple[str, ...]
    copies: dict[str, str]
    gives: Schema | None

    def is_so(self, function: FunctionType) -> bool:
        """Whether names still mean what they meant."""
        return all(meaning(function, name) is class_ for name, class_ in self.classes.items())

    def bind(self, function: FunctionType) -> Callable[..., Any]:
        """The code as a function with all that another one has."""
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in self.code.co_freevars)
        made = FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, closure)
        made.__kwdefaults__ = function.__kwdefaults__
        return made


@lru_cache(maxsize=1024)
def _lighten(
    function: FunctionType, code: CodeType, own: int, role: str, inputs: Schema, outputs: Schema
) -> _Light | None:
    tree = function_tree(function)
    is_named = row_class(inputs)._fields == inputs.names
    if tree is None or len(tree.parameters) <= own or not is_named or not _is_plain(tree):
        return None
    row, *others = tree.parameters[own:]
    if len(function.__defaults__ or ()) > len(others):
        return None  # the row is a parameter with a default value
    body = copy.deepcopy(tree.body)
    results = Results(function, row, role, inputs, outputs)
    copies, gives = results.give_rest(body)
    reader = _Reader(row, inputs)
    body = [reader.visit(statement) for statement in body]
    if any(name == row for statement in body for name in _identifiers(statement)):
        return None
    reads = tuple(name for name in inputs.names if name in reader.reads)
    return _Light(
        code=_compiled(tree, code, body, own, [f"{row}.{name}" for name in reads]),
        parameters=(*others, *(a.arg for a in tree.node.args.kwonlyargs)),
        classes=results.classes,
        reads=reads,
        copies=copies,
        gives=gives,
    )


def _is_plain(tree: FunctionTree) -> bool:
    """Whether a function can be compiled anew where it does not stand, and does not notice."""
    node, function = tree.node, tree.function
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return False
    names = set(_identifiers(node))
    attributes = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
    is_mangled = any(name.startswith("__") and not name.endswith("__") for name in names | attributes)
    watchers = {id(vars(builtins)[name]) for name in _LOOKS_AT_FRAMES if name in vars(builtins)}
    is_watcher = any(id(function.__globals__.get(name)) in watchers for name in names)
    return not (is_mangled or is_watcher or names & _LOOKS_AT_FRAMES or (names | attributes) & _FRAMES)


def _identifiers(node: ast.AST) -> Iterator[str]:
    """All names that stand in a tree, except those of attributes and keywords."""
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Attribute | ast.keyword | ast.Constant):
            for _, value in ast.iter_fields(inner):
                yield from (v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str))
    yield from (n.name.split(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias))


class _Reader(ast.NodeTransformer):
    """Puts a parameter in the place of every attribute of the row."""

    def __init__(self, row: str, inputs: Schema) -> None:
        self._row, self._names = row, inputs.names
        self.reads: set[str] = set()

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._read(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        return self._read(node)

    def _read(self, node: ast.expr) -> ast.AST:
        name = read_attribute(node, self._row, self._names)
        if name is None:
            return self.generic_visit(node)
        self.reads.add(name)
        return ast.copy_location(ast.Name(f"{self._row}.{name}", ast.Load()), node)


def _compiled(tree: FunctionTree, code: CodeType, body: list[ast.stmt], own: int, reads: list[str]) -> CodeType:
    """The code of a function with another body, and others in the place of the parameter of the row."""
    arguments = copy.deepcopy(tree.node.args)
    mine = [*arguments.posonlyargs, *arguments.args]
    arguments.posonlyargs, arguments.args = [], [*mine[:own], *map(ast.arg, reads), *mine[own + 1 :]]
    arguments.defaults, arguments.kw_defaults = [], [None] * len(arguments.kwonlyargs)
    for argument in (*mine, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None
    inner = ast.FunctionDef(name="light", args=arguments, body=body, decorator_list=[])
    held = ast.arguments(
        posonlyargs=[], args=[ast.arg(name) for name in code.co_freevars], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    outer = ast.FunctionDef(name="hold", args=held, body=[inner], decorator_list=[])
    module = ast.Module([ast.copy_location(outer, tree.node)], [])
    ast.copy_location(inner, tree.node)
    whole = compile(
        ast.fix_missing_locations(module), code.co_filename, "exec", flags=_futures(code), dont_inherit=True
    )
    made = _inner(_inner(whole, "hold"), "light")
    return made.replace(co_name=code.co_name, co_qualname=code.co_qualname, co_firstlineno=code.co_firstlineno)


def _futures(code: CodeType) -> int:
    """The features of later Pythons that the file of a function has asked for."""
    known = (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
    return code.co_flags & reduce(or_, known, 0) & ~inspect.CO_NESTED


def _inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
