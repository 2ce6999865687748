"""`penstock bench`: reproduce an experiment."""

from __future__ import annotations

import importlib
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from penstock.bench import EXPERIMENTS, Bench
from penstock.cli import print_json
from penstock.diagnostics import UserError, did_you_mean

_LISTING = "\n".join(f"    {name:<14}{what}" for name, what in EXPERIMENTS.items())


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
@click.option("-o", "--out", type=click.Path(path_type=Path), default=Path("bench-results"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(name: str, quick: bool, out: Path, as_json: bool) -> int:
    """Run one experiment."""
    if name not in EXPERIMENTS:
        raise UserError(f"there is no experiment `{name}`", hint=did_you_mean(name, EXPERIMENTS))
    bench = Bench(name, quick=quick, out=out)
    importlib.import_module(f"penstock.bench.{name.replace('-', '_')}").run(bench)
    bench.write()
    if as_json:
        print_json(bench.to_json())
    else:
        _print_tables(bench)
    return 0


def _print_tables(bench: Bench) -> None:
    console = Console()
    columns = list(dict.fromkeys(key for row in bench.rows for key in row))
    results = Table(*columns, title=f"bench {bench.name}")
    for row in bench.rows:
        results.add_row(*(_cell(row.get(column, "")) for column in columns))
    console.print(results)
    checks = Table("check", "measured", "bar", "holds", title="checks")
    for check in bench.checks:
        checks.add_row(check.name, _cell(check.value), _cell(check.bar), "yes" if check.holds else "NO")
    console.print(checks)
    console.print(f"figures and plots are in {bench.out}/")


def _cell(value: object) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
