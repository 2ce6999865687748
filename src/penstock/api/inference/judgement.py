"""The state and the output of a whole operator: the interpreter run to a fixed point, and its findings.

Introduction
    Decides the state flag of a user's operator: stateless, partitioned by attributes of the tuple, or unknown. It reads
    the source and the objects that its names mean; it never runs it. Everything is unknown unless it is proven, and
    every reason for `unknown` is a sentence with a line, so that the author can act on it.

Algorithm
    Abstract interpretation. The constructor and then the function are followed with values that stand for all that may
    be there (`values`). Names mean the very objects that they are at compile time (`names`, `objects`, `bindings`);
    functions of the program that are called are followed too (`calls`); of Python itself what `known_parts` lists is
    allowed, on objects of exactly the classes listed there. Every name means all that it is ever bound to, so the order
    of statements plays no part and rounds are repeated until nothing new is found.

    Objects are named by the place that makes them. What the constructor makes is the operator's state. A dict or set of
    it may be changed under a key that is an attribute of the tuple in hand, or a tuple of such, always of one shape;
    then nothing may look at it as a whole. What a call makes may be changed and kept under such keys: a later call
    finds it only under the same key. Anything else that outlives the call may be read but not changed.

Example
    `self.seen.setdefault(t.sym, []).append(t.price)`: the list is made by a call and kept under `sym`: partitioned by
    `sym`. With `len(self.seen)` in the same operator other keys show: unknown.

When it does not apply
    Source that is missing or does not belong to the running code, code that is not followed (`with`, `async`, classes
    inside, `**`), objects with hooks, modules that rebind names, sets in the order of their hashes.

Cost
    Rounds times the calls that differ in the places they come from; at most a few thousand of these.

Reference
    Auto-parallelization paper, section 3.2; the partitioned case follows section 3.1 (state is a map whose key is a set
    of attributes of the input tuple, and each firing touches only the entry of its key).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import FunctionType
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments
from penstock.api.inference.calls.dispatch import call_value
from penstock.api.inference.calls.followed import invoke
from penstock.api.inference.expression_values import evaluate
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.objects import BASES, why_hooked
from penstock.api.inference.names.syntax_trees import function_tree
from penstock.api.inference.operations import test
from penstock.api.inference.statement_effects import execute
from penstock.api.inference.values import (
    NONE,
    NOTHING,
    Field,
    Owner,
    Record,
    Special,
    Thing,
    Value,
    attributes_of,
    join,
    unwrap,
)
from penstock.api.rows import row_class
from penstock.ir.types import (
    EnumType,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    Schema,
    SetType,
    TupleType,
    Type,
    is_decimal,
    is_float,
    is_string,
)

_MOST_ROUNDS = 60
_CALLED_BY_ENGINE = ("process", "process_port", "on_punctuation", "finish", "submit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings on an operator.

    Attributes:
        reasons: Why its state is unknown; empty if it is not.
        key: The attributes that partition its state; None if it has none.
        given: The values that leave as tuples.
        changed: The attributes of the tuple that it changes in place.
        submits: Its calls of `submit`, by the identity of their nodes.
        leaks_submit: Whether tuples may leave in ways that cannot be followed.
        has_effects: Whether it is seen to act outside.
    """

    reasons: tuple[str, ...] = ()
    key: frozenset[str] | None = None
    given: tuple[Value, ...] = ()
    changed: frozenset[str] = frozenset()
    submits: frozenset[int] = frozenset()
    leaks_submit: bool = False
    has_effects: bool = False


def judge(
    function: Any,
    *,
    gives: str,
    inputs: Schema,
    owner: type | None = None,
    given: Mapping[str, Type | None] | None = None,
    is_of_one_key: bool = False,
) -> Findings:
    """The findings on a function of one tuple, or on the method `process(self, tuple)` of `owner`.

    Args:
        function: Called for each tuple.
        gives: How many tuples its result is: `one`, `none`, or `many`.
        inputs: The schema of the tuple.
        owner: The class, where it is a method.
        given: The types of the parameters that the invocation sets, None where that is not known.
        is_of_one_key: Whether an instance of `owner` sees the tuples of one key, and may set its attributes.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> from textwrap import dedent
        >>> from random import shuffle
        >>> judge(shuffle, gives="one", inputs=parse_schema("int32 x")).reasons
        ('its source cannot be read',)
    """
    if function_tree(function) is None:
        return Findings(reasons=("its source cannot be read",), leaks_submit=True)
    judgement = _Judgement(function, gives, inputs, owner, given or {})
    judgement.run.is_of_one_key = is_of_one_key
    return judgement.findings()


