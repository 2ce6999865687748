"""`penstock bench`: reproduce experiments."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from textwrap import fill
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.bench import BY_CLOCK, EXPERIMENTS, NOT_AMONG_ALL, Bench, machine_facts
from penstock.bench.pages.tables import Row, cell, is_text, parts
from penstock.cli import print_json
from penstock.cli.options.option_types import Number

ALL = "all"

_LONGEST_SECONDS = 86_400.0

_LONGEST_CELL = 40
"""Longer texts are broken into lines."""

_PADDING, _MARGIN = 3, 2
_HELP_WIDTH = 76
_LISTING = "\n".join(
    fill(what, _HELP_WIDTH, initial_indent=f"    {name:<16}", subsequent_indent=" " * 20)
    for name, what in {**EXPERIMENTS, ALL: f"all but {', '.join(NOT_AMONG_ALL)}, one after the other"}.items()
)


@click.command(
    help=f"""Reproduce experiments; write their figures as JSON, CSV and plots.

    \b
    Experiments:
{_LISTING}

    \b
    Example:
        penstock bench soda --quick
        penstock bench all --quick -o bench-results
    """
)
@click.argument(
    "names",
    metavar="NAME...",
    nargs=-1,
    required=True,
    shell_complete=lambda _context, _parameter, begun: [n for n in (*EXPERIMENTS, ALL) if n.startswith(begun)],
)
@click.option("--quick", is_flag=True, help="Small inputs: minutes become seconds, figures are rougher.")
@click.option(
    "--seconds",
    type=Number(min=10.0, max=_LONGEST_SECONDS),
    metavar="N",
    help="How long a run goes on in experiments that go by the clock: soak (default 3600) and soda-live (600).",
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("bench-results"),
    show_default=True,
    help="Where the files go.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(names: tuple[str, ...], quick: bool, seconds: float | None, out: Path, as_json: bool) -> int:
    """Run one experiment here, or several, each in a process of its own."""
    for name in names:
        if name not in (*EXPERIMENTS, ALL):
            raise UserError(f"there is no experiment `{name}`", hint=did_you_mean(name, (*EXPERIMENTS, ALL)))
    among_all = [name for name in EXPERIMENTS if name not in NOT_AMONG_ALL]
    chosen = [*dict.fromkeys(n for name in names for n in (among_all if name == ALL else [name]))]
    if seconds is not None and not BY_CLOCK.intersection(chosen):
        raise click.UsageError(f"--seconds is for {' and '.join(sorted(BY_CLOCK))}")
    if len(chosen) > 1:
        return _run_several(chosen, quick=quick, seconds=seconds, out=out, as_json=as_json)
    bench = _run_one(chosen[0], quick=quick, seconds=seconds, out=out)
    if as_json:
        print_json(bench.to_json())
    else:
        print_tables(bench)
    return 0


def _run_one(name: str, *, quick: bool, seconds: float | None, out: Path) -> Bench:
    try:
        bench = Bench(name, quick=quick, out=out, seconds=seconds)
    except OSError as error:
        raise UserError(f"cannot make the folder `{out}`: {error.strerror}") from error
    importlib.import_module(f"penstock.bench.{name.replace('-', '_')}").run(bench)
    bench.write()
    return bench


def _run_several(names: list[str], *, quick: bool, seconds: float | None, out: Path, as_json: bool) -> int:
    """A fresh process for each: what one leaves behind in memory must not slow the next."""
    results = []
    for i, name in enumerate(names, 1):
        click.echo(f"bench: {name}, {i} of {len(names)}", err=True)
        call = [sys.executable, "-m", "penstock.cli", "bench", name, "-o", str(out), *(["--quick"] if quick else [])]
        call += [] if seconds is None or name not in BY_CLOCK else ["--seconds", str(seconds)]
        done = subprocess.run(call, stdout=subprocess.DEVNULL, check=False)
        if done.returncode:
            return done.returncode
        results.append(json.loads((out / f"{name}.json").read_text()))
    summary = _summary(results)
    if as_json:
        print_json(summary)
    else:
        _print_checks(Console(markup=False, emoji=False), summary["checks"])
        click.echo(f"figures and plots are in {out}/")
    return 0


def _summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """All experiments in the form of one, so that a program reads both alike."""
    return {
        "name": ALL
        if len(results) == len(EXPERIMENTS) - len(NOT_AMONG_ALL)
        else " ".join(result["name"] for result in results),
        "machine": machine_facts(),
        "results": [{key: result[key] for key in ("name", "command", "seconds")} for result in results],
        "checks": [
            {**check, "name": f"{result['name']}: {check['name']}"} for result in results for check in result["checks"]
        ],
    }


def print_tables(bench: Bench) -> None:
    """Print results and checks for people: a table for each part, no wider than the terminal."""
    console = Console(markup=False, emoji=False)
    for title, rows in parts(bench.name, bench.rows):
        _print_part(console, title, rows, bench)
    _print_checks(console, bench.to_json()["checks"])
    console.print(f"figures and plots are in {bench.out}/", highlight=False)


def _print_checks(console: Console, checks: Any) -> None:
    table = Table("check", title="checks", title_justify="left", box=SIMPLE_HEAD)
    for column in ("measured", "bar", "holds"):
        table.add_column(column, justify="right")
    for check in checks:
        table.add_row(check["name"], cell(check["value"]), cell(check["bar"]), "yes" if check["holds"] else "NO")
    console.print(table)


def _print_part(console: Console, title: str, rows: list[Row], bench: Bench) -> None:
    cells = {name: [cell(row[name]) for row in rows] for name in rows[0]}
    shown = _fitting(cells, console.width)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in shown:
        table.add_column(name.replace("_", " "), justify="left" if is_text(rows, name) else "right")
    for line in zip(*(cells[name] for name in shown), strict=True):
        table.add_row(*line)
    console.print(table)
    if len(shown) < len(cells):
        left_out = ", ".join(name for name in cells if name not in shown)
        console.print(f"  and in {bench.name}.csv: {left_out}", highlight=False)


def _fitting(cells: dict[str, list[str]], width: int) -> list[str]:
    """The first columns, as many as fit; headings break between words, long texts too."""
    shown: list[str] = []
    width -= _MARGIN
    for name, column in cells.items():
        heading = max(len(word) for word in name.split("_"))
        width -= _PADDING + max(heading, *(min(len(cell), _LONGEST_CELL) for cell in column))
        if width < 0 and shown:
            break
        shown.append(name)
    return shown
