"""From macroQ's answer to mips on nodes: macroW, microQ and microW one after the other.

For an installation of ordinary size the macro and the micro models are solved in sequence (footnote 2 of the SODA
paper); `penstock admit --place` does that. The epochs of `penstock.scheduler.simulator` call the same functions, each
at its own pace.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from penstock.base.deadline import Deadline
from penstock.scheduler.answer import Answer
from penstock.scheduler.composition import compose
from penstock.scheduler.macrow import Candidates, choose_candidates
from penstock.scheduler.microq import refine_goals
from penstock.scheduler.microw import assign
from penstock.scheduler.nodes import Allocation, Cluster
from penstock.scheduler.problem import Pe, Problem

_MACROW_SHARE = 0.6
"""Of the time there is; microQ and microW divide the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Where the admitted PEs run.

    Attributes:
        candidates: What macroW chose.
        goals: microQ's mips of each PE.
        mips: microW's mips of each PE on each node.
        missed_mips: What PEs miss of their goals.
        moves: How many PEs start on a node where they did not run.
        importance: What the streams are projected to earn with these mips.
        importance_by_job: The same for each admitted job.
        seconds: What it took.
    """

    candidates: Candidates
    goals: Mapping[str, float]
    mips: Allocation
    missed_mips: Mapping[str, float]
    moves: int
    importance: float
    importance_by_job: Mapping[str, float]
    seconds: float

    def to_json(self) -> dict[str, object]:
        """The placement as `penstock admit --place --json` prints it."""
        return {
            "importance": self.importance,
            "jobs": dict(self.importance_by_job),
            "pes": {
                pe: {
                    "candidates": list(nodes),
                    "goal": self.goals[pe],
                    "mips": dict(self.mips[pe]),
                    "missed": self.missed_mips.get(pe, 0.0),
                }
                for pe, nodes in self.candidates.nodes.items()
            },
            "metrics": asdict(self.candidates.metrics),
            "objective": self.candidates.objective,
            "optimal": self.candidates.is_optimal,
            "moves": self.moves,
            "seconds": self.seconds,
        }


def admitted_pes(problem: Problem, answer: Answer) -> list[Pe]:
    """The PEs of the chosen templates of the admitted jobs.

    Example:
        >>> from penstock.scheduler.answer import Verdict
        >>> from penstock.scheduler.problem import Job, Template
        >>> job = Job(id="A", templates=(Template(id="t", pes=(Pe(id="p", max_mips=1.0),)),))
        >>> verdicts = {"A": Verdict(admitted=True, template="t", pes={"p": 1.0})}
        >>> answer = Answer(importance=0, waterline=1, mips_used=1, granularity=1, seconds=0, jobs=verdicts)
        >>> [pe.id for pe in admitted_pes(Problem(mips=1.0, jobs=(job,)), answer)]
        ['p']
    """
    chosen = [(job, answer.jobs[job.id].template) for job in problem.jobs]
    return [pe for job, template in chosen if template is not None for pe in job.template(template).pes]


def place(problem: Problem, answer: Answer, cluster: Cluster, *, deadline_seconds: float | None = None) -> Placement:
    """Place the admitted PEs of an answer on a cluster.

    Args:
        problem: What macroQ was asked.
        answer: What macroQ decided.
        cluster: Nodes, network and rules: `nodes_reader.cluster_from_json` reads it from the same document.
        deadline_seconds: When the answer is due; None to search to the end.

    Raises:
        Infeasible: If no placement keeps every rule.
    """
    clock = Deadline.after(None)
    share = math.inf if deadline_seconds is None else deadline_seconds
    pes = admitted_pes(problem, answer)
    goals = {pe: mips for verdict in answer.jobs.values() for pe, mips in verdict.pes.items()}
    candidates = choose_candidates(pes, goals, cluster, deadline_seconds=_finite(_MACROW_SHARE * share))
    left = (share - clock.elapsed()) / 2
    refined = refine_goals(pes, candidates.nodes, cluster, deadline_seconds=_finite(left))
    left = share - clock.elapsed()
    assignment = assign(pes, refined.mips, candidates.nodes, cluster, deadline_seconds=_finite(left))
    earned = compose(pes, assignment.total_mips()).importance
    by_job = {
        job_id: sum(float(earned[pe]) for pe in verdict.pes)
        for job_id, verdict in answer.jobs.items()
        if verdict.admitted
    }
    return Placement(
        candidates=candidates,
        goals=refined.mips,
        mips=assignment.mips,
        missed_mips=assignment.missed_mips,
        moves=assignment.moves,
        importance=sum(by_job.values()),
        importance_by_job=by_job,
        seconds=clock.elapsed(),
    )


def _finite(seconds: float) -> float | None:
    """A time limit as the parts take it."""
    return None if math.isinf(seconds) else max(seconds, 0.05)
