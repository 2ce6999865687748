"""Admission problems made at random, and the plainest way to solve them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from penstock.scheduler.problem.admission_problem import (
    Flow,
    Job,
    Limits,
    Linear,
    Output,
    Pe,
    Problem,
    RateFunction,
    Surface,
    Table,
    Template,
)

Array = np.ndarray

MOST_ROUNDS = 2_000
"""Rounds that a loop has to fill."""


def random_problem(
    seed: int, *, most_jobs: int = 6, most_pes: int = 7, most_units: int = 3, general: bool = False
) -> Problem:
    """A small problem in whole mips: shared streams, templates, required jobs, ranks 1 to 3.

    With `general` some resource functions look at each input by itself.
    """
    rng = random.Random(seed)
    jobs: list[Job] = []
    exported: list[str] = []
    pes_left = most_pes
    for name in "ABCDEF"[: rng.randint(1, most_jobs)]:
        templates = tuple(
            _template(rng, name, f"t{i}", rng.randint(1, max(1, min(3, pes_left))), exported, most_units, general)
            for i in range(rng.choice([1, 1, 2]))
        )
        pes_left -= max(len(template.pes) for template in templates)
        running = templates[0].id if rng.random() < 0.2 else None
        required = rng.random() < 0.2
        jobs.append(Job(id=name, rank=rng.randint(1, 3), required=required, templates=templates, running=running))
        exported.append(f"{name}.out")
        if pes_left <= 0:
            break
    rng.shuffle(jobs)
    needed = sum(min(t.min_mips for t in job.choices) for job in jobs if job.required)
    return Problem(mips=float(max(1, needed + rng.randint(0, 12))), jobs=tuple(jobs))


def with_loops(problem: Problem, seed: int) -> Problem:
    """The problem in which some PEs read what comes behind them, of their own job or of another one."""
    rng = random.Random(seed)
    streams = sorted({stream for job in problem.jobs for template in job.templates for stream in template.streams})

    def loop(pe: Pe, own: list[str]) -> Pe:
        others = [stream for stream in (*own, *own, *streams) if stream not in pe.inputs]
        more = (rng.choice(others),) if others and rng.random() < 0.5 else ()
        return replace(pe, inputs=(*pe.inputs, *(s for s in more if s in own or not s.count(".t"))))

    jobs = tuple(
        replace(
            job,
            templates=tuple(replace(t, pes=tuple(loop(pe, list(t.streams)) for pe in t.pes)) for t in job.templates),
        )
        for job in problem.jobs
    )
    return replace(problem, jobs=jobs)


def _template(
    rng: random.Random, job: str, name: str, size: int, exported: list[str], most_units: int, general: bool
) -> Template:
    pes = []
    own: list[str] = []
    for i in range(size):
        streams = own + exported
        inputs = tuple(rng.sample(streams, min(len(streams), rng.choice([0, 1, 1, 2]))))
        stream = f"{job}.out" if i == size - 1 else f"{job}.{name}.s{i}"
        valued = rng.random() < (0.8 if i == size - 1 else 0.3)
        low = rng.choice([0, 0, 1, 2])
        high = low + rng.randint(0, most_units)
        offered = 0.0 if inputs else float(rng.randint(1, 4))
        rate = _general_rate(rng, inputs) if general and inputs else _rate(rng)
        pes.append(
            Pe(
                id=f"{job}.{name}.p{i}",
                min_mips=float(low),
                max_mips=float(high),
                inputs=inputs,
                offered_tps=offered,
                outputs=(
                    Output(
                        stream=stream,
                        rate=rate,
                        value=_value(rng) if valued else None,
                    ),
                ),
            )
        )
        own.append(stream)
    return Template(id=name, pes=tuple(pes))


def _rate(rng: random.Random) -> RateFunction:
    if rng.random() < 0.25:
        return Table(
            points=tuple(zip((0.0, 1.0, 3.0), sorted(float(rng.randint(0, 6)) for _ in range(3)), strict=True))
        )
    return Flow(mips_per_tps=rng.choice([0.5, 1.0, 2.0]), selectivity=rng.choice([0.5, 1.0, 2.0]))


def _general_rate(rng: random.Random, inputs: tuple[str, ...]) -> RateFunction:
    kind = rng.choice(["usual", "limits", "join", "surface"])
    if kind == "usual":
        return _rate(rng)
    heights = sorted(float(rng.randint(0, 6)) for _ in range(3))
    if kind == "surface":
        knots = (*((0.0, 2.0, 5.0) for _ in inputs), (0.0, 1.0, 3.0))
        shape = [3] * len(knots)
        steps = np.array([rng.randint(0, 2) for _ in range(3 ** len(knots))], dtype=float).reshape(shape)
        for axis in range(len(shape)):
            steps = np.cumsum(steps, axis=axis)
        return Surface(inputs=inputs, knots=knots, rates=tuple(steps.ravel().tolist()))
    offered = tuple((stream, rng.choice([0.0, 0.5, 1.0, 2.0])) for stream in inputs)
    pairs = ((inputs[0], inputs[-1], rng.choice([0.5, 1.0])),) if kind == "join" else ()
    return Limits(allowed=Table(points=tuple(zip((0.0, 1.0, 3.0), heights, strict=True))), offered=offered, pairs=pairs)


def _value(rng: random.Random) -> Linear | Table:
    if rng.random() < 0.5:
        return Linear(slope=float(rng.randint(1, 5)))
    return Table(points=tuple(zip((0.0, 1.0, 4.0), sorted(float(rng.randint(0, 9)) for _ in range(3)), strict=True)))


def brute_force(problem: Problem, *, step: float = 1.0, positive: bool = False) -> float:
    """The best importance over all rank-legal lists and all allocations in steps of some mips.

    With `positive`, every admitted job without a minimum must get a hundredth of what it may take, unless it is
    required.
    """
    optional = {job.id for job in problem.jobs if not job.required}
    return max(
        _best_allocation(problem.mips, choice, step, optional if positive else set()) for choice in legal_lists(problem)
    )


def legal_lists(problem: Problem) -> Iterator[dict[str, Template]]:
    """Every rank-legal list, by the definitions of the paper's section 4.1."""
    for picks in itertools.product(*((None, *job.choices) for job in problem.jobs)):
        admitted = {job.id: t for job, t in zip(problem.jobs, picks, strict=True) if t is not None}
        if any(job.required and job.id not in admitted for job in problem.jobs):
            continue
        if _is_rank_legal(problem, admitted):
            yield admitted


