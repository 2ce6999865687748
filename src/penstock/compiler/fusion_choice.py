"""Which operators share a PE: by an algorithm, a plan file, or the checkpoint.

The algorithms that weigh costs need a profile: the last good one of the application, or a short one (`short_profile`).
What solves and predicts is loaded where it is used, here and in the other choices: it takes longer to load than a small
program takes to run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.codegen.plan.region_cuts import cut_at_regions
from penstock.compiler.channel_choice import give_channels
from penstock.compiler.fusion_names import AUTO, WITHOUT_COSTS
from penstock.compiler.job import Choice
from penstock.compiler.short_profile import find_profile
from penstock.compiler.without_costs import fuse_without_costs
from penstock.parallel.pe_demands import broken_demands

if TYPE_CHECKING:
    from penstock.compiler.job import Draft
    from penstock.compiler.options import Options
    from penstock.ir.graph import Application
    from penstock.model import Profile
    from penstock.optimizer import Groups

_SECONDS_TO_FUSE = 5.0


def choose_fusion(draft: Draft) -> Draft:
    """Decide which operators share a PE; where the channels are chosen with the fusion, also on how many.

    Raises:
        UserError: The plan does not fit the application, or an algorithm needs a profile that there is none of.
        Infeasible: No fusion keeps the constraints.
    """
    choice = _choose(draft)
    if choice.channels != draft.channels:
        draft = give_channels(draft, choice.channels)
    if draft.application.constraints:
        _check_constraints(draft, choice)
    return replace(draft, choice=choice)


def _choose(draft: Draft) -> Choice:
    application, options = draft.application, draft.options
    if options.pes is not None:
        return Choice(fusion=tuple(map(tuple, options.pes)), channels=draft.channels)
    if options.plan is not None:
        from penstock.optimizer.plan_format import plan_for

        plan = plan_for(application, options.plan)
        channels = plan.channels if draft.channels is None else draft.channels
        return Choice(fusion=plan.fusion, channels=channels, reason=f"as {options.plan} says")
    if options.fusion == AUTO:
        from penstock.compiler.auto_choice import choose_automatically

        return choose_automatically(draft)
    if options.fusion in WITHOUT_COSTS:
        fusion = fuse_without_costs(application, options.fusion, draft.channels)
        return Choice(fusion=fusion, channels=draft.channels)
    return Choice(fusion=_fuse_by_profile(draft), channels=draft.channels)


def _fuse_by_profile(draft: Draft) -> Groups:
    application, options = draft.application, draft.options
    profile = find_profile(draft, draft.channels)
    if profile is None:
        raise UserError(
            f"`--fusion {options.fusion}` needs a profile of `{application.name}`, and there is none yet",
            hint="take one with `penstock profile`, or run with `--fusion auto` once",
        )
    return fuse_by_costs(application, profile, draft.channels, options)


def fuse_by_costs(application: Application, profile: Profile, channels: int | None, options: Options) -> Groups:
    """The fusion that the algorithm of the options finds for a profile, with their batches and cores."""
    from penstock.optimizer import fused_by
    from penstock.optimizer.machine import machine_setting

    setting = machine_setting(application, profile, channels, options.cores, turns_per_batch=options.batch)
    algorithm: Any = options.fusion
    return fused_by(algorithm, setting, deadline_seconds=_SECONDS_TO_FUSE)


def _check_constraints(draft: Draft, choice: Choice) -> None:
    """Refuse PEs that break a constraint: those of a checkpoint, or of a plan that is cut at the regions.

    Raises:
        UserError: They do.
    """
    from penstock.optimizer import inner_operators

    assert draft.regions is not None
    application = draft.application
    inner = frozenset(inner_operators(application))
    groups = [[id_ for id_ in group if id_ in inner] for group in choice.fusion]
    pes = cut_at_regions(application, filter(None, groups), draft.regions)
    for broken in broken_demands(application, pes):
        hint = "change the plan or the constraint, or start with a new checkpoint folder; `--fusion all` keeps them all"
        raise UserError(f"the PEs break a constraint of the program: {broken}", hint=hint)
