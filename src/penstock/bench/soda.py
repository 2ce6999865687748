"""`penstock bench soda`: the experiments of the SODA paper's section 5, and a thousand jobs.

Two parts:

1. Tables 2 and 3 and figure 7: the paper's 19 jobs, on 100 to 25 percent of its nodes. The importance must be at least
   the published one at each size. The 75 percent row is left out: its published allocations exceed the capacity.
   Where the best answer has a higher waterline than the published one, the best answer at the published waterline
   stands beside it, and must be at least the published one too.
2. A thousand jobs with twenty PEs each, once with a short and once with a long deadline.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.bench import Bench
from penstock.bench.workloads.soda_jobs import (
    RANKS,
    published_importance,
    published_mips,
    published_problem,
    published_waterline,
    synthetic_problem,
)
from penstock.scheduler.macroq.macroq import solve
from penstock.scheduler.problem.answer import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INFEASIBLE_PERCENT = 20
_GRACE_SECONDS = 3.0
"""For reading off the answer after the deadline, on a busy machine."""

_RANK_COLORS = {1: "#1b4965", 2: "#5fa8d3", 3: "#f4a259"}


def run(bench: Bench) -> None:
    """Run the two parts."""
    answers = _tables_2_and_3(bench)
    _figure_7(bench, answers)
    _scale(bench)


def _tables_2_and_3(bench: Bench) -> dict[int, Answer]:
    answers = {}
    for percent, published in sorted(published_importance().items(), reverse=True):
        bench.progress(f"{percent} % of the nodes")
        line = published_waterline(percent)
        answers[percent] = answer = solve(published_problem(percent))
        within = solve(published_problem(percent, waterline=line))
        bench.row(
            part="tables 2 and 3",
            percent=percent,
            published_importance=sum(published.values()),
            importance=answer.importance,
            published_waterline=line,
            waterline=answer.waterline,
            best_at_published_waterline=within.importance,
            published_jobs=len(published),
            jobs=_jobs(answer),
            published_mips=sum(published_mips()[percent].values()),
            mips=answer.mips_used,
            seconds=answer.seconds,
        )
        _check_capacity(bench, percent, answer, within)
    _check_admission(bench, answers)
    return answers


def _check_capacity(bench: Bench, percent: int, answer: Answer, within: Answer) -> None:
    earned, line = sum(published_importance()[percent].values()), published_waterline(percent)
    bench.check(f"importance at {percent} %", answer.importance, at_least=earned)
    bench.check(f"waterline at {percent} %", answer.waterline, at_least=line)
    if answer.waterline > line:
        bench.check(f"importance at {percent} % with waterline {line}", within.importance, at_least=earned)
        gain = answer.importance / within.importance
        bench.check(f"importance at {percent} %, waterline {answer.waterline} over {line}", gain, at_least=1.0)


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


def _figure_7(bench: Bench, answers: Mapping[int, Answer]) -> None:
    published = published_importance()
    ours = {
        percent: {job: verdict.importance for job, verdict in answer.jobs.items() if verdict.admitted}
        for percent, answer in answers.items()
    }
    what: dict[str, tuple[str, Callable[[float], float]]] = {
        "figure-7a": ("jobs admitted", lambda importance: 1),
        "figure-7b": ("importance", lambda importance: importance),
    }
    for stem, (label, measure) in what.items():
        with bench.figure(
            stem, title=f"F{stem[1:].replace('-', ' ')}: {label}, by rank", xlabel="percent of the nodes", ylabel=label
        ) as axes:
            _stack(axes, published, measure, offset=-0.21, alpha=0.5)
            _stack(axes, ours, measure, offset=0.21, alpha=1.0)
            axes.set_xticks(range(len(answers)), [str(percent) for percent in sorted(answers)])
            axes.locator_params(axis="y", integer=True)
            axes.legend(loc="upper left", title="pale: published; full: ours")


def _stack(
    axes: Axes,
    earned: Mapping[int, Mapping[str, float]],
    measure: Callable[[float], float],
    *,
    offset: float,
    alpha: float,
) -> None:
    """A bar for each capacity, rank on rank."""
    places = np.arange(len(earned)) + offset
    bottom = np.zeros(len(earned))
    for rank, color in _RANK_COLORS.items():
        heights = np.array(
            [sum(measure(i) for job, i in earned[p].items() if RANKS[job] == rank) for p in sorted(earned)]
        )
        label = f"rank {rank}" if alpha == 1.0 else None
        axes.bar(places, heights, width=0.4, bottom=bottom, color=color, alpha=alpha, label=label)
        bottom += heights


def _scale(bench: Bench) -> None:
    jobs, deadlines = (100, (0.5, 5.0)) if bench.quick else (1000, (1.0, 60.0))
    problem = synthetic_problem(jobs, 20, seed=1)
    earned = []
    for seconds in deadlines:
        bench.progress(f"{jobs} jobs with {20 * jobs} PEs, {seconds:g} s")
        start = time.perf_counter()
        answer = solve(problem, deadline=Deadline.after(seconds))
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
        bench.check(
            f"seconds for {jobs} jobs with a deadline of {seconds:g} s",
            took,
            at_most=seconds + _GRACE_SECONDS,
            timed=True,
        )
        bench.check(f"mips beyond the capacity with {seconds:g} s", answer.mips_used - problem.mips, at_most=1e-6)
    bench.check("importance of the long deadline over the short one", earned[1] / earned[0], at_least=1.0, timed=True)
