"""Which operators share a PE when an application is run on Spark: by `--fusion`, `--plan`, or the checkpoint.

The algorithms that weigh costs need a profile: the last good one of the application, or a short one (`short_profile`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from penstock.base.diagnostics import UserError
from penstock.cli.fusion_names import AUTO

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.ir.graph import Application
    from penstock.model import Profile
    from penstock.optimizer import Groups
    from penstock.profiler.sampling import Sampling
    from penstock.toolkit.core.program import Program

_SECONDS_TO_FUSE = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a run shall look like.

    Attributes:
        fusion: The operators of each PE.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.
        sampling: How much to look at while it runs, for the profile of the next run; None for nothing.
        reason: In words, for people.
        decided_by: What decided, where it was `auto`: `checkpoint`, `profile` or `default`; otherwise `user`.
        predicted_gain: How many times as fast as the default it is predicted to be, where a profile decided.
    """

    fusion: Groups
    channels: int | None
    sampling: Sampling | None = None
    reason: str = ""
    decided_by: str = "user"
    predicted_gain: float | None = None


def chosen_fusion(
    program: Program,
    environment: Environment,
    spark: Any,
    *,
    option: str,
    plan: Path | None = None,
    channels: int | str | None = None,
    batch: int,
    profile: Path | None = None,
    checkpoint: Path | None = None,
    loop_is_open: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> Choice:
    """Decide which operators share a PE; with `auto`, also on how many channels.

    Args:
        program: What will run.
        environment: Its surroundings.
        spark: Where.
        option: One of `fusion_names.FUSIONS`.
        plan: A file that says so instead.
        channels: As the user asks for; `auto` is for the option `auto`.
        batch: How many turns a source takes for one batch.
        profile: A file to go by, instead of the last good profile.
        checkpoint: What `auto` goes on with, where a job is resumed.
        loop_is_open: Whether the loop of the application leads through batches.
        tell: Is told of what takes time, and by `auto` of what it chose.

    Raises:
        UserError: The plan does not fit the application, or an algorithm needs a profile that there is none of.
        Infeasible: No fusion keeps the constraints.
    """
    from penstock.cli.auto_choice import choose_automatically

    application = program.application
    if option == AUTO and plan is None:
        chosen = choose_automatically(
            program,
            environment,
            spark,
            channels=channels,
            batch=batch,
            profile=profile,
            checkpoint=checkpoint,
            loop_is_open=loop_is_open,
            tell=tell,
        )
    else:
        assert not isinstance(channels, str)
        chosen = _chosen(program, environment, spark, option, plan, channels, batch, profile, tell)
    if application.constraints:
        _check_constraints(application, chosen)
    return chosen


def _check_constraints(application: Application, chosen: Choice) -> None:
    """Refuse PEs that break a constraint: those of a checkpoint, or of a plan that is cut at the regions.

    Raises:
        UserError: They do.
    """
    from penstock.codegen.plan.channels import choose_channels
    from penstock.codegen.plan.region_cuts import cut_at_regions
    from penstock.optimizer import inner_operators
    from penstock.parallel.pe_demands import broken_demands

    inner = frozenset(inner_operators(application))
    groups = [[id_ for id_ in group if id_ in inner] for group in chosen.fusion]
    pes = cut_at_regions(application, filter(None, groups), choose_channels(application, chosen.channels))
    for broken in broken_demands(application, pes):
        hint = "change the plan or the constraint, or start with a new checkpoint folder; `--fusion all` keeps them all"
        raise UserError(f"the PEs break a constraint of the program: {broken}", hint=hint)


def _chosen(
    program: Program,
    environment: Environment,
    spark: Any,
    option: str,
    plan: Path | None,
    channels: int | None,
    batch: int,
    profile: Path | None,
    tell: Callable[[str], None],
) -> Choice:
    from penstock.cli.short_profile import known_profile
    from penstock.optimizer.kept_profiles import profile_for

    application = program.application
    if plan is not None:
        return _from_plan(application, plan, channels)
    if option in ("none", "all", "manual"):
        return Choice(fusion=without_costs(application, option, channels), channels=channels)
    known = (
        known_profile(program, environment, spark, channels, tell)
        if profile is None
        else profile_for(application, profile)
    )
    if known is None:
        raise UserError(
            f"`--fusion {option}` needs a profile of `{application.name}`, and there is none yet",
            hint="take one with `penstock profile`, or run with `--fusion auto` once",
        )
    groups = by_algorithm(application, known, option, channels, cores_of(spark), batch=batch)
    return Choice(fusion=groups, channels=channels)


def without_costs(application: Application, option: str, channels: int | None) -> Groups:
    """`none`, `all` or `manual`: no profile is needed.

    Raises:
        Infeasible: The program's constraints contradict each other.
    """
    from penstock.model import Transfer, equal_hosts
    from penstock.optimizer import Setting, fused_by, unfused, without_profile

    if not application.constraints:
        return (tuple(o.id for o in application.operators),) if option == "all" else unfused(application)

    blank = without_profile(application)
    transfer = Transfer(mips=blank.mips)
    setting = Setting(
        application=application, profile=blank, transfer=transfer, hosts=equal_hosts(1), channels=channels
    )
    return fused_by(_algorithm(option), setting)


def by_algorithm(
    application: Application,
    profile: Profile,
    option: str,
    channels: int | None,
    cores: int,
    gamma: float = 1.0,
    batch: int | None = None,
) -> Groups:
    """What an algorithm makes of a profile, for batches of so many turns of each source."""
    from penstock.optimizer import fused_by
    from penstock.optimizer.machine import TURNS_PER_BATCH, machine_setting

    setting = machine_setting(application, profile, channels, cores, turns_per_batch=batch or TURNS_PER_BATCH)
    return fused_by(_algorithm(option), setting, gamma=gamma, deadline_seconds=_SECONDS_TO_FUSE)


def cores_of(spark: Any) -> int:
    """How many tasks run at a time."""
    return max(1, int(spark.sparkContext.defaultParallelism))


def _from_plan(application: Application, path: Path, channels: int | None) -> Choice:
    from penstock.optimizer import plan_for

    plan = plan_for(application, path)
    return Choice(
        fusion=plan.fusion, channels=plan.channels if channels is None else channels, reason=f"as {path} says"
    )


def _algorithm(option: str) -> Any:
    from penstock.fusion import Algorithm

    assert option in get_args(Algorithm)
    return option
