"""A profile for the algorithms that need one, without the user knowing any of it.

A run with `--fusion auto` looks at one tuple in a thousand, and what it has seen is kept in the user's cache folder for
the next one. Where the user asks for an algorithm that weighs costs, or for `--channels auto`, and there is no profile
yet, a short run with all operators fused makes one, if that touches nothing outside: input from files, output into a
folder that is thrown away. A profile does not depend on how operators are fused.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.ir.expressions import Literal
from penstock.ir.models import State
from penstock.toolkit.analysis.effects import stateful_calls

if TYPE_CHECKING:
    from penstock.expr.environment import Environment
    from penstock.ir.expressions import Expression
    from penstock.ir.graph import Application, Operator
    from penstock.model import Profile
    from penstock.spark.job.run import SparkRun
    from penstock.toolkit.core.program import Program

_SECONDS = 5.0
_TURNS = 20_000
_RATE = 0.01


def known_profile(
    program: Program,
    environment: Environment,
    spark: Any,
    channels: int | None,
    tell: Callable[[str], None],
) -> Profile | None:
    """The last good profile, or a short one taken now; none if it could not be taken, or saw nothing."""
    from penstock.optimizer.kept_profiles import is_good, keep_profile, kept_profile

    kept = kept_profile(program.application)
    if kept is not None or not is_harmless(program.application):
        return kept
    tell("a short profile first: this application has none yet")
    taken = _short_profile(program, environment, spark, channels)
    if not is_good(taken):
        return None
    keep_profile(taken, program.application)
    return taken


def _short_profile(program: Program, environment: Environment, spark: Any, channels: int | None) -> Profile:
    from penstock.cli.fusion_choice import without_costs
    from penstock.optimizer.machine import machine_transfer
    from penstock.profiler.sampling import Sampling
    from penstock.spark.measure.profiling import profile_on_spark

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        found = profile_on_spark(
            program,
            spark,
            sampling=Sampling(rate=_RATE),
            mips=machine_transfer().mips,
            fusion=without_costs(program.application, "all", channels),
            environment=replace(environment, output_directory=out),
            checkpoint=Path(folder) / "job",
            channels=channels,
            seconds=_SECONDS,
            turns_per_batch=_TURNS,
        )
    if found.run.stopped == "interrupted":
        raise KeyboardInterrupt
    return found.profile


def is_harmless(application: Application) -> bool:
    """Whether running it twice touches nothing outside: files in, and files out of the output folder."""
    return all(_is_harmless(o, application) for o in application.operators)


def _is_harmless(operator: Operator, application: Application) -> bool:
    facts, model = operator.facts, operator.model
    if not facts.is_repeatable:
        # Of a user's code only what is proven to keep nothing, and so to act nowhere, is harmless.
        is_stateless = model.state is State.STATELESS and not model.side_effects
        return facts.has_inferred_model and is_stateless and bool(operator.inputs and operator.outputs)
    if stateful_calls(operator, application.functions) or any(map(operator.param, facts.uses_up_with)):
        return False
    return all(_lies_below(value) for name in facts.writes for value in operator.param(name))


def _lies_below(file: Expression) -> bool:
    name = file.value if isinstance(file, Literal) else None
    return isinstance(name, str) and not Path(name).is_absolute() and ".." not in Path(name).parts


def keep_profile_of(run: SparkRun, application: Application) -> None:
    """Keep what a run with signals has shown for the next one."""
    from penstock.optimizer.kept_profiles import keep_if_seen_more
    from penstock.optimizer.machine import machine_transfer
    from penstock.profiler.refine import refine

    profile = refine(
        application,
        run.statistics,
        received=run.totals.received,
        submitted=run.totals.submitted,
        seconds=max(run.seconds, 1e-3),
        mips=machine_transfer().mips,
    )
    keep_if_seen_more(profile, application)
