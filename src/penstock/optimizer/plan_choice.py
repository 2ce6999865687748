"""The fusion and the channels that `run --fusion auto` takes: the best by the model, if it is clearly better.

Introduction:
    A user who says nothing gets the default: as few PEs as can be, on the channels of `@parallel` annotations. With a
    profile the model may know better. It is not exact, and a run that leaves the default for nothing loses: each PE
    and each channel costs time in every batch.

Formulation:
    Maximize scale(fusion, n) as `channel_search` does, over plans with at most `_WORKERS_PER_CORE` Python workers for
    each core: every channel of a PE is a process, and the model knows nothing of memory. The answer is the maximum if
    it is at least `WORTH_LEAVING` times the scale of the default, and the default otherwise.

Example:
    Two operators of 5 us on two cores: the region that holds them on two channels. The same in a job of 400 tuples: all
    in one PE.

When it does not apply:
    Without a profile. What operators cost and how many tuples come is then unknown, and both decide.

Algorithm:
    `ranked_on_channels` within a deadline.

Preserves:
    What the application computes: neither a fusion nor channels change results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.optimizer.candidates import fused_by
from penstock.optimizer.channel_search import ranked_on_channels
from penstock.optimizer.prediction import model_plan, predict, throughput_model
from penstock.optimizer.spark_problem import Candidate, Setting

WORTH_LEAVING = 1.1
_WORKERS_PER_CORE = 8
_DEADLINE_SECONDS = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanChoice:
    """The plan to run, and its gain over the default.

    Attributes:
        candidate: The fusion and the channels.
        default: The candidate that it is compared with.
        gain: How many times as fast as the default it is predicted to be; 1 if it is the default.
    """

    candidate: Candidate
    default: Candidate
    gain: float


def choose_plan(
    setting: Setting, numbers: Sequence[int | None], *, deadline_seconds: float = _DEADLINE_SECONDS
) -> PlanChoice:
    """Choose a fusion and a number of channels.

    Args:
        setting: The application, its profile and the machine.
        numbers: The numbers of channels to try; the default is on the first.
        deadline_seconds: For the search.

    Raises:
        Infeasible: No fusion keeps the constraints.
    """
    at_first = replace(setting, channels=numbers[0])
    default = Candidate(groups=fused_by("all", at_first), channels=numbers[0])
    model = throughput_model(at_first)
    usual = predict(model, at_first, default.groups).scale * sum(model.source_rates.values())
    for candidate, predicted in ranked_on_channels(setting, numbers, deadline_seconds=deadline_seconds):
        if predicted >= WORTH_LEAVING * usual > 0 and _has_room(candidate, setting):
            return PlanChoice(candidate=candidate, default=default, gain=predicted / usual)
    return PlanChoice(candidate=default, default=default, gain=1.0)


def _has_room(candidate: Candidate, setting: Setting) -> bool:
    """Whether the cores can be expected to have the memory for all Python workers."""
    pes = model_plan(replace(setting, channels=candidate.channels), candidate.groups).pes
    return sum(pe.channels for pe in pes) <= _WORKERS_PER_CORE * sum(host.cores for host in setting.hosts.hosts)
