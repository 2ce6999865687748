"""`--fusion auto`: PEs and channels of a run that the user has said nothing about, and the line that says why.

A checkpoint decides, where there is one: state lies by PE and channel. Then a profile, by the model (`plan_choice`):
the one that is given, or the last good one. Without one nothing is known that decides, so it is the default: as few PEs
as can be, on the channels of annotations. No run is made for it; the run itself looks at a tuple in a thousand, until a
profile is kept that has seen a whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.region_cuts import cut_at_regions
from penstock.compiler.fusion_names import AUTO
from penstock.compiler.job import Choice
from penstock.compiler.resuming import resumed_plan
from penstock.compiler.short_profile import find_profile
from penstock.compiler.without_costs import fuse_without_costs
from penstock.optimizer import inner_operators
from penstock.optimizer.channel_search import channel_numbers
from penstock.optimizer.kept_profiles import kept_profile, profile_age
from penstock.optimizer.machine import machine_setting
from penstock.optimizer.plan_choice import WORTH_LEAVING, choose_plan
from penstock.optimizer.prediction import seen_tuples
from penstock.profiler.sampling import Sampling

if TYPE_CHECKING:
    from penstock.compiler.job import Draft
    from penstock.ir.graph import Application
    from penstock.model import Profile
    from penstock.optimizer import Groups

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A profile, and which one it is in words."""

    profile: Profile
    name: str


def choose_automatically(draft: Draft) -> Choice:
    """Decide which operators share a PE and, unless a number is given, on how many channels.

    Raises:
        UserError: The profile is of another program.
        Infeasible: No fusion keeps the constraints.
    """
    application, number = draft.application, draft.channels
    resumed = resumed_plan(application, draft.options.checkpoint, number)
    if resumed is not None:
        sampling = _sampling(_find_known(draft, takes_one=False), draft.options.batch)
        shape = name_shape(application, *resumed)
        return _say(draft, shape, *resumed, "as the checkpoint has it", "checkpoint", sampling)
    known = _find_known(draft, takes_one=number is None and draft.options.channels == AUTO)
    sampling = _sampling(known, draft.options.batch)
    fused = fuse_without_costs(application, "all", number)
    if draft.loop_is_open:
        shape = f"as few PEs as can be on {number} channels"
        return _say(draft, shape, fused, number, "its loop leads through batches", "default", sampling)
    if known is None:
        shape = name_shape(application, fused, number)
        return _say(draft, shape, fused, number, "there is no profile of it yet", "default", sampling)
    return _choose_by_profile(draft, known, sampling)


def _choose_by_profile(draft: Draft, known: _Known, sampling: Sampling | None) -> Choice:
    application, options, number = draft.application, draft.options, draft.channels
    setting = machine_setting(application, known.profile, number, options.cores, turns_per_batch=options.batch)
    found = choose_plan(setting, channel_numbers(setting, options.cores) if number is None else (number,))
    if found.gain == 1:
        reason = f"by {known.name} nothing is {WORTH_LEAVING:g} times as fast"
    else:
        usual = name_shape(application, found.default.groups, found.default.channels)
        reason = f"by {known.name} {found.gain:.1f} times as fast as {usual}"
    groups, channels = found.candidate.groups, found.candidate.channels
    shape = name_shape(application, groups, channels)
    return _say(draft, shape, groups, channels, reason, "profile", sampling, found.gain)


def _say(
    draft: Draft,
    shape: str,
    fusion: Groups,
    channels: int | None,
    reason: str,
    decided_by: str,
    sampling: Sampling | None,
    gain: float | None = None,
) -> Choice:
    draft.options.tell(f"fusion: {shape}: {reason}")
    return Choice(
        fusion=fusion, channels=channels, sampling=sampling, reason=reason, decided_by=decided_by, predicted_gain=gain
    )


def name_shape(application: Application, fusion: Groups, channels: int | None) -> str:
    """How many PEs there are between sources and sinks, and on how many channels.

    Example:
        >>> from penstock.ir.graph import Application
        >>> name_shape(Application(name="Empty"), (), None)
        'no PE but those of sources and sinks'
    """
    inner, regions = frozenset(inner_operators(application)), choose_channels(application, channels)
    groups = [[id_ for id_ in group if id_ in inner] for group in fusion]
    count = len(cut_at_regions(application, filter(None, groups), regions))
    width = max(regions.width.values(), default=1)
    on = f" on {width} channels" if width > 1 else ""
    if not inner:
        return "no PE but those of sources and sinks"
    return f"all in one PE{on}" if count == 1 else f"{count} PEs{on}"


def _find_known(draft: Draft, *, takes_one: bool) -> _Known | None:
    """The profile to choose by; one is taken now only where channels are to be chosen by it."""
    application, path = draft.application, draft.options.profile
    found = find_profile(draft, channels=1) if takes_one or path is not None else kept_profile(application)
    if found is None:
        return None
    name = f"the profile of {ago(profile_age(application))}" if path is None else f"the profile in {path}"
    return _Known(profile=found, name=name)


def ago(seconds: float) -> str:
    """How long something is ago, in words.

    Example:
        >>> ago(20), ago(60), ago(3 * 3600), ago(50 * 3600)
        ('a moment ago', '1 minute ago', '3 hours ago', '2 days ago')
    """
    for unit, name in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        count = int(seconds // unit)
        if count:
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "a moment ago"


def _sampling(known: _Known | None, batch: int) -> Sampling | None:
    """How much to look at for the next run: nothing, once a profile has seen a whole batch."""
    return Sampling() if known is None or seen_tuples(known.profile) < batch else None
