"""More operators as data engineers write them: lookup tables, parsing, enriching, small accumulators."""

# ruff: noqa: RUF012, SIM401

from __future__ import annotations

import functools
import json
import math
import operator
import re
from collections import defaultdict, deque
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import partial
from types import MappingProxyType
from typing import Any

import harmless_tables
from harmless_tables import PRICE_FACTORS, Band, band_of, clean, scale
from judged import keyed, stateless, stateless_filter, stateless_flat_map

EXCHANGE_RATES = {"a": 1.1, "b": 0.9, "A": 130.5}
WATCHED = {"a", "b", "ab"}
PRICE_LEVELS = [10.0, 50.0, 100.0]
LEVEL_NAMES: list[str] = ["low", "middle", "high", "top"]
COUNTRIES: dict[str, tuple[str, float]] = {"a": ("Austria", 0.2), "b": ("Belgium", 0.21)}
SQUARE_OF = {n: n * n for n in range(10)}
SYMBOL_ALIASES = dict(a="alpha", b="beta")  # noqa: C408
FIXED_RATES = MappingProxyType({"a": 1.0, "b": 2.0})
NESTED_RATES = {"a": {"tax": 0.2, "names": ["x", "y"]}, "b": {"tax": 0.1, "names": []}}
STOP = frozenset({"a", "b"})
TOKEN = re.compile(r"[a-z]+")
double = partial(scale, by=2.0)
second = operator.itemgetter(1)


def parse_plain(text):
    return float(len(text))


def parse_number(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


TEXT_PARSERS = {"a": parse_plain, "b": parse_number}


class Side(Enum):
    BUY = "a"
    SELL = "b"


@dataclass
class Out:
    sym: str
    out: float


@stateless
def convert(t):
    return t.sym, t.price * EXCHANGE_RATES.get(t.sym, 1.0)


@stateless
def convert_by_item(t):
    return t.sym, t.price * (EXCHANGE_RATES[t.sym] if t.sym in EXCHANGE_RATES else 1.0)


@stateless
def convert_or_fail(t):
    try:
        return t.sym, t.price / EXCHANGE_RATES[t.sym]
    except KeyError:
        return t.sym, -1.0


@stateless_filter
def is_watched(t):
    return t.sym in WATCHED


@stateless_filter
def is_not_watched(t):
    return t.alt not in WATCHED and len(WATCHED) > 2


@stateless
def level(t):
    return t.sym, float(sum(t.price >= low for low in PRICE_LEVELS))


@stateless
def level_name(t):
    for place, low in enumerate(PRICE_LEVELS):
        if t.price < low:
            return LEVEL_NAMES[place], low
    return LEVEL_NAMES[-1], math.inf


@stateless
def country(t):
    name, tax = COUNTRIES.get(t.sym, ("unknown", 0.0))
    return name, t.price * (1 + tax)


@stateless
def square(t):
    return t.sym, float(SQUARE_OF.get(t.n, -1))


@stateless
def alias(t):
    return SYMBOL_ALIASES.get(clean(t.sym), t.sym), t.price


@stateless
def fixed_rate(t):
    return t.sym, FIXED_RATES.get(t.sym, 0.0)


@stateless
def nested(t):
    return t.sym, NESTED_RATES[t.sym]["tax"] if t.sym in NESTED_RATES else 0.0


@stateless
def of_another_module(t):
    return t.sym, t.price * PRICE_FACTORS.get(t.sym, 1.0)


@stateless
def by_the_module(t):
    return t.sym, t.price * harmless_tables.PRICE_FACTORS.get(t.sym, 1.0)


@stateless_filter
def ends_well(t):
    return any(t.sym.endswith(suffix) for suffix in harmless_tables.DOMAIN_SUFFIXES)


@stateless
def dispatch(t):
    return t.sym, TEXT_PARSERS.get(t.sym, parse_plain)(t.alt)


@stateless
def total_of_a_table(t):
    return t.sym, sum(EXCHANGE_RATES.values()) + max(PRICE_LEVELS) + len(STOP)


@stateless
def best_of_a_table(t):
    return max(EXCHANGE_RATES.items(), key=lambda pair: pair[1])[0], t.price


@stateless
def listed_table(t):
    return ",".join(sorted(WATCHED)), float(len(sorted(EXCHANGE_RATES)))


@stateless
def merged_table(t):
    merged = {**EXCHANGE_RATES, t.sym: t.price}
    return t.sym, merged["a"] if "a" in merged else 0.0


@stateless
def default_table(t, table={"a": 1.0, "b": 2.0}):  # noqa: B006
    return t.sym, table.get(t.sym, 0.0)


def _with_table():
    table = {"a": 3.0}

    def look(t):
        return t.sym, table.get(t.sym, 0.0)

    return look


look_in_a_closure = stateless(_with_table())


@stateless
def clean_and_scale(t):
    return clean(t.sym), scale(t.price, by=3.0)


@stateless
def partly(t):
    return t.sym, double(t.price)


@stateless
def banded(t) -> tuple[str, float]:
    """The band of a price."""
    return band_of(t.price), t.price


@stateless
def getter(t):
    return t.sym, float(second((t.alt, t.n)))


@stateless_flat_map
def tokens(t):
    for found in TOKEN.finditer(t.sym):
        yield found.group(0), float(found.start())


@stateless_flat_map
def explode(t):
    return [(t.sym, float(x)) for x in t.xs if x > 0]


@stateless_flat_map
def pairs(t):
    for a, b in zip(t.xs, t.xs[1:], strict=False):
        yield t.sym, float(b - a)


@stateless
def from_json(t):
    try:
        record = json.loads(t.sym)
    except json.JSONDecodeError:
        return t.sym, 0.0
    return t.sym, float(record.get("n", 0)) if isinstance(record, dict) else 0.0


@stateless
def to_json(t):
    return json.dumps({"sym": t.sym, "n": t.n}, sort_keys=True), t.price


@stateless
def dated(t):
    day = datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=t.n)
    return day.strftime("%Y-%m-%d"), day.timestamp()


