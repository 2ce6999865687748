"""Operators of a module that changes its own names as it runs."""

# ruff: noqa: B010, SIM401

from __future__ import annotations

import builtins
import math
import sys
from typing import Any

from judged import unknown

STEP = 1
calls: list[int] = []


def counting_ascii(x: Any) -> str:
    calls.append(1)
    return str(len(calls))


def abs(x):
    calls.append(1)
    return len(calls)


def give(t, out):
    return {"sym": t.sym, "out": float(out)}


@unknown
def through_globals(t):
    globals()["STEP"] = STEP + 1
    return {"sym": t.sym, "out": float(STEP)}


@unknown
def reads_what_globals_changes(t):
    return {"sym": t.sym, "out": float(STEP)}


@unknown
def through_vars(t):
    vars(sys.modules[__name__])["STEP"] = 3
    return {"sym": t.sym, "out": 0.0}


@unknown
def through_exec(t):
    exec("calls.append(1)")
    return {"sym": t.sym, "out": float(len(calls))}


@unknown
def through_eval(t):
    return {"sym": t.sym, "out": float(eval("len(calls)"))}


@unknown
def through_setattr(t):
    setattr(math, "tau" + t.sym, 1)
    return {"sym": t.sym, "out": math.tau}


@unknown
def hides_a_builtin(t):
    return {"sym": t.sym, "out": float(abs(t.n))}


@unknown
def patches_builtins(t):
    builtins.ascii = counting_ascii
    return {"sym": t.sym, "out": t.price}


@unknown
def reads_patched_builtins(t):
    return {"sym": ascii(t.sym), "out": t.price}


@unknown
def through_import(t):
    return {"sym": t.sym, "out": float(__import__("random").random())}


@unknown
def through_locals(t):
    return {"sym": t.sym, "out": float(len(locals()["calls"] if "calls" in locals() else calls))}


@unknown
def through_code(t):
    through_code.__code__ = give.__code__
    return {"sym": t.sym, "out": 0.0}


@unknown
def through_modules(t):
    return {"sym": t.sym, "out": float(len(sys.modules))}


@unknown
def through_breakpoint(t):
    return {"sym": t.sym, "out": float(len(str(sys.flags)))}


@unknown
class ThroughSetattr:
    def process(self, t):
        setattr(self, "n", getattr(self, "n", 0) + 1)
        yield {"sym": t.sym, "out": float(self.n)}


@unknown
class SetsAttributesByName:
    def __init__(self):
        for name in ("a", "b"):
            setattr(self, name, iter(range(1000)))

    def process(self, t):
        yield {"sym": t.sym, "out": float(next(self.a))}


@unknown
class ThroughDict:
    def __init__(self):
        self.__dict__.update(n=iter(range(1000)))

    def process(self, t):
        yield {"sym": t.sym, "out": float(next(self.n))}
