"""Builtins and functions of the standard library that call back, iterate, or make containers."""

from __future__ import annotations

import ast
import functools
import heapq
import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

from penstock.api.inference.analysis import Analysis, Arguments
from penstock.api.inference.attributes import read_attribute
from penstock.api.inference.calls.known_parts import CONTAINERS, EXACT_NUMBERS, SCALARS
from penstock.api.inference.calls.methods import apply_key, fill_dict
from penstock.api.inference.frames import Frame
from penstock.api.inference.operations import check_hash, is_told_by_equality, operate, test
from penstock.api.inference.values import (
    NONE,
    NOTHING,
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

INT: Value = frozenset({int})
BOOL: Value = frozenset({bool})
Handler = Callable[[Analysis, Arguments, ast.AST, Frame], Value]


def _arguments(given: Arguments) -> list[Value]:
    return [*given.positional, *([] if given.rest is None else [given.rest])]


def _iterator(run: Analysis, node: ast.AST, frame: Frame, items: Value, *sources: Value) -> Value:
    is_unordered = any(map(run.is_unordered, sources))
    return run.fresh(node, frame, Iterator, items, unordered=is_unordered)


def _length(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    for value in _arguments(given):
        for atom in unwrap(value):
            if isinstance(atom, Thing) and (atom.type in CONTAINERS or atom.type is Iterator):
                run.use_whole(frozenset({atom}), node, frame, "asks for its length")
            elif not (atom in SCALARS or isinstance(atom, Record | Special)):
                run.blame(node, frame, "it asks for the length of what cannot be seen into")
    return INT


def _is_instance(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    classes = given.positional[1] if len(given.positional) > 1 else NOTHING
    for atom in _flat(classes):
        if not (isinstance(atom, Known) and isinstance(atom.object, type) and type(atom.object) is type):
            run.blame(node, frame, "it asks for a class that decides for itself what its instances are")
    return BOOL


def _flat(value: Value) -> list[Any]:
    return [a for atom in value for a in (_flat(join(*atom.parts)) if isinstance(atom, Record) else [atom])]


def _all_any(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    for value in _arguments(given):
        test(run, run.iterate(value, node, frame, ordered=False), node, frame)
    return BOOL


def _sum(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    start = given.keywords.get("start", values[1] if len(values) > 1 else INT)
    items = run.iterate(values[0], node, frame, ordered=False) if values else NOTHING
    if values and run.is_unordered(values[0]) and not unwrap(items) <= EXACT_NUMBERS:
        run.blame(node, frame, "it adds up in the order of a set, which differs between processes; use `sorted`")
    total = start
    for _ in range(2):
        total = join(total, operate(run, "Add", total, items, node, frame))
    return unwrap(total)


def _least(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    if len(values) == 1:
        items = run.iterate(values[0], node, frame, ordered=False)
        if run.is_unordered(values[0]) and ("key" in given.keywords or not is_told_by_equality(items)):
            run.depend_on_order(node, frame)
    else:
        items = join(*values)
    apply_key(run, Arguments(keywords={"key": NONE, **given.keywords}), items, node, frame)
    return join(items, given.keywords.get("default", NOTHING))


def _sorted(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    items = run.iterate(values[0], node, frame, ordered="key" in given.keywords) if values else NOTHING
    if values and run.is_unordered(values[0]) and not is_told_by_equality(items):
        run.depend_on_order(node, frame)
    apply_key(run, Arguments(keywords={"key": NONE, **given.keywords}), items, node, frame)
    return run.fresh(node, frame, list, items)


def is_short(given: Arguments) -> bool:
    """Whether a new `deque` has a greatest length."""
    return len(given.all) > 1


def _make(cls: Any) -> Handler:
    def make(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        values = _arguments(given)
        is_set = cls in (set, frozenset)
        items = run.iterate(values[0], node, frame, ordered=False) if values else NOTHING
        if is_set:
            check_hash(run, items, node, frame)
        if values and run.is_unordered(values[0]) and (is_short(given) or (is_set and not is_told_by_equality(items))):
            run.depend_on_order(node, frame)
        is_unordered = not is_set and bool(values) and run.is_unordered(values[0])
        return run.fresh(node, frame, cls, items, unordered=is_unordered)

    return make


def _make_dict(cls: Any) -> Handler:
    def make(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        (thing,) = run.fresh(node, frame, cls)
        values = _arguments(given)
        if cls is defaultdict and values:
            factory = values.pop(0) - NONE
            if not factory <= thing.factory:
                thing.factory, run.changed = join(thing.factory, factory), True
        for value in values:
            thing.is_open = True
            fill_dict(run, thing, value, node, frame)
        for name, value in given.keywords.items():
            run.grow(thing, value, field=name)
        return frozenset({thing})

    return make


def _from_keys(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    keys = run.iterate(values[0], node, frame, ordered=False) if values else NOTHING
    is_unordered = bool(values) and run.is_unordered(values[0])
    check_hash(run, keys, node, frame)
    return run.fresh(
        node, frame, dict, values[1] if len(values) > 1 else NONE, keys=release(keys), unordered=is_unordered
    )


def _bytearray(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    for value in given.all:
        run.observe(value, node, frame)
    return run.fresh(node, frame, bytearray, INT)


def _calls_for_each(run: Analysis, given: Arguments, node: ast.AST, frame: Frame, *, pairs: bool = False) -> Value:
    """Call the first argument with the elements of the others."""
    function, *sources = _arguments(given)
    items = [run.iterate(source, node, frame, ordered=False) for source in sources]
    is_unordered = any(map(run.is_unordered, sources))
    run.unordered += is_unordered
    made = run.call(function, node, frame, *items)
    run.unordered -= is_unordered
    return made


def _map(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if len(given.positional) < 2:
        return run.blame(node, frame, "it calls `map` in a way that is not followed")
    return _iterator(run, node, frame, _calls_for_each(run, given, node, frame), *given.positional[1:])


def _filter(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if len(given.positional) != 2:
        return run.blame(node, frame, "it calls `filter` in a way that is not followed")
    function, source = given.positional
    items = run.iterate(source, node, frame, ordered=False)
    calls = Arguments(positional=(function - NONE, source))
    test(run, _calls_for_each(run, calls, node, frame) if function - NONE else items, node, frame)
    return _iterator(run, node, frame, items, source)


def _passes_on(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`iter`, `reversed`, `chain`, `cycle`: the same elements."""
    values = _arguments(given)
    sources = [v for v in values if not unwrap(v) <= frozenset({int, type(None)})]
    items = join(*(run.iterate(v, node, frame, ordered=False) for v in sources))
    return _iterator(run, node, frame, items, *sources)


def _slices(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`islice`: some of the elements."""
    if any(map(run.is_unordered, given.all)):
        run.depend_on_order(node, frame)
    return _passes_on(run, given, node, frame)


def _iter(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if len(given.positional) != 1:
        return run.blame(node, frame, "it makes an iterator of a function, which is not followed")
    return _passes_on(run, given, node, frame)


def _chain_from(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    outer = _arguments(given)
    inner = join(*(run.iterate(v, node, frame, ordered=False) for v in outer))
    return _iterator(run, node, frame, run.iterate(inner, node, frame, ordered=False), *outer, inner)


def _enumerate(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    source = _arguments(given)[0]
    items = run.iterate(source, node, frame)
    return _iterator(run, node, frame, run.record(node, frame, Record((), (INT, items))))


def _zip(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    items = [run.iterate(v, node, frame) for v in _arguments(given)]
    fill = given.keywords.get("fillvalue", NONE)
    if given.rest is not None:
        return _iterator(run, node, frame, run.fresh(node, frame, tuple, join(fill, *items)))
    return _iterator(run, node, frame, run.record(node, frame, Record((), tuple(join(i, fill) for i in items))))


def _tuples(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`product`, `pairwise`, `combinations`: tuples of elements."""
    items = join(*(run.iterate(v, node, frame) for v in _arguments(given)))
    return _iterator(run, node, frame, run.fresh(node, frame, tuple, items))


def _next(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    return join(run.iterate(values[0], node, frame), *values[1:]) if values else NOTHING


def _reduce(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    if len(given.positional) < 2:
        return run.blame(node, frame, "it calls `reduce` in a way that is not followed")
    function, source, *start = given.positional
    items = run.iterate(source, node, frame)
    total = join(items, *start)
    for _ in range(3):
        total = join(total, run.call(function, node, frame, total, items))
    return total


def _accumulate(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    items = run.iterate(values[0], node, frame)
    function = values[1] - NONE if len(values) > 1 else given.keywords.get("func", NOTHING)
    total = join(items, given.keywords.get("initial", NOTHING))
    for _ in range(3):
        more = (
            run.call(function, node, frame, total, items)
            if function
            else operate(run, "Add", total, items, node, frame)
        )
        total = join(total, more)
    return _iterator(run, node, frame, total)


def _group(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    values = _arguments(given)
    items = run.iterate(values[0], node, frame)
    key = values[1] if len(values) > 1 else given.keywords.get("key", NONE)
    keys = join(
        run.call(key - NONE, node, frame, items) if key - NONE else NOTHING, items if type(None) in key else NOTHING
    )
    run.observe(keys, node, frame, ordered=False)
    inner = run.fresh(node, frame, Iterator, items, label="group")
    return _iterator(run, node, frame, run.record(node, frame, Record((), (keys, inner))))


def _takes_while(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    function, source = given.positional
    items = run.iterate(source, node, frame)
    test(run, run.call(function, node, frame, items), node, frame)
    return _iterator(run, node, frame, items)


def _star_map(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    function, source = given.positional
    found = NOTHING
    for atom in run.iterate(source, node, frame):
        parts = atom.parts if isinstance(atom, Record) else ()
        found = join(
            found,
            run.call(function, node, frame, *parts)
            if parts
            else run.blame(node, frame, "it calls `starmap` with tuples of unknown length"),
        )
    return _iterator(run, node, frame, found)


def _repeat(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return _iterator(run, node, frame, given.positional[0] if given.positional else NOTHING)


def _count(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    return _iterator(run, node, frame, join(INT, *map(unwrap, given.all)))


def _range(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    for value in given.all:
        run.observe(value, node, frame)
    return frozenset({range})


def _get_attribute(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
    """`getattr` and `hasattr`, called by these names with a constant one."""
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[_, ast.Constant(value=str() as attribute), *_]):
            return join(read_attribute(run, given.positional[0], attribute, node, frame), *given.positional[2:])
        case ast.Call(func=ast.Name(id="hasattr"), args=[_, ast.Constant(value=str() as attribute)]):
            # What it finds is the result as well: the name may be that of another function.
            return join(BOOL, read_attribute(run, given.positional[0], attribute, node, frame))
    for value in given.all:
        run.spoil(value)
    return run.blame(node, frame, "it looks up an attribute whose name is not constant")


def _heap(changes: bool, gives_list: bool = False) -> Handler:
    def act(run: Analysis, given: Arguments, node: ast.AST, frame: Frame) -> Value:
        values = _arguments(given)
        holder = values[-1] if gives_list else values[0]
        items = run.iterate(holder, node, frame, ordered=False) if gives_list else NOTHING
        if run.is_unordered(holder) and (changes or "key" in given.keywords or not is_told_by_equality(items)):
            run.depend_on_order(node, frame)
        for atom in unwrap(holder) if changes else ():
            if isinstance(atom, Thing) and atom.type is list:
                run.change(atom, node, frame)
                run.grow(atom, join(*values[1:]))
                items = join(items, run.held(atom))
            else:
                run.observe(frozenset({atom}), node, frame)
        apply_key(run, Arguments(keywords={"key": NONE, **given.keywords}), items, node, frame)
        return run.fresh(node, frame, list, items) if gives_list else join(items, NONE)

    return act


HANDLERS: dict[Any, Handler] = {
    len: _length, isinstance: _is_instance, issubclass: _is_instance, all: _all_any, any: _all_any, sum: _sum,
    min: _least, max: _least, sorted: _sorted, list: _make(list), tuple: _make(tuple), set: _make(set),
    frozenset: _make(frozenset), deque: _make(deque), dict: _make_dict(dict), Counter: _make_dict(Counter),
    OrderedDict: _make_dict(OrderedDict), defaultdict: _make_dict(defaultdict), bytearray: _bytearray,
    map: _map, filter: _filter, iter: _iter, reversed: _passes_on, enumerate: _enumerate, zip: _zip, next: _next,
    range: _range, getattr: _get_attribute, hasattr: _get_attribute, "fromkeys": _from_keys,
    functools.reduce: _reduce, itertools.chain: _passes_on, itertools.chain.from_iterable: _chain_from,
    itertools.islice: _slices, itertools.cycle: _passes_on, itertools.zip_longest: _zip,
    itertools.accumulate: _accumulate, itertools.groupby: _group, itertools.takewhile: _takes_while,
    itertools.dropwhile: _takes_while, itertools.filterfalse: _filter, itertools.starmap: _star_map,
    itertools.product: _tuples, itertools.pairwise: _tuples, itertools.repeat: _repeat, itertools.count: _count,
    heapq.heappush: _heap(True), heapq.heappop: _heap(True), heapq.heapify: _heap(True),
    heapq.heappushpop: _heap(True), heapq.heapreplace: _heap(True),
    heapq.nlargest: _heap(False, True), heapq.nsmallest: _heap(False, True),
}  # fmt: skip
"""The handler of each function; functions are known as the objects they are, never by name."""
