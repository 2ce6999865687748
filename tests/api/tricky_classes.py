"""Classes that hide state, share it between keys, or show the state of other keys."""

# ruff: noqa: B006, E731, RUF012, RUF024

from __future__ import annotations

import heapq
import itertools
import operator
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from types import SimpleNamespace

from judged import at_best, at_best_stateless, unknown
from tricky_state import SEEN_ELSEWHERE

CALLS = itertools.count()
SHARED: dict[str, int] = {}


class Base:
    def __init__(self):
        self.d = {}
        self.total = 0


def give(t, out):
    return {"sym": t.sym, "out": float(out)}


@unknown
class Total(Base):
    def process(self, t):
        self.total += 1
        yield give(t, self.total)


@unknown
class LengthOfMap(Base):
    def process(self, t):
        self.d[t.sym] = 1
        yield give(t, len(self.d))


@unknown
class IsMapEmpty(Base):
    def process(self, t):
        out = 1 if self.d else 0
        self.d[t.sym] = 1
        yield give(t, out)


@unknown
class SumOfValues(Base):
    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, sum(self.d.values()))


@unknown
class LoopOverKeys(Base):
    def process(self, t):
        self.d[t.sym] = t.n
        out = 0
        for key in self.d:
            out += len(key)
        yield give(t, out)


@unknown
class PopItem(Base):
    def process(self, t):
        self.d[t.sym] = t.n
        if len(t.alt) > 1:
            self.d.popitem()
        yield give(t, self.d.get(t.sym, 0))


@unknown
class OtherKeyIsThere(Base):
    def process(self, t):
        out = t.alt in self.d
        self.d[t.sym] = 1
        yield give(t, out)


@unknown
class TwoKeysInOneMap(Base):
    def process(self, t):
        self.d[t.sym] = 1
        self.d[t.alt] = 2
        yield give(t, self.d[t.sym])


@unknown
class SwappedKeys(Base):
    def process(self, t):
        self.d[t.sym, t.alt] = t.n
        yield give(t, self.d.get((t.alt, t.sym), 0))


@unknown
class KeyOfAnotherShape(Base):
    def process(self, t):
        self.d[(t.sym,)] = t.n
        self.d[t.sym] = t.n
        yield give(t, self.d.get((t.sym,), 0))


@unknown
class NormalisedKey(Base):
    def process(self, t):
        key = t.sym
        key = key.lower()
        self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@unknown
class KeyChangedOnOnePath(Base):
    def process(self, t):
        key = t.sym
        if t.n % 2:
            key = "odd"
        self.d[key] = self.d.get(key, 0) + 1
        yield give(t, self.d[key])


@unknown
class KeyByFunction(Base):
    def key(self, sym):
        return sym[:1]

    def process(self, t):
        self.d[self.key(t.sym)] = t.n
        yield give(t, 0)


@unknown
class KeyByModulo(Base):
    def process(self, t):
        self.d[t.n % 2] = self.d.get(t.n % 2, 0) + 1
        yield give(t, self.d[t.n % 2])


@unknown
class FloatKey(Base):
    def process(self, t):
        self.d[t.price] = self.d.get(t.price, 0) + 1
        yield give(t, self.d[t.price])


@unknown
class OneAndTrue(Base):
    def process(self, t):
        self.d[t.n] = self.d.get(t.n, 0) + 1
        yield give(t, self.d.get(True, 0))


@unknown
class ConstantKey(Base):
    def process(self, t):
        self.d["all"] = self.d.get("all", 0) + 1
        yield give(t, self.d["all"])


@unknown
class LoopedKeys(Base):
    def process(self, t):
        for x in t.xs:
            self.d[x] = self.d.get(x, 0) + 1
        yield give(t, 0)


@unknown
class UpdateOfMap(Base):
    def process(self, t):
        self.d.update({t.sym: 1, "last": t.n})
        yield give(t, self.d.get(t.sym, 0))


