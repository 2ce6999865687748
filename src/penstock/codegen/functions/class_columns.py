"""Classes of the user's with an instance for each key, as columns.

Introduction:
    What a `KeyedOperator` does for a tuple depends on the tuples of its key before, and on no others. So the first
    tuples of all keys of a batch can be taken at once, then their second ones, and so on (`class_rounds`). Here
    `process` becomes a function over columns: those of the tuple, and those of the attributes of the instance.

Formulation:
    The constructor is followed with the parameters of the invocation, and leaves a constant for each attribute. Of
    the attributes that `process` sets, the kind is found as a fixed point: it begins with that of the constant, and
    grows by what is assigned. `None` and a number are a number that may be None. An attribute that begins as an integer
    and becomes a float is a float; instances in which it is none leave the normal case, as rows do in `compiled`.

Example:
    `self.count += 1; self.total += t.x; yield {"count": self.count, "total": self.total}` becomes

        count = left.add(rows["self.count"], 1)
        total = rows["self.total"] + rows["x"]
        return left.rows, [count, total], [(None, [count, total])]

When it does not apply:
    Instances that hold collections or objects, keys with floats, several ports, attributes that are set for the first
    time in one of several cases, and what `compiled` does not understand. Then the class is called in a loop.

Preserves:
    What the class gives, to the bit, and the attributes of its instances, in their order.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import FunctionType
from typing import Any

from penstock.api.inference.judgement import judge
from penstock.api.inference.names.syntax_trees import function_tree
from penstock.api.keyed.operator import KeyedOperator
from penstock.api.operators import Operator
from penstock.api.rows import row_class
from penstock.codegen.functions.analysis import OWN, Env, Flow, Instance, choose, follow
from penstock.codegen.functions.arithmetic import COMPARISONS
from penstock.codegen.functions.compiled import Columns, type_of_value, write_sites
from penstock.codegen.functions.expressions import RULES
from penstock.codegen.functions.nodes import (
    Kind,
    Node,
    NotUnderstood,
    Path,
    Record,
    Where,
    constant,
    kind_of_type,
    refuse_lost,
    tests_on,
    unify,
)
from penstock.ir.types import EnumType, OptionalType, Primitive, Schema, is_decimal, is_float

MOST_ROUNDS = 8
"""How often the kinds of attributes may grow."""

_SLOTS = {"_seat"}

Given = tuple[tuple[str, str, Any], ...]
"""The parameters that an invocation sets, each with its text and value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledClass:
    """The method `process` as columns.

    Attributes:
        name: Of the class.
        forced: What is evaluated, in order; a path stands for rows that leave.
        gives: The columns of the tuples that it gives, in order, each for the rows of a path.
        names: All attributes of an instance, in the order of its dictionary.
        made: Those that the constructor sets.
        kinds: Of the attributes that `process` sets.
        first: The values of all attributes in the beginning.
        state: The attributes after a tuple.
        has_keys: Whether there is an instance for each key, or one.
    """

    name: str
    forced: tuple[Node | Path | None, ...]
    gives: tuple[tuple[Where, Columns], ...]
    names: tuple[str, ...]
    made: tuple[str, ...]
    kinds: dict[str, Kind]
    first: dict[str, Any]
    state: dict[str, Node]
    has_keys: bool


@lru_cache(maxsize=256)
def compile_class(
    owner: Any, key: tuple[str, ...], inputs: Schema, outputs: Schema, given: Given = ()
) -> CompiledClass | str:
    """A class as columns, or why it is called in a loop.

    Args:
        owner: The class.
        key: The attributes of its key.
        inputs: The schema of the tuples that it takes.
        outputs: Of those that it gives.
        given: The parameters of the constructor.
    """
    why = _why_no_columns(owner, key, inputs) or _why_not_followed(owner, inputs, given)
    if why is not None:
        return why
    try:
        return _compile(owner, inputs, outputs, {name: value for name, _, value in given})
    except NotUnderstood as error:
        return str(error)
    except RecursionError:
        return "it is too deeply nested"