def _is_rank_legal(problem: Problem, admitted: dict[str, Template]) -> bool:
    rank = {job.id: 1 if job.required else job.rank for job in problem.jobs}
    pes = [(job, pe) for job, template in admitted.items() for pe in template.pes]
    reaches = np.array(
        [[p is q or any(out.stream in q.inputs for out in p.outputs) for _, q in pes] for _, p in pes], dtype=bool
    ).reshape(len(pes), len(pes))
    for _ in pes:
        reaches = reaches @ reaches
    revised = dict(rank)
    for i, (job, _) in enumerate(pes):
        for k, (dependent, _) in enumerate(pes):
            if reaches[i, k]:
                revised[job] = min(revised[job], rank[dependent])
    return all(revised[a] <= revised[b] for a in admitted for b in rank if b not in admitted)


def _best_allocation(mips: float, choice: dict[str, Template], step: float, must_get_some: set[str]) -> float:
    pes = [pe for template in choice.values() for pe in template.pes]
    axes = [np.arange(pe.min_mips, pe.max_mips + step / 2, step) for pe in pes]
    grids = [axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")] if pes else []
    given = {pe.id: grid for pe, grid in zip(pes, grids, strict=True)}
    for job in must_get_some & choice.keys():
        given |= _with_a_hundredth(choice[job], given, mips)
    fits = sum(given.values(), np.zeros(1)) <= mips
    if not fits.any():
        return -np.inf
    return float(importance(pes, {pe_id: grid[fits] for pe_id, grid in given.items()}).max())


def _with_a_hundredth(template: Template, given: dict[str, Array], mips: float) -> dict[str, Array]:
    """What the PEs of a job get where each has at least its hundredth, if none of them has a minimum."""
    most = sum(pe.max_mips for pe in template.pes)
    if most == 0 or any(pe.min_mips > 0 for pe in template.pes):
        return {}
    part = 0.01 * min(1.0, mips / most) if mips else 0.01
    return {pe.id: np.maximum(given[pe.id], part * pe.max_mips) for pe in template.pes}


def importance(pes: list[Pe], mips: dict[str, Array]) -> Array:
    """The importance of allocations, by as many rounds over the graph as change anything."""
    rates: dict[str, Array] = {}
    for _ in range(MOST_ROUNDS):
        before = rates
        rates = {
            out.stream: _rate_at(out.rate, pe, {s: rates.get(s, 0.0) for s in pe.inputs}, mips[pe.id])
            for pe in pes
            for out in pe.outputs
        }
        if before and all(np.array_equal(before[s], rates[s]) for s in rates):
            break
    total = np.zeros(1)
    for pe in pes:
        for out in pe.outputs:
            if isinstance(out.value, Linear):
                total = total + out.weight * out.value.slope * rates[out.stream]
            elif out.value is not None:
                total = total + out.weight * _table(out.value, rates[out.stream])
    return total


def _rate_at(rate: RateFunction, pe: Pe, inputs: dict[str, Array | float], mips: Array) -> Array:
    load = pe.offered_tps + sum(inputs.values())
    if isinstance(rate, Table):
        return _table(rate, mips)
    if isinstance(rate, Limits):
        offered = sum(share * inputs[s] for s, share in rate.offered)
        offered = offered + sum(share * inputs[a] * inputs[b] for a, b, share in rate.pairs)
        return np.minimum(offered, _table(rate.allowed, mips))
    if isinstance(rate, Surface):
        grid = np.array(rate.rates).reshape([len(axis) for axis in rate.knots])
        at = np.broadcast_arrays(*(np.asarray(inputs[s], dtype=float) for s in rate.inputs), mips)
        at = [np.clip(x, axis[0], axis[-1]) for x, axis in zip(at, rate.knots, strict=True)]
        return RegularGridInterpolator(rate.knots, grid)(np.stack(at, axis=-1))
    return rate.selectivity * np.minimum(load, mips / rate.mips_per_tps)


def _table(table: Table, x: Array) -> Array:
    return np.interp(x, [p[0] for p in table.points], [p[1] for p in table.points])


def in_other_units(problem: Problem, *, mips: float, rate: float, value: float) -> Problem:
    """The same problem with mips, rates and values counted in other units, each this many times as small."""

    def rate_function(function: RateFunction) -> RateFunction:
        if isinstance(function, Table):
            return Table(points=tuple((x * mips, y * rate) for x, y in function.points))
        return replace(function, mips_per_tps=function.mips_per_tps * mips / rate)

    def output(out: Output) -> Output:
        worth = out.value
        if isinstance(worth, Linear):
            worth = Linear(slope=worth.slope * value / rate)
        elif worth is not None:
            worth = Table(points=tuple((x * rate, y * value) for x, y in worth.points))
        return replace(out, rate=rate_function(out.rate), value=worth)

    def pe(old: Pe) -> Pe:
        return replace(
            old,
            min_mips=old.min_mips * mips,
            max_mips=old.max_mips * mips,
            offered_tps=old.offered_tps * rate,
            outputs=tuple(map(output, old.outputs)),
        )

    def template(old: Template) -> Template:
        return replace(old, pes=tuple(map(pe, old.pes)))

    jobs = tuple(replace(job, templates=tuple(map(template, job.templates))) for job in problem.jobs)
    return Problem(mips=problem.mips * mips, jobs=jobs)
