"""`penstock state`: look into the state of a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli import print_json
from penstock.cli.options.option_types import LocalFolder
from penstock.cli.options.spark_environment import takes_spark_environment

if TYPE_CHECKING:
    from penstock.runtime.savepoints.inside import Inside


@click.group()
def command() -> None:
    """Look into the state of a stopped job: a checkpoint, or a savepoint.

    \b
    Example:
        penstock state show c
        penstock state export c -o state
    """


@command.command()
@click.argument("place", type=LocalFolder(), metavar="CHECKPOINT|SAVEPOINT")
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@takes_spark_environment
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(place: Path, master: str, as_json: bool) -> int:
    """Show what each operator holds: keys, bytes, key groups, and how unevenly keys lie in the groups.

    \b
    Example:
        penstock state show c
    """
    from penstock.runtime.savepoints.inside import describe_state

    inside = _open(place, master)
    found = describe_state(inside)
    if as_json:
        print_json({"application": inside.state.application, "batch": inside.state.batch, "operators": found})
        return 0
    click.echo(f"{inside.state.application} before batch {inside.state.batch}, {inside.state.groups} key groups")
    click.echo(f"{'operator':<24} {'kind':<16} {'keys':>10} {'bytes':>12} {'groups':>7} {'largest group':>14}")
    for row in found:
        click.echo(
            f"{row['operator']:<24} {row['kind']:<16} {row['keys']:>10} {row['bytes']:>12} {row['groups']:>7} "
            f"{row['largest_group_keys']:>9} keys"
        )
    return 0


@command.command()
@click.argument("place", type=LocalFolder(), metavar="CHECKPOINT|SAVEPOINT")
@click.option("-o", "--output", type=LocalFolder(), required=True, metavar="DIR", help="Where to write the files.")
@click.option(
    "--operator", "operators", multiple=True, metavar="ID", help="Only of this one; may be given several times."
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster.")
@takes_spark_environment
def export(place: Path, output: Path, operators: tuple[str, ...], master: str) -> int:
    """Write what operators keep by key as Parquet files, a row for each key, for DuckDB, pandas and the like.

    \b
    Example:
        penstock state export c -o state --operator Counts
        duckdb -c "select * from 'state/Counts.parquet'"
    """
    from penstock.runtime.savepoints.inside import export_state

    for path, rows in export_state(_open(place, master), output, operators):
        click.echo(f"{path}: {rows} keys")
    return 0


def _open(place: Path, master: str) -> Inside:
    """The state in a folder."""
    from penstock.runtime.savepoints.inside import inside_of
    from penstock.runtime.savepoints.savepoint_files import HEAD, read_savepoint

    if (place / HEAD).exists():
        return inside_of(read_savepoint(place))
    from penstock.spark.job.session import open_session
    from penstock.spark.savepoints.stopped_jobs import look_into_job

    savepoint, _ = look_into_job(open_session(master), place.absolute(), lambda text: None)
    return inside_of(savepoint)
