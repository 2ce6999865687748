"""macroQ against brute force, and what must hold of every answer."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from admission_instances import brute_force, importance, in_other_units, random_problem, with_loops
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.base.deadline import Deadline
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.problem.admission_problem import Flow, Job, Output, Pe, Problem, Table, Template
from penstock.scheduler.problem.answer import Answer
from penstock.scheduler.problem.ranks import is_rank_legal, waterline

MILLIONTH = 2e-6
"""What two ways of adding up may differ by."""

seeds = st.integers(min_value=0, max_value=10**9)


def assert_sound(problem: Problem, answer: Answer) -> None:
    """The constraints of section 4.2, and figures that agree with each other."""
    admitted = {job: verdict for job, verdict in answer.jobs.items() if verdict.admitted}
    choice = {job: problem.job(job).template(verdict.template or "") for job, verdict in admitted.items()}
    assert answer.mips_used <= problem.mips * (1 + 1e-12)
    assert all(job.id in admitted for job in problem.jobs if job.required)
    assert all(template in problem.job(job).choices for job, template in choice.items())
    assert is_rank_legal(problem.jobs, choice)
    assert answer.waterline == waterline(problem.jobs, choice)
    for job, verdict in admitted.items():
        for pe in choice[job].pes:
            assert pe.min_mips <= verdict.pes[pe.id] <= pe.max_mips
    pes = [pe for template in choice.values() for pe in template.pes]
    mips = {pe: np.array([m]) for verdict in admitted.values() for pe, m in verdict.pes.items()}
    assert answer.importance == pytest.approx(float(importance(pes, mips)[0]), rel=1e-9, abs=1e-9)
    assert answer.mips_used == pytest.approx(sum(verdict.mips for verdict in admitted.values()))


def assert_everybody_gets_some(problem: Problem, answer: Answer) -> None:
    """Admission means a positive amount."""
    for job in problem.jobs:
        verdict = answer.jobs[job.id]
        if verdict.admitted and not job.required:
            most = sum(pe.max_mips for pe in job.template(verdict.template or "").pes)
            # Of PEs that nothing of worth depends on nothing is asked, so it may be less than a hundredth of all.
            assert verdict.mips > 0 or most == 0


@given(seeds)
@settings(max_examples=120, deadline=None)
def test_small_problems_get_the_importance_that_brute_force_finds(seed: int) -> None:
    problem = random_problem(seed)
    answer = solve(problem, granularity=int(problem.mips))
    assert_sound(problem, answer)
    assert answer.exact
    best = brute_force(problem)
    # A component gets whole units, but a PE inside it may need less than a unit: then the answer may be better.
    in_whole_mips = all(mips.is_integer() for verdict in answer.jobs.values() for mips in verdict.pes.values())
    assert answer.importance == pytest.approx(best) if in_whole_mips else answer.importance >= best - 1e-9


@given(seeds)
@settings(max_examples=120, deadline=None)
def test_functions_of_every_input_get_the_importance_that_brute_force_finds(seed: int) -> None:
    problem = random_problem(seed, general=True)
    answer = solve(problem, granularity=int(problem.mips))
    assert_sound(problem, answer)
    assert answer.importance >= brute_force(problem) * (1 - MILLIONTH)
    found = solve(problem)
    assert_sound(problem, found)
    half = brute_force(problem, step=0.5, positive=True) if len(problem.jobs) < 4 else 0.0
    assert not found.exact or found.importance >= half * (1 - MILLIONTH)
    assert found.importance <= found.bound * (1 + MILLIONTH)


def test_what_a_pe_does_not_need_of_a_unit_goes_to_another() -> None:
    problem = random_problem(25220)
    answer = solve(problem, granularity=int(problem.mips))
    assert_sound(problem, answer)
    assert answer.importance == pytest.approx(11.5)
    assert brute_force(problem) == pytest.approx(10.5)


@given(seeds)
@settings(max_examples=150, deadline=None)
def test_no_allocation_in_half_mips_beats_an_answer_that_is_called_the_best(seed: int) -> None:
    problem = random_problem(seed, most_pes=5)
    answer = solve(problem)
    assert_sound(problem, answer)
    assert_everybody_gets_some(problem, answer)
    best = brute_force(problem, step=0.5, positive=True)
    assert answer.exact
    assert answer.importance == pytest.approx(answer.bound, rel=MILLIONTH)
    assert answer.importance >= best * (1 - MILLIONTH)


@given(seeds)
@example(2307)  # A stream that one template produces on a cycle and another one outside of it.
@settings(max_examples=120, deadline=None)
def test_no_allocation_in_half_mips_beats_what_loops_get_by_more_than_is_said(seed: int) -> None:
    """Among the loops are some whose gain is 1 and more: a program may run them on nothing, an answer may not."""
    problem = with_loops(random_problem(seed, most_pes=5), seed)
    # By the time of this thread, so that it does not matter who else is at work.
    answer = solve(problem, deadline=Deadline.after(4.0, clock=time.thread_time))
    assert_everybody_gets_some(problem, answer)
    best = brute_force(problem, step=0.5, positive=True)
    assert max(best, answer.importance) <= answer.bound * (1 + MILLIONTH)
    assert answer.importance >= best * (1 - (MILLIONTH if answer.exact else 0.02))


@given(seeds, st.integers(-9, 9), st.integers(-9, 9), st.integers(-9, 9))
@example(49619, -9, 0, 0)  # No PE can use more than its minimum.
@settings(max_examples=60, deadline=None)
def test_answers_do_not_depend_on_units(seed: int, mips: int, rates: int, values: int) -> None:
    problem = random_problem(seed)
    other = in_other_units(problem, mips=10.0**mips, rate=10.0**rates, value=10.0**values)
    here, there = solve(problem), solve(other)
    assert there.importance == pytest.approx(here.importance * 10.0**values, rel=1e-5)
    # Of answers that earn the same either may be found, so waterlines may differ.
    assert here.exact == there.exact


def test_a_stream_worth_little_at_a_high_rate_gets_what_it_needs() -> None:
    value = Table(points=((0.0, 0.0), (1e6, 1.0)))
    output = Output(stream="s", rate=Flow(mips_per_tps=1e-4, selectivity=1.0), value=value)
    pe = Pe(id="p", max_mips=100.0, offered_tps=1e6, outputs=(output,))
    answer = solve(Problem(mips=100.0, jobs=(Job(id="A", templates=(Template(id="t", pes=(pe,)),)),)))
    assert (answer.importance, answer.exact) == (pytest.approx(1.0), True)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_importance_never_falls_with_a_longer_deadline(seed: int) -> None:
    problem = random_problem(seed, most_pes=12, most_units=5)
    earned = []
    for ticks in (0, 1, 3, 10, 30, 100, 1000):
        clock = iter(range(10**9))
        answer = solve(problem, deadline=Deadline.after(ticks, clock=lambda clock=clock: float(next(clock))))
        assert_sound(problem, answer)
        earned.append(answer.importance)
    assert all(later >= earlier * (1 - MILLIONTH) for earlier, later in pairwise(earned))


@given(seeds, st.integers(min_value=1, max_value=6))
@settings(max_examples=40, deadline=None)
def test_importance_never_falls_with_more_mips(seed: int, more: int) -> None:
    problem = random_problem(seed)
    richer = replace(problem, mips=problem.mips + more)
    fewer = solve(problem, granularity=int(problem.mips)).importance
    assert solve(richer, granularity=int(richer.mips)).importance >= fewer - 1e-9
    assert solve(richer).importance >= solve(problem).importance * (1 - MILLIONTH)
