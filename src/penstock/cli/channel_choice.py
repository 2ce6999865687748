"""How many channels a run gets: `--channels N`, or `auto`, the smallest number beyond which nothing is gained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.fusion_names import AUTO

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.optimizer import Setting
    from penstock.toolkit.core.program import Program


class ChannelsType(click.ParamType[int | str]):
    """A positive number, or `auto`."""

    name = "N|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read it."""
        if value == AUTO or (isinstance(value, int) and value > 0):
            return str(value) if value == AUTO else int(value)
        if isinstance(value, str) and value.isdecimal() and int(value) > 0:
            return int(value)
        self.fail(f"`{value}` is neither a positive number nor `auto`", param, ctx)


def chosen_channels(
    program: Program,
    environment: Environment,
    spark: Any,
    option: int | str | None,
    checkpoint: Path | None,
    tell: Callable[[str], None],
    *,
    batch: int,
) -> int | None:
    """The number of channels for parallel regions; None leaves it to annotations. `batch` is the turns of a source."""
    if isinstance(option, int) or option is None:
        return option
    from penstock.cli.auto_choice import resumed_plan
    from penstock.cli.fusion_choice import cores_of
    from penstock.cli.short_profile import known_profile
    from penstock.optimizer.machine import machine_setting

    resumed = resumed_plan(program.application, checkpoint)
    if resumed is not None:
        return resumed[1]
    profile = known_profile(program, environment, spark, 1, tell)
    if profile is None:
        tell("one channel, as there is no profile yet")
        return 1
    cores = cores_of(spark)
    setting = machine_setting(program.application, profile, 1, cores, turns_per_batch=batch)
    best = fewest_channels(setting, cores)
    tell(f"{best} of up to {cores} channels, by the last profile")
    return best


def fewest_channels(setting: Setting, most: int) -> int:
    """The smallest number of channels for which the throughput model predicts no further gain.

    Args:
        setting: The application, its profile and the machine.
        most: The most channels to try: more than the cores of the cluster never gain.
    """
    from penstock.model.channels import fewest_with_gain
    from penstock.optimizer.prediction import predict, throughput_model

    everything = (tuple(o.id for o in setting.application.operators),)
    model = throughput_model(setting)
    best, _ = fewest_with_gain(lambda n: predict(model, replace(setting, channels=n), everything).scale, most)
    return best
