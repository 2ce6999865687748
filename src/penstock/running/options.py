"""How to run an application: what `app.run` takes, and the environment that follows from it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.submission_values import submission_values
from penstock.compiler.fusion_names import FUSIONS
from penstock.expr.configurations import read_configurations
from penstock.expr.environment import Environment
from penstock.runtime.sources import following
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run an application.

    Attributes:
        engine: What runs it; one of `engines.ENGINES`.
        spark: A session to run in, instead of one of our own.
        master: The Spark cluster, if there is no session yet.
        channels: How many channels parallel regions get; `auto`: as many as gain.
        fusion: Which operators share a PE.
        checkpoint: Where Spark keeps the state of the job.
        out: Where sinks write relative file names.
        data: What relative file names are resolved against.
        settings: Submission-time values.
        seconds: When to stop.
        batch: How many tuples sources give for one batch.
        continuous: Whether to wait for more where sources can have more; None for where that is what they are for.
        start_from: A savepoint to go on from, where the checkpoint is new.
        allow_dropped_state: Whether a changed program may drop the state of operators that are gone or are others.
        accept_changed_code: Whether to go on although the Python code of an operator with state has changed.
        key_groups: How many groups keys are divided into; None for the usual number, or that of the checkpoint.
        state_limit: How many bytes of state a channel may hold on Spark; a job that needs more ends with a message.
        inputs: For each `app.from_spark` its rows: a list, a table of pandas, Polars or Arrow, a Parquet file, or a
            DataFrame of Spark.
    """

    engine: str = "spark"
    spark: Any = None
    master: str = "local[*]"
    channels: int | str | None = None
    fusion: str = "auto"
    checkpoint: Path | None = None
    out: Path | None = None
    data: Path | None = None
    settings: Mapping[str, list[str]] = field(default_factory=dict)
    seconds: float | None = None
    batch: int = 200_000
    continuous: bool | None = None
    start_from: Path | None = None
    allow_dropped_state: bool = False
    accept_changed_code: bool = False
    key_groups: int | None = None
    state_limit: int | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)

    def refuse(self, engine: str, why: str, names: Sequence[str]) -> None:
        """Refuse options that mean nothing on an engine, instead of ignoring them.

        Raises:
            UserError: One is given.
        """
        given = [name for name in names if getattr(self, name)]
        if given:
            raise UserError(
                f"`{given[0]}` is not for the {engine} engine, which {why}", hint='run it with engine="spark"'
            )

    def environment(self, program: Program) -> Environment:
        """The environment of a program that runs so.

        Raises:
            UserError: There is no such data folder.
        """
        beside = program.directory / "data"
        data = self.data if self.data is not None else beside if beside.is_dir() else Path()
        if not data.is_dir():
            raise UserError(f"there is no data folder `{data}`")
        out = self.out if self.out is not None else data
        out.mkdir(parents=True, exist_ok=True)
        return Environment(
            submission_values=self.settings,
            compile_values=self.settings,
            configurations=read_configurations(),
            # The workers of a cluster have folders of their own to start in.
            data_directory=data.absolute(),
            output_directory=out.absolute(),
            application_directory=program.directory.absolute(),
        )


_PATHS = ("checkpoint", "out", "data", "start_from")


def make_options(given: Mapping[str, Any]) -> RunOptions:
    """The options that the keywords of a call give.

    Raises:
        UserError: One is not known, or has a value that it cannot have.

    Example:
        >>> make_options({"engine": "local", "out": "results", "set": {"least": 5}}).settings
        {'least': ['5']}
        >>> make_options({"chanels": 2})
        Traceback (most recent call last):
        penstock.UserError: error: a run has no option `chanels`; did you mean `channels`?
    """
    options = {("settings" if name == "set" else name): value for name, value in given.items()}
    known = RunOptions.__dataclass_fields__
    for name in options:
        if name not in known:
            raise UserError(f"a run has no option `{name}`", hint=did_you_mean(name, [*known, "set"]))
    for name in _PATHS:
        if options.get(name) is not None:
            options[name] = Path(options[name])
    options["settings"] = submission_values(options.get("settings") or {})
    made = RunOptions(**options)
    _check(made)
    return made


def _check(options: RunOptions) -> None:
    channels, seconds = options.channels, options.seconds
    is_count = isinstance(channels, int) and not isinstance(channels, bool) and channels > 0
    if channels not in (None, "auto") and not is_count:
        raise UserError(f"`channels` is a number of at least 1, or 'auto', found {channels!r}")
    if options.fusion not in FUSIONS:
        hint = did_you_mean(str(options.fusion), FUSIONS) or f"the ways are {', '.join(FUSIONS)}"
        raise UserError(f"there is no way to fuse called `{options.fusion}`", hint=hint)
    if seconds is not None and not (isinstance(seconds, int | float) and seconds >= 0):
        raise UserError(f"`seconds` is a number of seconds, found {seconds!r}")
    groups = options.key_groups
    if groups is not None and (not isinstance(groups, int) or isinstance(groups, bool) or groups < 1):
        raise UserError(f"`key_groups` is a number of at least 1, found {groups!r}")
    limit = options.state_limit
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise UserError(f"`state_limit` is a number of bytes of at least 1, found {limit!r}")
    if not isinstance(options.inputs, Mapping):
        raise UserError(f"`inputs` takes tables by name, found {options.inputs!r}", hint='write {"name": table}')
    if not isinstance(options.batch, int) or options.batch < 1:
        raise UserError(f"`batch` is a number of tuples of at least 1, found {options.batch!r}")


def goes_on(program: Program, environment: Environment, options: RunOptions) -> bool:
    """Whether a run waits for more when its sources have no more for now."""
    is_done = options.continuous is False
    continuous = bool(options.continuous)
    return following.goes_on(program, environment, until_done=is_done, continuous=continuous, seconds=options.seconds)


def tell_warnings(text: str) -> None:
    """Say what the user should know at once; what is chosen is told by `explain`."""
    if text.startswith("warning"):
        print(text, file=sys.stderr)