class _Judgement:
    """One operator under analysis."""

    def __init__(
        self, function: FunctionType, gives: str, inputs: Schema, owner: type | None, given: Mapping[str, Type | None]
    ) -> None:
        self._function, self._gives, self._inputs, self._owner = function, gives, inputs, owner
        self.run = Analysis(function.__code__.co_filename, evaluate, execute, call_value)
        self._outside = Frame(function=function, names={})
        self._site = ast.copy_location(ast.Constant(value=None), function_tree(function).node)  # type: ignore[union-attr]
        self._parameters = {name: self._parameter(type_) for name, type_ in given.items()}
        self._parts = {n: value_of(a.type, Owner.TUPLE) for n, a in zip(_names(inputs), inputs.attributes, strict=True)}
        fields = tuple(frozenset({Field(name, part)}) for name, part in self._parts.items())
        self._row: Value = frozenset({Record(tuple(self._parts), fields, None)})

    def findings(self) -> Findings:
        """Rounds until nothing new is found."""
        run = self.run
        for _ in range(_MOST_ROUNDS):
            run.changed, run.given = False, []
            self._round()
            if not run.changed:
                break
        else:
            run.blame(self._site, self._outside, "it is too intricate to follow")
        reasons, key = self._state()
        return Findings(
            reasons=reasons,
            key=key,
            given=tuple(run.given),
            changed=frozenset(name for name, part in self._parts.items() if _is_changed(part)),
            submits=frozenset(run.submits),
            leaks_submit=run.leaks_submit,
            has_effects=run.has_effects,
        )

    def _round(self) -> None:
        first = () if self._owner is None else (self._instance(self._owner),)
        parameters = self._parameters if self._owner is None else {}
        arguments = Arguments(positional=(*first, self._row), keywords=parameters)
        self._give(invoke(self.run, self._function, arguments, self._site, self._outside))

    def _give(self, returned: Value) -> None:
        run, site, outside = self.run, self._site, self._outside
        if self._gives == "one":
            run.submit(returned, site, outside)
        elif self._gives == "none":
            test(run, returned, site, outside)
        elif self._gives == "many":
            kept = frozenset(a for a in returned if a is not type(None))
            run.submit(run.iterate(kept, site, outside) if kept else NOTHING, site, outside)

    def _instance(self, owner: type) -> Value:
        """The operator as its constructor leaves it."""
        run = self.run
        run.is_init = True
        made = run.fresh(self._site, self._outside, owner)
        if why := why_hooked(owner, trusted=BASES):
            run.blame(self._site, self._outside, why)
        constructor = getattr(owner, "__init__", None)
        if isinstance(constructor, FunctionType):
            arguments = Arguments(positional=(made,), keywords=self._parameters)
            invoke(run, constructor, arguments, self._site, self._outside)
        run.is_init = False
        for thing in made:
            for name in set(thing.fields) & set(_CALLED_BY_ENGINE):
                run.blame(self._site, self._outside, f"its constructor replaces `{name}`")
        return made

    def _state(self) -> tuple[tuple[str, ...], frozenset[str] | None]:
        reasons = dict.fromkeys(self.run.blames)
        keys: list[frozenset[str]] = []
        for thing in (t for t in self.run.things() if t.is_keyed_write):
            if thing.whole is not None:
                reasons[f"it keeps state by key in a {thing.type.__name__}, but {thing.whole}"] = None
            elif len(thing.shapes) > 1:
                reasons[f"it looks up one {thing.type.__name__} by different keys, {_listing(thing)}"] = None
            keys.extend(attributes_of(shape) for shape in thing.shapes)
        key = frozenset.intersection(*keys) if keys else None
        if key is not None and not key:
            reasons["no attribute is part of the key of every access to its state"] = None
        return tuple(reasons), None if reasons else key

    def _parameter(self, type_: Type | None) -> Value:
        return frozenset({Special.ENVIRONMENT}) if type_ is None else value_of(type_, Owner.FIXED)


def _names(schema: Schema) -> tuple[str, ...]:
    fields: tuple[str, ...] = row_class(schema)._fields
    return fields


def _listing(thing: Thing) -> str:
    return " and ".join(sorted("(" + ", ".join(map(str, s)) + ")" if isinstance(s, tuple) else s for s in thing.shapes))


def _is_changed(value: Value) -> bool:
    return any(isinstance(a, Thing) and (a.is_open or _is_changed(a.items)) for a in unwrap(value))


def value_of(type_: Type, owner: Owner) -> Value:
    """The Python values of an SPL type.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> value_of(parse_type("optional<int32>"), Owner.TUPLE) == {int, type(None)}
        True
    """
    match type_:
        case OptionalType(inner=inner):
            return join(value_of(inner, owner), NONE)
        case ListType(element=element):
            return frozenset({Thing(list, owner, items=value_of(element, owner))})
        case SetType(element=element):
            return frozenset({Thing(set, owner, items=value_of(element, owner))})
        case MapType(key=key, value=value):
            return frozenset({Thing(dict, owner, items=value_of(value, owner), keys=value_of(key, owner))})
        case TupleType():
            parts = tuple(value_of(a.type, owner) for a in type_.attributes)
            return frozenset({Record(_names(type_), parts, None)})
        case EnumType():
            return frozenset({str})
    return frozenset({_primitive(type_)})


def _primitive(type_: Type) -> type:
    if is_string(type_):
        return str
    if is_float(type_):
        return float
    if is_decimal(type_):
        return Decimal
    name = type_.name if isinstance(type_, Primitive) else ""
    return {"boolean": bool, "blob": bytes, "void": type(None)}.get(name, int)
