"""From macroQ's answer to mips on nodes: macroW, microQ and microW one after the other.

For an installation of ordinary size the macro and the micro models are solved in sequence (footnote 2 of the SODA
paper); `penstock admit --place` does that. The epochs of `penstock.scheduler.simulation.epoch_simulator` call the
same functions, each at its own pace.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

from penstock.base.deadline import Deadline
from penstock.scheduler.macro import LEAST_SECONDS, admitted_pes, decide
from penstock.scheduler.macrow.macrow import Candidates, choose_candidates
from penstock.scheduler.microq.microq import refine_goals
from penstock.scheduler.microw.microw import assign
from penstock.scheduler.problem.admission_problem import Problem
from penstock.scheduler.problem.answer import Answer
from penstock.scheduler.problem.composition import compose
from penstock.scheduler.problem.least_amounts import with_least_amounts
from penstock.scheduler.problem.nodes import Allocation, Cluster

_MACRO_SHARE = 0.8
"""Of the time there is, for the macro models; microQ and microW divide the rest."""


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
        left_out: The jobs that cannot be placed, each with the reason.
        seconds: What it took.
    """

    candidates: Candidates
    goals: Mapping[str, float]
    mips: Allocation
    missed_mips: Mapping[str, float]
    moves: int
    importance: float
    importance_by_job: Mapping[str, float]
    left_out: Mapping[str, str]
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
            "left_out": dict(self.left_out),
            "seconds": self.seconds,
        }


def admit_and_place(
    problem: Problem, cluster: Cluster, deadline: Deadline, *, progress: Callable[[str], None] | None = None
) -> tuple[Answer, Placement]:
    """Decide who runs and put it on the nodes; what cannot be placed is left out.

    Raises:
        Infeasible: The required jobs do not fit, or cannot be placed.
    """
    problem = with_least_amounts(problem)
    decision = decide(problem, cluster, deadline.share(_MACRO_SHARE), progress=progress)
    placement = _hand_out(problem, decision.answer, decision.candidates, cluster, deadline)
    return decision.answer, replace(placement, left_out=decision.left_out)


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
    deadline = Deadline.after(deadline_seconds)
    problem = with_least_amounts(problem)
    pes = admitted_pes(problem, answer)
    goals = {pe: mips for verdict in answer.jobs.values() for pe, mips in verdict.pes.items()}
    in_time = deadline.share(_MACRO_SHARE).at_least(LEAST_SECONDS)
    candidates = choose_candidates(pes, goals, cluster, deadline=in_time)
    return _hand_out(problem, answer, candidates, cluster, deadline)


def _hand_out(
    problem: Problem, answer: Answer, candidates: Candidates, cluster: Cluster, deadline: Deadline
) -> Placement:
    """microQ and microW, with the time that is left."""
    pes = admitted_pes(problem, answer)
    asked = {pe: mips for verdict in answer.jobs.values() for pe, mips in verdict.pes.items()}
    planned = {pe: asked[pe] * min(1.0, sum(shares.values())) for pe, shares in candidates.planned.items()}
    refined = refine_goals(pes, candidates.nodes, cluster, planned=planned, deadline=deadline.share(0.5))
    assignment = assign(pes, refined.mips, candidates.nodes, cluster, deadline=deadline)
    earned = compose(pes, assignment.total_mips(), deadline=deadline).importance
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
        left_out={},
        seconds=deadline.elapsed(),
    )
