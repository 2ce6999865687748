"""`penstock bench soda`: the experiments of the SODA paper's section 5, and a thousand jobs.

Two parts:

1. Tables 2 and 3 and figure 7: the paper's 19 jobs, on 100 to 25 percent of its nodes. The importance must be at least
   the published one at each size. The 75 percent row is left out: its published allocations exceed the capacity.
2. A thousand jobs with twenty PEs each, once with a short and once with a long deadline.
"""

from __future__ import annotations

import time
from itertools import pairwise

from penstock.bench import Bench
from penstock.bench.soda_jobs import RANKS, published_importance, published_mips, published_problem, synthetic_problem
from penstock.diagnostics import Infeasible
from penstock.scheduler.answer import Answer
from penstock.scheduler.deadline import Deadline
from penstock.scheduler.macroq import solve

_INFEASIBLE_PERCENT = 20
_GRACE_SECONDS = 3.0
"""For reading off the answer after the deadline, on a busy machine."""


def run(bench: Bench) -> None:
    """Run the two parts."""
    answers = _tables_2_and_3(bench)
    _figure_7(bench, answers)
    _scale(bench)


def _tables_2_and_3(bench: Bench) -> dict[int, Answer]:
    answers = {}
    for percent, published in sorted(published_importance().items(), reverse=True):
        bench.progress(f"{percent} % of the nodes")
        answers[percent] = answer = solve(published_problem(percent))
        admitted = _admitted_by_rank(answer)
        expected = max(RANKS[job] for job in published)
        bench.row(
            part="tables 2 and 3",
            percent=percent,
            published_importance=sum(published.values()),
            importance=answer.importance,
            published_mips=sum(published_mips()[percent].values()),
            mips=answer.mips_used,
            published_waterline=expected,
            waterline=answer.waterline,
            published_jobs=len(published),
            jobs=sum(admitted.values()),
            seconds=answer.seconds,
        )
        bench.check(f"importance at {percent} %", answer.importance, at_least=sum(published.values()))
        bench.check(f"waterline at {percent} %", answer.waterline, at_least=expected)
    _check_admission(bench, answers)
    return answers


def _check_admission(bench: Bench, answers: dict[int, Answer]) -> None:
    for percent in (100, 95):
        bench.check(f"jobs admitted at {percent} %", _jobs(answers[percent]), at_least=len(RANKS))
    lines = [answers[percent].waterline for percent in sorted(answers, reverse=True)]
    rises = sum(later > earlier for earlier, later in pairwise(lines))
    bench.check("times the waterline rises as the cluster shrinks", rises, at_most=0)
    bench.check("waterlines passed, of 3, 2 and 1", len(set(lines)), at_least=3)
    bench.check(f"answers at {_INFEASIBLE_PERCENT} %, where none fits", _feasible(_INFEASIBLE_PERCENT), at_most=0)


def _feasible(percent: int) -> int:
    try:
        solve(published_problem(percent))
    except Infeasible:
        return 0
    return 1


def _jobs(answer: Answer) -> int:
    return sum(verdict.admitted for verdict in answer.jobs.values())


def _admitted_by_rank(answer: Answer) -> dict[int, int]:
    return {rank: sum(answer.jobs[job].admitted for job, own in RANKS.items() if own == rank) for rank in (1, 2, 3)}


def _importance_by_rank(answer: Answer) -> dict[int, float]:
    return {rank: sum(answer.jobs[job].importance for job, own in RANKS.items() if own == rank) for rank in (1, 2, 3)}


def _figure_7(bench: Bench, answers: dict[int, Answer]) -> None:
    percents = sorted(answers)
    with bench.figure(
        "figure-7a", title="Jobs admitted, by rank", xlabel="percent of the nodes", ylabel="jobs admitted"
    ) as axes:
        counts = [_admitted_by_rank(answers[percent]) for percent in percents]
        axes.stackplot(
            percents, *([count[rank] for count in counts] for rank in (1, 2, 3)), labels=["rank 1", "rank 2", "rank 3"]
        )
        axes.legend(loc="upper left")
    with bench.figure(
        "figure-7b", title="Importance, by rank", xlabel="percent of the nodes", ylabel="importance"
    ) as axes:
        sums = [_importance_by_rank(answers[percent]) for percent in percents]
        axes.stackplot(
            percents, *([entry[rank] for entry in sums] for rank in (1, 2, 3)), labels=["rank 1", "rank 2", "rank 3"]
        )
        published = published_importance()
        totals = [sum(published[percent].values()) for percent in percents]
        axes.plot(percents, totals, "k--", label="published total")
        axes.legend(loc="upper left")


def _scale(bench: Bench) -> None:
    jobs, deadlines = (100, (0.5, 5.0)) if bench.quick else (1000, (1.0, 60.0))
    problem = synthetic_problem(jobs, 20, seed=1)
    earned = []
    for seconds in deadlines:
        bench.progress(f"{jobs} jobs with {20 * jobs} PEs, {seconds:g} s")
        start = time.perf_counter()
        answer = solve(problem, deadline=Deadline(seconds))
        took = time.perf_counter() - start
        earned.append(answer.importance)
        bench.row(
            part="scale",
            all_jobs=jobs,
            deadline=seconds,
            importance=answer.importance,
            mips=answer.mips_used,
            waterline=answer.waterline,
            jobs=_jobs(answer),
            granularity=answer.granularity,
            seconds=took,
        )
        bench.check(f"seconds for {jobs} jobs with a deadline of {seconds:g} s", took, at_most=seconds + _GRACE_SECONDS)
        bench.check(f"mips beyond the capacity with {seconds:g} s", answer.mips_used - problem.mips, at_most=1e-6)
    bench.check("importance of the long deadline over the short one", earned[1] / earned[0], at_least=1.0)
