"""Operators written in Python that random programs use; they take tuples of any schema with n, x and s."""

from __future__ import annotations

from penstock import Operator, after, filter_, flat_map, map_, sink, source
from penstock.api.operators import definition_of
from penstock.toolkit.core.registry import Registry, standard


@source
def PySource(*, items: str):
    """What `items` names: tuples of Python, and numbers of seconds to wait."""
    names = {"nan": float("nan"), "inf": float("inf")}
    for item in eval(items, {"__builtins__": {}}, names):
        yield item if isinstance(item, tuple) else after(item)


@map_
def PyAdd(t, *, amount: int = 1):
    return t._replace(n=(t.n % 1000) + amount)


@map_
def PyShout(t):
    return t._replace(s=t.s.upper(), x=t.x * 2.0)


@filter_
def PyOdd(t):
    return t.n % 2 == 1


@filter_
def PyShort(t):
    return len(t.s) < 2


@flat_map
def PyTwice(t):
    yield t
    if t.n > 1:
        yield t._replace(n=t.n % 7, s=t.s + "'")


@map_
def PyInverse(t):
    """Fails where n is zero."""
    return t._replace(n=12 // t.n)


class PyChanges(Operator):
    """Passes a tuple on when its number differs from the last one of its string."""

    def __init__(self):
        self.last = {}

    def process(self, t):
        if self.last.get(t.s) != t.n:
            self.last[t.s] = t.n
            yield t


class PyTotals(Operator):
    """Adds up the numbers of each string."""

    def __init__(self):
        self.totals = {}

    def process(self, t):
        self.totals[t.s] = (self.totals.get(t.s, 0) + t.n) % 100000
        yield t._replace(n=self.totals[t.s])


class PyNumbered(Operator):
    """Numbers all tuples, and sends the last one again at the end."""

    def __init__(self):
        self.count = 0
        self.last = None

    def process(self, t):
        self.count += 1
        self.last = t
        yield t._replace(n=self.count)

    def on_punctuation(self, port):
        if self.last is not None:
            yield self.last._replace(s="marker")

    def finish(self):
        if self.last is not None:
            yield self.last._replace(s="end", n=self.count)


class PyMeet(Operator):
    """Holds tuples of the second port until one of the first comes."""

    inputs = 2

    def __init__(self):
        self.held = []

    def process_port(self, t, port):
        if port == 1:
            self.held.append(t.n % 1000)
        else:
            yield t._replace(n=sum(self.held) % 1000)
            self.held.clear()


@sink
def PyPrint(t, *, label: str, environment):
    """Prints what comes; the order of a set is nobody's promise."""
    values = tuple(sorted(value) if isinstance(value, set) else value for value in t)
    environment.stdout.write(f"{label} {values!r}\n")


FUNCTIONS = ("PyAdd", "PyShout", "PyOdd", "PyShort", "PyTwice")
CLASSES = ("PyChanges", "PyTotals", "PyNumbered")
DEFINED = (
    PySource,
    PyAdd,
    PyShout,
    PyOdd,
    PyShort,
    PyTwice,
    PyInverse,
    PyChanges,
    PyTotals,
    PyNumbered,
    PyMeet,
    PyPrint,
)

REGISTRY: Registry = standard().extended([definition_of(value) for value in DEFINED])
"""The standard operators and these."""
