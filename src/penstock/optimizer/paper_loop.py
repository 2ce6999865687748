"""GreedyFuse and COLA iterated as section 4 of the COLA paper does it.

Introduction:
    The paper compares two algorithms by what they come to if each is run, profiled, and run again. Nothing ranks their
    answers: iteration k runs what the algorithm says, whatever a model thinks of it.

Formulation:
    Iteration 0 measures the unfused application (NONE). Iteration k = 1, ..., n runs the fusion that the algorithm
    makes of the profile of iteration k - 1. For COLA the capacities of the hosts are scaled by gamma_k, which grows
    from 0.5 to 1.0: profiles of slow runs show less than hosts will have to carry. For GreedyFuse gamma is 1. The
    answer is iteration 1 ("1st"), the first one that is followed by a slower one ("1st-local"), or the fastest ("Max").

Example:
    Measured 1.0 (unfused), 2.4, 3.4, 3.3, 3.5: 1st is iteration 1, 1st-local iteration 2, Max iteration 4.

When it does not apply:
    Channels: the paper's PEs are one process each, so what is tried stays on the channels that it is given.

Algorithm:
    A fusion that was measured before is not run again: its iteration has the throughput and the profile of that run. An
    algorithm without gamma that repeats itself would do so for ever, so that the loop ends there.

Preserves:
    What the application computes: fusion does not change results.

Reference:
    Khandekar et al., Middleware 2009, section 4, figure 7 and table 2; FINT there is Gedik et al., CIKM 2009. Not to
    run the same fusion twice is ours, and so are confirmations, of which the paper has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from penstock.fusion import Algorithm
from penstock.model import Profile
from penstock.optimizer.candidates import fused_by
from penstock.optimizer.loop import (
    LAST_GAMMA,
    Iteration,
    Measure,
    Outcome,
    Take,
    Told,
    confirm,
    gammas,
    is_known,
    run_next,
)
from penstock.optimizer.prediction import predict, throughput_model
from penstock.optimizer.spark_problem import Candidate, Setting

Fuse = Callable[[Profile, float], tuple[Candidate, float]]
"""An algorithm: from a profile and a gamma to a candidate, and the throughput that our model predicts for it."""

WITH_GAMMA: tuple[Algorithm, ...] = ("cola", "advanced-cola")


def gammas_of(algorithm: Algorithm, iterations: int) -> list[float]:
    """The factors on the capacities of hosts.

    Example:
        >>> gammas_of("cola", 6), gammas_of("greedy", 3)
        ([0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [1.0, 1.0, 1.0])
    """
    return gammas(iterations) if algorithm in WITH_GAMMA else [LAST_GAMMA] * iterations


def fuse_by(algorithm: Algorithm, setting: Setting, *, deadline_seconds: float) -> Fuse:
    """An algorithm for the loop: of the setting everything holds but the profile."""

    def fuse(profile: Profile, gamma: float) -> tuple[Candidate, float]:
        there = replace(setting, profile=profile)
        groups = fused_by(algorithm, there, gamma=gamma, deadline_seconds=deadline_seconds)
        model = throughput_model(there)
        predicted = predict(model, there, groups).scale * sum(model.source_rates.values())
        return Candidate(groups=groups, channels=setting.channels), predicted

    return fuse


def iterate(
    unfused: Candidate,
    measure: Measure,
    fuse: Fuse,
    factors: Sequence[float],
    *,
    take: Take = "best",
    confirmations: int = 0,
    known: Sequence[Iteration] = (),
    on_run: Told = lambda runs, last: None,
) -> Outcome:
    """Run the loop.

    Args:
        unfused: Every operator in a PE of its own.
        measure: Runs a candidate.
        fuse: The algorithm.
        factors: The gamma of each iteration.
        take: What is wanted: the loop ends as soon as it is known.
        confirmations: How often the fastest are run again, if the best is wanted.
        known: Runs of a loop that was interrupted.
        on_run: Told after each iteration.
    """
    runs = list(known)

    if not runs:
        run_next(runs, measure, on_run, 0.0, unfused)
    for gamma in factors[len(runs) - 1 :]:
        if is_known(take, runs) or _repeats(runs):
            break
        run_next(runs, measure, on_run, gamma, *fuse(runs[-1].profile, gamma))
    if take == "best":
        confirm(runs, measure, confirmations, on_run)
    return Outcome(iterations=tuple(runs))


def _repeats(runs: Sequence[Iteration]) -> bool:
    """Whether the last two iterations had the same fusion and the same gamma, so that all others would, too."""
    last = runs[-2:]
    return len(last) > 1 and last[0].gamma == last[1].gamma and last[0].candidate.is_same(last[1].candidate)
