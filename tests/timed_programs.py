"""Random programs of operators that act by time: cascades, fan-in, several sources, loops, and ends that meet timers.

All times are multiples of a quarter of a second, so that timers of different operators are often due at one time, and
at the times of the sources.
"""

from __future__ import annotations

import random
from collections.abc import Callable

SCHEMA = "int32 k, int32 v"
_TIMES = ("0.25", "0.5", "0.75", "1.0", "1.5", "2.0")

AGGREGATE = """Aggregate(IN) { window IN: WINDOW; PARTITION
      output OUT: k = Any(k), v = 10 * Sum(v) % 1000 + Count(); }"""
CUSTOM = {
    "several": "submit(I, OUT); if (v % 3 == 0) submit({k = (k + 1) % 3, v = v + 1}, OUT);",
    "rekeyed": "submit({k = (k + v) % 4, v = v + 1}, OUT);",
    "counted": "n++; submit({k = k, v = v + n}, OUT);",
    "clocked": "submit({k = k, v = v + (int32) (getTimestampInSecs() * 4.0) % 7}, OUT);",
}


class Writer:
    """Writes a program, operator by operator.

    Attributes:
        streams: What there is to subscribe to.
        has_loop: Whether a stream leads back.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.streams: list[str] = []
        self._lines: list[str] = []
        self.has_loop = False

    def text(self) -> str:
        """A program: one to three sources, two to seven operators, and a file for every stream but the sources'."""
        for _ in range(self.random.choice((1, 1, 1, 2, 2, 3))):
            self._source()
        sources = len(self.streams)
        for _ in range(self.random.randint(2, 7)):
            self.random.choice(_MAKERS)(self)
        for stream in self.streams[sources:]:
            self._lines.append(f'() as Sink{stream} = FileSink({stream}) {{ param file: "{stream}.csv"; }}')
        # Which edge of a loop is the feedback depends on the order of declaration.
        if not self.has_loop and self.random.random() < 0.2:
            self._lines = self._shuffled()
        return "composite Main { graph\n  " + "\n  ".join(self._lines) + "\n}"

    def _shuffled(self) -> list[str]:
        """Declared in another order, so that ranks are not that of declaration."""
        return self.random.sample(self._lines, len(self._lines))

    def time(self) -> str:
        return self.random.choice(_TIMES)

    def stream(self) -> str:
        """One of the streams, rather a late one."""
        return self.streams[max(self.random.randrange(len(self.streams)) for _ in range(2))]

    def add(self, body: str, *inputs: str) -> None:
        name = f"S{len(self.streams)}"
        before = ", ".join(dict.fromkeys(inputs))
        text = body.replace("INS", before).replace("IN", inputs[0] if inputs else "").replace("OUT", name)
        self._lines.append(f"stream<{SCHEMA}> {name} = {text}")
        self.streams.append(name)

    def _source(self) -> None:
        rng = self.random
        period = rng.choice(("0.25", "0.25", "0.5", "1.0", "0.0", "0.75"))
        delay = rng.choice(("", "", "initDelay: 0.5;", "initDelay: 2.0;"))
        self.add(
            f"""Beacon() {{ param period: {period}; iterations: {rng.randint(1, 24)}u; {delay}
      output OUT: k = (int32) (IterationCount() * {rng.randint(1, 5)}ul % {rng.randint(1, 4)}ul),
        v = (int32) IterationCount() % {rng.randint(2, 9)}; }}"""
        )


def _window(writer: Writer, windows: tuple[str, ...], partitioned: bool) -> tuple[str, str]:
    window = writer.random.choice(windows)
    for _ in range(2):
        window = window.replace("TIME", writer.time(), 1).replace("COUNT", str(writer.random.randint(1, 3)), 1)
    return (f"{window}, partitioned", "param partitionBy: k;") if partitioned else (window, "")


def _aggregate(writer: Writer, *windows: str) -> None:
    partitioned = writer.random.random() < 0.8
    window, partition = _window(writer, windows, partitioned)
    if partitioned and writer.random.random() < 0.2:
        window += f", partitionAge({writer.time()})"
    fan_in = [writer.stream() for _ in range(writer.random.choice((1, 1, 1, 2)))]
    body = AGGREGATE.replace("Aggregate(IN)", "Aggregate(INS)")
    writer.add(body.replace("WINDOW", window).replace("PARTITION", partition), *fan_in)


def _tumbling(writer: Writer) -> None:
    _aggregate(writer, "tumbling, time(TIME)")


def _sliding(writer: Writer) -> None:
    _aggregate(
        writer,
        "sliding, time(TIME), time(TIME)",
        "sliding, time(TIME), count(COUNT)",
        "sliding, count(COUNT), time(TIME)",
        "sliding, time(TIME)",
        "sliding, delta(v, 3), time(TIME)",
        "sliding, time(TIME), delta(v, 2)",
    )


