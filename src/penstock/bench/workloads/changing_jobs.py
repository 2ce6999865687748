"""The jobs of `penstock bench changes`: ten shapes with state of every kind, their numbers drawn from a seed.

All times are multiples of a quarter of a second, so that timers are often due at the times of the sources. A shape
reads nothing but clocks and counters; the last one reads Kafka and writes PostgreSQL, and for the reference reads the
same messages from a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from penstock import App, KeyedOperator, Output, after, agg, col, count, sliding, source
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

TURNS = 240
SCHEMA = "int32 k, int32 v"
PARTITIONS = 3
TABLES = ("Sums", "Slid")
OUTSIDE = "Kafka to PostgreSQL"
"""The shape that needs servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """Where a job reads and writes that needs servers.

    Attributes:
        kafka: The brokers.
        topic: With the messages.
        postgres: The database.
        table: What the names of tables begin with.
    """

    kafka: str
    topic: str
    postgres: str
    table: str


def make_job(seed: int, ends: Ends | None = None) -> Program:
    """The program of a seed; the last shape reads and writes files unless it is told where else."""
    shape, rng = shape_of(seed), Random(f"changes/{seed}")
    if shape == OUTSIDE:
        return compile_text(_outside(rng, ends))
    if shape == "keyed classes":
        return _keyed_classes(rng)
    return compile_text(_program(_SHAPES[shape](rng)))


def shape_of(seed: int) -> str:
    """The shape of a seed's job; they take turns."""
    return SHAPES[seed % len(SHAPES)]


def messages(seed: int) -> list[tuple[int, str]]:
    """The messages of the last shape, each with its partition: those of a key are in one of them."""
    rng = Random(f"messages/{seed}")
    drawn = [(rng.randrange(11), n) for n in range(3 * TURNS)]
    return [(k % PARTITIONS, f"{k},{n}") for k, n in drawn]


def write_messages(seed: int, folder: Path) -> None:
    """The messages as the file that the reference reads."""
    (folder / "messages.csv").write_text("".join(f"{value}\n" for _, value in messages(seed)), encoding="utf-8")


# Programs in SPL: lines of streams; each that no other reads, and each second one, gets a file.


def _program(lines: list[tuple[str, str]]) -> str:
    text = [f"stream<{SCHEMA}> {name} = {body}" for name, body in lines]
    sinks = [
        f'() as Sink{name} = FileSink({name}) {{ param file: "{name}.csv"; }}'
        for name, body in lines
        if not body.startswith("Beacon")
    ]
    return "composite Main { graph\n  " + "\n  ".join([*text, *sinks]) + "\n}"


def _beacon(rng: Random, turns: int = TURNS, keys: int | None = None) -> str:
    period, factor = rng.choice(("0.25", "0.25", "0.5", "0.1")), rng.choice((1, 3, 5, 7))
    keys = keys or rng.choice((4, 9, 23))
    return f"""Beacon() {{ param period: {period}; iterations: {turns}u;
    output OUTPUT: k = (int32) (IterationCount() * {factor}ul % {keys}ul),
      v = (int32) (IterationCount() * {rng.choice((3, 7))}ul % {rng.choice((10, 17))}ul); }}"""


_TIMES = ("0.75", "1.0", "2.0", "5.0", "8.0")


def _named(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, body.replace("OUTPUT", name)) for name, body in lines]


def _aggregate(source: str, window: str, *, by: str = "k", value: str = "Sum(v) % 1000 + Count()") -> str:
    partition = f"param partitionBy: {by};" if by else ""
    window = f"{window}, partitioned" if by and "partitioned" not in window else window
    return f"""Aggregate({source}) {{ window {source}: {window}; {partition}
    output OUTPUT: k = Any(k), v = {value}; }}"""


