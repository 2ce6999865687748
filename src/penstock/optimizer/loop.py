"""Profile, fuse, profile again: section 4 of the COLA paper.

Introduction:
    A fusion needs a profile, and a profile needs a fusion to be taken with. Unfused runs are slow, so what they show is
    only moderately useful; the fusion found with it runs faster, and its profile is better. So the two alternate. What
    is tried is a `Candidate`: a fusion on a number of channels.

Formulation:
    Iteration 0 measures the unfused application. Iteration k = 1, ..., n chooses a candidate with the profile of the
    iteration before, the capacities of the hosts scaled by gamma_k, which grows evenly from 0.5 to 1.0: early profiles
    are trusted less. The answer is the iteration with the highest measured throughput (`Outcome.best`), its median if
    there are several; the first iteration and the first local maximum are known too (`Outcome.first`,
    `Outcome.first_maximum`).

Example:
    Measured throughputs 1.0 (unfused), 2.1, 3.4, 3.3, 3.4: the first local maximum is iteration 2, and so is the best.

When it does not apply:
    An application whose input ends before anything can be measured: the caller's `measure` says so.

Algorithm:
    A candidate that was measured before is not measured again. If the best predicted one is such a one, the next in
    line is tried, provided that it is predicted to reach `_WORTH_TRYING` of the best; if none is, the iteration is
    skipped. What a user would try first, everything fused, is measured at the end whatever is predicted (`whatever`).
    Where the first local maximum is wanted the loop ends once throughput falls, and where the first iteration is wanted
    after that. Otherwise the fastest few (`contenders`) take turns in a
    few more runs each, and medians decide: single runs differ by more than neighbouring fusions do. Cost: at most n + 1
    runs, one for each of `whatever`, and `_CONTENDERS` for each confirmation.

Preserves:
    What the application computes: neither a fusion nor channels change results.

Reference:
    Khandekar et al., Middleware 2009, section 4, figure 7 and table 2 ("1st", "1st-local" and "Max"). Channels, trying
    the next in line and confirming are ours; so is that a resumed loop goes on where it stopped (`loop_state`). The
    loop as the paper has it is `paper_loop`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from heapq import nlargest
from itertools import pairwise
from statistics import median
from typing import Literal

from penstock.model import Profile
from penstock.optimizer.spark_problem import Candidate

Measure = Callable[[Candidate], tuple[Profile, float]]
"""Runs a candidate; gives its profile, and the tuples that left the sources in a second."""

Choose = Callable[[Profile, float], Sequence[tuple[Candidate, float]]]
"""Candidates for a profile and a gamma with the throughput predicted for each, the best first."""

Take = Literal["first", "first-local", "best"]
"""Which iteration is the answer: the columns 1st, 1st-local and Max of the paper's table 2."""

FIRST_GAMMA, LAST_GAMMA = 0.5, 1.0
_WORTH_TRYING = 0.7
_CONTENDERS = 3
_CONTENDS = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """One run.

    Attributes:
        number: From 0, the unfused run.
        gamma: The factor on the capacities of hosts; of the unfused run, 0.
        candidate: What was run.
        predicted_tps: What the model said before, from the profile of the run before.
        throughput_tps: What was measured.
        profile: What was measured of each operator.
        confirmed_tps: What was measured when it was run again.
    """

    number: int
    gamma: float
    candidate: Candidate
    predicted_tps: float | None
    throughput_tps: float
    profile: Profile = field(repr=False)
    confirmed_tps: tuple[float, ...] = ()

    @property
    def median_tps(self) -> float:
        """The median of what was measured."""
        return median((self.throughput_tps, *self.confirmed_tps))


Told = Callable[[Sequence[Iteration], Iteration], None]
"""Is told of all iterations so far, and of the one that was run just now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All runs.

    Example:
        >>> runs = [Iteration(number=i, gamma=1.0, candidate=Candidate(groups=()), predicted_tps=None,
        ...                   throughput_tps=tps, profile=Profile(mips=1.0))
        ...         for i, tps in enumerate([1.0, 2.0, 1.5, 3.0])]
        >>> outcome = Outcome(iterations=tuple(runs))
        >>> outcome.first_maximum.number, outcome.best.number, outcome.gain
        (1, 3, 3.0)
        >>> outcome.take("first").number, outcome.take("first-local").number, outcome.take("best").number
        (1, 1, 3)
    """

    iterations: tuple[Iteration, ...]

    @property
    def best(self) -> Iteration:
        """The fastest, by the median of its runs; the earliest of equals."""
        return max(self.iterations, key=lambda i: i.median_tps)

    @property
    def first(self) -> Iteration:
        """The first run after the unfused one; that one if there is no other."""
        return self.iterations[min(1, len(self.iterations) - 1)]

    @property
    def first_maximum(self) -> Iteration:
        """The first run after which throughput falls; the last one if it never does."""
        runs = self.iterations
        falls = (a for a, b in pairwise(runs) if b.throughput_tps < a.throughput_tps)
        return next(falls, runs[-1])

    def take(self, which: Take) -> Iteration:
        """One of them by its name."""
        return {"first": self.first, "first-local": self.first_maximum, "best": self.best}[which]

    @property
    def gain(self) -> float:
        """How much faster the best is than the unfused run."""
        return self.best.median_tps / self.iterations[0].median_tps


