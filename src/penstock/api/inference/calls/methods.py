"""Methods of immutable objects and of containers of exactly a built-in class."""

from __future__ import annotations

import ast
import datetime
import re
import zoneinfo
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments, name_of
from penstock.api.inference.calls.known_parts import DATA, DICTS, DIGEST, IMPURE, RESULTS, SETS, default_result
from penstock.api.inference.frames import Frame
from penstock.api.inference.operations import check_hash
from penstock.api.inference.subscripts import look_up, may_change
from penstock.api.inference.values import (
    FOREIGN,
    NONE,
    NOTHING,
    Closure,
    Iterator,
    Known,
    Record,
    Special,
    Thing,
    Value,
    join,
    release,
    unwrap,
)

TEXTS: Value = frozenset({str, bytes})
MAYBE_TEXTS: Value = TEXTS | NONE


def result(run: Analysis, gives: Any, node: ast.AST, frame: Frame, given: Arguments | None = None) -> Value:
    """The value of a pure function's result, which `gives` describes in the notation of `known_parts`."""
    match gives:
        case frozenset():
            return gives
        case [cls]:
            return run.fresh(node, frame, list, frozenset({cls}))
        case tuple():
            parts = tuple(part if isinstance(part, frozenset) else frozenset({part}) for part in gives)
            return frozenset({Record((), parts)})
        case dict():
            return run.fresh(node, frame, dict, DATA, keys=frozenset({str, int}))
        case str():
            return _named_result(run, gives, node, frame, given)
    return frozenset({gives})


def _named_result(run: Analysis, gives: str, node: ast.AST, frame: Frame, given: Arguments | None) -> Value:
    strings = run.fresh(node, frame, tuple, MAYBE_TEXTS, label="strings")
    match gives:
        case "strings":
            return strings
        case "match":
            return frozenset({re.Match, type(None)})
        case "matches":
            return run.fresh(node, frame, Iterator, frozenset({re.Match}))
        case "found":
            return run.fresh(node, frame, list, TEXTS | strings)
        case "pieces":
            return run.fresh(node, frame, list, MAYBE_TEXTS)
        case "pieces_of_any":
            return run.fresh(node, frame, tuple, DATA)
        case "lists":
            return run.fresh(node, frame, dict, run.fresh(node, frame, list, TEXTS), keys=TEXTS)
        case "pairs":
            return run.fresh(node, frame, list, frozenset({Record((), (TEXTS, TEXTS))}))
        case "elements":
            return run.fresh(node, frame, list, run.iterate(given.positional[0], node, frame) if given else NOTHING)
    return _json(run, node, frame)


def _json(run: Analysis, node: ast.AST, frame: Frame) -> Value:
    plain = frozenset({str, int, float, bool, type(None)})
    listed, mapped = run.fresh(node, frame, list, plain), run.fresh(node, frame, dict, plain, keys=frozenset({str}))
    everything = join(plain, listed, mapped)
    for thing in (*listed, *mapped):
        run.grow(thing, everything)
    return everything


# Immutable objects.