@stateless
def from_epoch(t):
    return datetime.fromtimestamp(t.n, tz=UTC).isoformat(), t.price


@stateless
def weekday(t):
    when = datetime.fromtimestamp(t.n, UTC)
    return ("weekend" if when.weekday() >= 5 else "week"), float((when - timedelta(hours=1)).hour)


@stateless
def as_dataclass(t):
    return Out(t.sym, round(t.price, 2))


@stateless
def as_named_dataclass(t):
    return Out(sym=f"{t.sym}:{t.n:03d}", out=math.sqrt(abs(t.price)))


@stateless
def as_dict(t):
    return {"sym": t.sym.upper(), "out": t.price if t.price == t.price else 0.0}


@stateless
def by_match(t):
    match t.n:
        case 0:
            return "zero", 0.0
        case 1 | 2:
            return "few", 1.0
        case n if n < 0:
            return "negative", float(-n)
        case _:
            return "many", 2.0


@stateless
def by_walrus(t):
    if (length := len(t.sym)) > 1:
        return t.sym[:length], float(length)
    return t.sym, 0.0


@stateless
def spread(t):
    if not t.xs:
        return t.sym, 0.0
    low, high = min(t.xs), max(t.xs)
    return t.sym, (high - low) / len(t.xs)


@stateless
def longest(t):
    return max(t.sym.split() or [""], key=len), float(all(x > 0 for x in t.xs))


@stateless
def sort_marks(t):
    return "|".join(sorted(m.lower() for m in t.marks)), float(len(t.marks))


@stateless
def marks_by_length(t):
    ranked = sorted((len(m), m) for m in t.marks)
    return (ranked[-1][1] if ranked else ""), 0.0


@stateless
def number_of(t):
    try:
        n = int(t.sym)
    except (TypeError, ValueError):
        n = -1
    finally:
        pass
    return t.sym, float(n)


@stateless
def formatted(t):
    return "{}/{:>5}/{!r}".format(t.sym, t.n, t.alt), float("%.2f" % t.price)  # noqa: UP031, UP032


@stateless
def side(t):
    kind = Side.BUY if t.n > 0 else Side.SELL
    return kind.value, 1.0 if kind is Side.BUY else -1.0


@stateless
def sums(t):
    counts: dict[str, int] = {}
    for letter in t.sym:
        counts[letter] = counts.get(letter, 0) + 1
    return t.sym, float(max(counts.values(), default=0))


@stateless
def grouped(t):
    groups = defaultdict(list)
    for x in t.xs:
        groups[x % 3].append(x)
    return t.sym, float(sum(len(g) for g in groups.values()))