@unknown
class ClearsMap(Base):
    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        if t.n == 7:
            self.d.clear()
        yield give(t, self.d.get(t.sym, 0))


@unknown
class ReplacesMap(Base):
    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        out = self.d[t.sym]
        if t.n == 7:
            self.d = {}
        yield give(t, out)


@unknown
class CountingFactory:
    def __init__(self):
        self.n = itertools.count()
        self.d = defaultdict(lambda: next(self.n))

    def process(self, t):
        yield give(t, self.d[t.sym])


@unknown
class FactoryOfLength:
    def __init__(self):
        self.d = defaultdict(self.size)

    def size(self):
        return len(self.d)

    def process(self, t):
        yield give(t, self.d[t.sym])


@unknown
class GlobalFactory:
    def __init__(self):
        self.d = defaultdict(CALLS.__next__)

    def process(self, t):
        yield give(t, self.d[t.sym])


@unknown
class DefaultMapByLength:
    def __init__(self):
        self.d = defaultdict(int)

    def process(self, t):
        self.d[t.sym] += 1
        yield give(t, len(self.d))


@unknown
class ReadingFillsTheMap:
    def __init__(self):
        self.d = defaultdict(int)

    def process(self, t):
        _ = self.d[t.sym]
        yield give(t, len(self.d))


@unknown
class SameListFromKeys:
    def __init__(self):
        self.d = dict.fromkeys(["a", "b", "c"], [])

    def process(self, t):
        found = self.d.get(t.sym, [])
        found.append(t.n)
        yield give(t, len(found))


@unknown
class SameListByFactory:
    def __init__(self):
        shared = []
        self.d = defaultdict(lambda: shared)

    def process(self, t):
        self.d[t.sym].append(t.n)
        yield give(t, len(self.d[t.sym]))


@unknown
class TemplateUnderEveryKey:
    def __init__(self):
        self.d = {}
        self.empty = []

    def process(self, t):
        found = self.d.setdefault(t.sym, self.empty)
        found.append(t.n)
        yield give(t, len(found))


@unknown
class TemplateByGet:
    def __init__(self):
        self.d = {}
        self.empty = [0]

    def process(self, t):
        found = self.d.get(t.sym, self.empty)
        found[0] += 1
        yield give(t, found[0])


@unknown
class MutableDefaultUnderEveryKey(Base):
    def fresh(self, start=[]):
        return start

    def process(self, t):
        self.d.setdefault(t.sym, self.fresh()).append(t.n)
        yield give(t, len(self.d[t.sym]))


@unknown
class OneMapUnderTwoNames:
    def __init__(self):
        self.a = self.b = {}

    def process(self, t):
        self.a[t.sym] = 1
        yield give(t, len(self.b))


@unknown
class OneMapByTwoKeysUnderTwoNames:
    def __init__(self):
        self.a = {}
        self.b = self.a

    def process(self, t):
        self.a[t.sym] = t.n
        yield give(t, self.b.get(t.alt, 0))


@unknown
class OneListInTwoPlaces:
    def __init__(self):
        row = [0, 0]
        self.rows = {"x": row, "y": row}

    def process(self, t):
        self.rows["x"][0] += 1
        yield give(t, self.rows["y"][0])


@unknown
class ListByKey:
    def __init__(self):
        self.slots = [0] * 100

    def process(self, t):
        self.slots[t.n % 100] += 1
        yield give(t, self.slots[t.n % 100])


@unknown
class ListByExactKey:
    def __init__(self):
        self.slots = [0] * 100

    def process(self, t):
        self.slots[t.n] += 1
        yield give(t, self.slots[t.n])


@unknown
class SliceByKey:
    def __init__(self):
        self.slots = [0] * 100

    def process(self, t):
        self.slots[t.n : t.n + 2] = [1, 1]
        yield give(t, self.slots[t.n])


