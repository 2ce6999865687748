"""The jobs of `penstock bench soak`, who feeds them, and what their sinks must hold.

Two applications run together. `Readings` makes numbered tuples at a rate, sums them by key in windows, and lets the
first of every thousand pass, each of which is forgotten after a while. `Arrivals` reads files that come and go, one
line of which is malformed. Each line of each sink follows from its number, so all of them are checked.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KEYS, WINDOW, THOUSAND = 2_000, 500, 1_000
LINES = 20
EVERY_SECONDS, KEPT_SECONDS = 2.0, 60.0
"""How often a file arrives, and when it goes away."""

READINGS = f"""
composite Readings {{
  param expression<float64> $period : (float64) getSubmissionTimeValue("period");
  graph
    stream<int64 i, int32 key> Readings = Beacon() {{
      param period: $period;
      output Readings: i = (int64) IterationCount(), key = (int32) (IterationCount() % {KEYS}ul);
    }}
    stream<int32 key, int64 total> Totals = Aggregate(Readings) {{
      window Readings: tumbling, count({WINDOW}), partitioned;
      param partitionBy: key;
      output Totals: total = Sum(i);
    }}
    stream<int64 thousand> Numbered = Functor(Readings) {{ output Numbered: thousand = i / {THOUSAND}l; }}
    stream<int64 thousand> First = DeDuplicate(Numbered) {{ param key: thousand; timeOut: 30.0; }}
    () as Sums = FileSink(Totals) {{ param file: "totals.csv"; }}
    () as Firsts = FileSink(First) {{ param file: "first.csv"; }}
}}
"""

ARRIVALS = """
composite Arrivals {
  graph
    stream<rstring name> Names = DirectoryScan() {
      param directory: "arrivals"; sleepTime: 1.0; ignoreDotFiles: true; sortBy: name;
    }
    stream<int64 file, int64 line> Lines = FileSource(Names) { param format: csv; parsing: permissive; }
    () as Arrived = FileSink(Lines) { param file: "arrived.csv"; }
}
"""


@contextmanager
def arriving(folder: Path) -> Iterator[None]:
    """Let files arrive, and go away again, while the block runs."""
    done = threading.Event()

    def feed() -> None:
        written: list[tuple[float, Path]] = []
        while not done.wait(EVERY_SECONDS):
            path = folder / f"{len(written):06d}.csv"
            part = path.with_name(f".{path.name}")
            part.write_text("".join(f"{line}\n" for line in [*lines_of(len(written)), "malformed"]))
            part.rename(path)
            written.append((time.monotonic(), path))
            for since, old in written[-60:]:
                if time.monotonic() - since > KEPT_SECONDS:
                    old.unlink(missing_ok=True)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        yield
    finally:
        done.set()
        feeder.join()


def lines_of(file: int) -> Iterator[str]:
    """The lines of a file that arrives, as its sink has them."""
    return (f"{file},{line}" for line in range(LINES))


def totals() -> Iterator[str]:
    """The lines of `totals.csv`: key after key, window after window.

    Example:
        >>> from itertools import islice
        >>> list(islice(totals(), 2))
        ['0,249500000', '1,249500500']
    """
    window = 0
    while True:
        first = window * WINDOW
        of_zero = KEYS * sum(range(first, first + WINDOW))
        yield from (f"{key},{of_zero + key * WINDOW}" for key in range(KEYS))
        window += 1


def firsts() -> Iterator[str]:
    """The lines of `first.csv`."""
    number = 0
    while True:
        yield str(number)
        number += 1


def arrivals() -> Iterator[str]:
    """The lines of `arrived.csv`."""
    file = 0
    while True:
        yield from lines_of(file)
        file += 1


SINKS = {"totals.csv": totals, "first.csv": firsts, "arrived.csv": arrivals}


def count_wrong(out: Path) -> dict[str, tuple[int, int]]:
    """For each sink how many lines it has, and how many of them are not what they must be."""
    counts: dict[str, tuple[int, int]] = {}
    for name, expected in SINKS.items():
        lines = wrong = 0
        with (out / name).open() as file:
            for line, wanted in zip(file, expected(), strict=False):
                lines += 1
                wrong += line.rstrip("\n") != wanted
        counts[name] = lines, wrong
    return counts
