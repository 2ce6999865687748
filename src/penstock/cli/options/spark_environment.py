"""Options for what lies around a job on Spark: connectors, and the streams of other jobs.

Each is a name for an environment variable, so that it reaches every part of the job, and can be set once for many runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    ("--packages", "PENSTOCK_PACKAGES", "NAMES", "Maven packages for Spark to download, such as its Kafka connector."),
    ("--jars", "PENSTOCK_JARS", "DIRS", "Folders of jars for Spark, with colons between them."),
    ("--streams", "PENSTOCK_STREAMS", "DIR", "Where jobs export and import streams. Default: streams in --out."),
)


def takes_spark_environment(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; what is given is set in the environment."""
    for name, variable, metavar, help_ in reversed(_OPTIONS):
        option = click.option(
            name, metavar=metavar, expose_value=False, callback=setter_of(variable), help=f"{help_} [{variable}]"
        )
        function = option(function)
    return click.option(
        "--conf",
        metavar="NAME=VALUE",
        multiple=True,
        expose_value=False,
        callback=_set_conf,
        help="A setting of Spark, such as spark.executor.memory=4g; may be given several times. [PENSTOCK_CONF]",
    )(function)


def _set_conf(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    """What is given here holds over what the environment has, line by line."""
    if values:
        os.environ["PENSTOCK_CONF"] = "\n".join([os.environ.get("PENSTOCK_CONF", ""), *values]).strip()


def setter_of(variable: str) -> Callable[[click.Context, click.Parameter, str | None], None]:
    """A callback of an option that sets an environment variable."""

    def set_variable(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            os.environ[variable] = value

    return set_variable
