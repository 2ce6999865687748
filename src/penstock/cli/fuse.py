"""`penstock fuse`: decide which operators share a process, and which host runs what."""

from __future__ import annotations

import math
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from penstock.cli import print_json
from penstock.fusion import (
    ALGORITHMS,
    MADE_FOR,
    OBJECTIVES,
    Algorithm,
    Fusion,
    FusionProblem,
    Objective,
    Settings,
    fuse,
)
from penstock.fusion.graph.gluing import cycles
from penstock.fusion.problem.costs import measure
from penstock.fusion.problem.fusion_format import fusion_to_json, read_problem

_DEFAULT_FOR: dict[Objective, Algorithm] = {"cut": "cola", "balance": "advanced-cola", "throughput": "throughput"}
_MOST_ROWS = 40
_MOST_NAMES = 8
_DEFAULTS = Settings()


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
    help="How to fuse.  [default: what pursues the objective: cola, advanced-cola or throughput]",
)
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    help="What answers are judged by, and what `exact` proves: the least cut, the least f(U, C), or the highest "
    "throughput.  [default: what the algorithm is made for; throughput]",
)
@click.option(
    "--threshold",
    type=click.FloatRange(min=0.0),
    metavar="T",
    default=_DEFAULTS.threshold,
    show_default=True,
    help="How much more communication advanced-cola accepts for a better balance, as a fraction.",
)
@click.option("--acyclic", is_flag=True, help="Let no path leave a PE and come back, as plans for Spark demand.")
@click.option("--fewer-hosts", is_flag=True, help="Leave hosts out as long as that lowers no rates.")
@click.option("--deadline", type=click.FloatRange(min=0.0), metavar="SECONDS", help="Return the best found by then.")
@click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="What random choices start from.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    problem: Path,
    algorithm: Algorithm | None,
    objective: Objective | None,
    threshold: float,
    acyclic: bool,
    fewer_hosts: bool,
    deadline: float | None,
    seed: int,
    as_json: bool,
) -> int:
    """Decide which operators are fused into one process (PE), and which host runs it.

    PROBLEM is a JSON file with operators, streams, hosts and constraints; docs/formats/fusion.md describes it. Exit
    status 3 says that no solution exists, and names the constraints in conflict.

    \b
    Example:
        $ cat chain.json
        {"operators": [{"id": "parse", "cost": 40}, {"id": "filter", "cost": 10},
                       {"id": "score", "cost": 60}, {"id": "write", "cost": 20}],
         "streams": [{"from": "parse", "to": "filter", "cost": 30},
                     {"from": "filter", "to": "score", "cost": 5},
                     {"from": "score", "to": "write", "cost": 15}],
         "hosts": [{"id": "h1", "capacity": 100}, {"id": "h2", "capacity": 100}]}
        $ penstock fuse chain.json --algorithm cola
        $ penstock fuse chain.json --algorithm throughput --deadline 5 --json
    """
    to_fuse = read_problem(problem)
    algorithm = algorithm or _DEFAULT_FOR[objective or "throughput"]
    settings = Settings(acyclic=acyclic, objective=objective, threshold=threshold, fewer_hosts=fewer_hosts, seed=seed)
    answer = fuse(to_fuse, algorithm, settings, deadline_seconds=deadline)
    _note_other_objective(algorithm, answer)
    for group in cycles(to_fuse) if acyclic else ():
        names = ", ".join(f"`{to_fuse.ids[operator]}`" for operator in group[:_MOST_NAMES])
        more = f" and {len(group) - _MOST_NAMES} more" if len(group) > _MOST_NAMES else ""
        click.echo(f"note: {names}{more} lie on a cycle, so they share a PE in an acyclic plan", err=True)
    if not answer.feasible:
        click.echo(
            f"warning: a host is loaded to {answer.max_utilization:.0%} of its capacity; "
            f"`{algorithm}` found nothing that fits",
            err=True,
        )
    if as_json:
        print_json(fusion_to_json(to_fuse, answer))
    else:
        _print_tables(to_fuse, answer)
    return 0


def _note_other_objective(algorithm: Algorithm, answer: Fusion) -> None:
    own = MADE_FOR.get(algorithm)
    if algorithm == "throughput":
        own = "throughput"
    if own is not None and own != answer.objective:
        better = " or ".join(f"`{name}`" for name in (_DEFAULT_FOR[answer.objective], "exact"))
        click.echo(
            f"note: `{algorithm}` pursues {own}, and is judged by {answer.objective}; {better} pursues that", err=True
        )


def _print_tables(problem: FusionProblem, answer: Fusion) -> None:
    console = Console(markup=False, emoji=False)
    console.print(_pe_table(problem, answer))
    more = answer.assignment.pes - _MOST_ROWS
    if more > 0:
        console.print(f"and {more} more PEs; `--json` shows all", highlight=False)
    total = float(problem.stream_costs.sum())
    share = answer.cut / total if total else 0.0
    scale = answer.throughput_scale
    for what, value in (
        ("streams between PEs", f"{answer.cut:,.6g} of {total:,.6g} mips ({share:.1%})"),
        ("largest PE", f"{answer.max_pe_size:,.6g} mips"),
        ("busiest host", f"{answer.max_utilization:.1%} of its capacity"),
        ("rates could grow", f"{scale:.4g} times" if math.isfinite(scale) else "without limit"),
        ("objective", _objective_words(answer)),
        ("time", f"{answer.seconds:.3g} s"),
    ):
        console.print(f"{what:<21} {value}", highlight=False)


def _objective_words(answer: Fusion) -> str:
    proof = ", proven optimal" if answer.optimal else ""
    return f"{answer.objective}: {answer.objective_value:.6g}{proof}"


def _pe_table(problem: FusionProblem, answer: Fusion) -> Table:
    table = Table("PE", "host", "operators", title=f"fusion by {answer.algorithm}")
    table.add_column("size", justify="right")
    sizes = measure(problem, answer.assignment).sizes.tolist()
    hosts = answer.assignment.host_of.tolist()
    for number, pe in enumerate(answer.assignment.members()[:_MOST_ROWS]):
        names = ", ".join(problem.ids[operator] for operator in pe[:_MOST_NAMES])
        shown = names if len(pe) <= _MOST_NAMES else f"{names}, ... ({len(pe):,})"
        table.add_row(str(number), problem.hosts.ids[hosts[number]], shown, f"{sizes[number]:,.6g}")
    return table
