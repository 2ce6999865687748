"""Code that hides what it remembers, gives or changes: the inference must not be taken in."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from penstock.api.inference import Role, infer_model
from penstock.ir.models import OperatorModel, Selectivity, State
from penstock.ir.types import parse_schema

SCHEMA = parse_schema("rstring sym, float64 price")
ticks = 0


def model(function: Any, role: Role = Role.MAP) -> OperatorModel:
    return infer_model(function, role, inputs=SCHEMA, outputs=(SCHEMA,))


def class_model(owner: Any) -> OperatorModel:
    return infer_model(owner.process, Role.PROCESS, inputs=SCHEMA, outputs=(SCHEMA,), owner=owner)


def tick(x):
    global ticks
    ticks += 1
    return ticks


def keeps_a_default(t, cache={}):  # noqa: B006
    cache[t.sym] = 1
    return {"sym": t.sym, "price": float(len(cache))}


def keeps_a_keyword_default(t, *, cache={}):  # noqa: B006
    cache[t.sym] = 1
    return {"sym": t.sym, "price": float(len(cache))}


def passes_a_function_on(t):
    return {"sym": t.sym, "price": float(max(map(tick, [1])))}


def sorts_by_a_function(t):
    return {"sym": t.sym, "price": float(sorted([3, 1], key=tick)[0])}


def hashes_text(t):
    return {"sym": t.sym, "price": float(hash(t.sym) % 4)}


@pytest.mark.parametrize(
    "function",
    [keeps_a_default, keeps_a_keyword_default, passes_a_function_on, sorts_by_a_function, hashes_text],
)
def test_hidden_state_of_functions_is_found(function):
    assert model(function).state is State.UNKNOWN


class Learner:
    def __getattr__(self, name):
        return tick


class CallsAnObjectOfAKey:
    def __init__(self):
        self.parts = {"a": Learner()}

    def process(self, t):
        self.parts[t.sym].learn(t.price)
        yield t


class CallsAnAlias:
    def __init__(self):
        self.parts = {"a": Learner()}

    def process(self, t):
        part = self.parts.get(t.sym)
        part.learn(t.price)
        yield t


class TakesItsStateFromAMethod:
    def __init__(self):
        self.parts = {}

    def table(self):
        return self.parts

    def process(self, t):
        found = self.table()
        found["all"] = 1
        yield t


class PassesAMethodOn:
    def __init__(self):
        self.seen = []

    def process(self, t):
        list(map(self.seen.append, [t.sym]))
        yield t


class TakesItsStateFromAFunction:
    def __init__(self):
        self.parts = {"a": []}

    def process(self, t):
        sorted(self.parts.values())[0].append(1)
        yield t


class HasTwoOrigins:
    def __init__(self):
        self.parts = {}

    def process(self, t):
        found = t.sym
        if t.price > 1:
            found = self.parts
        found["all"] = 1
        yield t


class UsesUpAnIterator:
    def __init__(self):
        self.numbers = iter([1, 2])

    def process(self, t):
        for _ in self.numbers:
            break
        yield t


class HasAProperty:
    def __init__(self):
        self.n = 0

    @property
    def number(self):
        self.n += 1
        return self.n

    def process(self, t):
        yield {"sym": t.sym, "price": float(self.number)}


class WritesFilesByKey:
    def __init__(self):
        self.files = {"a": open("a")}  # noqa: SIM115

    def process(self, t):
        self.files[t.sym].write("x")
        yield t


class LoopsOverTheKey:
    def __init__(self):
        self.parts = {}

    def process(self, t):
        for letter in t.sym:
            self.parts[letter] = 1
        yield t


class UnpacksAnotherKey:
    def __init__(self):
        self.parts = {}

    def process(self, t):
        a, _ = t.sym[:1], t.price
        self.parts[a] = 1
        yield t


@pytest.mark.parametrize(
    "owner",
    [
        CallsAnObjectOfAKey,
        CallsAnAlias,
        TakesItsStateFromAMethod,
        PassesAMethodOn,
        TakesItsStateFromAFunction,
        HasTwoOrigins,
        UsesUpAnIterator,
        HasAProperty,
        WritesFilesByKey,
        LoopsOverTheKey,
        UnpacksAnotherKey,
    ],
)
def test_hidden_state_of_classes_is_found(owner):
    found = class_model(owner)
    assert found.state is State.UNKNOWN
    assert found.why


class KeepsAQueueForEachKey:
    def __init__(self, size=3):
        self.size = size
        self.queues = {}

    def process(self, t):
        sym = t.sym
        if sym not in self.queues:
            self.queues[sym] = deque()
        queue = self.queues[sym]
        queue.append(t.price)
        if len(queue) > self.size:
            queue.popleft()
        yield {"sym": sym, "price": sum(queue)}


def test_a_queue_for_each_key_is_partitioned_state():
    found = class_model(KeepsAQueueForEachKey)
    assert (found.state, found.partition_by) == (State.PARTITIONED, (frozenset({"sym"}),))
    assert (found.selectivity, found.forwards) == (Selectivity.EXACTLY_ONE, {"sym"})


class SubmitsElsewhere:
    def process(self, t):
        for _ in range(3):
            self.emit(t)

    def emit(self, t):
        self.submit({"sym": "x", "price": 1.0})


class PassesSubmitOn:
    def process(self, t):
        list(map(self.submit, [t, t]))


class ReturnsTwo:
    def process(self, t):
        return [t, t]


class SubmitsAndReturns:
    def process(self, t):
        self.submit({"sym": "x", "price": t.price})
        return [t]


@pytest.mark.parametrize("owner", [SubmitsElsewhere, PassesSubmitOn, ReturnsTwo, SubmitsAndReturns])
def test_tuples_that_leave_on_another_way_are_counted(owner):
    assert class_model(owner).selectivity is Selectivity.UNKNOWN


def test_what_is_submitted_beside_what_is_returned_is_not_forwarded():
    assert class_model(SubmitsAndReturns).forwards == {"price"}
    assert class_model(SubmitsElsewhere).forwards == frozenset()


def make(sym, price):
    return {"sym": sym.upper(), "price": price}


def calls_what_only_looks_like_a_record(t):
    return make(sym=t.sym, price=t.price)


def spreads_over_it(t):
    return {"sym": t.sym, **make(t.sym, t.price)}


def gives_it_twice(t):
    return {"sym": t.sym, "price": t.price, "sym": "x"}  # noqa: F601


def yields_from_a_call(t):
    yield from parts(sym=t.sym)


def parts(sym):
    yield {"sym": sym + "x", "price": 1.0}


def makes_a_dict(t):
    return dict(sym=t.sym, price=1.0)  # noqa: C408


@pytest.mark.parametrize(
    ("function", "role", "forwarded"),
    [
        (calls_what_only_looks_like_a_record, Role.MAP, {"price"}),
        (spreads_over_it, Role.MAP, set()),
        (gives_it_twice, Role.MAP, {"price"}),
        (yields_from_a_call, Role.FLAT_MAP, set()),
        (makes_a_dict, Role.MAP, {"sym"}),
    ],
)
def test_only_what_is_copied_for_sure_is_forwarded(function, role, forwarded):
    assert model(function, role).forwards == forwarded
