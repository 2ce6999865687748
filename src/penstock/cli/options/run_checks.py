"""Refuses options of `penstock run` that do not go together, instead of ignoring them."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.core import ParameterSource


def check_together(
    engine: str, *, until_done: bool, continuous: bool, seconds: float | None, others: Sequence[str]
) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: Two exclude each other.
    """
    if until_done and (seconds is not None or continuous):
        raise click.UsageError(f"--until-done and {'--continuous' if continuous else '--for'} exclude each other")
    if continuous and engine == "reference":
        raise click.UsageError(
            "--continuous is for Spark and the local engine: the reference interpreter reads what there is"
        )
    of_one = {"--plan": "plan", "--profile": "profile", "--from": "start_from"}
    given = click.get_current_context().params
    for option, name in of_one.items():
        if others and given[name] is not None:
            raise click.UsageError(f"{option} is of one application, and cannot be given with --with")
    if others and engine == "local":
        raise click.UsageError("--with is for Spark and the reference: the local engine exchanges no streams")


def refuse_options_of_spark() -> None:
    """Refuse options that mean nothing without Spark, instead of ignoring them.

    Raises:
        UsageError: One is given.
    """
    context = click.get_current_context()
    names = ["master", "checkpoint", "take_over", "profile", "key_groups", "state_limit", "placement", "reschedule"]
    if context.get_parameter_source("start_from") is ParameterSource.DEFAULT:
        names += ["accept_changed_code", "allow_dropped_state"]
    for name in names:
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{option} is for Spark: the local engine keeps nothing and needs no cluster")
