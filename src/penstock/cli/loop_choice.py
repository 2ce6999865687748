"""Where the loop of an application leads: inside one PE, or through the next batch, on channels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError

if TYPE_CHECKING:
    from penstock.ir.graph import Application

LOOPS = ("auto", "inside", "batches")
_WORTH_IT = 1.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """Where a loop leads.

    Attributes:
        is_open: Whether through the next batch.
        channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.
    """

    is_open: bool
    channels: int | None


def chosen_way(
    application: Application,
    option: str,
    *,
    channels: int | None,
    chooses_channels: bool,
    cores: int,
    continuous: bool,
    batch: int,
    profile: Path | None = None,
    checkpoint: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Way:
    """Decide where the loop of an application leads.

    Args:
        application: What will run.
        option: One of `LOOPS`.
        channels: How many channels regions get that are not on a loop.
        chooses_channels: Whether a loop that leads through batches may have as many channels as there are cores.
        cores: How many tasks run at a time.
        continuous: Whether the run goes on for ever.
        batch: How many turns a source takes for one batch.
        profile: A file to go by, instead of the last good profile.
        checkpoint: What `auto` goes on with, where a job is resumed.
        tell: Is told of what was chosen.

    Raises:
        UserError: The loop is to lead through batches, and cannot.
    """
    from penstock.spark.job.open_loops import why_closed

    inside = Way(is_open=False, channels=channels)
    resumed = _of_checkpoint(checkpoint)
    widest = max(cores, channels or 1) if chooses_channels and resumed is None else channels
    reason = "the run goes on for ever" if continuous else why_closed(application)
    if option == "inside" or (option == "auto" and reason is not None):
        return inside
    if option == "batches":
        if reason is not None:
            message = f"`--loops batches` does not go with `{application.name}`: {reason}"
            raise UserError(message, hint="leave it out: the loop then stays inside one PE")
        return Way(is_open=True, channels=widest)
    if resumed is not None:
        return Way(is_open=resumed, channels=channels)
    gain = _gain(application, widest, cores, batch, profile)
    if gain < _WORTH_IT:
        return inside
    tell(f"the loop leads through batches, {gain:.1f} times as fast by the last profile")
    return Way(is_open=True, channels=widest)


def _gain(application: Application, channels: int | None, cores: int, batch: int, path: Path | None) -> float:
    from penstock.optimizer.kept_profiles import kept_profile, profile_for
    from penstock.optimizer.machine import machine_setting
    from penstock.optimizer.open_loop_gain import open_loop_gain

    profile = kept_profile(application) if path is None else profile_for(application, path)
    if profile is None:
        return 0.0
    return open_loop_gain(machine_setting(application, profile, channels, cores, turns_per_batch=batch))


def _of_checkpoint(checkpoint: Path | None) -> bool | None:
    """What the job did that a checkpoint belongs to."""
    from penstock.spark.checkpoint.plan_record import claimed

    found = claimed(checkpoint) if checkpoint is not None else None
    return None if found is None else bool(found.get("open_loop"))
