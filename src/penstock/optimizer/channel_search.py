"""Fusions for several numbers of channels: candidates for the loop that chooses both.

Introduction:
    How many channels pay depends on the fusion, and which fusion is best depends on the channels: a PE never spans the
    boundary of a region that runs on several, and on one channel there are no boundaries. So each number gets fusions
    of its own, and all are compared.

Formulation:
    Maximize scale(fusion, n) over the numbers n of `channel_numbers` and the fusions that are valid for n.

Example:
    On four cores 1, 2 and 4 channels are tried.

When it does not apply:
    An application without a region that would run on channels, or in which `@parallel` says the width of all of them:
    there is one number to try. Regions that want different numbers: all get the same one, as `--channels N` gives them.

Algorithm:
    `ranked` for each number, which share the time; the answers are merged by what is predicted for them.

Reference:
    Ours; Schneider et al., PACT 2012, leave the number of channels to the submission.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.base.deadline import Deadline
from penstock.base.diagnostics import Infeasible
from penstock.codegen.plan.channels import choose_channels
from penstock.optimizer.candidates import best_first, fused_by, ranked
from penstock.optimizer.spark_problem import Candidate, Setting

_LEAST_SECONDS = 0.05


def channel_numbers(setting: Setting, cores: int) -> tuple[int | None, ...]:
    """The numbers of channels to try: powers of two up to the cores, and all cores.

    Args:
        setting: The application; which number it has does not matter.
        cores: How many tasks run at a time.

    Returns:
        The first is None: one channel, but for regions of which `@parallel` says the width. Other numbers follow only
        where they would change something and the demands on PEs can be kept.

    Example:
        >>> from penstock.ir.graph import Application
        >>> from penstock.model import Profile, Transfer, equal_hosts
        >>> setting = Setting(application=Application(name="Empty"), profile=Profile(mips=1.0),
        ...                   transfer=Transfer(mips=1.0), hosts=equal_hosts(1))
        >>> channel_numbers(setting, 4)
        (None,)
    """
    more = sorted({cores, *(2**power for power in range(cores.bit_length()))} - {1})
    as_annotated = choose_channels(setting.application, None)
    changing = [n for n in more if choose_channels(setting.application, n) != as_annotated]
    return (None, *(n for n in changing if _is_feasible(replace(setting, channels=n))))


def everything_fused(setting: Setting, numbers: Sequence[int | None]) -> list[Candidate]:
    """The candidates that a user would try first: as few PEs as possible, on the fewest channels and on the most.

    Raises:
        Infeasible: No fusion keeps the constraints.
    """
    return [
        Candidate(groups=fused_by("all", replace(setting, channels=number)), channels=number)
        for number in dict.fromkeys((numbers[0], numbers[-1]))
    ]


def ranked_on_channels(
    setting: Setting, numbers: Sequence[int | None], *, gamma: float = 1.0, deadline_seconds: float
) -> list[tuple[Candidate, float]]:
    """Fusions for each number of channels, with the tuples that the model predicts the sources to give in a second.

    Args:
        setting: The application, its profile and the machine.
        numbers: Of `channel_numbers`, or the one that is asked for.
        gamma: The factor on the capacities of hosts.
        deadline_seconds: For all numbers together.

    Returns:
        The best first. Of those that are as good as the best the one with the fewest PEs is first, and of these the one
        on the fewest channels.

    Raises:
        Infeasible: No fusion keeps the constraints.
    """
    deadline = Deadline.after(deadline_seconds)
    found: dict[Candidate, float] = {}
    for place, number in enumerate(numbers):
        if found and deadline.has_passed():
            break
        share = max(deadline.left() / (len(numbers) - place), _LEAST_SECONDS)
        for groups, predicted in ranked(replace(setting, channels=number), gamma=gamma, deadline_seconds=share):
            found[Candidate(groups=groups, channels=number)] = predicted
    return best_first(found, lambda candidate: (len(candidate.groups), candidate.channels or 1))


def _is_feasible(setting: Setting) -> bool:
    try:
        fused_by("all", setting)
    except Infeasible:
        return False
    return True
