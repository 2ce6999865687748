"""Admission problems for `penstock bench soda`: the paper's 19 jobs, and large ones made at random."""

from __future__ import annotations

import csv
import random
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files

from penstock.scheduler.problem.admission_problem import Flow, Job, Linear, Output, Pe, Problem, Table, Template

MIPS_AT_FULL_SIZE = 1_100_000.0
"""100 nodes of 11,000 mips."""

MISPRINTED_PERCENT = 75
"""A published row that takes more than there is, and whose figures for job E no other row bears out."""

RANKS = {**dict.fromkeys("ABCDEFG", 1), **dict.fromkeys("HIJKLM", 2), **dict.fromkeys("NOPQRS", 3)}


def published_mips() -> dict[int, dict[str, float]]:
    """Table 2: the mips of each admitted job, by percent of the nodes."""
    return {
        percent: {job: 100 * hundreds for job, hundreds in row.items()}
        for percent, row in _published("soda_table2_mips_hundreds.csv").items()
    }


def published_importance() -> dict[int, dict[str, float]]:
    """Table 3: the importance of each admitted job, by percent of the nodes."""
    return _published("soda_table3_importance.csv")


def _published(name: str) -> dict[int, dict[str, float]]:
    text = (files("penstock.bench") / "data" / name).read_text(encoding="utf-8")
    rows = {}
    for row in csv.DictReader(text.splitlines()):
        percent = int(row.pop("percent_of_nodes"))
        if percent != MISPRINTED_PERCENT:
            rows[percent] = {job: float(figure) for job, figure in row.items() if figure}
    return rows


def published_waterline(percent: int) -> int:
    """The worst rank that was admitted, by table 3.

    Example:
        >>> [published_waterline(percent) for percent in (65, 60, 30, 25)]
        [3, 2, 2, 1]
    """
    return max(RANKS[job] for job in published_importance()[percent])


def published_problem(percent: float, *, waterline: int = 3) -> Problem:
    """The paper's 19 jobs on a part of its nodes.

    Each job is one PE whose resource function runs through the published points, and whose importance is its rate; the
    least that was published is what it needs at least.

    Args:
        percent: Of the nodes.
        waterline: Jobs of worse rank are withdrawn.

    Example:
        >>> problem = published_problem(100)
        >>> len(problem.jobs), problem.mips, problem.job("S").templates[0].min_mips
        (19, 1100000.0, 33600.0)
    """
    points = _points(published_mips(), published_importance())
    jobs = tuple(_published_job(name, table) for name, table in points.items() if RANKS[name] <= waterline)
    return Problem(mips=MIPS_AT_FULL_SIZE * percent / 100, jobs=jobs)


def _points(
    mips: Mapping[int, Mapping[str, float]], importance: Mapping[int, Mapping[str, float]]
) -> dict[str, list[tuple[float, float]]]:
    best: dict[str, dict[float, float]] = {job: {} for job in RANKS}
    for percent, row in mips.items():
        for job, amount in row.items():
            best[job][amount] = max(best[job].get(amount, 0.0), importance[percent][job])
    return {job: sorted(points.items()) for job, points in best.items()}


def _published_job(name: str, points: list[tuple[float, float]]) -> Job:
    output = Output(stream=f"{name}.out", rate=Table(points=tuple(points)), value=Linear(slope=1.0))
    pe = Pe(id=f"{name}.pe", min_mips=points[0][0], max_mips=points[-1][0], outputs=(output,))
    template = Template(id="only", pes=(pe,))
    return Job(id=name, rank=RANKS[name], required=RANKS[name] == 1, templates=(template,))


def synthetic_problem(jobs: int, pes_per_job: int, *, seed: int, load: float = 2.0) -> Problem:
    """A large problem: graphs of flows that fan out and join, ranks 1 to 5, templates, streams between jobs.

    Args:
        jobs: How many.
        pes_per_job: How many PEs each has.
        seed: What the random choices start from.
        load: How many times the capacity the PEs could use together, about.

    Example:
        >>> problem = synthetic_problem(10, 5, seed=1)
        >>> len(problem.jobs), sum(len(template.pes) for job in problem.jobs for template in job.templates) >= 50
        (10, True)
    """
    rng = random.Random(seed)
    made = [_synthetic_job(rng, number, pes_per_job) for number in range(jobs)]
    usable = sum(pe.max_mips for job in made for pe in job.templates[0].pes)
    return Problem(mips=round(usable / load), jobs=tuple(made))


def _synthetic_job(rng: random.Random, number: int, size: int) -> Job:
    name = f"J{number}"
    # Every tenth job reads what the job before it delivers, every twelfth has a cheaper template.
    imported = (f"J{number - 1}.basic.s0",) if number % 10 == 5 else ()
    basic = Template(id="basic", pes=tuple(_synthetic_pes(rng, f"{name}.basic", size, imported)))
    templates = (basic, _cheaper(basic)) if number % 12 == 3 else (basic,)
    return Job(id=name, rank=rng.randint(1, 5), required=number % 50 == 0, templates=templates)


def _synthetic_pes(rng: random.Random, prefix: str, size: int, imported: tuple[str, ...]) -> list[Pe]:
    pes: list[Pe] = []
    loads: dict[str, float] = dict.fromkeys(imported, 100.0)
    for i in range(size):
        recent = [*imported, *(f"{prefix}.s{k}" for k in range(max(0, i - 4), i))]
        inputs = tuple(rng.sample(recent, min(len(recent), rng.choice([1, 1, 1, 2]))))
        offered = 0.0 if inputs else rng.uniform(100, 800)
        flow = Flow(mips_per_tps=rng.uniform(0.5, 2.0), selectivity=rng.uniform(0.5, 1.0))
        load = offered + sum(loads[stream] for stream in inputs)
        loads[f"{prefix}.s{i}"] = flow.selectivity * load
        wants = flow.mips_per_tps * load
        output = Output(stream=f"{prefix}.s{i}", rate=flow)
        least = rng.choice([0.0, 0.0, 0.1, 0.2]) * wants
        pes.append(
            Pe(
                id=f"{prefix}.p{i}",
                min_mips=least,
                max_mips=wants,
                inputs=inputs,
                offered_tps=offered,
                outputs=(output,),
            )
        )
    return [_with_value(rng, pe, pes) for pe in pes]


def _with_value(rng: random.Random, pe: Pe, pes: list[Pe]) -> Pe:
    """Give a value to a stream that nobody in the job reads; a quarter of them pay only beyond a threshold."""
    output = pe.outputs[0]
    if any(output.stream in reader.inputs for reader in pes):
        return pe
    first, second = sorted((rng.uniform(20, 100), rng.uniform(20, 100)), reverse=rng.random() < 0.75)
    value = Table(points=((0.0, 0.0), (100.0, first), (200.0, first + second)))
    return replace(pe, outputs=(replace(output, value=value, weight=rng.uniform(0.5, 2.0)),))


def _cheaper(template: Template) -> Template:
    """The same graph at half the cost for a tuple and two thirds of the worth."""
    return Template(id="cheap", pes=tuple(_cheaper_pe(pe) for pe in template.pes))


def _cheaper_pe(pe: Pe) -> Pe:
    outputs = tuple(
        replace(out, rate=replace(out.rate, mips_per_tps=out.rate.mips_per_tps / 2), weight=out.weight * 2 / 3)
        for out in pe.outputs
        if isinstance(out.rate, Flow)
    )
    return replace(pe, min_mips=pe.min_mips / 2, max_mips=pe.max_mips / 2, outputs=outputs)
