"""Graphs that use the standard operators, for tests of what they remember."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from feeding import WINDOW, Feed, after, feed, program
from penstock.toolkit.core.program import Program

SCHEMA = "int32 k, int32 x, float64 f"


def random_items(random: Random, count: int) -> list[Any]:
    """Tuples of `SCHEMA`, window markers and pauses."""
    items: list[Any] = []
    x = 0
    for _ in range(count):
        x += random.randrange(-1, 4)
        chance = random.random()
        if chance < 0.65:
            items.append((random.randrange(3), x, random.choice([0.0, 1.5, math.nan])))
        elif chance < 0.75:
            items.append(WINDOW)
        else:
            items.append(random.choice([None, after(0.5), after(1.0), after(2.3)]))
    return items


def random_blobs(random: Random, text: bytes) -> list[Any]:
    """A text in pieces."""
    items: list[Any] = []
    while text:
        size = random.randrange(1, 9)
        items.append((text[:size],))
        text = text[size:]
    return items


@dataclass(frozen=True)
class Case:
    """A graph over the feeds A and B.

    Attributes:
        name: For the report.
        graph: SPL.
        blobs: What A sends instead, in pieces.
    """

    name: str
    graph: str
    blobs: bytes = b""
    types: str = ""
    feeds: dict[str, Feed] = field(default_factory=dict)

    def program(self) -> Program:
        """The program; `fill` gives its feeds something to send."""
        schema = "blob b" if self.blobs else SCHEMA
        self.feeds.update(A=feed(schema, []), B=feed(SCHEMA, []))
        return program(self.graph, types=self.types, **self.feeds)

    def fill(self, seed: int, count: int = 40) -> None:
        """Let the feeds send what a seed says."""
        random = Random(seed)
        self.feeds["A"].items[:] = random_blobs(random, self.blobs) if self.blobs else random_items(random, count)
        self.feeds["B"].items[:] = random_items(random, count)


def prepare(folder: Path) -> Path:
    """The files that the graphs read."""
    data = folder / "data"
    (data / "scanned").mkdir(parents=True)
    for name in ("a.csv", "b.csv", "c.csv"):
        lines = [f"0.{i},{i},{name}" for i in range(4)]
        (data / "scanned" / name).write_text("\n".join([*lines, "bad", "0.5,9,last"]) + "\n")
    return data


def _aggregate(name: str, window: str, params: str = "") -> Case:
    outputs = (
        "n = Count(), d = CountDistinct(f), s = Sum(x), a = Average(x), m = Max(x), l = Min(f), r = Sum(f),"
        " all = Collect(x), first = First(x * 2), k = Any(k)"
    )
    schema = "int32 n, int32 d, int32 s, int32 a, int32 m, float64 l, float64 r, list<int32> all, int32 first, int32 k"
    graph = f"stream<{schema}> C = Aggregate(A) {{ window A: {window}; {params} output C: {outputs}; }}"
    return Case(f"Aggregate {name}", graph)


_BY_K = "param partitionBy: k;"
_BY_F = "param partitionBy: f, k;"
PARTITIONED_AGGREGATES = (
    _aggregate("tumbling count by key", "tumbling, count(3), partitioned", _BY_K),
    _aggregate("tumbling time by key", "tumbling, time(1.5), partitioned", _BY_K),
    _aggregate("tumbling delta by key", "tumbling, delta(x, 3), partitioned", _BY_F),
    _aggregate("sliding count by key", "sliding, count(3), count(2), partitioned", _BY_F),
    _aggregate("sliding time by key", "sliding, time(2), time(1), partitioned", _BY_K),
    _aggregate("sliding delta by key", "sliding, delta(x, 4), delta(x, 1), partitioned", _BY_K),
    _aggregate("sliding count and time by key", "sliding, count(3), time(1.0), partitioned", _BY_K),
    _aggregate("sliding time and count by key", "sliding, time(2), count(1), partitioned", _BY_F),
)
AGGREGATES = (
    *PARTITIONED_AGGREGATES,
    _aggregate("tumbling count", "tumbling, count(4)"),
    _aggregate("tumbling time", "tumbling, time(2)"),
    _aggregate("tumbling punctuation", "tumbling, punct()"),
    _aggregate("tumbling punctuation by key", "tumbling, punct(), partitioned", _BY_F),
    _aggregate("tumbling groups", "tumbling, count(5)", "param groupBy: k;"),
    _aggregate("sliding count", "sliding, count(4), count(1)"),
    _aggregate("sliding time and delta", "sliding, time(2), delta(x, 2)"),
    _aggregate("sliding count and delta", "sliding, count(3), delta(x, 1)"),
    _aggregate("sliding delta and time", "sliding, delta(x, 3), time(1)", "param aggregateIncompleteWindows: true;"),
)


def _join(name: str, windows: str, params: str) -> Case:
    output = "output J: k = A.k, x = A.x, y = B.x, f = B.f;"
    graph = (
        f"stream<int32 k, int32 x, int32 y, float64 f> J = Join(A; B) {{ window {windows} param {params} {output} }}"
    )
    return Case(f"Join {name}", graph)


_EQUAL = "equalityLHS: A.k; equalityRHS: B.k;"
PARTITIONED_JOINS = (
    _join("by time", "A: sliding, time(2); B: sliding, time(1.5);", f"{_EQUAL} algorithm: leftOuter;"),
    _join(
        "by count within keys",
        "A: sliding, count(2), partitioned; B: sliding, time(1), partitioned;",
        f"{_EQUAL} partitionByLHS: A.k; partitionByRHS: B.k; algorithm: leftOuter;",
    ),
    _join("without memory", "A: sliding, count(0); B: sliding, time(2);", f"{_EQUAL} match: A.x >= B.x;"),
)
JOINS = (
    *PARTITIONED_JOINS,
    _join("outer, by time", "A: sliding, time(2); B: sliding, time(1.5);", f"{_EQUAL} algorithm: outer;"),
    _join("by delta", "A: sliding, delta(x, 3); B: sliding, count(3);", "match: A.x <= B.x; algorithm: outer;"),
    _join(
        "on NaN",
        "A: sliding, time(2), partitioned; B: sliding, count(2), partitioned;",
        "partitionByLHS: A.f; partitionByRHS: B.f; equalityLHS: A.f; equalityRHS: B.f; algorithm: rightOuter;",
    ),
)

_IN_ORDER = " ".join(
    f"(stream<{SCHEMA}> {made}; stream<{SCHEMA}> {made}Late) = EventOrder({given})"
    " { param time: x; resolution: Seconds; lateness: 1.0; }"
    for given, made in ("AC", "BD")
)


def _event_windows(windows: str, aggregate: str) -> str:
    added = "timestamp from, timestamp to, boolean closes"
    return (
        f"{_IN_ORDER} stream<{SCHEMA}, {added}> W = EventWindows(C) {{ param time: x; resolution: Seconds;"
        f" partitionBy: k; {windows} }}"
        " stream<int32 k, timestamp start, timestamp end, int32 n, float64 s, list<int32> xs> E = EventAggregate(W) {"
        f" param partitionBy: k; start: from; end: to; closes: closes; {aggregate}"
        " output E: k = Any(k), start = Last(from), end = Last(to), n = Count(), s = Sum(f * 2.0), xs = Collect(x); }"
    )


PARTITIONED_OTHERS = (
    Case("Barrier by key", "stream<int32 k, int32 x, int32 y> C = Barrier(A; B) {"
         " param partitionBy: A.k, B.k; output C: k = A.k, x = A.x, y = B.x; }"),
    Case("Pair by key", f"stream<{SCHEMA}> C = Pair(A; B) {{ param partitionBy: A.k, B.k; }}"),
    Case("Sort tumbling by key", f"stream<{SCHEMA}> C = Sort(A) {{ window A: tumbling, time(2), partitioned;"
         " param sortBy: x; order: descending; partitionBy: k; }"),
    Case("Match by key", "stream<int32 k, int32 n, list<int32> xs> M = Match(A) { param pattern: '. up+ down';"
         " predicates: {up = x > Last(x), down = x <= Last(x)}; partitionBy: k;"
         " output M: k = Any(k), n = Count(), xs = Collect(x); }"),
    Case("DeDuplicate by time", f"(stream<{SCHEMA}> C; stream<{SCHEMA}> D) = DeDuplicate(A) {{"
         " param key: k, f; timeOut: 1.2; }"),
    Case("Custom by key", "stream<int32 k, int32 n> C = Custom(A) { logic state: { mutable map<int32, int32> seen = {};"
         " int32 step = 2; } onTuple A: { if (!(k in seen)) { seen[k] = 0; } seen[k] += step;"
         " submit({k = k, n = seen[k]}, C); } }"),
    Case("Functor by two keys", "stream<int32 k, int32 n> C = Functor(A) { logic state: {"
         " mutable map<tuple<int32 a, int32 b>, int32> seen = {}; } onTuple A: {"
         " if (!({a = x, b = k} in seen)) { seen[{a = x, b = k}] = 0; } seen[{a = x, b = k}]++; }"
         " output C: n = seen[{a = x, b = k}]; }"),
)  # fmt: skip

PARTITIONED = (*PARTITIONED_AGGREGATES, *PARTITIONED_JOINS, *PARTITIONED_OTHERS)

_CSV = b'k,x\n1,2\n# no\n3,"4"\n5,6\n\n7,"bad\n8,9\n10,11'
_READ = "stream<int32 a, rstring s, int64 n> C = Parse(A) { param parsing: permissive;"
_FILE = "stream<int32 i, rstring s, int64 n> C = FileSource"
_READ_FILE = "parsing: permissive; hasDelayField: true;"

OTHERS = (
    *PARTITIONED_OTHERS,
    Case("Barrier", "stream<int32 x, int32 y> C = Barrier(A; B) { output C: x = A.x, y = B.x; }"),
    Case("EventOrder", f"(stream<{SCHEMA}> C; stream<{SCHEMA}> D) = EventOrder(A) {{ param time: x;"
         " resolution: Seconds; lateness: 3.0; source: k; idle: 6.0; }"),
    Case("EventWindows and EventAggregate of sessions", _event_windows("gap: 1.0;", "")),
    Case("EventWindows and EventAggregate of windows that overlap", _event_windows("size: 5.0; slide: 2.0;",
         "slide: 2.0;")),
    Case("EventJoin by key", f"{_IN_ORDER} stream<int32 k, int32 x, int32 y> J = EventJoin(C; D) {{"
         " param timeLHS: C.x; timeRHS: D.x; resolution: Seconds; lower: -2.0; upper: 3.0;"
         " equalityLHS: C.k; equalityRHS: D.k; output J: k = C.k, x = C.x, y = D.x; }"),
    Case("Combine", f"stream<{SCHEMA}> C = Combine(A; B) {{ param orderBy: A.x, B.x; }}"),
    Case("Sort", f"stream<{SCHEMA}> C = Sort(A) {{ window A: tumbling, punct(); param sortBy: f, k; }}"),
    Case("Match", "stream<int32 n> M = Match(A) { param pattern: 'a . b'; predicates: {a = k == 0, b = k == 1};"
         " output M: n = Count(); }"),
    Case("DeDuplicate by count", f"stream<{SCHEMA}> C = DeDuplicate(A) {{ param key: k; count: 3ul; }}"),
    Case("DeDuplicate by delta", f"stream<{SCHEMA}> C = DeDuplicate(A) {{ param key: k; deltaAttribute: x;"
         " delta: 2; resetOnDuplicate: false; flushOnPunctuation: true; }"),
    Case("Delay", f"stream<{SCHEMA}> C = Delay(A) {{ param delay: 1.3; }} stream<{SCHEMA}> D = Delay(A, B) {{"
         " param delay: 1.0; }"),
    Case("Throttle", f"stream<{SCHEMA}> C = Throttle(A) {{ param rate: 2.0; includePunctuations: true; }}"
         f" stream<{SCHEMA}> D = Throttle(A) {{ param rate: 1.0; }}"),
    Case("Gate", f"stream<{SCHEMA}> C = Gate(A; B) {{ param maxUnackedTupleCount: 2u; }}"),
    Case("Gate with feedback", f"stream<{SCHEMA}> C = Gate(A; D) {{ param maxUnackedTupleCount: 1u; }}"
         f" stream<{SCHEMA}> D = Delay(C) {{ param delay: 0.7; }}"),
    Case("Switch", f"stream<{SCHEMA}> C = Switch(A; B) {{ param status: B.k == 0; initialStatus: true; }}"),
    Case("DynamicFilter", f"(stream<{SCHEMA}> C; stream<{SCHEMA}> D) = DynamicFilter(A; B; R) {{"
         f" param key: A.f, A.k; addKey: B.f, B.k; removeKey: R.f, R.k; }}"
         f" stream<{SCHEMA}> R = Filter(B) {{ param filter: x % 2 == 0; }}"),
    Case("ThreadedSplit", f"(stream<{SCHEMA}> C; stream<{SCHEMA}> D; stream<{SCHEMA}> E) = ThreadedSplit(A) {{"
         " param bufferSize: 3u; }"),
    Case("Split, Union, Punctor, Filter, ReplayableStart, Functor",
         f"(stream<{SCHEMA}> C; stream<{SCHEMA}> D) = Split(A) {{"
         f" param index: k; }} stream<{SCHEMA}> E = Union(C; D; B) {{}} stream<{SCHEMA}> F = Punctor(E) {{"
         f" param punctuate: k == 1; position: before; }} stream<{SCHEMA}> G = Filter(F) {{ param filter: x > 2; }}"
         f" stream<{SCHEMA}> R = ReplayableStart(G) {{}} stream<int32 y> H = Functor(R) {{ output H: y = x * 2; }}"),
    Case("Aggregate of evicted partitions", "stream<int32 k, list<int32> xs> C = Aggregate(A) {"
         " window A: tumbling, count(4), partitioned, partitionAge(2.0);"
         " param partitionBy: k; aggregateEvictedPartitions: true; output C: xs = Collect(x); }"
         " stream<int32 k, list<int32> xs> D = Aggregate(B) {"
         " window B: tumbling, time(1.5), partitioned, partitionAge(2.0);"
         " param partitionBy: k; aggregateEvictedPartitions: true; output D: xs = Collect(x); }"),
    Case("metrics of ports", "stream<int64 n, int64 m> C = Custom(A) { logic state: { mutable int64 a = 0l;"
         " mutable int64 b = 0l; } onTuple A: { getInputPortMetricValue(0u, Sys.nTuplesProcessed, a);"
         " getInputPortMetricValue(0u, Sys.nWindowPunctsProcessed, b); submit({n = a, m = b}, C); } }"),
    Case("logic with state of its own", "stream<int32 n> C = Functor(A) { logic state: { mutable int32 total = 0;"
         " mutable list<int32> xs = []; } onTuple A: { total += x; appendM(xs, x); }"
         " onPunct A: { total = 0; } output C: n = total + size(xs); }"),
    Case("Custom", f"stream<{SCHEMA}> C = Custom(A; B) {{ logic state: {{ mutable list<tuple<{SCHEMA}>> held = []; }}"
         " onTuple A: { appendM(held, A); } onTuple B: { for (tuple<" + SCHEMA + "> t in held) { submit(t, C); }"
         " clearM(held); } onPunct B: { submit(Sys.WindowMarker, C); } }"),
    Case("Custom that ends its stream", f"stream<{SCHEMA}> C = Custom(A) {{ logic state: {{ mutable int32 n = 0; }}"
         " onTuple A: { n++; submit(A, C); if (n == 4) { submit(Sys.FinalMarker, C); } } }"
         f" stream<{SCHEMA}> D = Delay(C) {{ param delay: 0.4; }}"),
    Case("Custom source", "stream<int32 n> C = Custom() { logic onProcess: { for (int32 i in range(6)) {"
         " submit({n = i}, C); if (i % 2 == 0) { block(0.5); submit(Sys.WindowMarker, C); } } } }"),
    Case("windows by event time", "@eventTime(eventTimeAttribute=at, resolution=Sys.Milliseconds, minimumGap=0.0,"
         " lag=0.5)"
         " stream<uint64 at, int32 k, int32 x> T = Functor(A) { output T: at = (uint64) (x + 100) * 300ul; }"
         " stream<int32 k, int32 s> C = Aggregate(T) { window T: timeInterval, intervalDuration(1.0), discardAge(2.0);"
         " param groupBy: k; output C: k = Any(k), s = Sum(x); }"),
    Case("random numbers", "stream<float64 r> C = Functor(A) { output C: r = random(); }"),
    Case("Beacon", "stream<uint64 i> C = Beacon() { param iterations: 5u; period: 0.5; initDelay: 1.0;"
         " output C: i = IterationCount(); } stream<float64 r> D = Beacon() { param iterations: 3u;"
         " output D: r = random(); }"),
    Case("MetricsSink", "() as M = MetricsSink(A) { param metrics: (int64) x, (int64) k; names: 'x', 'k';"
         " initialValues: 7l, 8l; }"),
    Case("Export and Import", "() as E = Export(C) { param properties: {kind = 'x'}; }"
         f" stream<{SCHEMA}> C = Delay(A) {{ param delay: 0.5; }}"
         " () as F = Export(B) { param properties: {kind = 'x'}; }"
         f" stream<{SCHEMA}> I = Import() {{ param subscription: kind == 'x'; }}"
         f" stream<{SCHEMA}> J = Delay(I) {{ param delay: 0.5; }}"),
    Case("FileSource", f"{_FILE}() {{ param file: 'scanned/a.csv'; initDelay: 1.0; {_READ_FILE}"
         " output C: n = TupleNumber(); }"),
    Case("FileSource of names", f"stream<rstring name> N = DirectoryScan() {{ param directory: 'scanned'; sortBy: name;"
         f" initDelay: 0.2; sleepTime: 0.6; output N: name = FilePath(); }}"
         f" {_FILE}(N) {{ param initDelay: 0.1; {_READ_FILE}"
         " output C: n = TupleNumber(); }"),
    Case("timers of several operators", "stream<int32 n> C = Aggregate(A) { window A: tumbling, time(1);"
         " output C: n = Sum(x); } stream<int32 n> D = Aggregate(A) { window A: sliding, time(3), time(2);"
         " output D: n = Sum(x); }"
         f" stream<{SCHEMA}> E = Join(A; B) {{ window A: sliding, time(1), partitioned; B: sliding, time(2);"
         " param equalityLHS: A.x; equalityRHS: B.x; partitionByLHS: A.k; algorithm: outer; }"),
    Case("Format", "stream<int32 k, blob b> C = Format(A) { param format: csv; hasDelayField: true;"
         " output C: b = Output(); }"),
    Case("Compress", "stream<blob c> C = Compress(A) { param compression: gzip; flushOnPunct: true; }", blobs=_CSV),
    Case("Decompress", "stream<blob z> Z = Compress(A) { param compression: bzip2; }"
         " stream<blob c> C = Decompress(Z) { param compression: bzip2; }", blobs=_CSV),
    Case("CharacterTransform", "stream<blob b> C = CharacterTransform(A) {"
         " output C: b = Convert('UTF-8', 'UTF-16LE', convertToBlob('x') + convertToBlob((rstring) blobSize(b))); }",
         blobs=_CSV),
    Case("Parse csv", f"{_READ} format: csv; hasHeaderLine: true; output C: n = TupleNumber(); }}", blobs=_CSV),
    Case("Parse delays", "stream<int32 a> C = Parse(A) { param hasDelayField: true; parsing: permissive; }",
         blobs=b"0.5,1\n0,2\n1.25,3\nx,4\n0.75,5\n"),
    Case("Parse lines", "stream<rstring l> C = Parse(A) { param format: line; eolMarker: 'é'; }",
         blobs="oneétwoéé€threeéé".encode()),
    Case("Parse blocks", "stream<blob c> C = Parse(A) { param format: block; blockSize: 5u; }", blobs=_CSV),
    Case("Parse binary", "stream<int32 i, uint8 j> C = Parse(A) { param format: bin; parsing: permissive; }",
         blobs=bytes(range(43))),
    Case("XMLParse", "stream<list<int32> t, rstring k> C = XMLParse(A) { param trigger: '/a/b'; parsing: permissive;"
         " output C: k = XPath('@k'); }",
         blobs=b"<a><b k='1'><t>1</t><t>2</t></b><c/><b k='\xc3\xa9'/></a> <a><b><t>3</t></b></a><a><b></a>"),
    Case("ConsoleSink", "() as S = ConsoleSink(A) { }"),
    Case("Discard", "() as S = Discard(A) { }"),
    Case("FileSink", "() as S = FileSink(A) { param file: 'all.csv'; }"),
    Case("FileSink by time", "() as S = FileSink(A) { param file: 'part{id}.txt'; format: txt; closeMode: time;"
         " timePerFile: 1.5; hasDelayField: true; writePunctuations: true; }"),
    Case("FileSink by count", "stream<rstring n> C = FileSink(A) { param file: 'c{id}.csv'; closeMode: count;"
         " tuplesPerFile: 3u; moveFileToDirectory: 'done'; }"),
    Case("Sort by key", f"stream<{SCHEMA}> C = Sort(A) {{ window A: sliding, count(2), partitioned;"
         " param sortBy: f; order: descending; partitionBy: k; }"),
    Case("FileSink by name", "stream<rstring n> C = FileSink(A) { param file: 'f' + (rstring) k;"
         " closeMode: dynamic; }"),
)  # fmt: skip

CASES = (*AGGREGATES, *JOINS, *OTHERS)
