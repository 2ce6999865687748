"""Functions that take values instead of rows: what they give, do and raise is what they would with rows."""

from __future__ import annotations

import hashlib
import traceback
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from penstock.api.rows import conformer, row_maker
from penstock.codegen.functions.light_calls import lighten
from penstock.codegen.functions.row_calls import filter_rows, flat_map_rows, map_rows
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Places
from penstock.ir.types import parse_schema

IN = parse_schema("int64 n, float64 x, rstring s, list<int32> l, optional<int64> o")
ROWS = [(i, i / 2, f"s{i}", [i, i + 1], None if i % 2 else i) for i in range(7)]
OUT = parse_schema("int64 n, rstring s, float64 x")
SAME = parse_schema("int64 n, float64 x, rstring s")
RATE, see_names = 3, locals


class Named(NamedTuple):
    n: int
    s: str
    x: float = 0.5


class Doubled(Named):
    @property
    def n(self):
        return 2 * self[0]


@dataclass
class Plain:
    n: int
    s: str
    x: float


@dataclass
class Hooked:
    n: int
    s: str
    x: float

    def __post_init__(self):
        self.n += 1


@dataclass
class Written:
    n: int
    s: str
    x: float

    def __init__(self, n, s, x):
        self.n, self.s, self.x = n * 2, s, x


def digest(text):
    return hashlib.md5(text.encode()).hexdigest()


class Methods:
    def __init__(self):
        self.__hidden, self.seen = 5, []

    def __call__(self, t):
        self.seen.append(t.n)
        return (t.n, digest(t.s), float(len(self.seen)))

    def named(self, t):
        return {"n": t.n, "s": digest(t.s), "x": t.x}

    def mangled(self, t):
        return (t.n + self.__hidden, t.s, t.x)


def counting():
    count, order = 0, []

    def f(t, *, by=RATE):
        nonlocal count
        count += by
        return {"s": order.append("s") or digest(t.s), "n": order.append("n") or count, "x": float(len(order))}

    return f


def shifting():
    shift = 1

    def f(t):
        nonlocal shift
        shift += t.n
        return (shift, (lambda y: t.s + y)("!"), sum(t.x + v for v in t.l))

    return f


def shadowing(t):
    return (sum(t for t in [t.n, 1]), (lambda t: t.upper())(t.s), t.x)


def rebinding(t):
    if (t := (t.n, t.s, t.x))[0] > 3:
        return t
    return (0, "", 0.0)


def matching(t):
    match t.l:
        case [t, _]:
            return (t, "matched", 0.0)


def trying(t):
    try:
        if t.n == 2:
            return (t.n, digest(t.s), 1 / (t.n - 2))
        return (t.n, t.s, t.x)
    except ZeroDivisionError:
        return (t.n, "none", t.x)


def finishing(t):
    try:
        return (t.n, digest(t.s), t.x)
    finally:
        if t.n == 3:
            return (t.n, "three", t.x)  # noqa: B012


def falling(t):
    if t.n < 5:
        return (t.n, digest(t.s), t.x)


def changing(t):
    t.l.append(t.n)
    return (len(t.l), t[2], t[1] if t.n else t.x)


def inner(t):
    def g():
        return 7

    return (g(), t.s, t.x)


def failing(t):
    return (t.n, digest(t.s), 1.0 / (t.n - 4))


def overflowing(t):
    return (t.n + (2**63 if t.n == 1 else 0), digest(t.s if t.n < 3 else None), t.x)


def branching(t):
    return Named(t.n, digest(t.s)) if t.n % 2 else (t.n, t.s, 2)


MAPS = [
    counting, shifting, lambda: shadowing, lambda: rebinding, lambda: matching, lambda: trying, lambda: finishing,
    lambda: falling, lambda: changing, lambda: inner, lambda: failing, lambda: overflowing,
    lambda: branching, Methods, lambda: Methods().named, lambda: Methods().mangled, lambda: partial(counting(), by=9),
    lambda: lambda t: Named(t.n, digest(t.s), t.x), lambda: lambda t: Named(t.n, digest(t.s)),
    lambda: lambda t: Doubled(t.n, digest(t.s), t.x), lambda: lambda t: Plain(x=t.x, n=t.n, s=digest(t.s)),
    lambda: lambda t: Hooked(t.n, digest(t.s), t.x), lambda: lambda t: Written(t.n, digest(t.s), t.x),
    lambda: lambda t: Plain(t.n, t.s), lambda: lambda t: (t.n, len(see_names()), t.x),
    lambda: lambda t, k=RATE: {"n": k, "s": f"{t.n:03d}{t}", "x": t.x}, lambda: lambda t: t.missing,
    lambda: lambda t: {"n": t.n, "s": digest(t.s)}, lambda: lambda t: (t.n, digest(t.s)), lambda: lambda t: None,
    lambda: lambda t: {"n": np.int64(t.n), "s": digest(t.s), "x": t.n}, lambda: lambda t: [t.o, digest(t.s), t.x],
    lambda: lambda t: (t.n, digest(t.s), True), lambda: lambda t: (t.n, digest(t.s), np.array(t.x)),
]  # fmt: skip


