"""Calls: of functions that can be read, of methods, classes, closures, and of what Python itself offers."""

from __future__ import annotations

import ast
import enum
import functools
import operator
import sys
from types import FunctionType
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments, name_of
from penstock.api.inference.attributes import read_attribute
from penstock.api.inference.calls.builtin_calls import HANDLERS
from penstock.api.inference.calls.followed import call_foreign, enter_closure, invoke, refuse
from penstock.api.inference.calls.known_parts import (
    CONSTRUCTORS,
    CONTAINERS,
    DIGEST,
    DIGESTS,
    ERROR,
    KEYWORDS,
    OPERATIONS,
    PURE,
    SCALARS,
)
from penstock.api.inference.calls.methods import call_method, call_scalar_method, result
from penstock.api.inference.calls.records import make_dataclass, make_named_tuple
from penstock.api.inference.frames import Frame
from penstock.api.inference.names.bindings import is_library
from penstock.api.inference.names.lookup import read_name
from penstock.api.inference.names.objects import fix, is_named_tuple, is_plain_enum, is_record_class, why_hooked
from penstock.api.inference.operations import compare, operate, operate_alone, test
from penstock.api.inference.subscripts import read_item
from penstock.api.inference.values import (
    FOREIGN,
    NONE,
    NOTHING,
    Bound,
    Closure,
    Getter,
    Iterator,
    Known,
    Parent,
    Record,
    Special,
    Thing,
    Value,
    join,
    unwrap,
)

_ACTING = frozenset("close flush send write writelines".split())
"""Methods of objects that stand for something outside."""


def call(run: Analysis, node: ast.Call, frame: Frame) -> Value:
    """The values that a call may return."""
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
        return _parent(run, node, frame)
    callee = run.evaluate(node.func, frame)
    if callee == {Special.SUBMIT}:
        run.submits.add(id(node))
    positional, rest = [], None
    for argument in node.args:
        value = run.evaluate(argument, frame)
        if isinstance(argument, ast.Starred):
            rest = join(rest or NOTHING, value)
        elif rest is not None:
            rest = join(rest, value)
        else:
            positional.append(value)
    keywords = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value, frame)
        if keyword.arg is None:
            keywords.update(_spread(run, value, node, frame))
        else:
            keywords[keyword.arg] = value
    return call_value(run, callee, Arguments(positional=tuple(positional), keywords=keywords, rest=rest), node, frame)


def _spread(run: Analysis, value: Value, node: ast.AST, frame: Frame) -> dict[str, Value]:
    """The entries of a dict that a call spreads over its parameters: one display with constant names."""
    match list(unwrap(value)):
        case [Thing(fields=fields, keys=keys, is_open=False, is_kept=False) as thing] if (
            thing.type is dict and not keys
        ):
            return dict(fields)
    run.spoil(value)
    run.blame(node, frame, "it spreads a dict over the parameters of a call, which is not followed")
    return {}


def _parent(run: Analysis, node: ast.Call, frame: Frame) -> Value:
    home = frame.home
    first = next(iter(home.names), None)
    after = read_name(run, node, "__class__", frame)
    if first is None or len(after) != 1 or not isinstance(next(iter(after)), Known):
        return run.blame(node, frame, "it uses `super()` in a way that is not followed")
    (known,) = after
    return frozenset(Parent(known.object, receiver) for receiver in home.names[first])


