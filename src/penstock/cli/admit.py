"""`penstock admit`: choose which jobs a cluster admits and what each of them gets."""

from __future__ import annotations

import math
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Diagnostics, UserError
from penstock.base.figures import figure
from penstock.base.json_source import read_json
from penstock.cli import print_json
from penstock.cli.options.option_types import Number
from penstock.cli.output.progress import slow_progress
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.io.nodes_reader import cluster_from_json
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.pipeline import Placement, admit_and_place
from penstock.scheduler.problem.admission_problem import Problem
from penstock.scheduler.problem.answer import Answer
from penstock.scheduler.problem.nodes import Cluster

DEFAULT_DEADLINE_SECONDS = 60.0
"""The paper's macro epoch: about a minute."""


@click.command()
@click.argument("jobs", type=click.Path(path_type=Path))
@click.option(
    "--deadline",
    type=Number(min=0.0),
    metavar="SECONDS",
    default=DEFAULT_DEADLINE_SECONDS,
    show_default=True,
    help="Return the best found by then; small problems are done long before.",
)
@click.option("--place", "with_placement", is_flag=True, help="Also place the admitted PEs on the nodes in the file.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(jobs: Path, deadline: float, with_placement: bool, as_json: bool) -> int:
    """Choose which jobs a full cluster admits, with which templates, and how much each gets.

    JOBS is a JSON file with the capacity, the jobs, their ranks, templates, PEs and streams; docs/formats/admission.md
    describes it. Exit status 3 says that the required jobs do not fit.

    \b
    Example:
        $ cat jobs.json
        {"mips": 130, "jobs": [
         {"id": "alerts", "rank": 1, "required": true, "templates": [
          {"id": "only", "pes": [
           {"id": "detect", "min_mips": 40, "max_mips": 100,
            "offered_tps": 80, "outputs": [{"stream": "alarms",
              "rate": {"flow": {"mips_per_tps": 1, "selectivity": 0.1}},
              "value": {"linear": 5}}]}]}]},
         {"id": "report", "rank": 2, "templates": [
          {"id": "only", "pes": [
           {"id": "sum", "min_mips": 20, "max_mips": 60,
            "inputs": ["alarms"], "outputs": [{"stream": "totals",
              "rate": {"flow": {"mips_per_tps": 5, "selectivity": 1}},
              "value": {"table": [[0, 0], [4, 10], [8, 14]]}}]}]}]}]}
        $ penstock admit jobs.json
        $ penstock admit jobs.json --deadline 5 --json
    """
    due = Deadline.after(deadline)
    problem, cluster = _read(jobs, with_placement=with_placement)
    report = slow_progress("admit")
    placement = None
    if cluster is None:
        answer = solve(problem, deadline=due, progress=report)
    else:
        answer, placement = admit_and_place(problem, cluster, due, progress=report)
    if as_json:
        print_json(answer.to_json() | ({"placement": placement.to_json()} if placement is not None else {}))
    else:
        _print_answer(problem, answer)
        if placement is not None:
            _print_placement(placement)
    return 0


def _read(path: Path, *, with_placement: bool) -> tuple[Problem, Cluster | None]:
    """The problem and, if asked for, the cluster, or the mistakes in both."""
    document = read_json(path)
    found = Diagnostics()
    problem = cluster = None
    try:
        problem = problem_from_json(document, str(path))
    except UserError as error:
        found.extend(error)
    try:
        cluster = cluster_from_json(document, str(path)) if with_placement and isinstance(document, dict) else None
    except UserError as error:
        found.extend(error)
    found.raise_if_any()
    assert problem is not None
    return problem, cluster


def _print_answer(problem: Problem, answer: Answer) -> None:
    console = Console(markup=False, emoji=False)
    table = Table("job", "rank", "admitted", "template")
    for title in ("mips", "importance"):
        table.add_column(title, justify="right")
    for job in problem.jobs:
        verdict = answer.jobs[job.id]
        rank = f"{job.rank} required" if job.required else str(job.rank)
        figures = (figure(verdict.mips), figure(verdict.importance)) if verdict.admitted else ("", "")
        table.add_row(job.id, rank, "yes" if verdict.admitted else "no", verdict.template or "", *figures)
    console.print(table)
    share = 100 * answer.mips_used / problem.mips if problem.mips else 100.0
    admitted = sum(verdict.admitted for verdict in answer.jobs.values())
    console.print(
        f"importance {figure(answer.importance)} with {admitted} of {len(problem.jobs)} jobs, "
        f"waterline {answer.waterline}\n"
        f"{figure(answer.mips_used)} of {figure(problem.mips)} mips ({share:.1f} %)",
        highlight=False,
    )
    console.print(f"{_proof(answer)}: {answer.seconds:.2f} s; `--json` shows each PE", highlight=False)


def _proof(answer: Answer) -> str:
    """How good the answer is, as far as it is known."""
    if answer.exact:
        return "the best there is, proven"
    if math.isfinite(answer.bound) and answer.bound > 0:
        return f"the best found in time, at most {100 * (1 - answer.importance / answer.bound):.2g} % below the best"
    return f"the best found in time, in {answer.granularity:,} units"


def _print_placement(placement: Placement) -> None:
    table = Table("PE", "goal mips", "on nodes", title="placement")
    for pe, nodes in placement.mips.items():
        where = ", ".join(f"{node}: {figure(mips)}" for node, mips in nodes.items() if mips > 0)
        table.add_row(pe, figure(placement.goals[pe]), where)
    console = Console(markup=False, emoji=False)
    console.print(table)
    for job, reason in placement.left_out.items():
        console.print(f"job {job} is left out, because it cannot be placed: {reason}", highlight=False)
    console.print(f"importance as placed {figure(placement.importance)}, {placement.moves} moves", highlight=False)