@unknown
class ListAppended:
    def __init__(self):
        self.seen = []

    def process(self, t):
        self.seen.append(t.n)
        yield give(t, 0)


@unknown
class ListAppendedByAlias:
    def __init__(self):
        self.seen = []
        self.add = self.seen.append

    def process(self, t):
        self.add(t.n)
        yield give(t, len(self.seen))


@unknown
class HeapOfAll:
    def __init__(self):
        self.heap = []

    def process(self, t):
        heapq.heappush(self.heap, t.n)
        yield give(t, self.heap[0])


@unknown
class SetOfOther:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        is_new = t.sym not in self.seen
        self.seen.add(t.alt)
        yield give(t, is_new)


@unknown
class SetByLength:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        self.seen.add(t.sym)
        yield give(t, len(self.seen))


@unknown
class SetUpdated:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        self.seen |= {t.sym}
        yield give(t, t.sym in self.seen)


class LRU(dict):
    def __setitem__(self, key, value):
        if len(self) > 1:
            self.pop(next(iter(self)))
        super().__setitem__(key, value)


@unknown
class KeepsAnLRU:
    def __init__(self):
        self.d = LRU()

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, self.d[t.sym])


class CaseInsensitive(dict):
    def get(self, key, default=None):
        return super().get(key.lower(), default)

    def __setitem__(self, key, value):
        super().__setitem__(key.lower(), value)


@unknown
class KeepsCaseInsensitive:
    def __init__(self):
        self.d = CaseInsensitive()

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, self.d.get(t.sym))


@unknown
class OrderedMovesAndPops:
    def __init__(self):
        self.d = OrderedDict()

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        self.d.move_to_end(t.sym)
        yield give(t, next(iter(self.d.values())))


@unknown
class OrderedPopsTheOldest:
    def __init__(self):
        self.d = OrderedDict()

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        out = self.d[t.sym]
        if len(self.d) > 2:
            self.d.popitem(last=False)
        yield give(t, out)


@unknown
class CounterOfAll:
    def __init__(self):
        self.c = Counter()

    def process(self, t):
        self.c[t.sym] += 1
        yield give(t, self.c.most_common(1)[0][1])


@unknown
class CounterUpdated:
    def __init__(self):
        self.c = Counter()

    def process(self, t):
        self.c.update(t.xs)
        yield give(t, 0)


@unknown
class CounterTotal:
    def __init__(self):
        self.c = Counter()

    def process(self, t):
        self.c[t.sym] += 1
        yield give(t, self.c.total())


@unknown
class ReplacedMethod:
    def __init__(self):
        self.n = itertools.count()
        self.process = self.other

    def other(self, t):
        yield give(t, next(self.n))

    def process(self, t):
        yield give(t, 0)


@unknown
class ReplacedHelper:
    def __init__(self):
        self.helper = CALLS.__next__

    def helper(self):
        return 0

    def process(self, t):
        yield give(t, self.helper())


@unknown
class ReplacedHelperByLambda:
    def __init__(self):
        n = itertools.count()
        self.helper = lambda: next(n)

    def process(self, t):
        yield give(t, self.helper())


@unknown
class ClosureInConstructor:
    def __init__(self):
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        self.bump = bump

    def process(self, t):
        yield give(t, self.bump())


@unknown
class GetAttribute:
    def __getattr__(self, name):
        return next(CALLS)

    def process(self, t):
        yield give(t, self.anything)


@unknown
class GetAttributeAlways:
    def __init__(self):
        self.x = 1

    def __getattribute__(self, name):
        return next(CALLS) if name == "x" else super().__getattribute__(name)

    def process(self, t):
        yield give(t, self.x)


@unknown
class SetAttribute:
    def __init__(self):
        self.d = {}

    def __setattr__(self, name, value):
        super().__setattr__(name, SHARED)

    def process(self, t):
        self.d[t.sym] = 1
        yield give(t, 0)


@unknown
class Slotted:
    __slots__ = ("n",)

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield give(t, self.n)