def _why_no_columns(owner: type[KeyedOperator], key: tuple[str, ...], inputs: Schema) -> str | None:
    if row_class(inputs)._fields != inputs.names:
        return "an attribute has a name that Python does not allow"
    for name in key:
        type_ = inputs.attribute(name).type
        inner = type_.inner if isinstance(type_, OptionalType) else type_
        if is_float(inner) or is_decimal(inner) or not isinstance(inner, Primitive | EnumType):
            return f"its key `{name}` is of type {type_}"
    if not isinstance(owner.process, FunctionType):
        return "its `process` is no plain method"
    if owner.process_port is not _base(owner).process_port:
        return "it has `process_port`"
    slots = {name for class_ in owner.__mro__ for name in vars(class_).get("__slots__", ()) if isinstance(name, str)}
    return None if slots <= _SLOTS and hasattr(owner, "__dict__") else "its instances have slots"


def _base(owner: Any) -> type[KeyedOperator | Operator]:
    return KeyedOperator if issubclass(owner, KeyedOperator) else Operator


def _why_not_followed(owner: type[KeyedOperator], inputs: Schema, given: Given) -> str | None:
    types = {name: type_of_value(value) for name, _, value in given}
    found = judge(owner.process, gives="many", inputs=inputs, owner=owner, given=types, is_of_one_key=True)
    if found.reasons:
        return found.reasons[0]
    if found.has_effects or found.changed or found.leaks_submit:
        return "it acts outside, or changes a part of the tuple"
    return None


def _compile(owner: type[KeyedOperator], inputs: Schema, outputs: Schema, given: Mapping[str, Any]) -> CompiledClass:
    row = Record(tuple(_attribute(a.name, a.type) for a in inputs.attributes), inputs.names, "row")
    made = _construct(owner, given)
    written = _written(owner)
    first = made | {name: _default(owner, name) for name in written if name not in made}
    kinds = {name: _kind_of_first(first[name]) for name in written}
    if not kinds:
        raise NotUnderstood("it sets no attribute")
    for _ in range(MOST_ROUNDS):
        own = Instance(owner=owner, order=list(made))
        flow = _follow(owner, own, row, first, kinds)
        state = {name: choose([(where, names[OWN + name]) for where, names in flow.ends], None) for name in kinds}
        grown = {name: _grow(name, kinds[name], state[name]) for name in kinds}
        if grown == kinds:
            return _finish(owner, own, flow, outputs, first, tuple(made), kinds, state)
        kinds = grown
    raise NotUnderstood("an attribute is of ever another kind")


def _attribute(name: str, type_: Any) -> Node:
    return Node(kind_of_type(type_), name, vector="attribute", type=type_, name=name)


