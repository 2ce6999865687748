"""Operators as people write them, of which the inference must see that they are stateless or keyed."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import operator
import re
import statistics
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial, reduce
from typing import NamedTuple

from judged import keyed, stateless, stateless_filter, stateless_flat_map

LIMIT = 100
WORDS = ("a", "b", "c")
STOP = frozenset({"the", "and"})
PATTERN = re.compile(r"(\w)(\d*)")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NAMES = (("a", 1), ("b", 2))


class Side(Enum):
    BUY = "a"
    SELL = "b"


class Out(NamedTuple):
    sym: str
    out: float = 0.0


Pair = namedtuple("Pair", "sym out")


@dataclass
class Result:
    sym: str
    out: float = 1.0


@dataclass(frozen=True)
class Config:
    factor: float = 2.0
    names: tuple[str, ...] = ("a",)


CONFIG = Config()


def clean(text, *, width=3):
    return text.strip().lower()[:width]


def average(values):
    found = list(values)
    return sum(found) / len(found) if found else 0.0


def twice(function):
    def wrapped(t):
        first = function(t)
        return {"sym": first["sym"], "out": first["out"] * 2}

    return wrapped


stateless(lambda t: {"sym": t.sym, "out": t.price * 2})
stateless(lambda t: (t.sym, t.price))
stateless(lambda t: {"sym": t.sym, "out": float(sum(len(w) for w in t.sym.split()))})
stateless_filter(lambda t: t.price > LIMIT and t.sym in WORDS)
stateless_filter(lambda t: t.sym not in STOP)
stateless_flat_map(lambda t: [{"sym": w, "out": float(x)} for w in t.sym for x in t.xs])


def scaled_by(factor):
    return lambda t: {"sym": t.sym, "out": t.price * factor}


stateless(scaled_by(3.5))


@stateless
def arithmetic(t):
    total = t.price
    total += t.n**2 / 3 - abs(t.price) // 2
    return {"sym": t.sym, "out": round(max(total, LIMIT, -t.price), 2)}


@stateless
def text(t):
    return {"sym": f"{t.sym.strip().upper():>4}-{t.n:03d}", "out": float(len(t.alt.replace("a", "b").split(",")))}


@stateless
def helpers(t):
    return {"sym": clean(t.sym, width=2), "out": average(x / 2 for x in t.xs)}


@stateless
def mathematics(t):
    return {"sym": t.sym, "out": math.sqrt(abs(t.price)) + math.pi * math.floor(t.n / 7)}


@stateless
def patterns(t):
    found = PATTERN.search(t.sym)
    letter = found.group(1) if found else ""
    return {"sym": re.sub(r"\s+", " ", letter) + "".join(PATTERN.findall(t.alt)[0]), "out": float(found is not None)}


@stateless
def parses_json(t):
    record = json.loads('{"a": [1, 2, {"b": "c"}]}')
    return {"sym": record["a"][2]["b"] + json.dumps({"k": t.sym, "x": t.xs}), "out": float(record.get("z", 0))}


@stateless
def dates(t):
    when = EPOCH + timedelta(days=t.n)
    start = datetime.strptime("2020-01-02", "%Y-%m-%d").date()
    later = datetime.fromtimestamp(t.n, tz=UTC)
    return {"sym": when.isoformat() + later.strftime("%H"), "out": (date(2020, 1, 5) - start).total_seconds()}


@stateless
def decimals(t):
    return {"sym": t.sym, "out": float(Decimal("1.10") * t.n)}


@stateless
def comprehensions(t):
    lengths = {w: len(w) for w in t.alt.split()}
    return {"sym": ",".join(sorted(lengths)), "out": float(sum(v for v in lengths.values() if v > 1))}


@stateless
def local_containers(t):
    found = []
    counts = {}
    for x in t.xs:
        found.append(x)
        counts[x] = counts.get(x, 0) + 1
    found.sort(reverse=True)
    return {"sym": t.sym, "out": float(len(found) + len(counts) + (found[0] if found else 0))}


@stateless
def counts_words(t):
    top = Counter(t.sym).most_common(1)
    return {"sym": top[0][0] if top else "", "out": float(top[0][1]) if top else 0.0}


@stateless
def groups(t):
    by = defaultdict(list)
    for x in t.xs:
        by[x % 3].append(x)
    return {"sym": t.sym, "out": float(max((len(v) for v in by.values()), default=0))}


@stateless
def tries(t):
    try:
        value = float(t.sym)
    except (ValueError, TypeError) as error:
        return {"sym": str(error), "out": -1.0}
    else:
        return {"sym": t.sym, "out": value}
    finally:
        pass


@stateless
def matches(t):
    match t.sym:
        case "a" | "b":
            out = 1.0
        case str(text) if len(text) > 2:
            out = 2.0
        case _:
            out = 0.0
    return {"sym": t.sym, "out": out}


@stateless
def named_tuple(t):
    return Out(t.sym, out=t.price)


@stateless
def old_named_tuple(t):
    return Pair(t.sym, t.price)._replace(out=1.0)


@stateless
def data_class(t):
    return Result(t.sym)


@stateless
def enumeration(t):
    side = Side.BUY if t.n > 0 else Side.SELL
    return {"sym": side.value, "out": float(side == Side.BUY)}


@stateless
def configuration(t):
    return {"sym": t.sym, "out": t.price * CONFIG.factor if t.sym in CONFIG.names else t.price}


@stateless
def sorts(t):
    pairs = sorted(((x % 3, x) for x in t.xs), key=lambda p: (p[0], -p[1]))
    return {"sym": t.sym, "out": float(pairs[0][1]) if pairs else 0.0}


@stateless
def zips(t):
    total = 0
    for i, (a, b) in enumerate(zip(t.xs, t.xs[1:], strict=False)):
        total += i * a * b
    return {"sym": t.sym, "out": float(total)}


@stateless
def functional(t):
    total = reduce(operator.add, map(abs, filter(None, t.xs)), 0)
    return {"sym": t.sym, "out": float(total + sum(itertools.chain([1], t.xs)))}


@stateless
def digests(t):
    return {"sym": hashlib.sha256(t.sym.encode()).hexdigest()[:8], "out": float(len(base64.b64encode(b"x")))}


@stateless
def statistic(t):
    return {"sym": t.sym, "out": float(statistics.mean(t.xs)) if t.xs else math.nan}


short = partial(clean, width=1)


@stateless
def partial_function(t):
    return {"sym": short(t.sym), "out": t.price}


@stateless
def nested_function(t):
    def square(x):
        return x * x

    return {"sym": t.sym, "out": float(sum(square(x) for x in t.xs))}


@stateless
def recursive(t):
    def gcd(a, b):
        return a if b == 0 else gcd(b, a % b)

    return {"sym": t.sym, "out": float(gcd(t.n, 12))}


@stateless
@twice
def decorated(t):
    return {"sym": t.sym, "out": t.price}


@stateless
def takes_the_least(t):
    best = min(NAMES, key=operator.itemgetter(1))
    return {"sym": best[0], "out": float(min(t.xs, default=0))}


@stateless
def sets_without_order(t):
    common = t.marks & {"a", "b"}
    return {"sym": "".join(sorted(common | set(t.sym))), "out": float(len(common) + ("a" in t.marks))}


@stateless
def whole_row(t):
    row = t._asdict()
    return {"sym": row["sym"], "out": row["price"] + len(row) + t[2]}


@stateless
def imports_inside(t):
    import math as m

    return {"sym": t.sym, "out": m.sqrt(abs(t.price))}


@stateless_filter
def predicate(t):
    if not t.xs:
        return False
    return all(x >= 0 for x in t.xs) and any(x > 1 for x in t.xs) and isinstance(t.n, int)


@stateless_flat_map
def words(t):
    for word in t.sym.split():
        if len(word) >= 2:
            yield {"sym": word.lower(), "out": 1.0}


@stateless_flat_map
def generator_helper(t):
    def parts(text):
        while text:
            yield text[:2]
            text = text[2:]

    yield from ({"sym": part, "out": t.price} for part in parts(t.sym))


def give(t, out):
    return {"sym": t.sym, "out": float(out)}


@stateless
class Threshold:
    factor = 2

    def __init__(self, limit=1.5):
        self.limit = limit
        self.rates = {"a": 1.0}
        self.words = ["a", "b"]

    def process(self, t):
        if t.price > self.limit * self.factor and t.sym in self.words:
            yield give(t, self.rates.get(t.sym, 0.0))


@stateless
class Submitting:
    def process(self, t):
        self.submit(give(t, t.price))


@keyed("sym")
class CountByGet:
    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.sym] = self.counts.get(t.sym, 0) + 1
        yield give(t, self.counts[t.sym])


@keyed("sym")
class CountByDefault:
    def __init__(self):
        self.counts = defaultdict(int)
        self.sums = defaultdict(float)
        self.seen = defaultdict(list)

    def process(self, t):
        self.counts[t.sym] += 1
        self.sums[t.sym] += t.price
        self.seen[t.sym].append(t.n)
        yield give(t, self.sums[t.sym] / self.counts[t.sym] + len(self.seen[t.sym]))


@keyed("sym")
class CountByCounter:
    def __init__(self):
        self.counts = Counter()

    def process(self, t):
        self.counts[t.sym] += 1
        yield give(t, self.counts[t.sym])


@keyed("sym")
class Changes:
    def __init__(self):
        self.last = {}

    def process(self, t):
        if self.last.get(t.sym) != t.price:
            self.last[t.sym] = t.price
            yield give(t, t.price)


@keyed("sym n")
class Distinct:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        key = (t.sym, t.n)
        if key not in self.seen:
            self.seen.add(key)
            yield give(t, t.n)


@keyed("sym")
class MovingAverage:
    def __init__(self, size=3):
        self.size = size
        self.windows = {}

    def process(self, t):
        window = self.windows.setdefault(t.sym, deque(maxlen=3))
        window.append(t.price)
        if len(window) > self.size:
            window.popleft()
        yield give(t, sum(window) / len(window))


class Sums:
    def __init__(self, start=0.0):
        self.total = start
        self.n = 0

    def add(self, x):
        self.total += x
        self.n += 1

    @property
    def mean(self):
        return self.total / self.n


@keyed("sym")
class Accumulators:
    def __init__(self):
        self.sums = {}

    def process(self, t):
        acc = self.sums.get(t.sym)
        if acc is None:
            acc = self.sums[t.sym] = Sums()
        acc.add(t.price)
        yield give(t, acc.mean)


@dataclass
class Range:
    low: float
    high: float
    seen: list[float] = field(default_factory=list)

    def widen(self, x):
        self.low, self.high = min(self.low, x), max(self.high, x)
        self.seen.append(x)


@keyed("sym")
class Ranges:
    def __init__(self):
        self.ranges = {}

    def process(self, t):
        found = self.ranges.setdefault(t.sym, Range(t.price, t.price))
        found.widen(t.price)
        yield give(t, found.high - found.low + len(found.seen))


@keyed("sym")
class ByMethod:
    def __init__(self):
        self.counts = {}

    def bump(self, key):
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]

    def process(self, t):
        yield give(t, self.bump(t.sym))


@keyed("sym")
class Nested:
    def __init__(self):
        self.counts = defaultdict(lambda: defaultdict(int))

    def process(self, t):
        self.counts[t.sym][t.alt] += 1
        yield give(t, len(self.counts[t.sym]))


@keyed("sym")
class Forgets:
    def __init__(self):
        self.open = {}

    def process(self, t):
        if t.n % 3 == 0 and t.sym in self.open:
            start = self.open.pop(t.sym)
            yield give(t, t.price - start)
        else:
            self.open[t.sym] = t.price


@keyed("sym")
class Unpacks:
    def __init__(self):
        self.state = {}

    def process(self, t):
        n, total = self.state.get(t.sym, (0, 0.0))
        n, total = n + 1, total + t.price
        self.state[t.sym] = (n, total)
        yield give(t, total / n)


@keyed("sym")
class Deletes:
    def __init__(self):
        self.seen = {}

    def process(self, t):
        previous = self.seen.get(t.sym)
        if previous is not None and previous.n > t.n:
            del self.seen[t.sym]
        else:
            self.seen[t.sym] = t
        yield give(t, 0 if previous is None else previous.price)