def gammas(iterations: int) -> list[float]:
    """The factors of the paper, spread over any number of iterations.

    Example:
        >>> gammas(6)
        [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
        >>> gammas(1)
        [1.0]
    """
    if iterations == 1:
        return [LAST_GAMMA]
    step = (LAST_GAMMA - FIRST_GAMMA) / max(1, iterations - 1)
    return [round(FIRST_GAMMA + step * i, 3) for i in range(iterations)]


def optimize(
    unfused: Candidate,
    measure: Measure,
    choose: Choose,
    *,
    iterations: int = 6,
    take: Take = "best",
    whatever: Sequence[Candidate] = (),
    confirmations: int = 2,
    known: Sequence[Iteration] = (),
    on_run: Told = lambda runs, last: None,
) -> Outcome:
    """Run the loop.

    Args:
        unfused: Every operator in a PE of its own.
        measure: Runs a candidate.
        choose: Gives candidates.
        iterations: How often, after the unfused run.
        take: What is wanted: the loop ends as soon as it is known.
        whatever: Candidates that are tried at the end, unless they were, or the best is not wanted.
        confirmations: How often the fastest are run again.
        known: Runs of a loop that was interrupted.
        on_run: Told after each run.
    """
    runs = list(known)

    if not runs:
        run_next(runs, measure, on_run, 0.0, unfused)
    for gamma in gammas(iterations):
        if gamma <= runs[-1].gamma:
            continue
        if is_known(take, runs):
            break
        following = next_candidate(choose(runs[-1].profile, gamma), _tried(runs))
        if following is not None:
            run_next(runs, measure, on_run, gamma, *following)
    if take != "best":
        return Outcome(iterations=tuple(runs))
    for candidate in whatever:
        if not any(candidate.is_same(other) for other in _tried(runs)):
            run_next(runs, measure, on_run, LAST_GAMMA, candidate)
    confirm(runs, measure, confirmations, on_run)
    return Outcome(iterations=tuple(runs))


def run_next(
    runs: list[Iteration],
    measure: Measure,
    on_run: Told,
    gamma: float,
    candidate: Candidate,
    predicted: float | None = None,
) -> None:
    """Add an iteration to the runs; a candidate that was measured already is not measured again."""
    earlier = next((run for run in runs if run.candidate.is_same(candidate)), None)
    profile, tps = (earlier.profile, earlier.throughput_tps) if earlier is not None else measure(candidate)
    runs.append(
        Iteration(
            number=len(runs),
            gamma=gamma,
            candidate=candidate,
            predicted_tps=predicted,
            throughput_tps=tps,
            profile=profile,
        )
    )
    on_run(runs, runs[-1])


def is_known(take: Take, runs: Sequence[Iteration]) -> bool:
    """Whether further iterations cannot change which one is the answer."""
    if take == "best" or len(runs) == 1:
        return False
    return take == "first" or runs[-1].throughput_tps < runs[-2].throughput_tps


def confirm(runs: list[Iteration], measure: Measure, times: int, on_run: Told) -> None:
    """Let the contenders take turns, so that what else the machine does falls on all of them."""
    chosen = contenders(runs)
    for turn in range(times):
        for number in chosen:
            run = runs[number]
            if len(run.confirmed_tps) <= turn:
                runs[number] = replace(run, confirmed_tps=(*run.confirmed_tps, measure(run.candidate)[1]))
                on_run(runs, runs[number])


def contenders(runs: Sequence[Iteration]) -> list[int]:
    """The fastest few by their first run, fastest first; none if the fastest has no rival.

    Example:
        >>> runs = [Iteration(number=i, gamma=1.0, candidate=Candidate(groups=(), channels=i + 1), predicted_tps=None,
        ...                   throughput_tps=tps, profile=Profile(mips=1.0))
        ...         for i, tps in enumerate([10.0, 97.0, 50.0, 99.0])]
        >>> contenders(runs), contenders(runs[:3])
        ([3, 1], [])
    """
    most = max(run.throughput_tps for run in runs)
    close = [run for run in runs if run.throughput_tps >= _CONTENDS * most and not _is_repeated(run, runs)]
    fastest = nlargest(_CONTENDERS, close, key=lambda run: run.throughput_tps)
    return [run.number for run in fastest] if len(fastest) > 1 else []


def _is_repeated(run: Iteration, runs: Sequence[Iteration]) -> bool:
    return any(run.candidate.is_same(other.candidate) for other in runs[: run.number])


def next_candidate(
    ranked: Sequence[tuple[Candidate, float]], tried: Sequence[Candidate]
) -> tuple[Candidate, float] | None:
    """The best predicted candidate that is worth a run, if there is any.

    Example:
        >>> together, apart = Candidate(groups=(("a", "b"),)), Candidate(groups=(("a",), ("b",)))
        >>> wide = replace(together, channels=2)
        >>> ranked = [(wide, 9.0), (together, 8.0), (apart, 1.0)]
        >>> next_candidate(ranked, [wide]) == (together, 8.0), next_candidate(ranked, [wide, together]) is None
        (True, True)
    """
    for candidate, predicted in ranked:
        if predicted < _WORTH_TRYING * ranked[0][1]:
            return None
        if not any(candidate.is_same(other) for other in tried):
            return candidate, predicted
    return None


def _tried(runs: Sequence[Iteration]) -> list[Candidate]:
    return [run.candidate for run in runs]
