"""What a Python function remembers or touches beyond its arguments.

Introduction
    Decides the state flag of a user's operator: stateless, partitioned by attributes of the tuple, or unknown. It reads
    the source; it never runs it. Every reason for `unknown` is a sentence that the author of the function can act on.

Algorithm
    One walk over the function and over the functions and methods it calls. A free name must be a constant, a pure
    function or module, or a plain record class. A local name is an alias of what it was assigned from: of the input
    tuple, of `self`, of the state of one key, or of nothing. A store or a mutating method call on an alias counts as
    one on its origin. For a class, each use of an attribute `self.x` outside the constructor is noted as a read, a
    write, or an access `self.x[key]` where key is made of attributes of the tuple.

When it does not apply
    Source that is missing or ambiguous, calls of what cannot be seen into, decorators, generators that receive values,
    and everything else that is not listed as harmless: then the state is unknown, and the user may declare a model.

Reference
    Auto-parallelization paper, section 3.2; the partitioned case follows section 3.1 (state is a map whose key is a set
    of attributes of the input tuple, and each firing touches only the entry of its key).
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from penstock.api.inference.aliases import Key, Names, Origin
from penstock.api.inference.constructors import holds_plain_value
from penstock.api.inference.known import (
    CLOCK_FUNCTIONS,
    CONTAINER_CLASSES,
    EFFECT_METHODS,
    MUTATING_METHODS,
    PURE_BUILTINS,
    PURE_MODULES,
    READING_METHODS,
    is_constant,
    is_plain_record,
    is_pure_module,
)
from penstock.api.inference.sources import FunctionTree, function_tree


@dataclass(slots=True)
class Uses:
    """How the methods of an operator use one attribute of `self`."""

    keys: set[Key] = field(default_factory=set)
    read: bool = False
    written: bool = False
    keyed_write: bool = False


@dataclass(slots=True)
class Effects:
    """What was found: reasons why the state is unknown, and the uses of each attribute of `self`.

    `changes_entries`: whether the state of a key is changed through an alias, so that any keyed attribute may be.
    """

    reasons: list[str] = field(default_factory=list)
    uses: dict[str, Uses] = field(default_factory=dict)
    side_effects: bool = False
    changes_entries: bool = False

    def blame(self, reason: str) -> None:
        """Note a reason once."""
        if reason not in self.reasons:
            self.reasons.append(reason)

    def of(self, attribute: str) -> Uses:
        """The uses of an attribute of `self`."""
        return self.uses.setdefault(attribute, Uses())

    def key(self) -> Key | None:
        """The key that partitions the state: None for no state at all, empty where no key does."""
        written = [u for u in self.uses.values() if u.written or u.keyed_write or (self.changes_entries and u.keys)]
        if not written:
            return None
        if any(u.read or u.written for u in written):
            return frozenset()
        return frozenset.intersection(*(k for u in written for k in u.keys))


def function_effects(function: Any, *, owner: type | None = None, has_collections: bool = True) -> Effects:
    """The effects of a function of one tuple, or of a method `process(self, tuple)` of `owner`.

    Args:
        function: What is called for each tuple.
        owner: The class, where it is a method.
        has_collections: Whether the tuple holds lists, sets or maps; if not, no part of it can be changed.

    Example:
        >>> from textwrap import dedent
        >>> from random import shuffle
        >>> function_effects(dedent).reasons
        []
        >>> function_effects(shuffle).reasons
        ['its source cannot be read']
    """
    effects = Effects()
    tree = function_tree(function)
    if tree is None:
        effects.blame("its source cannot be read")
        return effects
    names = list(tree.parameters)
    self_name = names.pop(0) if owner is not None and names else None
    tuple_name = names[0] if names else None
    _Walk(tree, effects, owner=owner, self_name=self_name, tuple_name=tuple_name, has_collections=has_collections).run()
    return effects


class _Walk(ast.NodeVisitor):
    """One function body; calls of other functions are walked with the same `Effects`."""

    def __init__(
        self,
        tree: FunctionTree,
        effects: Effects,
        *,
        owner: type | None = None,
        self_name: str | None = None,
        tuple_name: str | None = None,
        has_collections: bool = True,
        seen: frozenset[FunctionType] = frozenset(),
    ) -> None:
        self.tree = tree
        self.effects = effects
        self.owner = owner
        self.names = Names(tree, self_name, tuple_name)
        self.has_collections = has_collections
        self.seen = seen | {tree.function}

    def run(self) -> None:
        """Walk the body."""
        for statement in self.tree.body:
            self.visit(statement)

    # The walk.

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if node.id == self.names.self_name:
                self.effects.blame("it passes `self` on")
            elif node.id not in self.names.locals:
                self._free_name(node.id)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        for name in node.names:
            self.effects.blame(f"it writes `{name}`, which outlives the call")

    visit_Nonlocal = visit_Global

    def visit_Attribute(self, node: ast.Attribute) -> None:
        state = self.names.state_name(node)
        if state is not None:
            self._use_of_state(state, node)
        elif isinstance(node.ctx, ast.Store | ast.Del):
            self._change(node.value)
        else:
            if node.attr in MUTATING_METHODS | EFFECT_METHODS:
                self._change(node.value)
            self._read_attribute(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        state = self.names.state_name(node.value)
        key = self.names.key_of(node.slice) if state is not None else None
        if state is not None and key:
            self._keyed(state, key, writes=isinstance(node.ctx, ast.Store | ast.Del))
        elif state is not None and isinstance(node.ctx, ast.Store | ast.Del):
            self.effects.of(state).written = True
            self._blame_key(state)
        else:
            if isinstance(node.ctx, ast.Store | ast.Del):
                self._change(node.value)
            self.visit(node.value)
        self.visit(node.slice)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        # `x += y` on a list changes the list itself, so a plain name counts as changing what it is an alias of.
        if isinstance(node.target, ast.Name):
            self._change(node.target)
        self.visit(node.target)
        self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        state = self.names.state_name(node.comparators[0])
        key = self.names.key_of(node.left)
        if state is not None and key and isinstance(node.ops[0], ast.In | ast.NotIn) and len(node.ops) == 1:
            self._keyed(state, key, writes=False)
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        match node.func:
            case ast.Name(id=name) if name not in self.names.locals:
                self._call_free(name, node)
            case ast.Attribute(value=base, attr=method):
                self._call_method(base, method, node)
            case ast.Lambda() as inner:
                self.visit(inner)
            case _:
                self.effects.blame(f"it calls `{ast.unparse(node.func)}`, which cannot be seen into")
        for argument in (*node.args, *(k.value for k in node.keywords)):
            self.visit(argument)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        self.effects.blame("it imports inside the function")

    visit_ImportFrom = visit_Import

    def visit_Yield(self, node: ast.Yield) -> None:
        if node.value is not None:
            self.visit(node.value)

    # Judgements.

    def _free_name(self, name: str) -> None:
        try:
            value = self.tree.lookup(name)
        except (KeyError, ValueError):
            if not hasattr(builtins, name):
                self.effects.blame(f"`{name}` is not defined")
            return
        if is_constant(value):
            if _is_written_elsewhere(self.tree.module, name):
                self.effects.blame(f"it reads `{name}`, which other code writes")
        elif callable(value) and not isinstance(value, type):
            # A function that is passed on may be called there.
            self._call(value, name)
        elif not isinstance(value, type | ModuleType):
            self.effects.blame(f"it reads `{name}`, a {type(value).__name__} that can change")

    def _call_free(self, name: str, node: ast.Call) -> None:
        try:
            value = self.tree.lookup(name)
        except (KeyError, ValueError):
            self.effects.blame(f"`{name}` is not defined")
            return
        self._call(value, name)

    def _call(self, value: Any, name: str) -> None:
        if getattr(builtins, name, None) is value:
            if name not in PURE_BUILTINS and not _is_exception(value):
                self.effects.side_effects = True
                self.effects.blame(f"it calls `{name}`, which has an effect or a memory")
        elif _is_harmless_class(value) or _is_pure_function(value):
            return
        elif isinstance(value, FunctionType):
            if value not in self.seen:
                self._walk_into(value)
        else:
            self.effects.blame(f"it calls `{name}`, which cannot be seen into")

    def _walk_into(self, function: FunctionType) -> None:
        tree = function_tree(function)
        if tree is None:
            self.effects.blame(f"it calls `{function.__name__}`, whose source cannot be read")
        else:
            _Walk(tree, self.effects, seen=self.seen).run()

    def _call_method(self, base: ast.expr, method: str, node: ast.Call) -> None:
        if isinstance(base, ast.Name) and base.id == self.names.self_name is not None:
            self._call_own_method(method)
            return
        state = self.names.state_name(base)
        if state is not None:
            self._call_on_state(state, method, node)
            return
        module = self._module(base)
        if module is not None:
            if not is_pure_module(module) or method in CLOCK_FUNCTIONS:
                self.effects.blame(f"it calls `{ast.unparse(node.func)}`, which has an effect or a memory")
            return
        is_state = self.names.origin(base) in (Origin.SELF, Origin.KEYED, Origin.PARAMETER)
        if method in MUTATING_METHODS:
            self._change(base)
        elif is_state and method not in READING_METHODS:
            self.effects.side_effects |= method in EFFECT_METHODS
            self.effects.blame(f"it calls `{method}` of what outlives the call, which cannot be seen into")
        elif isinstance(base, ast.Name) and base.id not in self.names.locals:
            self._call_on_free(base.id, method)
            return
        self.visit(base)

    def _call_on_free(self, name: str, method: str) -> None:
        try:
            value = self.tree.lookup(name)
        except (KeyError, ValueError):
            self.effects.blame(f"`{name}` is not defined")
            return
        pure_class = isinstance(value, type) and value.__module__ in ("datetime", "decimal", "fractions")
        if pure_class and method in CLOCK_FUNCTIONS:
            self.effects.blame(f"it calls `{name}.{method}`, whose result is not a function of the tuple")
        elif not (is_constant(value) or pure_class or (value is str or value is dict or value is bytes)):
            self.effects.blame(f"it calls `{method}` of `{name}`, which cannot be seen into")

    def _call_own_method(self, method: str) -> None:
        if method == "submit":
            return
        function = getattr(self.owner, method, None)
        tree = function_tree(function)
        if tree is None or not isinstance(function, FunctionType):
            self.effects.blame(f"it calls `self.{method}`, whose source cannot be read")
        elif function not in self.seen:
            # Its parameters are not known to be the tuple, so only uses without a key are understood there.
            walk = _Walk(tree, self.effects, owner=self.owner, self_name=tree.parameters[0], seen=self.seen)
            walk.run()

    def _call_on_state(self, state: str, method: str, node: ast.Call) -> None:
        key = self.names.key_of(node.args[0]) if node.args else None
        if key and method in ("get", "pop", "setdefault"):
            self._keyed(state, key, writes=method != "get")
        elif method in READING_METHODS:
            self.effects.of(state).read = True
        else:
            self.effects.side_effects |= method in EFFECT_METHODS
            self.effects.of(state).written = True
            self.effects.blame(f"it calls `{method}` of `self.{state}`, which may change it")

    def _use_of_state(self, state: str, node: ast.Attribute) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read_own(state)
        else:
            self.effects.of(state).written = True
            self.effects.blame(f"it writes `self.{state}`, which is one value for all tuples")

    def _read_own(self, state: str) -> None:
        """A read of `self.x`: of a value, of a method that is passed on, or of a property that runs code."""
        defined = getattr(self.owner, state, None)
        if isinstance(defined, FunctionType):
            self._call_own_method(state)
        elif hasattr(defined, "__get__"):
            self.effects.blame(f"it uses the property `{state}`, which cannot be seen into")
        else:
            self.effects.of(state).read = True
            if not holds_plain_value(self.owner, state):
                self.effects.blame(f"it reads `self.{state}`, which reading may use up or change")

    def _keyed(self, state: str, key: Key, *, writes: bool) -> None:
        uses = self.effects.of(state)
        uses.keys.add(key)
        uses.keyed_write |= writes

    def _blame_key(self, state: str) -> None:
        self.effects.blame(f"it writes `self.{state}[...]` with a key that is not made of attributes of the tuple")

    def _change(self, base: ast.expr) -> None:
        """Something was stored into, or a mutating method called on, the value of an expression."""
        match base:
            case ast.Subscript(value=inner, slice=index) if state := self.names.state_name(inner):
                if key := self.names.key_of(index):
                    self._keyed(state, key, writes=True)
                else:
                    self.effects.of(state).written = True
                    self._blame_key(state)
                return
        origin = self.names.origin(base)
        if origin is Origin.TUPLE and self.has_collections:
            self.effects.blame("it changes a part of the input tuple, which others receive too")
        elif origin is Origin.SELF:
            self.effects.blame("it changes its state through an alias")
        elif origin is Origin.PARAMETER:
            self.effects.blame(f"it changes `{ast.unparse(_root(base))}`, which outlives the call")
        elif origin is Origin.KEYED:
            self.effects.changes_entries = True
        elif isinstance(root := _root(base), ast.Name) and root.id not in self.names.locals:
            self.effects.blame(f"it changes `{root.id}`, which outlives the call")

    def _read_attribute(self, node: ast.Attribute) -> None:
        module = self._module(node.value)
        if module is None:
            self.visit(node.value)
        elif not is_constant(getattr(module, node.attr, None)) and not callable(getattr(module, node.attr, None)):
            self.effects.blame(f"it reads `{ast.unparse(node)}`, which can change")

    def _module(self, node: ast.expr) -> ModuleType | None:
        """The module that an expression such as `math` or `urllib.parse` names."""
        try:
            match node:
                case ast.Name(id=name) if name not in self.names.locals:
                    value = self.tree.lookup(name)
                case ast.Attribute(value=base, attr=attribute) if (outer := self._module(base)) is not None:
                    value = getattr(outer, attribute)
                case _:
                    return None
        except (KeyError, ValueError, AttributeError):
            return None
        return value if isinstance(value, ModuleType) else None


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def _is_harmless_class(value: Any) -> bool:
    """Whether making an object of a class does nothing else."""
    is_container = isinstance(value, type) and value in CONTAINER_CLASSES
    return is_container or _is_exception(value) or is_plain_record(value)


def _is_pure_function(value: Any) -> bool:
    name = getattr(value, "__name__", "")
    return getattr(value, "__module__", None) in PURE_MODULES and name not in CLOCK_FUNCTIONS


def _is_written_elsewhere(module: ast.Module, name: str) -> bool:
    """Whether any function of the file declares the name global or nonlocal in order to write it."""
    return any(isinstance(n, ast.Global | ast.Nonlocal) and name in n.names for n in ast.walk(module))
