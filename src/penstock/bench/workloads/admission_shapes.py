"""Admission problems of several shapes: connected jobs, thresholds, templates, one job of very many PEs."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from penstock.scheduler.problem.admission_problem import (
    Flow,
    Job,
    Limits,
    Linear,
    Output,
    Pe,
    Problem,
    Table,
    Template,
)


def connected_jobs(
    jobs: int, *, templates: int = 1, least_mips: float = 0.0, gain: float = 0.0, joins: bool = False, seed: int = 0
) -> Problem:
    """Jobs of three PEs, each of which reads from two before it; most pay only beyond a threshold.

    Args:
        jobs: How many there are.
        templates: Of each job.
        least_mips: Of each PE.
        gain: Of a loop from the last PE of a job to the one before; 0 for none.
        joins: Whether the first PE of a job joins what it reads, where that is two streams.
        seed: What the choices start from.

    Example:
        >>> problem = connected_jobs(4, templates=2)
        >>> [len(job.templates) for job in problem.jobs], problem.jobs[3].templates[0].pes[0].inputs != ()
        ([2, 2, 2, 2], True)
    """
    rng = random.Random(seed)
    made = []
    for number in range(jobs):
        reads = tuple(sorted({f"J{rng.randrange(number)}.out" for _ in range(2)})) if number else ()
        ways = tuple(
            Template(id=f"t{i}", pes=_chain(rng, f"J{number}", f"t{i}", reads, least_mips)) for i in range(templates)
        )
        ways = tuple(_with_loop(template, gain) for template in ways) if gain else ways
        ways = tuple(_with_join(template) for template in ways) if joins and len(reads) == 2 else ways
        made.append(Job(id=f"J{number}", rank=rng.randint(1, 3), templates=ways))
    return Problem(mips=35.0 * jobs, jobs=tuple(made))


def _chain(rng: random.Random, job: str, template: str, reads: tuple[str, ...], least_mips: float) -> tuple[Pe, ...]:
    pes = []
    for i in range(3):
        last = i == 2
        rate = Flow(mips_per_tps=rng.choice([0.5, 1.0, 2.0]), selectivity=rng.choice([0.5, 1.0, 1.5]))
        value = None
        if last and rng.random() < 0.7:
            start, full = float(rng.randint(5, 20)), float(rng.randint(21, 60))
            value = Table(points=((0.0, 0.0), (start, 0.0), (full, float(rng.randint(5, 15)))))
        stream = f"{job}.out" if last else f"{job}.{template}.s{i}"
        pes.append(
            Pe(
                id=f"{job}.{template}.p{i}",
                min_mips=least_mips,
                max_mips=100.0,
                inputs=(f"{job}.{template}.s{i - 1}",) if i else reads,
                offered_tps=0.0 if i or reads else 50.0,
                outputs=(Output(stream=stream, rate=rate, value=value),),
            )
        )
    return tuple(pes)


def _with_loop(template: Template, gain: float) -> Template:
    """The template in which its last PE sends tuples back to the one before."""
    first, middle, last = template.pes
    (way_in,), (way_out,) = middle.outputs, last.outputs
    assert isinstance(way_in.rate, Flow)
    assert isinstance(way_out.rate, Flow)
    rate = replace(way_out.rate, selectivity=gain / way_in.rate.selectivity)
    back = Output(stream=f"{last.id}.back", rate=rate)
    middle = replace(middle, inputs=(*middle.inputs, back.stream))
    return replace(template, pes=(first, middle, replace(last, outputs=(way_out, back))))


def _with_join(template: Template) -> Template:
    """The template whose first PE has an output for each pair of tuples within some time."""
    first, *others = template.pes
    (output,) = first.outputs
    left, right = first.inputs
    join = Limits(allowed=Table(points=((0.0, 0.0), (100.0, 60.0))), pairs=((left, right, 0.05),))
    return replace(template, pes=(replace(first, outputs=(replace(output, rate=join),)), *others))


def one_large_job(pes: int, *, seed: int = 0) -> Problem:
    """One job whose PEs each read from one of some hundred before it, with a third of the mips that it could use."""
    rng = random.Random(seed)
    made = []
    for i in range(pes):
        rate = Flow(mips_per_tps=rng.choice([0.5, 1.0, 2.0]), selectivity=rng.choice([0.8, 1.0, 1.1]))
        value = Linear(slope=rng.random()) if rng.random() < 0.1 else None
        inputs = (f"s{rng.randrange(max(0, i - 300), i)}",) if i else ()
        output = Output(stream=f"s{i}", rate=rate, value=value)
        made.append(
            Pe(id=f"p{i}", max_mips=100.0, inputs=inputs, offered_tps=0.0 if inputs else 50.0, outputs=(output,))
        )
    return Problem(mips=10.0 * pes, jobs=(Job(id="J", templates=(Template(id="t", pes=tuple(made)),)),))


SHAPES: dict[str, Callable[[], Problem]] = {
    "14 connected jobs": lambda: connected_jobs(14),
    "14 connected jobs with minima": lambda: connected_jobs(14, least_mips=5.0),
    "8 connected jobs, two templates": lambda: connected_jobs(8, templates=2),
    "40 connected jobs, two templates": lambda: connected_jobs(40, templates=2, least_mips=2.0),
    "1,000 connected jobs": lambda: connected_jobs(1_000, least_mips=2.0),
    "1,000 connected jobs, two templates": lambda: connected_jobs(1_000, templates=2),
    "300 connected jobs with loops": lambda: connected_jobs(300, gain=0.5),
    "300 connected jobs with loops of gain 1": lambda: connected_jobs(300, gain=1.0),
    "300 connected jobs with joins": lambda: connected_jobs(300, joins=True),
    "one job of 10,000 PEs": lambda: one_large_job(10_000),
}
QUICK = ("14 connected jobs", "8 connected jobs, two templates")

WORTH = {
    "1,000 connected jobs": 0.8,
    "1,000 connected jobs, two templates": 0.8,
    "300 connected jobs with loops": 0.9,
    "300 connected jobs with loops of gain 1": 0.7,
    "one job of 10,000 PEs": 0.99,
}
"""The part of the bound that an answer must earn where nothing is proven."""
