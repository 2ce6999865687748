"""The optimum, computed afterwards: what somebody would have earned who knew everything, and paid for no change.

Formulation:
    Phases p with lengths T_p and capacities M_p; jobs j with templates t, prices c_jt as they were measured, least and
    most mips. Binary y_jtp: j runs by t in p. x_jtp >= 0: its tuples a second. Maximize

        sum T_p w_jp q_t v_j x_jtp / r_j      (v_j is earned at the full rate r_j; x adds up to no more than r_j)

    subject to: at most one template a job and phase; c_jt x <= M_jt y; sum of max(m_jt y, c_jt x) <= M_p, since a job
    holds its least mips also where its feed has too little for them; what a job has taken up to the end of a phase is
    no more than what its feed has given by then, or the job that it follows; no job of a worse rank runs where one of
    a better rank does not.

When it does not apply:
    Within a phase nothing changes. Somebody who changed templates in the middle of one could earn a little more.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.base.deadline import Deadline
from penstock.base.integer_program import IntegerProgram
from penstock.bench.soda_live.scenario import CORE_MIPS, LiveJob, Phase, Scenario

Prices = Mapping[tuple[str, str], float]
"""The mips of a tuple a second, by job and template."""

_SECONDS = 20.0


def best_importance(
    scenario: Scenario, prices: Prices, arrived: Mapping[str, float], mips: float
) -> tuple[float, list[float]]:
    """The most importance that a run could have had, on average, and that of each phase.

    Args:
        scenario: The run.
        prices: As measured.
        arrived: The tuples that each feed had had when the run began.
        mips: What the machine has when nothing of it is taken away.
    """
    program = IntegerProgram()
    spans = scenario.spans()
    rates: dict[tuple[str, int], list[tuple[int, float, float]]] = {}
    runs: dict[tuple[str, int], list[int]] = {}
    for number, (since, until, phase) in enumerate(spans):
        claims: list[int] = []
        for job in scenario.jobs:
            columns = _job_in_phase(program, scenario, job, phase, prices, until - since)
            rates[job.name, number] = [(x, price, earned) for x, _, _, price, earned in columns]
            runs[job.name, number] = [y for _, y, _, _, _ in columns]
            claims += [claim for _, _, claim, _, _ in columns]
            program.row(dict.fromkeys(runs[job.name, number], 1.0), most=1.0)
            program.row({x: 1.0 for x, _, _ in rates[job.name, number]}, most=float(scenario.full_tps(job)))
        program.row(dict.fromkeys(claims, 1.0), most=mips * phase.capacity)
        _obey_ranks(program, scenario, runs, number)
    _obey_feeds(program, scenario, rates, arrived)
    solution = program.solve(Deadline.after(_SECONDS))
    assert solution.values is not None
    values = solution.values
    earned = [
        sum(values[x] * worth for job in scenario.jobs for x, _, worth in rates[job.name, number]) / (until - since)
        for number, (since, until, _) in enumerate(spans)
    ]
    return -solution.bound / scenario.seconds, earned


def _job_in_phase(
    program: IntegerProgram, scenario: Scenario, job: LiveJob, phase: Phase, prices: Prices, seconds: float
) -> list[tuple[int, int, int, float, float]]:
    """For each template: its rate, whether it runs, its claim on the capacity, its price, and what a tuple earns."""
    found = []
    for template in job.templates:
        price = prices[job.name, template.id]
        weight = phase.weights.get(job.name, 1.0) * template.weight
        earned = seconds * weight * job.value / scenario.full_tps(job)
        x = program.column(cost=-earned)
        (y,) = program.binaries(1)
        claim = program.column()
        program.row({x: price, y: -CORE_MIPS}, most=0.0)
        program.row({x: price, claim: -1.0}, most=0.0)
        program.row({y: template.min_mips, claim: -1.0}, most=0.0)
        found.append((x, y, claim, price, earned))
    return found


def _obey_ranks(
    program: IntegerProgram, scenario: Scenario, runs: Mapping[tuple[str, int], list[int]], number: int
) -> None:
    """A job runs only where all jobs of better ranks do."""
    for better in scenario.jobs:
        for worse in (job for job in scenario.jobs if job.rank > better.rank):
            signs = dict.fromkeys(runs[worse.name, number], 1.0) | dict.fromkeys(runs[better.name, number], -1.0)
            program.row(signs, most=0.0)


def _obey_feeds(
    program: IntegerProgram,
    scenario: Scenario,
    rates: Mapping[tuple[str, int], list[tuple[int, float, float]]],
    arrived: Mapping[str, float],
) -> None:
    """Nobody takes what has not come yet."""
    spans = scenario.spans()
    for job in scenario.jobs:
        come = arrived.get(job.name, 0.0)
        terms: dict[int, float] = {}
        for number, (since, until, phase) in enumerate(spans):
            come += scenario.load(job, phase) * (until - since)
            terms |= {x: until - since for x, _, _ in rates[job.name, number]}
            if job.follows is None:
                program.row(dict(terms), most=come)
                continue
            given = {
                x: -(end - begin)
                for other, (begin, end, _) in enumerate(spans[: number + 1])
                for x, _, _ in rates[job.follows, other]
            }
            program.row({**terms, **given}, most=arrived.get(job.follows, 0.0))