@unknown
class ClassCounter:
    made = 0

    def process(self, t):
        ClassCounter.made += 1
        yield give(t, self.made)


@unknown
class NumberOfInstance:
    born = 0

    def __init__(self):
        NumberOfInstance.born += 1
        self.number = NumberOfInstance.born

    def process(self, t):
        yield give(t, self.number)


@unknown
class ClassLevelMap:
    d: dict[str, int] = {}

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, len(self.d))


@unknown
class Property:
    def __init__(self):
        self.n = 0

    @property
    def next_number(self):
        self.n += 1
        return self.n

    def process(self, t):
        yield give(t, self.next_number)


@unknown
class DictOfSelf:
    def __init__(self):
        self.n = 0

    def process(self, t):
        self.__dict__["n"] += 1
        yield give(t, self.n)


@unknown
class VarsOfSelf:
    def process(self, t):
        vars(self)[t.sym] = 1
        yield give(t, len(vars(self)))


class Counting(Base):
    def step(self, t):
        self.total += 1
        return self.total


@unknown
class Inherits(Counting):
    def process(self, t):
        yield give(t, self.step(t))


class Quiet(Base):
    def step(self, t):
        return 1

    def process(self, t):
        yield give(t, self.step(t))


@unknown
class Overrides(Quiet):
    def step(self, t):
        self.total += 1
        return super().step(t) + self.total


@unknown
class ParentConstructor(Base):
    def __init__(self):
        super().__init__()
        self.seen = iter(range(1000))

    def process(self, t):
        yield give(t, next(self.seen))


@unknown
class Mixed(Quiet, Counting):
    def step(self, t):
        return Counting.step(self, t)


@unknown
class GeneratorInConstructor:
    def __init__(self):
        self.numbers = (n * n for n in range(1000))

    def process(self, t):
        yield give(t, next(self.numbers))


@unknown
class RunningGenerator:
    def __init__(self):
        self.running = self.average()
        next(self.running)

    def average(self):
        total = 0.0
        while True:
            total += yield total

    def process(self, t):
        yield give(t, self.running.send(t.price))


@unknown
class IteratorUnderAKey(Base):
    def process(self, t):
        if t.sym not in self.d:
            self.d[t.sym] = iter([t.n, self.total])
        yield give(t, next(self.d[t.sym], 0))


@unknown
class FunctionUnderAKey(Base):
    def process(self, t):
        self.d.setdefault(t.sym, lambda: t.n)
        yield give(t, self.d[t.sym]())


@unknown
class TupleUnderAKeyAsKey:
    """The old tuple's symbol is not the key of the tuple in hand."""

    def __init__(self):
        self.last = {}
        self.d = {}

    def process(self, t):
        old = self.last.get(t.n, t)
        self.last[t.n] = t
        self.d[old.sym] = self.d.get(old.sym, 0) + 1
        yield give(t, self.d[old.sym])


@unknown
class OldKeyInAList:
    def __init__(self):
        self.last = {}
        self.d = {}

    def process(self, t):
        held = self.last.setdefault(t.n, [])
        held.append(t.sym)
        self.d[held[0]] = self.d.get(held[0], 0) + 1
        yield give(t, self.d[held[0]])


@unknown
class KeyOfAReplacedTuple(Base):
    def process(self, t):
        t = t._replace(sym=t.alt[:1])
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield {"sym": t.sym, "out": float(self.d[t.sym])}


@unknown
class NoCommonKey:
    def __init__(self):
        self.a = {}
        self.b = {}

    def process(self, t):
        self.a[t.sym] = self.a.get(t.sym, 0) + 1
        self.b[t.alt] = self.b.get(t.alt, 0) + 1
        yield give(t, self.a[t.sym] + self.b[t.alt])


@unknown
class AliasedEntries:
    def __init__(self):
        self.a = {}
        self.b = {}

    def process(self, t):
        found = self.a.setdefault(t.sym, [])
        self.b[t.alt] = found
        self.b[t.alt].append(t.n)
        yield give(t, len(found))


