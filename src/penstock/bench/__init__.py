"""The experiments behind `penstock bench NAME`, one module each.

An experiment is a module `penstock.bench.NAME` with a function `run(bench: Bench) -> None`. It reports rows with
`bench.row`, says what must hold with `bench.check`, and draws with `bench.figure`. `Bench` keeps the figures, the
machine's facts and the plots together and writes them as JSON, CSV and PNG; `penstock.bench.pages.results` makes
pages of them.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.base.figures import figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LABELS = 8

EXPERIMENTS = {
    "soda": "tables 2 and 3 and figure 7 of the SODA paper: importance against capacity",
    "epochs": "importance over time while jobs come and go, nodes fail and weights change",
    "soda-live": "six jobs under `penstock serve` beside FAIR pools, eviction by priority and the optimum, on Spark",
    "scheduling": "figure 6 of the graph-partitioning paper: traffic and throughput of three placements",
    "placement": "the four topologies of that paper on a cluster of four workers: bytes between executors, on Spark",
    "drift": "hot keys that change: rescheduled channels against a placement with hindsight, on Spark",
    "fusion": "figures 10 and 11 of the SPADE paper: six fusions of two applications, on Spark",
    "cola": "table 1 of the COLA paper, fusion against the optimum, and 10,000 operators",
    "solvers": "deadlines, memory and quality of the solvers on large inputs of many shapes",
    "profiling": "figure 9 of the SPADE paper: what profiling costs, and whether it tells the truth",
    "model": "the throughput model against measured throughput, over fusions and channels, on Spark",
    "scaling": "figure 6 of the auto-parallelization paper: speedup over work and channels, on Spark",
    "ordering": "figure 8 of the auto-parallelization paper: what keeping the order costs, on Spark",
    "crossings": "16 light operators fused and not fused, two heavy ones in one PE and in two, on Spark",
    "keyed-state": "count and sum by key against native and per-key PySpark, side by side",
    "python": "Python functions and a keyed class against mapInArrow, Bytewax and a plain loop",
    "vs-handwritten": "bargain detection and network monitoring against the same by hand in PySpark",
    "nexmark": "the 23 queries of Nexmark against the same by hand in PySpark, answers checked by DuckDB",
    "latency": "from the making of a tuple to its sink, at three rates, against PySpark in micro-batches",
    "throughput-out": "Parquet in, three operators, Parquet out against native PySpark; a batch of 3 GiB to one file",
    "moves": "channels that move between all batches while executors and drivers are killed, against the reference",
    "crashes": "workers, executors and drivers killed at random moments: sinks against the reference",
    "changes": "plans changed at random moments, jobs killed in every phase of it: sinks against the reference",
    "soak": "an hour at half of the sustainable rate: memory, files and batch times stay flat",
}
NOT_AMONG_ALL = frozenset({"soak"})
"""Those that `penstock bench all` leaves out: their length is the point of them."""

BY_CLOCK = frozenset({"soak", "soda-live"})
"""Those whose runs go on for a given time, which `--seconds` may change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A figure that an experiment must reach.

    Attributes:
        name: What is compared, in words.
        value: What was measured.
        bar: What it is held against.
        holds: Whether it is reached.
        sense: Which side of the bar is the good one: `at least` or `at most`.
        timed: Whether the machine's speed has a say in it, as a time or as what is found by a deadline: with small
            inputs, or on a busy machine, it may not hold.
    """

    name: str
    value: float
    bar: float
    holds: bool
    sense: str
    timed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture that an experiment has drawn: its file, beside the figures, and what it shows."""

    file: str
    title: str


class Bench:
    """Collects what one experiment measures.

    Attributes:
        name: The experiment's name.
        quick: Whether to use small inputs, as continuous integration does.
        out: Where the files go.
        seconds: How long a run goes on in an experiment that goes by the clock; None for its own choice.
    """

    def __init__(self, name: str, *, quick: bool, out: Path, seconds: float | None = None) -> None:
        self.name = name
        self.quick = quick
        self.seconds = seconds
        self.out = out
        self.rows: list[dict[str, object]] = []
        self.checks: list[Check] = []
        self.plots: list[Plot] = []
        self._began = time.monotonic()
        self._machine = machine_facts()
        out.mkdir(parents=True, exist_ok=True)

    def progress(self, message: str) -> None:
        """Say on standard error what is being done."""
        print(f"bench {self.name}: {message}", file=sys.stderr, flush=True)

    def row(self, **values: object) -> None:
        """Report one line of the result table."""
        self.rows.append(values)

    def check(
        self,
        name: str,
        value: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
        timed: bool = False,
    ) -> None:
        """Report a figure and the bar that it must reach, one of `at_least` and `at_most`; say if it was `timed`."""
        if (at_least is None) == (at_most is None):
            raise ValueError("a check has one bar: at_least or at_most")
        bar = at_least if at_least is not None else at_most
        assert bar is not None
        sense, holds = ("at most", value <= bar) if at_least is None else ("at least", value >= bar)
        check = Check(name=name, value=float(value), bar=float(bar), holds=bool(holds), sense=sense, timed=timed)
        self.checks.append(check)

    @contextmanager
    def figure(self, stem: str, *, title: str, xlabel: str, ylabel: str) -> Iterator[Axes]:
        """Draw one plot; it is saved as `STEM.png` beside the figures."""
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        yield axes
        axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
        axes.grid(visible=True, alpha=0.3)
        axes.set_axisbelow(True)
        _write_numbers(axes)
        figure.savefig(self.out / f"{stem}.png", dpi=144)
        plt.close(figure)
        self.plots.append(Plot(file=f"{stem}.png", title=title))

    def to_json(self) -> dict[str, object]:
        """The result as `penstock bench --json` prints it."""
        return {
            "name": self.name,
            "quick": self.quick,
            "command": f"penstock bench {self.name}{self._options()}",
            "about": EXPERIMENTS.get(self.name, ""),
            "seconds": round(time.monotonic() - self._began, 1),
            "machine": self._machine,
            "results": self.rows,
            "checks": [asdict(check) for check in self.checks],
            "plots": [asdict(plot) for plot in self.plots],
        }

    def _options(self) -> str:
        seconds = "" if self.seconds is None else f" --seconds {self.seconds:g}"
        return (" --quick" if self.quick else "") + seconds

    def write(self) -> None:
        """Write `NAME.json` and `NAME.csv`."""
        (self.out / f"{self.name}.json").write_text(json.dumps(self.to_json(), indent=2) + "\n")
        columns = list(dict.fromkeys(key for row in self.rows for key in row))
        with (self.out / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(self.rows)


def _write_numbers(axes: Axes) -> None:
    """Numbers as in tables: along the axis, and on bars where they are few."""
    if axes.get_yscale() == "linear":
        axes.yaxis.set_major_formatter(lambda value, _: figure(value))
    if len(axes.containers) == 1 and len(axes.patches) <= _MOST_LABELS:
        heights = [patch.get_height() for patch in axes.patches]  # type: ignore[attr-defined]
        axes.bar_label(axes.containers[0], labels=[figure(height, digits=3) for height in heights])  # type: ignore[arg-type]


def machine_facts() -> dict[str, object]:
    """The facts about the machine that a reader needs to judge a figure; `load` is its load average before the run.

    Example:
        >>> sorted(machine_facts())
        ['cores', 'load', 'machine', 'memory_gib', 'penstock', 'python', 'system']
    """
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cores": os.cpu_count(),
        "memory_gib": round(memory_bytes / 2**30, 1),
        "load": round(os.getloadavg()[0], 1),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "penstock": version("penstock"),
    }
