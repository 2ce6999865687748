"""Keyed operators whose state is of an unusual kind mean the same on one and on three channels."""

# ruff: noqa: B006

from __future__ import annotations

import copy
import random
from collections import defaultdict
from dataclasses import dataclass
from enum import Enum

import pytest
from test_plans import environment, files

from penstock import App, KeyedOperator, after, source
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.reference import run
from plan_runner import run_plan

SCHEMA = "rstring k, rstring u, int64 n, float64 p, list<int64> xs, boolean b"


@source
def events():
    chosen = random.Random(3)
    for i in range(40):
        price = chosen.choice([0.0, -0.0, 1.5, float("nan")])
        yield chosen.choice("abcd"), chosen.choice("xy"), i, price, [i, i + 1], bool(i % 2)
        if chosen.random() < 0.3:
            yield after(chosen.choice([0.5, 1.0, 2.5]))


class Counting(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield t.k, float(self.n)


class ByPrice(Counting):
    partition_by = "p"


class ByFlag(Counting):
    partition_by = ("b", "u")


class SlotsSetLate(KeyedOperator):
    partition_by = "k"
    __slots__ = ("late", "n")

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        if self.n == 3:
            self.late = 7
        yield t.k, float(getattr(self, "late", -1))


class Aliases(KeyedOperator):
    """One list under two names, an attribute of the tuple that is kept, a method and itself."""

    partition_by = "k"

    def __init__(self):
        self.a = self.b = []
        self.kept, self.me, self.act = None, self, self.add

    def add(self, t):
        self.a.append(t.n)
        if self.kept is None:
            self.kept = t.xs
        self.me.kept.append(1)
        return len(self.b) * 100 + len(self.kept) + len(t.xs)

    def process(self, t):
        yield t.k, float(self.act(t))


class CopiesItself(Counting):
    def process(self, t):
        before, shallow = copy.deepcopy(self), copy.copy(self)
        self.n += 1
        yield t.k, float(before.n + shallow.n)


class Hooks(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.d = {"n": 0}
        self.doubled = 1

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.d[name]

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2 if name == "doubled" else value)

    def process(self, t):
        self.d["n"] += 1
        self.doubled = (self.doubled + 1) % 97
        yield t.k, float(self.n * 1000 + self.doubled)


class Color(Enum):
    RED = 1
    GREEN = 2


@dataclass
class Account:
    n: int = 0
    color: Color = Color.RED


class OwnClasses(KeyedOperator):
    partition_by = "k"

    def __init__(self, log=[]):
        self.log, self.by, self.color = log, defaultdict(Account), Color.RED

    def process(self, t):
        self.log.append(t)
        self.by[t.u].n += 1
        self.color = Color.GREEN if self.color is Color.RED else Color.RED
        if len(self.log) == 2:
            del self.color
            self.color = Color.RED
        yield t.k, self.by[t.u].n + len(self.log) * 100 + self.color.value / 10


class GivesItsOwnList(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.buffer = []

    def process(self, t):
        self.buffer.append((t.k, float(t.n)))
        return self.buffer if len(self.buffer) < 3 else None


class WakesAndExpires(KeyedOperator):
    partition_by, ttl = "k", 2.0

    def __init__(self):
        self.n = 0
        self.wake(0.5)

    def process(self, t):
        self.n += 1
        self.wake(3.0)
        self.wake(None if self.n % 4 == 0 else 1.0)

    def on_wake(self):
        yield self.key.k, 1000.0 + self.n + self.now
        self.wake(0.5)

    def on_expire(self):
        self.submit((self.key.k, float(self.n)))


@pytest.mark.parametrize(
    "owner",
    [
        Counting,
        ByPrice,
        ByFlag,
        SlotsSetLate,
        Aliases,
        CopiesItself,
        Hooks,
        OwnClasses,
        GivesItsOwnList,
        WakesAndExpires,
    ],
)
def test_it_means_the_same_on_channels_and_in_batches(owner, tmp_path):
    program = made(owner)
    with environment(tmp_path, tmp_path / "whole") as whole:
        run(program, environment=whole)
    wanted = files(tmp_path / "whole")
    assert wanted["v.csv"].count(b"\n") > 8
    for channels, turns in ((1, 3), (3, 7)):
        plan = physical_plan(program.application, [[o.id] for o in program.application.operators], channels)
        assert plan.channels == channels
        out = tmp_path / f"on-{channels}"
        with environment(tmp_path, out) as surroundings:
            run_plan(program, plan, surroundings, turns_per_batch=turns)
        assert files(out) == wanted, channels


def made(owner):
    app = App("Keyed")
    app.source(events, SCHEMA).apply(owner, "rstring k, float64 out").write_file("v.csv")
    return app.program()


class KeepsAGenerator(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.numbers = (float(i) for i in range(1000))

    def process(self, t):
        yield t.k, next(self.numbers)


def test_a_generator_is_no_state(tmp_path):
    program = made(KeepsAGenerator)
    plan = physical_plan(program.application, [[o.id] for o in program.application.operators], 3)
    with (
        environment(tmp_path, tmp_path / "out") as surroundings,
        pytest.raises(UserError, match=r"the attribute `numbers` of operator `KeepsAGenerator`.*cannot be pickled"),
    ):
        run_plan(program, plan, surroundings, turns_per_batch=7)
