"""Operators written in Python that random programs use; they take tuples of any schema with n, x and s."""

from __future__ import annotations

from penstock import KeyedOperator, Operator, after, filter_, flat_map, map_, sink, source
from penstock.api.operators import definition_of
from penstock.toolkit.core.operator_registry import Registry, standard


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


class PyKeyed(KeyedOperator):
    """Numbers that columns can hold, and now and then cannot."""

    def __init__(self):
        self.count, self.product, self.best, self.last = 0, 1, float("-inf"), None

    def process(self, t):
        self.count += 1
        self.product = self.product * 9 if t.n > 2 else self.product
        if t.x > self.best:
            self.best = t.x
        before = self.last
        self.last = t.n
        if before is None or before != t.n:
            yield t._replace(n=self.count % 1000 + self.product % 7, x=self.best)


class PyKeyedList(KeyedOperator):
    """Objects that no column holds."""

    def __init__(self):
        self.seen = []
        self.counts = {}

    def process(self, t):
        self.seen = [*self.seen[-3:], t.n % 1000]
        self.counts[t.s] = self.counts.get(t.s, 0) + 1
        yield t._replace(n=sum(self.seen) + self.counts[t.s])
        if len(self.counts) > 2:
            self.submit(t._replace(n=len(self.seen)))


class PyKeyedExpiring(PyKeyedList):
    """Forgets without a word."""

    ttl = 1.0


class PyKeyedWake(KeyedOperator):
    """Wakes, expires, and says so."""

    ttl = 2.5

    def __init__(self):
        self.count, self.row = 0, None

    def process(self, t):
        self.count, self.row = self.count + 1, t
        if t.n % 3:
            self.wake(0.5 * (t.n % 3))
        yield t._replace(n=self.count)

    def on_wake(self):
        yield self.row._replace(n=-self.count)

    def on_expire(self):
        yield self.row._replace(n=-1000)

    def on_punctuation(self, port):
        yield self.row._replace(n=-2000)

    def finish(self):
        yield self.row._replace(n=-3000)


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
KEYED_CLASSES = ("PyKeyed", "PyKeyedList", "PyKeyedExpiring")
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
    PyKeyed,
    PyKeyedList,
    PyKeyedExpiring,
    PyKeyedWake,
    PyMeet,
    PyPrint,
)

REGISTRY: Registry = standard().extended([definition_of(value) for value in DEFINED])
"""The standard operators and these."""
