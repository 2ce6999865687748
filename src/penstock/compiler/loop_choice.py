"""Where the loop of an application leads: inside one PE, or through the next batch, on channels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError
from penstock.compiler.fusion_names import AUTO
from penstock.compiler.open_loops import why_closed, with_open_loop
from penstock.compiler.resuming import resumed_loop
from penstock.compiler.short_profile import find_profile

if TYPE_CHECKING:
    from penstock.compiler.job import Draft
    from penstock.compiler.options import Options

_WORTH_IT = 1.1


def choose_loops(draft: Draft) -> Draft:
    """Decide where the loop of an application leads, and open it if it leads through batches.

    Raises:
        UserError: The loop is to lead through batches, and cannot.
    """
    return replace(draft, opened=with_open_loop(draft.program) if _leads_through_batches(draft) else draft.program)


def channels_of_open_loop(options: Options) -> int | None:
    """How many channels the regions on a loop get that leads through batches; None leaves it to annotations."""
    if isinstance(options.channels, int):
        return options.channels
    chooses = options.chooses_both or options.channels == AUTO
    return options.cores if chooses and resumed_loop(options.checkpoint) is None else None


def _leads_through_batches(draft: Draft) -> bool:
    options = draft.options
    reason = "the run goes on for ever" if options.continuous else why_closed(draft.application)
    # `optimize` measures with the loop inside, so a plan says nothing of it.
    wanted = "inside" if options.is_decided and options.loops == AUTO else options.loops
    if wanted == "batches" and reason is not None:
        message = f"`--loops batches` does not go with `{draft.application.name}`: {reason}"
        raise UserError(message, hint="leave it out: the loop then stays inside one PE")
    if wanted != AUTO or reason is not None:
        return wanted == "batches"
    resumed = resumed_loop(options.checkpoint)
    return _is_faster(draft) if resumed is None else resumed


def _is_faster(draft: Draft) -> bool:
    """Whether the loop is worth opening, by the profile."""
    gain = _gain(draft)
    if gain >= _WORTH_IT:
        draft.options.tell(f"the loop leads through batches, {gain:.1f} times as fast by the last profile")
    return gain >= _WORTH_IT


def _gain(draft: Draft) -> float:
    from penstock.optimizer.kept_profiles import kept_profile
    from penstock.optimizer.machine import machine_setting
    from penstock.optimizer.open_loop_gain import open_loop_gain

    options, application = draft.options, draft.application
    # Channels that are chosen for themselves take a short profile anyway; nothing else is worth one here.
    takes_one = options.profile is not None or (options.channels == AUTO and not options.chooses_both)
    profile = find_profile(draft, channels=1) if takes_one else kept_profile(application)
    if profile is None:
        return 0.0
    channels = channels_of_open_loop(options)
    return open_loop_gain(machine_setting(application, profile, channels, options.cores, turns_per_batch=options.batch))