def _windows_by_count(rng: Random) -> list[tuple[str, str]]:
    size, step = rng.randint(3, 9), rng.randint(1, 4)
    return _named(
        [
            ("A", _beacon(rng)),
            ("B", _aggregate("A", f"sliding, count({size}), count({step})")),
            ("C", _aggregate("A", f"tumbling, count({rng.randint(2, 6)})", value="Last(v) * 10 + Max(v)")),
            ("D", _aggregate("B", f"tumbling, count({rng.randint(2, 4)})", by=rng.choice(("k", "k % 3", "")))),
            ("E", f"DeDuplicate(A) {{ param key: v; count: {rng.randint(3, 30)}ul; }}"),
        ]
    )


def _windows_by_time(rng: Random) -> list[tuple[str, str]]:
    time = rng.choice
    aged = f"tumbling, count(3), partitioned, partitionAge({time(_TIMES)})"
    return _named(
        [
            ("A", _beacon(rng)),
            ("B", _aggregate("A", f"tumbling, time({time(_TIMES)})")),
            ("C", _aggregate("A", f"sliding, time({time(_TIMES)}), time({time(_TIMES)})")),
            ("D", _aggregate("B", f"sliding, time({time(_TIMES)}), count({rng.randint(1, 3)})")),
            ("E", _aggregate("A", aged)),
            ("F", f"DeDuplicate(B) {{ param key: k; timeOut: {time(_TIMES)}; }}"),
        ]
    )


def _windows_by_delta(rng: Random) -> list[tuple[str, str]]:
    return _named(
        [
            ("A", _beacon(rng)),
            ("B", _aggregate("A", f"tumbling, delta(v, {rng.randint(2, 8)})")),
            ("C", _aggregate("A", f"sliding, delta(v, {rng.randint(2, 6)}), count({rng.randint(1, 3)})")),
            ("D", _aggregate("B", f"sliding, delta(v, {rng.randint(2, 40)}), time({rng.choice(_TIMES)})")),
            ("E", f"DeDuplicate(A) {{ param key: k; deltaAttribute: v; delta: {rng.randint(2, 9)}; }}"),
        ]
    )


def _join(left: str, right: str, windows: tuple[str, str], more: str) -> str:
    return f"""Join({left}; {right}) {{ window {left}: sliding, {windows[0]}; {right}: sliding, {windows[1]};
    param {more} equalityLHS: {left}.k; equalityRHS: {right}.k;
    output OUTPUT: k = {left}.k, v = 10 * {left}.v % 1000 + {right}.v; }}"""