def call_scalar_method(run: Analysis, cls: type, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """The result of a method of an immutable object."""
    if name.startswith("_") or name in IMPURE.get(cls, ()):
        return run.blame(node, frame, f"it calls `{cls.__name__}.{name}`, whose result is not a function of the tuple")
    if cls is datetime.datetime and name in ("fromtimestamp", "astimezone") and not _has_zone(given):
        return run.blame(node, frame, f"it calls `{name}` without a time zone, which depends on the machine")
    if cls is re.Pattern and name in ("sub", "subn"):
        _replace_by_function(run, given, node, frame)
    elif cls is re.Match and name == "group":
        return join(MAYBE_TEXTS, run.fresh(node, frame, tuple, MAYBE_TEXTS) if len(given.all) > 1 else NOTHING)
    else:
        for argument in given.all:
            run.observe(argument, node, frame, shown=name.startswith("format"))
            run.index_by_text(argument, node, frame)
    return result(run, RESULTS.get((cls, name), default_result(cls)), node, frame)


def _has_zone(given: Arguments) -> bool:
    zones = [value for value in given.all if datetime.timezone in value or zoneinfo.ZoneInfo in value]
    return any(type(None) not in value for value in zones)


def _replace_by_function(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> None:
    for argument in given.all:
        functions = frozenset(a for a in argument if isinstance(a, Closure | Known) or a is Special.FOREIGN)
        run.observe(argument - functions, node, frame)
        if functions:
            run.call(functions, node, frame, frozenset({re.Match}))


# Containers.


def call_method(run: Analysis, receiver: Any, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """The result of a method of a container, a tuple, an iterator or a digest."""
    if isinstance(receiver, Record):
        return _of_record(run, receiver, name, given, node, frame)
    if receiver.type is DIGEST:
        return _of_digest(run, receiver, name, given, node, frame)
    table = _TABLES.get(receiver.type, {})
    handle = table.get(name)
    if handle is None:
        run.blame(node, frame, f"it calls `{name}` of {name_of(receiver)}, which is not followed")
        run.spoil(frozenset({receiver}))
        return FOREIGN
    return handle(run, receiver, given, node, frame)


def _of_record(run: Analysis, record: Record, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if name == "_replace":
        parts = tuple(given.keywords.get(n, part) for n, part in zip(record.names, record.parts, strict=True))
        return run.record(node, frame, Record(record.names, parts, record.cls))
    if name == "_asdict":
        (thing,) = run.fresh(node, frame, dict)
        for field, part in zip(record.names, record.parts, strict=True):
            run.grow(thing, part, field=field)
        return frozenset({thing})
    for value in (*given.all, *record.parts):
        run.observe(value, node, frame, ordered=False)
    return frozenset({int})


def _of_digest(run: Analysis, thing: Thing, name: str, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if name in ("hexdigest", "digest"):
        run.use_whole(frozenset({thing}), node, frame)
        return frozenset({str if name == "hexdigest" else bytes})
    if name == "update":
        run.change(thing, node, frame)
        for value in given.all:
            run.observe(value, node, frame)
        return NONE
    return run.blame(node, frame, f"it calls `{name}` of a digest, which is not followed")


Handle = Callable[[Analysis, Thing, Arguments, ast.AST, Frame], Value]


def _first(given: Arguments) -> Value:
    return given.positional[0] if given.positional else given.rest or NOTHING


def _adds(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`append`, `add`, `insert`: one element more."""
    items = given.positional[-1] if given.positional else given.rest or NOTHING
    if thing.type in SETS:
        check_hash(run, items, node, frame)
        may_change(run, thing, items, node, frame)
    else:
        run.change(thing, node, frame)
    run.grow(thing, items)
    return NONE


def _extends(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`extend`, and `update` of a set."""
    run.change(thing, node, frame)
    for value in given.all:
        run.grow(thing, run.iterate(value, node, frame, ordered=thing.type not in SETS))
    return NONE


def _removes(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`remove`, `discard`: by value."""
    if thing.type in SETS:
        may_change(run, thing, _first(given), node, frame)
    else:
        run.change(thing, node, frame)
        run.observe(join(run.held(thing), _first(given)), node, frame, ordered=False)
    return NONE


def _takes(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`pop` and `popleft` of a sequence."""
    run.change(thing, node, frame)
    if thing.is_unordered:
        run.depend_on_order(node, frame)
    return run.held(thing)


def _changes(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`clear`, `reverse`, `rotate`: as a whole."""
    run.change(thing, node, frame)
    return NONE


def _sorts(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.change(thing, node, frame)
    apply_key(run, given, run.held(thing), node, frame)
    return NONE


def apply_key(run: Analysis, given: Arguments, items: Value, node: ast.AST, frame: Frame) -> None:
    """Compare elements, by what the function `key` makes of them."""
    key = given.keywords.get("key", NONE)
    compared = run.call(key - NONE, node, frame, items) if key - NONE else NOTHING
    run.observe(join(compared, items if type(None) in key else NOTHING), node, frame)


def _copies(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.use_whole(frozenset({thing}), node, frame, "copies it")
    made = run.fresh(node, frame, thing.type, run.held(thing), keys=release(thing.keys), unordered=thing.is_unordered)
    for copy in made:
        if thing.fields and not copy.keys:
            run.grow(copy, NOTHING, frozenset({str}))
        if not thing.factory <= copy.factory:
            copy.factory, run.changed = join(copy.factory, thing.factory), True
    return made


def _counts(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`index`, `count`, `issubset`: look at all elements."""
    run.use_whole(frozenset({thing}), node, frame)
    if thing.is_unordered:
        run.depend_on_order(node, frame)
    run.observe(join(run.held(thing), *given.all), node, frame, ordered=False)
    return frozenset({int, bool})


def _unites(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`union`, `intersection` and the like: a new set."""
    run.use_whole(frozenset({thing}), node, frame)
    others = [run.iterate(value, node, frame, ordered=False) for value in given.all]
    return run.fresh(node, frame, thing.type, join(run.held(thing), *others))


# Dicts.


def _gets(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    check_hash(run, _first(given), node, frame)
    default = given.positional[1] if len(given.positional) > 1 else join(NONE, given.rest or NOTHING)
    return join(look_up(run, thing, _first(given), node, frame), default)


def _sets_default(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    check_hash(run, _first(given), node, frame)
    default = given.positional[1] if len(given.positional) > 1 else join(NONE, given.rest or NOTHING)
    may_change(run, thing, _first(given), node, frame)
    run.grow(thing, default, _first(given))
    return run.held(thing)


def _pops(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    default = given.positional[1] if len(given.positional) > 1 else given.rest or NOTHING
    return join(look_up(run, thing, _first(given), node, frame, writes=True), default)


def _keys_of(thing: Thing) -> Value:
    return join(release(thing.keys) if thing.is_kept else thing.keys, frozenset({str}) if thing.fields else NOTHING)


def _lists_keys(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.use_whole(frozenset({thing}), node, frame, "lists its keys")
    return run.fresh(node, frame, Iterator, _keys_of(thing), unordered=thing.is_unordered)


def _lists_values(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.use_whole(frozenset({thing}), node, frame, "lists its values")
    return run.fresh(node, frame, Iterator, run.held(thing), unordered=thing.is_unordered)


def _lists_items(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.use_whole(frozenset({thing}), node, frame, "lists its items")
    pair = run.record(node, frame, Record((), (release(_keys_of(thing)), release(run.held(thing)))))
    return run.fresh(node, frame, Iterator, pair, unordered=thing.is_unordered)


def _updates(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.change(thing, node, frame)
    for value in (*given.positional, *([given.rest] if given.rest else [])):
        fill_dict(run, thing, value, node, frame)
    run.grow(thing, release(join(*given.keywords.values())), frozenset({str}) if given.keywords else NOTHING)
    return NONE


def fill_dict(run: Analysis, thing: Thing, value: Value, node: ast.AST, frame: Frame) -> None:
    """Put the entries of a mapping, or pairs, into a dict; a `Counter` counts elements."""
    for atom in unwrap(value):
        elements = run.iterate(frozenset({atom}), node, frame)
        if isinstance(atom, Thing) and atom.type in DICTS:
            run.grow(thing, release(run.held(atom)), release(elements))
        elif thing.type.__name__ == "Counter":
            check_hash(run, elements, node, frame)
            run.grow(thing, frozenset({int}), release(elements))
        else:
            for pair in elements:
                parts = pair.parts if isinstance(pair, Record) and len(pair.parts) == 2 else None
                inside = NOTHING if parts else release(run.iterate(frozenset({pair}), node, frame))
                keys, values = (parts[0], parts[1]) if parts else (inside, inside)
                check_hash(run, keys, node, frame)
                run.grow(thing, release(values), release(keys))


def _takes_item(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.change(thing, node, frame)
    if thing.is_unordered:
        run.depend_on_order(node, frame)
    return frozenset({Record((), (release(_keys_of(thing)), release(run.held(thing))))})


def _most_common(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    (pairs,) = _lists_items(run, thing, given, node, frame)
    if thing.is_unordered:
        run.depend_on_order(node, frame)
    return run.fresh(node, frame, list, pairs.items)


def _totals(run: Analysis, thing: Thing, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    run.use_whole(frozenset({thing}), node, frame, "adds it up")
    return DATA


def _named(handle: Handle, names: str) -> dict[str, Handle]:
    return dict.fromkeys(names.split(), handle)


_SEQUENCE = {**_named(_counts, "index count"), **_named(_copies, "copy")}
_LIST = {
    **_SEQUENCE,
    **_named(_adds, "append insert appendleft"),
    **_named(_extends, "extend extendleft"),
    **_named(_removes, "remove"),
    **_named(_takes, "pop popleft"),
    **_named(_changes, "clear reverse rotate"),
    "sort": _sorts,
}
_FROZEN = {
    **_named(_counts, "issubset issuperset isdisjoint"),
    **_named(_unites, "union intersection difference symmetric_difference"),
    "copy": _copies,
}
_SET = {
    **_FROZEN,
    **_named(_adds, "add"),
    **_named(_removes, "remove discard"),
    **_named(_extends, "update intersection_update difference_update symmetric_difference_update"),
    "clear": _changes,
}
_DICT = {
    "get": _gets,
    "setdefault": _sets_default,
    "pop": _pops,
    "keys": _lists_keys,
    "values": _lists_values,
    "items": _lists_items,
    "update": _updates,
    "popitem": _takes_item,
    "copy": _copies,
    **_named(_changes, "clear move_to_end"),
}
_COUNTER = {**_DICT, "most_common": _most_common, "total": _totals, "subtract": _updates}


_TABLES: dict[Any, dict[str, Handle]] = {
    dict: _DICT,
    OrderedDict: _DICT,
    defaultdict: _DICT,
    Counter: _COUNTER,
    list: _LIST,
    deque: _LIST,
    set: _SET,
    frozenset: _FROZEN,
    tuple: _SEQUENCE,
}