@unknown
class AugmentedAlias(Base):
    def process(self, t):
        x = self.d.get("all")
        if x is None:
            x = self.d["all"] = []
        x += [t.n]
        yield give(t, len(x))


class Accumulator:
    instances = 0

    def __init__(self):
        Accumulator.instances += 1
        self.n = 0

    def add(self, x):
        self.n += x
        return self.n + Accumulator.instances


@unknown
class CountingAccumulators(Base):
    def process(self, t):
        acc = self.d.setdefault(t.sym, Accumulator())
        yield give(t, acc.add(t.n))


class SharedAccumulator:
    seen = []

    def add(self, x):
        self.seen.append(x)
        return len(self.seen)


@unknown
class SharedAccumulators(Base):
    def process(self, t):
        acc = self.d.setdefault(t.sym, SharedAccumulator())
        yield give(t, acc.add(t.n))


class DefaultAccumulator:
    def __init__(self, seen=[]):
        self.seen = seen

    def add(self, x):
        self.seen.append(x)
        return len(self.seen)


@unknown
class DefaultAccumulators(Base):
    def process(self, t):
        acc = self.d.setdefault(t.sym, DefaultAccumulator())
        yield give(t, acc.add(t.n))


class ParentAccumulator:
    def __init__(self, parent):
        self.parent = parent

    def add(self, x):
        self.parent.total += x
        return self.parent.total


@unknown
class ParentAccumulators(Base):
    def process(self, t):
        acc = self.d.setdefault(t.sym, ParentAccumulator(self))
        yield give(t, acc.add(t.n))


class OperatorAccumulator:
    def __init__(self):
        self.n = 0

    def __iadd__(self, other):
        next(CALLS)
        self.n += next(CALLS)
        return self


@unknown
class OperatorAccumulators(Base):
    def process(self, t):
        acc = self.d.setdefault(t.sym, OperatorAccumulator())
        acc += t.n
        yield give(t, acc.n)


@unknown
class OneAccumulator:
    def __init__(self):
        self.acc = SimpleNamespace(n=0)

    def process(self, t):
        self.acc.n += 1
        yield give(t, self.acc.n)


class Plain:
    def __init__(self):
        self.n = 0

    def bump(self):
        self.n += 1
        return self.n


@unknown
class OnePlainAccumulator:
    def __init__(self):
        self.acc = Plain()

    def process(self, t):
        yield give(t, self.acc.bump())


@unknown
class OnePlainAccumulatorByAlias:
    def __init__(self):
        self.acc = Plain()
        self.bump = self.acc.bump

    def process(self, t):
        yield give(t, self.bump())


@unknown
class Lock:
    def __init__(self):
        self.lock = threading.Lock()
        self.n = 0

    def process(self, t):
        with self.lock:
            self.n += 1
        yield give(t, self.n)


@unknown
class SetItemFunction(Base):
    def process(self, t):
        operator.setitem(self.d, "all", self.d.get("all", 0) + 1)
        yield give(t, self.d["all"])


@unknown
class SetItemByMap(Base):
    def process(self, t):
        list(map(self.d.__setitem__, ["all"], [len(self.d)]))
        yield give(t, self.d["all"])


@unknown
class EscapesIntoTheResult(Base):
    def process(self, t):
        self.d[t.sym] = t.n
        yield {"sym": str(self.d), "out": 0.0}


@unknown
class EscapesIntoAnotherModule(Base):
    def process(self, t):
        self.d.setdefault(t.sym, [])
        SEEN_ELSEWHERE.append(self.d[t.sym])
        yield give(t, len(SEEN_ELSEWHERE))


@unknown
class Walrus(Base):
    def process(self, t):
        if (d := self.d) and "all" in d:
            d["all"] += 1
        else:
            self.d["all"] = 1
        yield give(t, self.d["all"])


