"""`penstock calibrate`: measure what moving tuples costs on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli import print_json

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.model import Transfer

_TUPLES = 3_200_000
_MEANING = {
    "jvm_feed": "the JVM hands tuples to a PE",
    "python_receive": "the PE takes them in",
    "python_send": "the PE hands tuples back",
    "jvm_drain": "the JVM takes them",
    "exchange_write": "a task leaves them for the next stage",
    "exchange_read": "the next stage fetches them",
    "python_pass": "the PE takes them off the wire, or puts them on it",
}


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the calibration goes. Default: the user's cache folder, where it is looked for.",
)
@click.option("--master", metavar="URL", default="local[*]", show_default=True, help="The Spark cluster: this machine.")
@click.option(
    "--tuples", type=click.IntRange(min=1000), default=_TUPLES, show_default=True, help="How many tuples a job takes."
)
@click.option("--json", "as_json", is_flag=True, help="Print the calibration as JSON.")
def command(output: Path | None, master: str, tuples: int, as_json: bool) -> int:
    """Measure what a crossing between the JVM and Python and an exchange cost, and what a batch takes in any case.

    Small jobs run on Spark; it takes two minutes on a machine that does nothing else. Costs are CPU time for a
    tuple and for a byte. The throughput model, `optimize` and `run --fusion auto` read the result; on another machine
    costs are scaled by the speed of its cores.

    \b
    Example:
        penstock calibrate
        penstock calibrate -o transfer.json
    """
    from penstock.base.cache_folder import cache_folder
    from penstock.model import write_transfer
    from penstock.model.transfer import transfer_to_json
    from penstock.optimizer.machine import CALIBRATION
    from penstock.spark.job.session import open_session
    from penstock.spark.measure.calibration import calibrate

    path = output or cache_folder() / CALIBRATION
    path.parent.mkdir(parents=True, exist_ok=True)
    click.echo(f"starting Spark at {master}", err=True)
    spark = open_session(master)
    found = calibrate(spark, tell=lambda text: click.echo(f"calibrate: {text}", err=True), tuples=tuples)
    write_transfer(found, path)
    if as_json:
        print_json(transfer_to_json(found))
    else:
        _print(found)
    click.echo(f"wrote {path}", err=True)
    return 0


def _print(transfer: Transfer) -> None:
    from rich.console import Console

    console = Console()
    console.print(_table(transfer))
    console.print(f"a core makes {transfer.mips:,.0f} mips")
    console.print(
        f"a micro-batch takes {transfer.batch_seconds:.3f} s in any case, {transfer.pe_seconds:.3f} s more for each PE "
        f"and {transfer.state_seconds:.3f} s if that has state, {transfer.stage_seconds:.3f} s for each stage behind "
        f"the first and {transfer.task_seconds:.3f} s for each further task with state"
    )


def _table(transfer: Transfer) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table("part", "what happens", "ns a tuple", "ns a byte", box=SIMPLE_HEAD)
    for column in table.columns[2:]:
        column.justify = "right"
    for part, meaning in _MEANING.items():
        cost = transfer.part(part)
        table.add_row(part, meaning, f"{cost.seconds_per_tuple * 1e9:.1f}", f"{cost.seconds_per_byte * 1e9:.2f}")
    return table