def _construct(owner: type[KeyedOperator], given: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that the constructor leaves, all of them constants."""
    constructor = inspect.getattr_static(owner, "__init__")
    if not isinstance(constructor, FunctionType):
        return {}
    own = Instance(owner=owner)
    flow = follow(constructor, [own], {name: constant(value) for name, value in given.items()}, None, RULES)
    if len(flow.ends) != 1 or flow.yields or not all(isinstance(n, Node) and n.is_constant for n in flow.forced):
        raise NotUnderstood("its constructor does not always end in the same way")
    found = {name: flow.ends[0][1][OWN + name] for name in own.order}
    for name, value in found.items():
        if not (isinstance(value, Node) and value.is_constant):
            raise NotUnderstood(f"`self.{name}` does not begin as a constant")
    return {name: value.value for name, value in found.items()}  # type: ignore[union-attr] # they are nodes


def _written(owner: type[KeyedOperator]) -> list[str]:
    """The attributes that `process`, or a method of the class that it may call, sets."""
    found: dict[str, None] = {}
    for class_ in owner.__mro__:
        for name, method in vars(class_).items():
            tree = function_tree(method) if isinstance(method, FunctionType) and name != "__init__" else None
            if tree is not None and class_ not in _base(owner).__mro__:
                stores = (n for n in ast.walk(tree.node) if isinstance(n, ast.Attribute))
                found |= dict.fromkeys(n.attr for n in stores if isinstance(n.ctx, ast.Store | ast.Del))
    return list(found)


def _default(owner: type[KeyedOperator], name: str) -> Any:
    """The value of an attribute that the class has for all instances until they set it."""
    found = inspect.getattr_static(owner, name, _default)
    if type(found) not in (bool, int, float, str, type(None)):
        raise NotUnderstood(f"`self.{name}` has no constant value in the beginning")
    return found


def _kind_of_first(value: Any) -> Kind:
    return replace(constant(value).kind, low=Kind("int").low, high=Kind("int").high)


def _follow(
    owner: type[KeyedOperator], own: Instance, row: Record, first: Mapping[str, Any], kinds: Mapping[str, Kind]
) -> Flow:
    """Follow `process` with attributes of some kinds."""
    names: Env = {OWN + name: _state(name, kinds[name]) if name in kinds else constant(first[name]) for name in first}
    flow = follow(_process(owner), [own, row], {}, None, RULES, own=names)
    if not flow.ends:
        raise NotUnderstood("it never returns")
    return flow


def _process(owner: type[KeyedOperator]) -> FunctionType:
    assert isinstance(owner.process, FunctionType)
    return owner.process


def _state(name: str, kind: Kind) -> Node:
    if kind.name == "none":
        return constant(None)
    return Node(kind, OWN + name, vector="attribute", name=OWN + name)


def _grow(name: str, kind: Kind, value: Any) -> Kind:
    """The kind of an attribute, given what it is after a tuple if it was of a kind before."""
    if not isinstance(value, Node) or not (value.kind.is_column or value.kind.name == "none"):
        raise NotUnderstood(f"`self.{name}` is no number, text or truth value, or of several kinds")
    if {kind.name, value.kind.name} == {"none"}:
        return kind
    if (kind.name, value.kind.name) == ("int", "float"):
        return replace(kind, name="float")
    found = unify([kind, value.kind])
    return Kind(found.name, optional=found.optional)


def _finish(
    owner: type[KeyedOperator],
    own: Instance,
    flow: Flow,
    outputs: Schema,
    first: dict[str, Any],
    made: tuple[str, ...],
    kinds: dict[str, Kind],
    state: Mapping[str, Any],
) -> CompiledClass:
    if set(own.order) != set(first):
        raise NotUnderstood("an attribute is never set")
    if any(kind.name == "none" for kind in kinds.values()):
        raise NotUnderstood("an attribute is always None")
    gives = tuple(write_sites(_process(owner), flow, outputs))
    forced = tuple(flow.forced)
    tests = [test for where, _ in gives for test in tests_on(where)]
    given = [n for _, columns in gives for n in columns.values()]
    nodes = [*(n for n in forced if isinstance(n, Node)), *state.values(), *given]
    refuse_lost(nodes)
    begun = frozenset(OWN + name for name, kind in kinds.items() if kind.name == "float" and type(first[name]) is int)
    if begun:
        _refuse_told_apart(begun, [*nodes, *tests])
    return CompiledClass(
        name=owner.__name__,
        forced=forced,
        gives=gives,
        names=tuple(own.order),
        made=made,
        kinds=kinds,
        first=first,
        state=dict(state),
        has_keys=_base(owner) is KeyedOperator,
    )


_SAME_OF_BOTH = ("plain +", "plain -", "plain *", "plain /", "divide", *(f"plain {c}" for c, _ in COMPARISONS.values()))
"""Operations that give the same for 0 and 0.0 if the other number is a float."""


def _refuse_told_apart(begun: frozenset[str], nodes: Iterable[Node]) -> None:
    """Refuse what tells an integer from the float that stands for it, where attributes begin as integers.

    Raises:
        NotUnderstood: There is such a node.
    """
    seen: dict[int, bool] = {}

    def may_be_integer(node: Node) -> bool:
        if id(node) not in seen:
            seen[id(node)] = False
            for test in (test for where in (node.path, *node.choices) for test in tests_on(where)):
                may_be_integer(test)
            parts = [may_be_integer(arg) for arg in node.args]
            seen[id(node)] = (node.vector == "attribute" and node.name in begun) or found_in(node, parts)
        return seen[id(node)]

    def found_in(node: Node, parts: list[bool]) -> bool:
        if not any(parts) or node.vector in ("fit", "truth"):
            return False
        if node.vector == "choose":
            return True
        others = [arg for arg, is_so in zip(node.args, parts, strict=True) if not is_so]
        if node.vector in _SAME_OF_BOTH and len(others) == 1 and _is_float(others[0]):
            return False
        raise NotUnderstood("an attribute begins as an integer and becomes a float")

    for node in nodes:
        may_be_integer(node)


def _is_float(node: Node) -> bool:
    """Whether a value is a float in Python, too, and no integer that became one."""
    is_written = not node.is_constant or not node.row.strip("()").lstrip("-").isdigit()
    return node.kind.name == "float" and node.vector not in ("float", "exact float", "choose") and is_written
