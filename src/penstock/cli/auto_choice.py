"""`--fusion auto`: PEs and channels of a run that the user has said nothing about, and the line that says why.

A checkpoint decides, where there is one: state lies by PE and channel. Then a profile, by the model (`plan_choice`):
the one that is given, or the last good one. Without one nothing is known that decides, so it is the default: as few PEs
as can be, on the channels of annotations. No run is made for it; the run itself looks at a tuple in a thousand, until a
profile is kept that has seen a whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.fusion_choice import Choice, without_costs
from penstock.cli.fusion_names import AUTO

if TYPE_CHECKING:
    from collections.abc import Callable

    from penstock.expr.environment import Environment
    from penstock.ir.graph import Application
    from penstock.model import Profile
    from penstock.optimizer import Groups
    from penstock.profiler.sampling import Sampling
    from penstock.toolkit.core.program import Program

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A profile, and which one it is in words."""

    profile: Profile
    name: str


def choose_automatically(
    program: Program,
    environment: Environment,
    spark: Any,
    *,
    channels: int | str | None,
    batch: int,
    profile: Path | None,
    checkpoint: Path | None,
    loop_is_open: bool,
    tell: Callable[[str], None],
) -> Choice:
    """Decide which operators share a PE and, unless a number is given, on how many channels.

    Args:
        program: What will run.
        environment: Its surroundings.
        spark: Where.
        channels: A number; or `auto`, for which a short profile is taken where there is none; or None.
        batch: How many turns a source takes for one batch.
        profile: A file to go by, instead of the last good profile.
        checkpoint: What is resumed, if it is there.
        loop_is_open: Whether the loop of the application leads through batches, on as many channels as are given.
        tell: Is told of what takes time, and in one line of what was chosen.

    Raises:
        UserError: The profile is of another program.
        Infeasible: No fusion keeps the constraints.
    """
    application = program.application
    number = channels if isinstance(channels, int) else None
    resumed = resumed_plan(application, checkpoint, number)
    if resumed is not None:
        sampling = _sampling(_known(program, environment, spark, profile, None, tell), batch)
        shape = name_shape(application, *resumed)
        return _say(shape, *resumed, "as the checkpoint has it", "checkpoint", tell, sampling)
    known = _known(program, environment, spark, profile, channels, tell)
    sampling = _sampling(known, batch)
    fused = without_costs(application, "all", number)
    if loop_is_open:
        shape = f"as few PEs as can be on {number} channels"
        return _say(shape, fused, number, "its loop leads through batches", "default", tell, sampling)
    if known is None:
        shape = name_shape(application, fused, number)
        return _say(shape, fused, number, "there is no profile of it yet", "default", tell, sampling)
    return _by_profile(application, known, spark, number, batch, sampling, tell)


def _by_profile(
    application: Application,
    known: _Known,
    spark: Any,
    number: int | None,
    batch: int,
    sampling: Sampling | None,
    tell: Callable[[str], None],
) -> Choice:
    from penstock.cli.fusion_choice import cores_of
    from penstock.optimizer.channel_search import channel_numbers
    from penstock.optimizer.machine import machine_setting
    from penstock.optimizer.plan_choice import WORTH_LEAVING, choose_plan

    cores = cores_of(spark)
    setting = machine_setting(application, known.profile, number, cores, turns_per_batch=batch)
    found = choose_plan(setting, channel_numbers(setting, cores) if number is None else (number,))
    if found.gain == 1:
        reason = f"by {known.name} nothing is {WORTH_LEAVING:g} times as fast"
    else:
        usual = name_shape(application, found.default.groups, found.default.channels)
        reason = f"by {known.name} {found.gain:.1f} times as fast as {usual}"
    groups, channels = found.candidate.groups, found.candidate.channels
    shape = name_shape(application, groups, channels)
    return _say(shape, groups, channels, reason, "profile", tell, sampling, found.gain)


def _say(
    shape: str,
    fusion: Groups,
    channels: int | None,
    reason: str,
    decided_by: str,
    tell: Callable[[str], None],
    sampling: Sampling | None,
    gain: float | None = None,
) -> Choice:
    tell(f"fusion: {shape}: {reason}")
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
    from penstock.codegen.plan.channels import choose_channels
    from penstock.codegen.plan.region_cuts import cut_at_regions
    from penstock.optimizer import inner_operators

    inner, regions = frozenset(inner_operators(application)), choose_channels(application, channels)
    groups = [[id_ for id_ in group if id_ in inner] for group in fusion]
    count = len(cut_at_regions(application, filter(None, groups), regions))
    width = max(regions.width.values(), default=1)
    on = f" on {width} channels" if width > 1 else ""
    if not inner:
        return "no PE but those of sources and sinks"
    return f"all in one PE{on}" if count == 1 else f"{count} PEs{on}"


def resumed_plan(
    application: Application, checkpoint: Path | None, number: int | None = None
) -> tuple[Groups, int | None] | None:
    """The PEs and channels of the job that a checkpoint belongs to; whether they still fit is checked when it resumes.

    Args:
        application: What will run.
        checkpoint: The folder.
        number: The channels that the user asks for, if any: those go before.
    """
    from penstock.spark.checkpoint.plan_record import claimed

    found = (claimed(checkpoint) if checkpoint is not None else None) or {}
    pes, widths = found.get("pes"), found.get("channels")
    if not isinstance(pes, list):
        return None
    fusion = tuple(tuple(pe) for pe in pes)
    if number is not None or not isinstance(widths, list):
        return fusion, number
    had = {id_: width for pe, width in zip(fusion, widths, strict=False) for id_ in pe}
    return fusion, _same_channels(application, had, bool(found.get("open_loop")))


def _same_channels(application: Application, had: dict[str, int], is_open: bool) -> int | None:
    """The number that gives every operator the channels that it had; annotated regions may differ from the others."""
    from penstock.codegen.plan.channels import choose_channels

    wanted = {o.id: had[o.id] for o in application.operators if o.id in had}
    for number in (None, *sorted(set(had.values()))):
        given = choose_channels(application, number, loops_are_open=is_open)
        if all(given.width.get(given.region.get(id_, ""), 1) == width for id_, width in wanted.items()):
            return number
    return max(had.values(), default=1)


def _known(
    program: Program,
    environment: Environment,
    spark: Any,
    path: Path | None,
    channels: int | str | None,
    tell: Callable[[str], None],
) -> _Known | None:
    from penstock.cli.short_profile import known_profile
    from penstock.optimizer.kept_profiles import kept_profile, profile_age, profile_for

    application = program.application
    if path is not None:
        return _Known(profile=profile_for(application, path), name=f"the profile in {path}")
    found = known_profile(program, environment, spark, 1, tell) if channels == AUTO else kept_profile(application)
    return None if found is None else _Known(profile=found, name=f"the profile of {ago(profile_age(application))}")


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
    from penstock.optimizer.plan_choice import seen_tuples
    from penstock.profiler.sampling import Sampling

    return Sampling() if known is None or seen_tuples(known.profile) < batch else None