def _joins(rng: Random) -> list[tuple[str, str]]:
    counts = f"count({rng.randint(1, 5)})", f"count({rng.randint(1, 5)})"
    # Windows that are longer meet too often.
    times = f"time({rng.choice(_TIMES[:3])})", f"time({rng.choice(_TIMES[:3])})"
    aged = f"count(2), partitioned, partitionAge({rng.choice(_TIMES)})"
    algorithm = rng.choice(("inner", "leftOuter", "rightOuter", "outer"))
    return _named(
        [
            ("A", _beacon(rng, TURNS // 2, 7)),
            ("B", _beacon(rng, TURNS // 2, 7)),
            ("C", _join("A", "B", counts, "algorithm: inner;")),
            ("D", _join("A", "B", times, f"algorithm: {algorithm};")),
            ("E", _join("A", "B", (aged, aged), "algorithm: inner; partitionByLHS: A.k; partitionByRHS: B.k;")),
            ("F", _join("C", "D", counts, "algorithm: inner;")),
        ]
    )


def _sorts(rng: Random) -> list[tuple[str, str]]:
    def sort(source: str, window: str, by: str = "k") -> str:
        partition = f"partitionBy: {by};" if by else ""
        window = f"{window}, partitioned" if by else window
        return f"Sort({source}) {{ window {source}: {window}; param sortBy: v; {partition} }}"

    return _named(
        [
            ("A", _beacon(rng)),
            ("B", sort("A", f"sliding, count({rng.randint(2, 9)})")),
            ("C", sort("A", f"tumbling, time({rng.choice(_TIMES)})")),
            ("D", sort("A", f"tumbling, count({rng.randint(2, 9)})", by=rng.choice(("", "k")))),
            ("E", _aggregate("B", f"tumbling, count({rng.randint(2, 5)})", value="First(v) * 100 + Last(v)")),
        ]
    )


def _custom_code(rng: Random) -> list[tuple[str, str]]:
    counted = """Custom(A as I) { logic state: { mutable map<int32, int32> seen = {}; mutable int32 n = 0; }
    onTuple I: { n++; if (k in seen) seen[k] += v; else seen[k] = v;
      submit({k = k, v = seen[k] + n % 7}, OUTPUT); } }"""
    aging = f"""Custom(A as I) {{ logic state: mutable map<int32, list<int32>> last = {{}};
    onTuple I: {{ if (!(k in last)) last[k] = [v]; else {{ appendM(last[k], v); }}
      submit({{k = k, v = size(last[k]) * 100 + last[k][0]}}, OUTPUT); }}
    param ttl: {rng.choice(_TIMES)}; }}"""
    clocked = """Custom(B as I) { logic state: mutable int32 n = 0;
    onTuple I: { n += v; submit({k = (k + v) % 5, v = n % 100 + (int32) (getTimestampInSecs() * 4.0) % 7}, OUTPUT);
      if (v % 3 == 0) submit({k = k, v = n % 13}, OUTPUT); } }"""
    sums = _aggregate("C", f"tumbling, count({rng.randint(2, 5)})")
    return _named([("A", _beacon(rng)), ("B", counted), ("C", aging), ("D", clocked), ("E", sums)])


def _loops(rng: Random) -> list[tuple[str, str]]:
    back = rng.choice(
        (
            f"Delay(B) {{ param delay: {rng.choice(('0.0', '0.25', '1.0'))}; }}",
            _aggregate("B", f"tumbling, time({rng.choice(_TIMES)})"),
            """Custom(B as I) { logic state: mutable int32 n = 0;
    onTuple I: { n++; submit({k = k, v = v + n % 3}, OUTPUT); } }""",
        )
    )
    onward = """Custom(A as I; C as J) { logic onTuple I: submit(I, OUTPUT);
    onTuple J: if (v < 60) submit({k = k, v = v + 20}, OUTPUT); }"""
    sums = _aggregate("B", f"sliding, count({rng.randint(2, 6)}), count({rng.randint(1, 3)})")
    return _named([("A", _beacon(rng, TURNS // 2)), ("B", onward), ("C", back), ("D", sums)])


def _several_sources(rng: Random) -> list[tuple[str, str]]:
    together = f"""Aggregate(A, B, C as I) {{ window I: tumbling, count({rng.randint(2, 6)}), partitioned;
    param partitionBy: k; output OUTPUT: k = Any(k), v = Sum(v) % 1000 + Count(); }}"""
    return _named(
        [
            ("A", _beacon(rng, TURNS // 2)),
            ("B", _beacon(rng, TURNS // 3)),
            ("C", _beacon(rng, TURNS // 4)),
            ("D", together),
            ("E", "Barrier(A; B) { output OUTPUT: k = A.k, v = A.v + B.v % 7; }"),
            ("F", _aggregate("C", f"tumbling, time({rng.choice(_TIMES)})")),
            ("G", "Functor(D, E, F) { output OUTPUT: v = v + 1; }"),
            ("H", _aggregate("G", f"sliding, count({rng.randint(2, 6)}), count(1)")),
        ]
    )


def _outside(rng: Random, ends: Ends | None) -> str:
    reader, writer = (
        'FileSource() { param file: "messages.csv"; format: csv; }',
        'FileSink(OUT) { param file: "OUT.csv"; }',
    )
    if ends is not None:
        reader = f'KafkaConsumer() {{ param topic: "{ends.topic}"; bootstrapServers: "{ends.kafka}"; format: csv; }}'
        writer = (
            f'PostgresSink(OUT) {{ param url: "{ends.postgres}"; table: "{ends.table}_LOWER"; createTable: true; }}'
        )
    size, length, step = rng.randint(2, 5), rng.randint(2, 9), rng.randint(1, 3)
    lines = [f"stream<{SCHEMA}> A = {reader}"]
    for name, window in zip(
        TABLES, (f"tumbling, count({size})", f"sliding, count({length}), count({step})"), strict=True
    ):
        lines.append(
            f"""stream<int32 k, int32 n, int32 total> {name} = Aggregate(A) {{ window A: {window}, partitioned;
    param partitionBy: k; output {name}: k = Any(k), n = Last(v), total = Sum(v); }}"""
        )
        lines.append(f"() as {name}Out = {writer.replace('OUT', name).replace('LOWER', name.lower())}")
    return "composite Main { graph\n  " + "\n  ".join(lines) + "\n}"


# Classes in Python.


class Counting(KeyedOperator):
    """Numbers the tuples of a key; a class that becomes columns."""

    partition_by = "k"

    def __init__(self) -> None:
        self.count, self.total = 0, 0

    def process(self, t):  # type: ignore[no-untyped-def] # its types are found out
        """Tell the number and the sum."""
        self.count, self.total = self.count + 1, self.total + t.v
        yield {"k": t.k, "v": self.total % 1000 + self.count}


class Collecting(KeyedOperator):
    """Keeps a list, and forgets it after a while."""

    partition_by, ttl = "k", 4.0

    def __init__(self) -> None:
        self.values: list[int] = []

    def process(self, t):  # type: ignore[no-untyped-def] # its types are found out
        """Tell the extremes of the last values."""
        self.values.append(t.v)
        del self.values[:-5]
        yield {"k": t.k, "v": 100 * max(self.values) + min(self.values)}


class Waiting(KeyedOperator):
    """Lets tuples wait, and tells of keys that were quiet."""

    partition_by, ttl = "k", 3.0

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def process(self, t):  # type: ignore[no-untyped-def] # its types are found out
        """Wait for more."""
        self.waiting.append(t.v)
        self.wake((0.25, 0.5, 1.0)[t.v % 3])

    def on_wake(self):  # type: ignore[no-untyped-def] # its types are found out
        """Let them go."""
        yield {"k": self.key[0], "v": sum(self.waiting)}
        self.waiting.clear()

    def on_expire(self):  # type: ignore[no-untyped-def] # its types are found out
        """Tell that it was quiet."""
        yield {"k": self.key[0], "v": -1 - len(self.waiting)}


def _keyed_classes(rng: Random) -> Program:
    items = [after(rng.choice((0.25, 0.5, 1.0))) if rng.random() < 0.3 else (rng.randrange(9), n) for n in range(TURNS)]

    @source
    def given() -> Iterator[object]:
        yield from items

    app = App("Keyed")
    read = app.source(given, SCHEMA, name="A")
    for i, kind in enumerate((Counting, Collecting, Waiting)):
        made = app.invoke(kind, read, outputs=[Output(schema=SCHEMA, name=f"B{i}")])[0]
        made.write_file(f"B{i}.csv", name=f"Sink{i}")
        window = sliding(count(rng.randint(2, 6)), every=count(rng.randint(1, 3)))
        sums = made.aggregate(window, by="k", v=agg.sum(col.v), name=f"C{i}")
        sums.write_file(f"C{i}.csv", name=f"SumsSink{i}")
    return app.program()


_SHAPES: dict[str, Callable[[Random], list[tuple[str, str]]]] = {
    "windows by count": _windows_by_count,
    "windows by time": _windows_by_time,
    "windows by delta": _windows_by_delta,
    "joins": _joins,
    "sorts": _sorts,
    "custom code": _custom_code,
    "loops": _loops,
    "several sources": _several_sources,
}
SHAPES = (*_SHAPES, "keyed classes", OUTSIDE)