def call_value(run: Analysis, callee: Value, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """The values that a call of a value may return."""
    return join(*(_call_atom(run, atom, given, node, frame) for atom in unwrap(callee)))


def _call_atom(run: Analysis, atom: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if atom is Special.SUBMIT:
        run.leaks_submit |= id(node) not in run.submits
        run.submit(given.positional[0] if given.positional else FOREIGN, node, frame)
        return NONE
    if isinstance(atom, Closure):
        return enter_closure(run, atom, given, node, frame)
    if isinstance(atom, Bound):
        return _call_bound(run, atom, given, node, frame)
    if isinstance(atom, Getter):
        return _get(run, atom, given, node, frame)
    if isinstance(atom, Known):
        return _call_known(run, atom.object, given, node, frame)
    if atom in SCALARS:
        return NOTHING
    if atom is not Special.FOREIGN:
        run.blame(node, frame, f"it calls {name_of(atom)}, which cannot be seen into")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        run.has_effects |= node.func.attr in _ACTING
    return call_foreign(run, given, node, frame)


# Methods.


def _call_bound(run: Analysis, bound: Bound, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    receiver = bound.receiver
    if bound.function is object.__init__:
        return NONE
    if bound.function is not None:
        own = Arguments(positional=(frozenset({receiver}), *given.positional), keywords=given.keywords, rest=given.rest)
        return invoke(run, bound.function, own, node, frame)
    if isinstance(receiver, Known):
        return _call_unbound(run, receiver.object, bound.name, given, node, frame)
    if isinstance(receiver, type):
        return call_scalar_method(run, receiver, bound.name, given, node, frame)
    return call_method(run, receiver, bound.name, given, node, frame)


def _call_unbound(run: Analysis, cls: type, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`str.lower(x)`, or a class method such as `dict.fromkeys`."""
    member = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if type(member).__name__ in ("classmethod_descriptor", "staticmethod", "classmethod", "builtin_function_or_method"):
        if cls in SCALARS:
            return call_scalar_method(run, cls, name, given, node, frame)
        if cls is dict and name == "fromkeys":
            return HANDLERS["fromkeys"](run, given, node, frame)
        return refuse(run, f"it calls `{cls.__name__}.{name}`, which is not followed", given, node, frame)
    if not given.positional or name.startswith("_"):
        return refuse(run, f"it calls `{cls.__name__}.{name}`, which is not followed", given, node, frame)
    others = Arguments(positional=given.positional[1:], keywords=given.keywords, rest=given.rest)
    found = NOTHING
    for atom in unwrap(given.positional[0]):
        if atom in SCALARS and issubclass(atom, cls):
            found = join(found, call_scalar_method(run, atom, name, others, node, frame))
        elif (isinstance(atom, Thing) and atom.type is cls) or (isinstance(atom, Record) and cls is tuple):
            found = join(found, call_method(run, atom, name, others, node, frame))
        elif not (atom in SCALARS or isinstance(atom, Record)) and not _is_alien(atom, cls):
            text = f"it calls `{cls.__name__}.{name}` of {name_of(atom)}"
            found = join(found, refuse(run, text, given, node, frame))
    return found


def _is_alien(atom: Any, cls: type) -> bool:
    """Whether a method of a class refuses an object."""
    return isinstance(atom, Thing) and not issubclass(atom.type, cls)


def _get(run: Analysis, getter: Getter, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    value = given.positional[0] if given.positional else given.rest or NOTHING
    if getter.by_name:
        parts = [read_attribute(run, value, key, node, frame) for key in getter.keys]
    else:
        parts = [read_item(run, value, frozenset({int}), node, frame) for _ in getter.keys]
    return parts[0] if len(parts) == 1 else run.record(node, frame, Record((), tuple(parts)))


# Objects of the program.


def _call_known(run: Analysis, value: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    try:
        handler = HANDLERS.get(value)
        pure, operation = PURE.get(value), OPERATIONS.get(value)
    except TypeError:
        handler = pure = operation = None
    if handler is not None:
        return _call_handler(run, value, handler, given, node, frame)
    if operation is not None:
        return _operation(run, operation, given, node, frame)
    if pure is not None:
        return _call_pure(run, value, pure, given, node, frame)
    if isinstance(value, type):
        return _construct(run, value, given, node, frame)
    if isinstance(value, FunctionType):
        return invoke(run, value, given, node, frame)
    if type(value) in (operator.itemgetter, operator.attrgetter):
        return _call_getter(run, value, given, node, frame)
    if type(value) is functools.partial:
        return _call_partial(run, value, given, node, frame)
    if value in DIGESTS:
        for argument in given.all:
            run.observe(argument, node, frame)
        return run.fresh(node, frame, DIGEST)
    name = getattr(value, "__qualname__", type(value).__name__)
    module = getattr(value, "__module__", None)
    run.has_effects |= module in ("builtins", "io", "_io")
    text = name if module in (None, "builtins") else f"{module}.{name}"
    return refuse(run, f"it calls `{text}`, which is not known to be without effect and memory", given, node, frame)


def _call_handler(run: Analysis, value: Any, handler: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """A builtin that is followed; instances of other classes would be asked for their own idea of it."""
    for argument in given.positional if value not in (isinstance, getattr, hasattr) else ():
        if any(isinstance(a, Thing) and not (a.type in CONTAINERS or a.type is Iterator) for a in unwrap(argument)):
            text = f"it hands an instance to `{value.__name__}`, which calls its methods"
            return refuse(run, text, given, node, frame)
    return handler(run, given, node, frame)  # type: ignore[no-any-return] # one of `HANDLERS`


def _operation(run: Analysis, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    parts = given.positional if given.rest is None else (given.rest, given.rest)
    if name == "Item":
        return read_item(run, parts[0], parts[1], node, frame) if len(parts) == 2 else NOTHING
    if len(parts) == 1:
        if name != "Not":
            return operate_alone(run, name, parts[0], node, frame)
        test(run, parts[0], node, frame)
        return frozenset({bool})
    if len(parts) != 2:
        return NOTHING
    if name in ("Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "In"):
        left, right = (parts[1], parts[0]) if name == "In" else parts
        compare(run, name, left, right, node, frame)
        return frozenset({bool})
    return operate(run, name, parts[0], parts[1], node, frame)


def _call_pure(run: Analysis, value: Any, gives: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    extra = set(given.keywords) - KEYWORDS[value] if value in KEYWORDS else set()
    if extra:
        text = f"it calls `{value.__name__}` with `{min(extra)}`, which may call back"
        return refuse(run, text, given, node, frame)
    for argument in given.all:
        if any(isinstance(atom, Closure | Known | Bound) for atom in argument) and value.__name__ in ("sub", "subn"):
            run.call(argument, node, frame, result(run, "match", node, frame) - NONE)
        else:
            run.observe(argument, node, frame, shown=value in (repr, ascii, format))
    return result(run, gives, node, frame, given)


def _call_getter(run: Analysis, value: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    keys = tuple(map(str, value.__reduce__()[1]))
    by_name = type(value) is operator.attrgetter
    if by_name and any("." in key for key in keys):
        return refuse(run, "it calls an `attrgetter` with a path, which is not followed", given, node, frame)
    return _get(run, Getter(keys, by_name), given, node, frame)


def _call_partial(run: Analysis, value: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    fixed = [fix(v) for v in value.args]
    named = {k: fix(v) for k, v in value.keywords.items()}
    bad = next((f for f in (*fixed, *named.values()) if isinstance(f, str)), None)
    if bad:
        return refuse(run, f"it calls a partial function with {bad}", given, node, frame)
    values = [f for f in fixed if not isinstance(f, str)]
    names = {k: f for k, f in named.items() if not isinstance(f, str)}
    arguments = Arguments(
        positional=(*values, *given.positional), keywords={**names, **given.keywords}, rest=given.rest
    )
    return _call_known(run, value.func, arguments, node, frame)


def _construct(run: Analysis, cls: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if cls in CONSTRUCTORS:
        for argument in given.all:
            run.observe(argument, node, frame, shown=cls is str)
        return frozenset({cls})
    if cls in (operator.itemgetter, operator.attrgetter):
        return _make_getter(run, cls, given, node, frame)
    if issubclass(cls, BaseException):
        return _make_error(run, cls, given, node, frame)
    if is_named_tuple(cls):
        return make_named_tuple(run, cls, given, node, frame)
    if is_record_class(cls):
        return make_dataclass(run, cls, given, node, frame)
    if issubclass(cls, enum.Enum) and is_plain_enum(cls):
        return frozenset(Known(member) for member in cls)
    if is_library(getattr(sys.modules.get(cls.__module__), "__file__", None)):
        return refuse(
            run, f"it makes a `{cls.__module__}.{cls.__name__}`, which is not known to be harmless", given, node, frame
        )
    if why := why_hooked(cls):
        return refuse(run, f"it makes a `{cls.__name__}`, but {why}", given, node, frame)
    return _make_instance(run, cls, given, node, frame)


def _make_getter(run: Analysis, cls: Any, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    arguments = node.args if isinstance(node, ast.Call) else []
    keys = tuple(str(a.value) for a in arguments if isinstance(a, ast.Constant))
    if len(keys) != len(arguments) or not keys or any("." in key for key in keys):
        return refuse(run, f"it calls `{cls.__name__}` with what is not constant", given, node, frame)
    return frozenset({Getter(keys, cls is operator.attrgetter)})


def _make_error(run: Analysis, cls: type, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    own = [b for b in cls.__mro__ if b.__module__ != "builtins" and any(callable(v) for v in vars(b).values())]
    if own:
        return refuse(run, f"it makes a `{cls.__name__}`, which has methods of its own", given, node, frame)
    for argument in given.all:
        run.observe(argument, node, frame, shown=True)
        if not _is_plain(argument):
            return refuse(run, f"it puts something that can change into a `{cls.__name__}`", given, node, frame)
    return frozenset({ERROR})


def _is_plain(value: Value) -> bool:
    """Whether nothing in a value can change, or be called."""
    return all(
        _is_plain(join(*a.parts)) if isinstance(a, Record) else a in SCALARS or a is Special.FOREIGN
        for a in unwrap(value)
    )


def _make_instance(run: Analysis, cls: type, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    made = run.fresh(node, frame, cls)
    constructor = getattr(cls, "__init__", None)
    if isinstance(constructor, FunctionType):
        own = Arguments(positional=(made, *given.positional), keywords=given.keywords, rest=given.rest)
        invoke(run, constructor, own, node, frame)
    return made