def _throttle(writer: Writer) -> None:
    rate = writer.random.choice(("1.0", "2.0", "4.0"))
    writer.add(f"Throttle(IN) {{ param rate: {rate}; }}", writer.stream())


def _delay(writer: Writer) -> None:
    writer.add(f"Delay(IN) {{ param delay: {writer.random.choice(('0.0', *_TIMES))}; }}", writer.stream())


def _join(writer: Writer) -> None:
    left, right = writer.stream(), writer.stream()
    if left == right:
        return
    sides = [writer.random.choice((f"time({writer.time()})",) * 3 + ("count(0)", "count(2)")) for _ in range(2)]
    algorithm = writer.random.choice(("inner", "leftOuter", "rightOuter", "outer"))
    keyed = writer.random.random() < 0.8
    equal = f"equalityLHS: {left}.k; equalityRHS: {right}.k;" if keyed else ""
    for i, (side, stream) in enumerate((("LHS", left), ("RHS", right))):
        if sides[i] == "count(2)" and writer.random.random() < 0.6:
            sides[i] += f", partitioned, partitionAge({writer.time()})"
            equal += f" partitionBy{side}: {stream}.k;"
    writer.add(
        f"""Join({left}; {right}) {{ window {left}: sliding, {sides[0]}; {right}: sliding, {sides[1]};
      param algorithm: {algorithm}; {equal} output OUT: k = {left}.k, v = 10 * {left}.v % 1000 + {right}.v; }}"""
    )


def _custom(writer: Writer) -> None:
    kind = writer.random.choice(tuple(CUSTOM))
    state = "state: mutable int32 n = 0;" if kind == "counted" else ""
    writer.add(f"Custom(IN as I) {{ logic {state} onTuple I: {{ {CUSTOM[kind]} }} }}", writer.stream())


def _sort(writer: Writer) -> None:
    window, partition = _window(writer, ("tumbling, time(TIME)",), writer.random.random() < 0.7)
    body = f"Sort(IN) {{ window IN: {window}; {partition or 'param'} sortBy: v; }}"
    writer.add(body, writer.stream())


def _plain(writer: Writer) -> None:
    writer.add(
        writer.random.choice(
            (
                "Filter(IN) { param filter: v % 4 != 1; }",
                "Functor(IN) { output OUT: v = v + 1; }",
            )
        ),
        writer.stream(),
    )


def _duplicates(writer: Writer) -> None:
    writer.add(f"DeDuplicate(IN) {{ param key: k; timeOut: {writer.time()}; }}", writer.stream())


def _barrier(writer: Writer) -> None:
    left, right = writer.stream(), writer.stream()
    if left != right:
        writer.add(f"Barrier({left}; {right}) {{ output OUT: k = {left}.k, v = {left}.v + {right}.v % 7; }}")


def _gate(writer: Writer) -> None:
    data, control = writer.stream(), writer.stream()
    if data != control:
        writer.add(f"Gate({data}; {control}) {{ param maxUnackedTupleCount: 2u; numTuplesToAck: 1u; }}")


def _meeting(writer: Writer) -> None:
    some = [writer.stream() for _ in range(3)]
    writer.add("Functor(INS) { output OUT: v = v + 1; }", *some)


def _loop(writer: Writer) -> None:
    """What goes round comes back later, or at the same time."""
    writer.has_loop = True
    number = len(writer.streams)
    start, first, second = writer.stream(), f"S{number}", f"S{number + 1}"
    writer.add(
        f"""Custom({start} as I; {second} as J) {{ logic onTuple I: submit(I, OUT);
      onTuple J: if (v < 60) submit({{k = k, v = v + 20}}, OUT); }}"""
    )
    body = writer.random.choice(
        (
            f"Delay({first}) {{ param delay: {writer.random.choice(('0.0', '0.25', '1.0'))}; }}",
            f"Throttle({first}) {{ param rate: 4.0; }}",
            AGGREGATE.replace("window IN: WINDOW", f"window {first}: tumbling, time({writer.time()}), partitioned")
            .replace("Aggregate(IN)", f"Aggregate({first})")
            .replace("PARTITION", "param partitionBy: k;"),
        )
    )
    writer.add(body)


_MAKERS: tuple[Callable[[Writer], None], ...] = (
    *(_tumbling,) * 5,
    *(_sliding,) * 5,
    *(_throttle,) * 3,
    *(_delay,) * 3,
    *(_join,) * 4,
    *(_custom,) * 3,
    _sort,
    _plain,
    _duplicates,
    _barrier,
    _gate,
    _meeting,
    _loop,
)


def timed_program(seed: int) -> str:
    """The text of a random program."""
    return Writer(seed).text()
