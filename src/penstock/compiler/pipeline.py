"""The stages between a program and a job, in order; each is verified after it ran, and a failure names it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock.base.diagnostics import Infeasible, UserError
from penstock.codegen.build import build
from penstock.codegen.plan.physical import physical_plan
from penstock.compiler import stage_checks
from penstock.compiler.channel_choice import choose_channels, find_regions
from penstock.compiler.fusion_choice import choose_fusion
from penstock.compiler.job import Draft
from penstock.compiler.loop_choice import choose_loops
from penstock.compiler.options import Options
from penstock.compiler.short_profile import find_profile
from penstock.toolkit.core.program import Program


class StageFailed(Exception):
    """A stage has made something that cannot be: a bug of the compiler."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of the pipeline.

    Attributes:
        name: In words, imperative.
        run: Makes its part of the draft.
        check: Yields what is wrong with the part that it made.
    """

    name: str
    run: Callable[[Draft], Draft]
    check: Callable[[Draft], Iterator[str]]


def cut_into_pes(draft: Draft) -> Draft:
    """Cut the program as it runs into PEs; with submit signals, where something is to be sampled."""
    assert draft.opened is not None
    assert draft.choice is not None
    # A checkpoint of another program may not know all operators: whoever resumes it says so better than we could.
    known = {id_ for group in draft.choice.fusion for id_ in group}
    others = [(o.id,) for o in draft.application.operators if o.id not in known]
    plan = physical_plan(draft.opened.application, [*draft.choice.fusion, *others], draft.regions)
    return replace(draft, plan=replace(plan, signals=draft.options.sampling or draft.choice.sampling))


def place(draft: Draft) -> Draft:
    """Place the PEs on hosts by what they cost, if hosts are given.

    Raises:
        UserError: Nothing is known of what they cost.
    """
    options = draft.options
    if options.hosts is None or draft.loop_is_open:
        return draft
    from penstock.optimizer.machine import machine_setting
    from penstock.placement.pes import place_plan

    assert draft.plan is not None
    profile = find_profile(draft, draft.channels)
    if profile is None:
        hint = "take one: penstock profile APP -o profile.json, and give it with --profile"
        raise UserError("PEs are placed by what they cost, and there is no profile of this application", hint=hint)
    setting = machine_setting(draft.application, profile, draft.channels, options.cores, turns_per_batch=options.batch)
    return replace(draft, placed=place_plan(replace(setting, hosts=options.hosts), draft.plan))


def generate(draft: Draft) -> Draft:
    """Generate the module of every PE, or the reason why a container runs it."""
    assert draft.opened is not None
    assert draft.plan is not None
    return replace(draft, build=build(draft.opened, draft.plan))


STAGES = (
    Stage("choose loops", choose_loops, stage_checks.check_graph),
    Stage("find regions", find_regions, stage_checks.check_regions),
    Stage("choose channels", choose_channels, stage_checks.check_channels),
    Stage("choose fusion", choose_fusion, stage_checks.check_fusion),
    Stage("cut into PEs", cut_into_pes, stage_checks.check_plan),
    Stage("place", place, stage_checks.check_places),
    Stage("generate", generate, stage_checks.check_build),
)


def run_stages(program: Program, options: Options, *, until: str = STAGES[-1].name) -> Draft:
    """Run the stages up to one, that one included.

    Raises:
        UserError: The options do not fit the program, or an algorithm needs a profile that there is none of.
        Infeasible: No fusion keeps the constraints of the program.
        StageFailed: A stage has made something that cannot be.
    """
    draft = Draft(program=program, options=options)
    for stage in STAGES:
        draft = _run(stage, draft)
        if stage.name == until:
            return draft
    raise ValueError(f"there is no stage `{until}`")


def _run(stage: Stage, draft: Draft) -> Draft:
    where = f"in the stage `{stage.name}` of compiling `{draft.application.name}`"
    try:
        made = stage.run(draft)
    except (UserError, Infeasible):
        raise
    except Exception as error:
        error.add_note(where)
        raise
    for problem in stage.check(made):
        raise StageFailed(f"{problem}, {where}")
    return made
