"""`penstock bench`: reproduce an experiment."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from penstock.bench import EXPERIMENTS, Bench
from penstock.cli import print_json
from penstock.cli.figures import figure
from penstock.diagnostics import UserError, did_you_mean

Row = dict[str, object]

_LONGEST_CELL = 40
"""Longer texts are broken into lines."""

_PADDING, _MARGIN = 3, 2
_HELP_WIDTH = 76
_LISTING = "\n".join(
    fill(what, _HELP_WIDTH, initial_indent=f"    {name:<14}", subsequent_indent=" " * 18)
    for name, what in EXPERIMENTS.items()
)


@click.command(
    help=f"""Reproduce an experiment; write its figures as JSON, CSV and plots.

    \b
    Experiments:
{_LISTING}

    \b
    Example:
        penstock bench soda --quick
    """
)
@click.argument("name")
@click.option("--quick", is_flag=True, help="Small inputs: minutes become seconds, figures are rougher.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    default=Path("bench-results"),
    show_default=True,
    help="Where the files go.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(name: str, quick: bool, out: Path, as_json: bool) -> int:
    """Run one experiment."""
    if name not in EXPERIMENTS:
        raise UserError(f"there is no experiment `{name}`", hint=did_you_mean(name, EXPERIMENTS))
    try:
        bench = Bench(name, quick=quick, out=out)
    except OSError as error:
        raise UserError(f"cannot make the folder `{out}`: {error.strerror}") from error
    importlib.import_module(f"penstock.bench.{name.replace('-', '_')}").run(bench)
    bench.write()
    if as_json:
        print_json(bench.to_json())
    else:
        print_tables(bench)
    return 0


def print_tables(bench: Bench) -> None:
    """Print results and checks for people: a table for each part, no wider than the terminal."""
    console = Console(markup=False, emoji=False)
    for title, rows in _parts(bench):
        _print_part(console, title, rows, bench)
    checks = Table("check", title="checks", title_justify="left", box=SIMPLE_HEAD)
    for column in ("measured", "bar", "holds"):
        checks.add_column(column, justify="right")
    for check in bench.checks:
        checks.add_row(check.name, _cell(check.value), _cell(check.bar), "yes" if check.holds else "NO")
    console.print(checks)
    console.print(f"figures and plots are in {bench.out}/", highlight=False)


def _parts(bench: Bench) -> Iterator[tuple[str, list[Row]]]:
    """The rows of one `part` and the same keys, together with their title; `part` itself is taken out."""
    parts: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for row in bench.rows:
        keys = tuple(key for key in row if key != "part")
        parts.setdefault((str(row.get("part", bench.name)), keys), []).append({key: row[key] for key in keys})
    return ((title, rows) for (title, _), rows in parts.items())


def _print_part(console: Console, title: str, rows: list[Row], bench: Bench) -> None:
    cells = {name: [_cell(row[name]) for row in rows] for name in rows[0]}
    shown = _fitting(cells, console.width)
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for name in shown:
        is_text = any(isinstance(row[name], str) for row in rows)
        table.add_column(name.replace("_", " "), justify="left" if is_text else "right")
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


def _cell(value: object) -> str:
    return figure(value, digits=4) if isinstance(value, float) else str(value)