@stateless
def with_keywords(t):
    options = {"by": 3.0}
    return t.sym, scale(t.price, **options)


@stateless
def own_helper(t):
    def clip(x, low=0.0, high=100.0):
        return max(low, min(high, x))

    return t.sym, clip(t.price)


@stateless
def made_band(t):
    band = Band(t.sym, t.price)
    return band.name, band.high - band.low


@stateless
class Converter:
    """Constants in class attributes."""

    FACTOR = 2.0
    NAMES = ("a", "b")
    CONVERSIONS = {"a": 1.0, "b": 5.0}

    def __init__(self):
        self.offset = 1.0
        self.names = {"a": "x", "b": "y"}
        self.words = ["p", "q"]

    def process(self, t):
        name = self.names.get(t.sym, self.words[0])
        yield name, t.price * self.FACTOR * self.CONVERSIONS.get(t.sym, 1.0) + self.offset


@keyed("sym")
class Latest:
    def __init__(self):
        self.last: dict[str, float] = {}

    def process(self, t):
        before = self.last.get(t.sym)
        self.last[t.sym] = t.price
        if before is not None and before != t.price:
            yield t.sym, t.price - before


@keyed("sym")
class Private:
    def __init__(self, start: int = 0):
        self.__start = start
        self.__counts = {}

    def process(self, t):
        self.__counts[t.sym] = self.__counts.get(t.sym, self.__start) + 1
        yield t.sym, float(self.__counts[t.sym])


@keyed("sym")
class Averages:
    def __init__(self):
        self.sums = defaultdict(float)
        self.counts = defaultdict(int)

    def process(self, t):
        self.sums[t.sym] += t.price
        self.counts[t.sym] += 1
        return [(t.sym, self.sums[t.sym] / self.counts[t.sym])]


@dataclass
class Window:
    values: list[float] = field(default_factory=list)

    def add(self, value: float) -> float:
        self.values.append(value)
        if len(self.values) > 3:
            self.values.pop(0)
        return sum(self.values)


@keyed("sym")
class Windows:
    def __init__(self):
        self.windows: dict[str, Window] = {}

    def process(self, t):
        window = self.windows.setdefault(t.sym, Window())
        yield t.sym, window.add(t.price) * EXCHANGE_RATES.get(t.sym, 1.0)


class Running:
    def __init__(self):
        self.n, self.mean = 0, 0.0

    def update(self, x):
        self.n += 1
        self.mean += (x - self.mean) / self.n
        return self.mean


@keyed("sym")
class Means:
    def __init__(self):
        self.running = defaultdict(Running)

    def process(self, t):
        yield {"sym": t.sym, "out": self.running[t.sym].update(t.price)}


@keyed("sym alt")
class Distinct:
    def __init__(self):
        self.seen = set()

    def process(self, t):
        key = (t.sym, t.alt)
        if key in self.seen:
            return
        self.seen.add(key)
        yield t.sym, t.price


@keyed("sym")
class Recent:
    def __init__(self, size=3):
        self.size = size
        self.recent = {}

    def process(self, t):
        if t.sym not in self.recent:
            self.recent[t.sym] = deque(maxlen=3)
        recent = self.recent[t.sym]
        recent.append(t.price)
        yield t.sym, max(recent) if len(recent) == self.size else 0.0


@keyed("sym")
class Marks:
    def __init__(self):
        self.marks = defaultdict(set)

    def process(self, t):
        new = t.marks - self.marks[t.sym]
        self.marks[t.sym] |= t.marks
        if new:
            yield t.sym, float(len(new))


@keyed("sym")
class Nested:
    def __init__(self):
        self.counts = defaultdict(lambda: defaultdict(int))

    def process(self, t):
        self.counts[t.sym][t.alt] += 1
        best = max(self.counts[t.sym].items(), key=operator.itemgetter(1))
        yield t.sym, float(best[1])


@keyed("sym")
class Phases:
    PHASE_ORDER = {"a": 0, "b": 1}

    def __init__(self):
        self.phase = {}

    def process(self, t):
        if (rank := self.PHASE_ORDER.get(t.alt)) is None:
            return
        if rank > self.phase.get(t.sym, -1):
            self.phase[t.sym] = rank
            yield t.sym, float(rank)


@functools.lru_cache
def unused(value: Any) -> Any:
    return value
