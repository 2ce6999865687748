"""The statements of a function, followed path by path.

Every `if` makes two paths; where they meet again, a variable that differs is a choice between its two values. An
expression is evaluated for the rows of the path on which it stands, so an error on a side that is not taken cannot
happen. What is evaluated at all is kept in order (`Flow.forced`), used or not: it may raise.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, NamedTuple

from penstock.api.inference.frames import is_generator
from penstock.api.inference.names.syntax_trees import FunctionTree, function_tree
from penstock.codegen.functions.nodes import Known, Node, NotUnderstood, Path, Record, Value, Where, constant, unify

MOST_CALLS = 8
MOST_NODES = 2000
OWN = "self."
"""How the names of attributes of the instance begin."""
_MISSING = object()


class _Nowhere:
    """The path of no rows."""


NOWHERE = _Nowhere()
Env = dict[str, Value]


@dataclass(slots=True)
class Flow:
    """The state of the analysis of a function, statement by statement.

    Attributes:
        path: The rows that are still under way.
        names: The values of its local variables there.
        returns: The values that are returned, each with the path of its rows.
        ends: The variables where it returns, each with that path.
        yields: Likewise the values that are yielded.
        forced: The nodes that are evaluated, in order; a path marks rows that leave.
        depth: The depth of the call.
        asks: Whether only the truth of the returned value matters.
    """

    path: Where | _Nowhere
    names: Env
    function: FunctionType
    returns: list[tuple[Where, Value]] = field(default_factory=list)
    ends: list[tuple[Where, Env]] = field(default_factory=list)
    yields: list[tuple[Where, Value]] = field(default_factory=list)
    forced: list[Node | Path | None] = field(default_factory=list)
    depth: int = 0
    asks: bool = False

    @property
    def here(self) -> Where:
        """The rows that evaluate an expression that stands here."""
        assert not isinstance(self.path, _Nowhere)
        return self.path

    def end(self, value: Value) -> None:
        """Return a value for the rows that are under way."""
        self.returns.append((self.here, value))
        self.ends.append((self.here, self.names))
        self.path = NOWHERE

    def force(self, value: Value) -> None:
        """Note that a value is evaluated."""
        if isinstance(value, Node):
            self.forced.append(value)
        elif isinstance(value, Record):
            for part in value.parts:
                self.force(part)


class Rules(NamedTuple):
    """How expressions are evaluated: what they are, and whether they count as true."""

    value: Callable[[ast.expr, Flow], Value]
    test: Callable[[ast.expr, Flow], Node]


def follow(
    function: FunctionType,
    arguments: Sequence[Value],
    keywords: Env,
    outer: Flow | None,
    rules: Rules,
    *,
    asks: bool = False,
    own: Env | None = None,
) -> Flow:
    """Follow a function from its first statement to all its ends; `own` are the attributes of its instance."""
    tree = function_tree(function)
    if tree is None:
        raise NotUnderstood(f"the source of `{function.__name__}` cannot be read")
    depth = 0 if outer is None else outer.depth + 1
    if depth > MOST_CALLS:
        raise NotUnderstood(f"`{function.__name__}` calls too deeply")
    names = _bound(tree, arguments, keywords) | (own or {})
    flow = Flow(None if outer is None else outer.path, names, function, depth=depth, asks=asks)
    if outer is not None:
        flow.forced = outer.forced
        flow.yields = outer.yields  # what a method submits
        names |= {name: value for name, value in outer.names.items() if name.startswith(OWN)}
        if is_generator(tree.body):
            raise NotUnderstood(f"`{function.__name__}` is a generator")
    _block(tree.body, flow, rules)
    if not isinstance(flow.path, _Nowhere):
        flow.end(constant(None))
    return flow


def _bound(tree: FunctionTree, arguments: Sequence[Value], keywords: Env) -> Env:
    """The parameters of a function, bound to the arguments of a call."""
    node, function = tree.node.args, tree.function
    if node.vararg or node.kwarg:
        raise NotUnderstood(f"`{function.__name__}` takes any number of arguments")
    positional = [a.arg for a in (*node.posonlyargs, *node.args)]
    if len(arguments) > len(positional):
        raise NotUnderstood(f"`{function.__name__}` is called with too many arguments")
    names: Env = dict(zip(positional, arguments, strict=False))
    allowed = {*positional, *(a.arg for a in node.kwonlyargs)} - {a.arg for a in node.posonlyargs}
    for name, value in keywords.items():
        if name in names or name not in allowed:
            raise NotUnderstood(f"`{function.__name__}` is called with `{name}`, which does not fit")
        names[name] = value
    defaults = dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False))
    defaults |= function.__kwdefaults__ or {}
    for name in (*positional, *(a.arg for a in node.kwonlyargs)):
        if name not in names:
            if name not in defaults:
                raise NotUnderstood(f"`{function.__name__}` is called without `{name}`")
            names[name] = as_value(defaults[name])
    return names


def as_value(value: Any) -> Value:
    """An object of the program as a value."""
    return constant(value) if type(value) in (bool, int, float, str, type(None)) else Known(value)


def free_name(name: str, function: FunctionType) -> Value:
    """The value of a name that is not a local variable; the inference has shown that it does not change."""
    code = function.__code__
    if name in code.co_varnames or name in code.co_cellvars:
        raise NotUnderstood(f"`{name}` may be read before it is assigned")
    if name in code.co_freevars:
        found = (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
    else:
        builtin = getattr(function, "__builtins__")  # noqa: B009 # typeshed does not know it
        found = function.__globals__.get(name, builtin.get(name, _MISSING))
    if found is _MISSING:
        raise NotUnderstood(f"`{name}` is not defined")
    return as_value(found)


def _block(body: Sequence[ast.stmt], flow: Flow, rules: Rules) -> None:
    for statement in body:
        if isinstance(flow.path, _Nowhere):
            return
        if len(flow.forced) > MOST_NODES:
            raise NotUnderstood("it is too long")
        try:
            _statement(statement, flow, rules)
        except NotUnderstood as error:
            raise _located(error, statement) from None


def _located(error: NotUnderstood, node: ast.stmt) -> NotUnderstood:
    text = str(error)
    return (
        error
        if text.startswith("line ") or not hasattr(node, "lineno")
        else NotUnderstood(f"line {node.lineno}: {text}")
    )


def _statement(statement: ast.stmt, flow: Flow, rules: Rules) -> None:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            pass
        case ast.Expr(value=ast.Yield(value=value)):
            flow.yields.append((flow.here, _evaluated(value, flow, rules)))
        case ast.Expr(value=value):
            _evaluated(value, flow, rules)
        case ast.Return(value=ast.expr() as value) if flow.asks:
            asked = rules.test(value, flow)
            flow.force(asked)
            flow.end(asked)
        case ast.Return(value=value):
            flow.end(_evaluated(value, flow, rules))
        case ast.Assign(targets=targets, value=value):
            found = _evaluated(value, flow, rules)
            for target in targets:
                assign(target, found, flow)
        case ast.AnnAssign(target=ast.Name() | ast.Attribute() as target, value=ast.expr() as value):
            assign(target, _evaluated(value, flow, rules), flow)
        case ast.AugAssign(target=ast.Name() | ast.Attribute() as target, op=op, value=value):
            read = copy(target)
            read.ctx = ast.Load()
            whole = ast.copy_location(ast.BinOp(left=read, op=op, right=value), statement)
            assign(target, _evaluated(whole, flow, rules), flow)
        case ast.If(test=test, body=body, orelse=orelse):
            _if(test, body, orelse, flow, rules)
        case ast.Assert(test=test):
            _if(test, [], [ast.copy_location(ast.Raise(), statement)], flow, rules)
        case ast.Raise():
            flow.forced.append(flow.here)
            flow.path = NOWHERE
        case _:
            raise NotUnderstood(f"a `{type(statement).__name__}` statement")


def _evaluated(node: ast.expr | None, flow: Flow, rules: Rules) -> Value:
    value = constant(None) if node is None else rules.value(node, flow)
    flow.force(value)
    return value


def assign(target: ast.expr, value: Value, flow: Flow) -> None:
    """Let a variable, or several, mean something."""
    match target:
        case ast.Name(id=name):
            if name in flow.function.__code__.co_cellvars:
                raise NotUnderstood(f"a function inside reads `{name}`")
            flow.names[name] = value
            if isinstance(value, Node):
                value.hints.append(name)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            if not isinstance(value, Record) or value.form == "dict" or len(value.parts) != len(parts):
                raise NotUnderstood("it takes something apart that is no tuple of as many parts")
            for part, inner in zip(parts, value.parts, strict=True):
                assign(part, inner, flow)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if isinstance(flow.names.get(name), Instance):
            _assign_own(flow.names[name], attribute, value, flow)  # type: ignore[arg-type] # it is an instance
        case _:
            raise NotUnderstood("it assigns to something else than a local variable")


def _assign_own(instance: Instance, name: str, value: Value, flow: Flow) -> None:
    """Let an attribute of the instance mean something."""
    if name.startswith("__"):
        raise NotUnderstood(f"it sets `{name}`, which Python calls by another name")
    if name not in instance.order:
        if flow.path is not None:
            raise NotUnderstood(f"it sets `self.{name}` for the first time in one of several cases")
        instance.order.append(name)
    flow.names[f"{OWN}{name}"] = value
    if isinstance(value, Node):
        value.hints.append(name)


def _if(test: ast.expr, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], flow: Flow, rules: Rules) -> None:
    asked = rules.test(test, flow)
    if asked.is_constant:
        _block(body if asked.value else orelse, flow, rules)
        return
    flow.force(asked)
    before, names = flow.here, flow.names
    ends: list[tuple[Where | _Nowhere, Env]] = []
    sides = (Path(before, asked, True), Path(before, asked, False))
    for side, block in zip(sides, (body, orelse), strict=True):
        flow.path, flow.names = side, dict(names)
        _block(block, flow, rules)
        ends.append((flow.path, flow.names))
    _join(flow, before, sides, ends)


def truth_of(value: Value) -> bool:
    """Whether something that is no node counts as true; a tuple does if it has parts."""
    if isinstance(value, Record) and value.form != "object":
        return bool(value.parts)
    raise NotUnderstood("it asks whether an object is true")


def _join(flow: Flow, before: Where, sides: tuple[Path, Path], ends: list[tuple[Any, Env]]) -> None:
    """Go on behind an `if` with the rows of the sides that come to its end."""
    open_ends = [(path, names) for path, names in ends if not isinstance(path, _Nowhere)]
    if len(open_ends) < 2:
        flow.path, flow.names = open_ends[0] if open_ends else (NOWHERE, {})
        return
    (first, a), (second, b) = open_ends
    is_whole = first is sides[0] and second is sides[1]
    flow.path = before if is_whole else Path(either=(first, second))
    flow.names = {name: choose([(first, a[name]), (second, b[name])], flow.here) for name in a.keys() & b.keys()}
    # A name that only one side binds may be unbound later; `free_name` refuses to read it.


def choose(ends: Sequence[tuple[Where, Value]], path: Where) -> Value:
    """The value that depends on the path taken.

    Raises:
        NotUnderstood: The values are not of one kind.
    """
    values = [value for _, value in ends]
    if all(v is values[0] for v in values):
        return values[0]
    if all(isinstance(v, Record) for v in values):
        return _choose_records(ends, path)
    if all(isinstance(v, Known) and v.object is values[0].object for v in values):  # type: ignore[union-attr]
        return values[0]
    nodes = [v for v in values if isinstance(v, Node)]
    if len(nodes) != len(values):
        return Unclear()
    try:
        kind = unify([n.kind for n in nodes])
    except NotUnderstood as error:
        return Unclear(str(error))
    return Node(kind, "", tuple(nodes), "choose", path, tuple(where for where, _ in ends))


def _choose_records(ends: Sequence[tuple[Where, Value]], path: Where) -> Value:
    records = [(where, v) for where, v in ends if isinstance(v, Record)]
    first = records[0][1]
    shapes = {(r.form, r.names, len(r.parts)) for _, r in records}
    if len(shapes) != 1:
        return Unclear("a value has other parts by branch")
    parts = [choose([(where, r.parts[i]) for where, r in records], path) for i in range(len(first.parts))]
    return Record(tuple(parts), first.names, first.form)


def take_ends(inner: Flow, flow: Flow) -> None:
    """Go on behind a call with the attributes of the instance as it has left them."""
    own = [name for name in inner.ends[0][1] if name.startswith(OWN)]
    for name in own:
        if not all(name in names for _, names in inner.ends):
            raise NotUnderstood(f"it sets `{name}` for the first time in one of several cases")
        flow.names[name] = choose([(where, names[name]) for where, names in inner.ends], flow.here)


@dataclass(frozen=True, slots=True)
class Instance(Known):
    """The instance whose method is followed; its attributes are variables of the flow, under `self.`.

    Attributes:
        owner: Its class.
        order: The attributes that it is given, in the order of the first time.
    """

    object: Any = "the instance"
    owner: type = type
    order: list[str] = field(default_factory=list)

    def read(self, name: str, flow: Flow) -> Value:
        """The value of an attribute, which may be the same for the whole class."""
        if f"{OWN}{name}" in flow.names:
            return flow.names[f"{OWN}{name}"]
        found = inspect.getattr_static(self.owner, name, _MISSING)
        if found is _MISSING or name in self.order or type(found) not in (bool, int, float, str, tuple, dict):
            raise NotUnderstood(f"it reads `self.{name}`, which has no value that is known")
        return as_value(found)


@dataclass(frozen=True, slots=True)
class Unclear(Known):
    """A value that is not of one kind; it does no harm where nobody reads it."""

    object: Any = "a value is of another kind by branch"