def frame_of(schema, rows):
    columns = {a.name: typed([row[i] for row in rows], a.type) for i, a in enumerate(schema.attributes)}
    return Frame(Places(np.arange(len(rows))), columns)


def told(compute):
    try:
        return compute()
    except Exception as error:
        return type(error), str(error)


def rows_in(frame, schema):
    return [repr(v) for v in zip(*(values(frame[a.name], a.type) for a in schema.attributes), strict=True)]


def by_rows(function, schema, rows=ROWS, inputs=IN, *, many=False):
    make, conform = row_maker(inputs), conformer(schema)
    found = (function(make(row)) for row in rows)
    return [repr(conform(v)) for value in found for v in ((value or ()) if many else [value])]


@pytest.mark.parametrize("make", MAPS)
def test_a_map_gives_and_raises_what_it_does_for_rows(make):
    expected = told(lambda: by_rows(make(), OUT))
    assert told(lambda: rows_in(map_rows(frame_of(IN, ROWS), make(), IN, OUT), OUT)) == expected


def yielding(t):
    yield (t.n, digest(t.s), t.x)
    if t.n % 2:
        return
    yield {"n": t.n, "s": t.s, "x": t.x}


def listing(t):
    if t.n == 1:
        return None
    if t.n == 2:
        return []
    return [(t.n, digest(t.s), t.x), Plain(t.n, t.s, t.x)]


def chaining(t):
    yield from ((t.n, c, t.x) for c in t.s)


def gathering(t):
    found = []
    for v in t.l:
        found.append({"n": v, "s": digest(t.s), "x": t.x})
    return found


def held(t):
    made = {"n": t.n, "s": "a", "x": t.x}
    yield made
    made["s"] = digest(t.s)
    yield made


def counted(t):
    return [(t.n, t.s, t.x)] * 2 if t.n else ((t.n, t.s, t.x),)


@pytest.mark.parametrize("function", [yielding, listing, chaining, gathering, held, counted])
def test_a_flat_map_gives_what_it_does_for_rows(function):
    made = flat_map_rows(frame_of(IN, ROWS), function, IN, OUT)
    assert rows_in(made, OUT) == by_rows(function, OUT, many=True)


def test_a_flat_map_that_gives_rows_back_has_each_in_its_place():
    rows = [row[:3] for row in ROWS]
    made = flat_map_rows(frame_of(SAME, rows), lambda t: [t, t] if digest(t.s) > "8" else None, SAME, SAME)
    expected = [i for i, row in enumerate(rows) for _ in range(2) if digest(row[2]) > "8"]
    assert made.places.item.tolist() == expected
    assert rows_in(made, SAME) == [repr(rows[i]) for i in expected]


def test_a_filter_keeps_what_it_keeps_of_rows():
    for function in (lambda t: t.o, lambda t: digest(t.s) > "8" and t.n, lambda t: t, lambda t: [][: t.n]):
        kept = filter_rows(frame_of(IN, ROWS), function, IN)
        assert rows_in(kept, IN) == [repr(row) for row in ROWS if function(row_maker(IN)(row))]


def test_a_row_that_comes_back_changed_is_made_of_what_changed():
    rows = [row[:3] for row in ROWS]
    for function in (lambda t: t._replace(s=digest(t.s)), lambda t: t if t.n % 2 else t._replace(s=digest(t.s))):
        light = lighten(function, "map", SAME, SAME)
        assert (light.copies, light.gives.names) == ({"n": "n", "x": "x"}, ("s",))
        made = map_rows(frame_of(SAME, rows), function, SAME, SAME)
        assert rows_in(made, SAME) == by_rows(function, SAME, rows, SAME)


def test_a_function_takes_and_gives_no_more_than_it_must():
    light = lighten(Methods().named, "map", IN, OUT)
    assert (light.reads, light.copies, light.gives.names) == (("s",), {"n": "n", "x": "x"}, ("s",))


@pytest.mark.parametrize("function", [shadowing, rebinding, matching, len, Methods().mangled, lambda t: see_names()])
def test_a_function_that_needs_its_row_takes_rows(function):
    assert lighten(function, "map", IN, OUT) is None


def test_a_class_that_a_name_means_later_is_the_one_that_counts():
    made_of = Plain

    def f(t):
        return made_of(t.n, digest(t.s), t.x)

    assert rows_in(map_rows(frame_of(IN, ROWS), f, IN, OUT), OUT) == by_rows(f, OUT)
    made_of = Hooked
    assert rows_in(map_rows(frame_of(IN, ROWS), f, IN, OUT), OUT) == by_rows(f, OUT)


def test_the_lines_of_a_failure_are_those_of_the_function():
    def lines(compute):
        try:
            compute()
        except ZeroDivisionError as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            return last.filename, last.lineno, last.name, last.line
        return None

    by_values = lines(lambda: map_rows(frame_of(IN, ROWS), failing, IN, OUT))
    assert by_values == lines(lambda: by_rows(failing, OUT)) is not None