@unknown
class Unpacked:
    def __init__(self):
        self.parts = ({}, [])

    def process(self, t):
        _, log = self.parts
        log.append(t.n)
        yield give(t, len(log))


@unknown
class ComparesMaps:
    def __init__(self):
        self.a = {}
        self.b = {}

    def process(self, t):
        self.a[t.sym] = 1
        yield give(t, self.a == self.b)


@unknown
class CopiesTheMap(Base):
    def process(self, t):
        self.d[t.sym] = 1
        yield give(t, len(dict(self.d)))


@unknown
class MapInAComprehension(Base):
    def process(self, t):
        self.d[t.sym] = t.n
        yield give(t, max(v for v in self.d.values()))


@unknown
class MapInALambda(Base):
    def process(self, t):
        self.d[t.sym] = t.n
        size = lambda: len(self.d)
        yield give(t, size())


@unknown
class StateOnRestore:
    def __init__(self):
        self.d = {}

    def __getstate__(self):
        return {"d": {"restored": next(CALLS)}}

    def process(self, t):
        self.d[t.sym] = self.d.get(t.sym, 0) + 1
        yield give(t, self.d[t.sym])


@unknown
class QueueOfAll:
    def __init__(self):
        self.queue = deque(maxlen=3)

    def process(self, t):
        self.queue.append(t.n)
        yield give(t, sum(self.queue))


@unknown
class NestedByOther:
    def __init__(self):
        self.d = {"x": {}}

    def process(self, t):
        self.d["x"]["n"] = self.d["x"].get("n", 0) + 1
        yield give(t, self.d["x"]["n"])


@unknown
class OldTupleAsKeyThroughARecord:
    def __init__(self):
        self.last = {}
        self.seen = set()

    def process(self, t):
        pair = self.last.get(t.n, (t.sym, t.alt))
        self.last[t.n] = (t.sym, t.alt)
        is_new = pair[0] not in self.seen
        self.seen.add(pair[0])
        yield give(t, is_new)


@unknown
class SubmitsTheCount:
    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n = self.n + 1
        self.submit(give(t, self.n))


@at_best("sym")
class TwoMaps:
    def __init__(self):
        self.a = {}
        self.b = {}

    def process(self, t):
        self.a[t.sym] = self.a.get(t.sym, 0) + 1
        self.b[t.sym, t.alt] = self.b.get((t.sym, t.alt), 0) + 1
        yield give(t, self.a[t.sym] + self.b[t.sym, t.alt])


@at_best("sym")
class AliasedWithinAKey:
    def __init__(self):
        self.a = {}
        self.b = {}

    def process(self, t):
        found = self.a.setdefault(t.sym, [])
        self.b[t.sym] = found
        self.b[t.sym].append(t.n)
        yield give(t, len(found))


@at_best("sym")
class MapOfMaps(Base):
    def process(self, t):
        inner = self.d.setdefault(t.sym, {})
        inner[t.alt] = inner.get(t.alt, 0) + 1
        yield give(t, len(inner))


@at_best("sym")
class LastTuple(Base):
    def process(self, t):
        last = self.d.get(t.sym)
        self.d[t.sym] = t
        yield give(t, last.n if last is not None else 0)


@at_best("sym")
class Replaced(Base):
    def process(self, t):
        sym = t.sym
        n = self.d.pop(sym, 0)
        self.d[sym] = n + 1
        t = t._replace(n=n)
        yield give(t, t.n)


@at_best_stateless
class ReadsItsMap:
    def __init__(self):
        self.rates = {"a": 1.5, "b": 2.0}

    def process(self, t):
        yield give(t, self.rates.get(t.sym.lower(), 1.0) * len(self.rates))


@at_best_stateless
class LooksUpByLoop:
    def __init__(self):
        self.words = {"a", "b"}

    def process(self, t):
        yield give(t, sum(m in self.words for m in sorted(t.marks)))
