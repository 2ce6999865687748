"""A profile for the algorithms that need one, without the user knowing any of it.

A run with `--fusion auto` looks at one tuple in a thousand, and what it has seen is kept in the user's cache folder for
the next one. Where the user asks for an algorithm that weighs costs, or for `--channels auto`, and there is no profile
yet, a short run with all operators fused makes one, if that touches nothing outside: input from files, output into a
folder that is thrown away. A profile does not depend on how operators are fused.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.ir.expressions import Literal
from penstock.ir.models import State
from penstock.profiler.sampling import Sampling
from penstock.toolkit.analysis.effects import stateful_calls

if TYPE_CHECKING:
    from penstock.compiler.job import Draft
    from penstock.compiler.options import Measure
    from penstock.ir.expressions import Expression
    from penstock.ir.graph import Application, Operator
    from penstock.model import Profile

_TURNS = 20_000
_RATE = 0.01


def find_profile(draft: Draft, channels: int | None) -> Profile | None:
    """The profile that is given, or the last good one, or a short one taken now; None if there is none to be had.

    Args:
        draft: The job.
        channels: On how many channels a short one is taken.

    Raises:
        UserError: The profile that is given is of another program.
    """
    from penstock.optimizer.kept_profiles import is_good, keep_profile, kept_profile, profile_for

    application, options = draft.application, draft.options
    if options.profile is not None:
        return profile_for(application, options.profile)
    kept = kept_profile(application)
    if kept is not None or options.measure is None or not is_harmless(application):
        return kept
    options.tell("a short profile first: this application has none yet")
    taken = _measure_shortly(draft, options.measure, channels)
    if not is_good(taken):
        return None
    keep_profile(taken, application)
    return taken


def _measure_shortly(draft: Draft, measure: Measure, channels: int | None) -> Profile:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        out.mkdir()
        options = replace(
            draft.options,
            environment=replace(draft.options.environment, output_directory=out),
            checkpoint=Path(folder) / "job",
            channels=channels,
            fusion="all",
            plan=None,
            pes=None,
            loops="inside",
            continuous=False,
            sampling=Sampling(rate=_RATE),
            batch=_TURNS,
            hosts=None,
            measure=None,
        )
        return measure(draft.program, options)


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
