"""`penstock place`: assign communicating tasks to machines."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from penstock.base.diagnostics import UserError
from penstock.base.figures import figure
from penstock.cli import print_json
from penstock.cli.options.option_types import Number
from penstock.cli.output.progress import slow_progress
from penstock.placement import (
    ALGORITHMS,
    Algorithm,
    MetisSettings,
    Placement,
    PlacementProblem,
    Present,
    equal_machines,
    place,
    present_placement,
)
from penstock.placement.graph_format import read_graph, write_partition
from penstock.placement.json_format import (
    FEWER_MACHINES,
    placement_to_json,
    read_move_weights,
    read_present,
    read_problem,
    too_many_machines,
)
from penstock.placement.measure import cut, loads
from penstock.placement.partition import Objective
from penstock.placement.problem import DEFAULT_IMBALANCE

_MOST_IMBALANCE = 1e6
_LARGEST_SEED = 2**30
_MOST_ROWS = 40


@click.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option("--algorithm", type=click.Choice(ALGORITHMS), default="metis", show_default=True, help="How to place.")
@click.option("--machines", type=click.IntRange(min=1), metavar="K", help="How many equal machines there are.")
@click.option(
    "--imbalance",
    type=Number(min=1.0, max=_MOST_IMBALANCE),
    default=DEFAULT_IMBALANCE,
    show_default=True,
    help="How many times its share of the load a machine may carry.",
)
@click.option(
    "--objective",
    type=click.Choice(["cut", "volume"]),
    default="cut",
    show_default=True,
    help="What metis minimizes: traffic between machines, or METIS's communication volume.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, _LARGEST_SEED),
    default=1,
    show_default=True,
    help="What metis's random choices start from.",
)
@click.option("--starts", type=click.IntRange(min=1), help="How many seeds metis tries; fewer for large graphs.")
@click.option(
    "--present",
    "present_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where tasks are now: an answer of --json, or a partition file. Then a move must be worth what it costs.",
)
@click.option(
    "--move-cost",
    type=Number(min=0),
    metavar="TRAFFIC",
    help="What moving a task costs, times its `move`.  [default: a quarter of the present cost for all tasks together]",
)
@click.option("--max-moves", type=click.IntRange(min=0), metavar="N", help="How many tasks may move at most.")
@click.option("--deadline", type=Number(min=0), metavar="SECONDS", help="Return the best found by then.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    problem: Path,
    algorithm: Algorithm,
    machines: int | None,
    imbalance: float,
    objective: Objective,
    seed: int,
    starts: int | None,
    present_file: Path | None,
    move_cost: float | None,
    max_moves: int | None,
    deadline: float | None,
    as_json: bool,
) -> int:
    """Assign communicating tasks to machines, so that little crosses the network.

    PROBLEM is a JSON file, or a METIS file whose name ends in .graph; then the answer is also written beside it as
    PROBLEM.part.K.

    \b
    Example:
        $ cat words.json
        {"tasks": [{"id": "read", "weight": 1}, {"id": "split", "weight": 3},
                   {"id": "count", "weight": 3}, {"id": "top", "weight": 1}],
         "edges": [{"from": "read", "to": "split", "weight": 100},
                   {"from": "split", "to": "count", "weight": 10},
                   {"from": "count", "to": "top", "weight": 20}]}
        $ penstock place words.json --algorithm metis --machines 2
        $ penstock place mesh.graph --machines 64 --imbalance 1.05 --json
    """
    to_place = _read(problem, machines, imbalance)
    settings = MetisSettings(seed=seed, starts=starts, objective=objective)
    present = _read_present(problem, to_place, present_file, move_cost, max_moves)
    answer = place(
        to_place,
        algorithm,
        settings=settings,
        present=present,
        deadline_seconds=deadline,
        progress=slow_progress("place"),
    )
    part_file = _write_part_file(problem, to_place, answer)
    _warn(to_place, answer)
    if as_json:
        print_json(placement_to_json(to_place, answer, present))
    else:
        _print_tables(to_place, answer, part_file)
        _print_moves(answer, present)
    return 0


def _read_present(
    path: Path, problem: PlacementProblem, file: Path | None, move_cost: float | None, max_moves: int | None
) -> Present | None:
    if file is None:
        if move_cost is not None or max_moves is not None:
            raise click.UsageError(
                "--move-cost and --max-moves say what moves from where tasks are; give --present FILE"
            )
        return None
    machine_of, weights = read_present(file, problem), read_move_weights(path)
    return present_placement(problem, machine_of, weights=weights, move_cost=move_cost, max_moves=max_moves)


def _print_moves(answer: Placement, present: Present | None) -> None:
    if present is not None:
        moved = present.moved(answer.machine_of)
        click.echo(f"tasks that move       {len(moved):,}, for {figure(float(present.prices[moved].sum()))}")


def _read(path: Path, machines: int | None, imbalance: float) -> PlacementProblem:
    if path.suffix == ".graph":
        if machines is None:
            raise click.UsageError("a METIS file does not say how many machines there are; give --machines K")
        graph = read_graph(path)
        if machines > graph.tasks:
            raise UserError(f"{path}: {too_many_machines(machines, graph.tasks)}", hint=FEWER_MACHINES)
        places = equal_machines(machines, resources=graph.resources)
        return PlacementProblem(graph=graph, machines=places, imbalance=imbalance)
    return read_problem(path, machines=machines, imbalance=imbalance)


def _write_part_file(path: Path, problem: PlacementProblem, answer: Placement) -> Path | None:
    if path.suffix != ".graph":
        return None
    part_file = path.with_name(f"{path.name}.part.{problem.machines.count}")
    write_partition(part_file, answer.machine_of)
    return part_file


def _warn(problem: PlacementProblem, answer: Placement) -> None:
    if answer.within_limit:
        return
    over = loads(problem, answer.machine_of) > problem.machines.capacities * (1 + 1e-9)
    if over.any():
        name = problem.machines.ids[int(over.any(axis=1).argmax())]
        click.echo(f"warning: machine `{name}` is given more than its capacity; try --algorithm metis", err=True)
    elif answer.algorithm == "metis":
        click.echo(
            f"warning: no placement within imbalance {problem.imbalance:g} was found; "
            f"the most even one found has {answer.imbalance:.4g}",
            err=True,
        )


def _print_tables(problem: PlacementProblem, answer: Placement, part_file: Path | None) -> None:
    console = Console(markup=False, emoji=False)
    machines = problem.machines
    table = Table("machine", "rack", "tasks", *_load_titles(problem), title=f"placement by {answer.algorithm}")
    load = loads(problem, answer.machine_of)
    for machine in range(min(machines.count, _MOST_ROWS)):
        rack = machines.rack_ids[machines.racks[machine]]
        numbers = (figure(x) for x in load[machine])
        table.add_row(machines.ids[machine], rack, _tasks_of(problem, answer, machine), *numbers)
    console.print(table)
    if machines.count > _MOST_ROWS:
        console.print(f"and {machines.count - _MOST_ROWS} more machines")
    total = problem.graph.traffic.sum() / 2.0
    crossing = cut(problem.graph, answer.machine_of)
    share = crossing / total if total else 0.0
    console.print(
        f"traffic between machines  {figure(crossing)} of {figure(total)} ({share:.1%}); cost {figure(answer.cost)}"
    )
    console.print(f"imbalance                 {answer.imbalance:.4f} (limit {problem.imbalance:g})")
    console.print(f"time                      {answer.seconds:.3g} s")
    if part_file is not None:
        console.print(f"written to                {part_file}")


def _load_titles(problem: PlacementProblem) -> list[str]:
    return ["load"] if problem.graph.resources == 1 else [f"load {i}" for i in range(problem.graph.resources)]


def _tasks_of(problem: PlacementProblem, answer: Placement, machine: int) -> str:
    tasks = (answer.machine_of == machine).nonzero()[0]
    names = ", ".join(problem.graph.task_id(task) for task in tasks[:6].tolist())
    return names if len(tasks) <= 6 else f"{names}, ... ({len(tasks):,})"
