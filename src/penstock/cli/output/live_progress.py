"""The progress of a run on Spark, on standard error: a table that stays in place on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.output.json_log import JsonLog

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.ir.graph import Application
    from penstock.runtime.progress import Progress

LINE_SECONDS = 3.0
MOST_OPERATORS = 16

Counts = Mapping[str, Sequence[int]]


class Rates:
    """The tuples a second of each operator since the batch before, and the totals of sources and sinks."""

    def __init__(self, application: Application) -> None:
        self._sources = [o.id for o in application.operators if not o.inputs]
        self._sinks = [o.id for o in application.operators if not o.outputs]
        self._before: tuple[float, dict[str, int]] = (time.monotonic(), {})
        self.tuples_in = self.tuples_out = 0
        self.rate: dict[str, float] = {}

    def take(self, received: Counts, submitted: Counts) -> None:
        """Take the totals after a batch."""
        taken = {id_: sum(ports) for id_, ports in received.items()}
        made = {id_: sum(submitted.get(id_, ())) for id_ in self._sources}
        now, (then, before) = time.monotonic(), self._before
        passed = max(now - then, 1e-9)
        self.rate = {id_: (n - before.get(id_, 0)) / passed for id_, n in {**made, **taken}.items()}
        self.tuples_in = sum(made.values())
        self.tuples_out = sum(taken.get(id_, 0) for id_ in self._sinks)
        self._before = now, {**made, **taken}

    def of(self, ids: Sequence[str]) -> float:
        """The rate of several operators together."""
        return sum(self.rate.get(id_, 0.0) for id_ in ids)

    @property
    def rate_in(self) -> float:
        """Tuples a second from the sources."""
        return self.of(self._sources)

    @property
    def rate_out(self) -> float:
        """Tuples a second to the sinks."""
        return self.of(self._sinks)


@contextmanager
def live_progress(application: Application) -> Iterator[Progress]:
    """Show progress while the block runs; gives what is to be called after every batch."""
    rates = Rates(application)
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.live import Live

        with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
            yield lambda p: live.update(_table(_taken(rates, p), p), refresh=True)
    else:
        yield _Lines(rates, application.name, "")


@contextmanager
def progress_lines(application: Application) -> Iterator[Progress]:
    """Show progress by lines that begin with the name of the application; for one of several that run at once."""
    yield _Lines(Rates(application), application.name, f"{application.name}: ")


def _taken(rates: Rates, progress: dict[str, Any]) -> Rates:
    rates.take(progress["totals"].received, progress["totals"].submitted)
    return rates


class _Lines:
    """A line now and then."""

    def __init__(self, rates: Rates, application: str, prefix: str) -> None:
        self._rates, self._application = rates, application
        self._prefix = prefix
        self._last = -LINE_SECONDS

    def __call__(self, progress: dict[str, Any]) -> None:
        if time.monotonic() - self._last >= LINE_SECONDS:
            self._last = time.monotonic()
            message = self._prefix + _headline(_taken(self._rates, progress), progress)
            if isinstance(sys.stderr, JsonLog):
                sys.stderr.write_message(message, application=self._application, **self._figures(progress))
            else:
                click.echo(message, err=True)

    def _figures(self, progress: dict[str, Any]) -> dict[str, Any]:
        return {
            "batch": progress["batchId"],
            "seconds": progress["batchDuration"] / 1000,
            "tuples_in": self._rates.tuples_in,
            "tuples_out": self._rates.tuples_out,
        }


def _headline(rates: Rates, progress: dict[str, Any]) -> str:
    parts = [
        f"batch {progress['batchId']}: {progress['batchDuration'] / 1000:.1f} s",
        f"{rates.tuples_in:,} tuples in ({rates.rate_in:,.0f} a second)",
        f"{rates.tuples_out:,} out ({rates.rate_out:,.0f} a second)",
    ]
    return "; ".join([*parts, *_lag(progress)])


def _lag(progress: dict[str, Any]) -> list[str]:
    """How far the job is behind its sources, where they can tell."""
    behind = [(s.get("metrics") or {}).get("maxOffsetsBehindLatest") for s in progress.get("sources", ())]
    return [f"{int(b):,} behind" for b in behind if b is not None]


def _table(rates: Rates, progress: dict[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table("operator", "tuples a second", title=_headline(rates, progress), title_justify="left")
    table.columns[1].justify = "right"
    busiest = sorted(rates.rate.items(), key=lambda entry: -entry[1])[:MOST_OPERATORS]
    for id_, rate in busiest:
        table.add_row(Text(id_), f"{rate:,.0f}")
    return table
