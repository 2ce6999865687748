"""The view of an application at a stage of its compilation: as text, and as a picture in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.redaction import redact
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.compiler import Options, compile
from penstock.compiler.pipeline import run_stages
from penstock.compiler.stage_text import fused_text, generated_text, pe_title
from penstock.draw.page import Group
from penstock.draw.picture import graph_picture
from penstock.ir.graph import Application
from penstock.ir.pretty import pretty
from penstock.optimizer.machine import machine_hosts
from penstock.parallel.extensions import Extensions
from penstock.parallel.report import pretty_regions, summary_of
from penstock.running.options import make_options
from penstock.running.placed_view import placed_text
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from penstock.api.application import App


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """An application at a stage: its text, and in a notebook also its graph.

    Attributes:
        stage: Which one.
        text: For a person.
        application: What is drawn.
        groups: The operators that are drawn on one ground.

    Example:
        >>> from penstock import App
        >>> app = App("Numbers")
        >>> numbers = app.beacon("int32 x", iterations=3)
        >>> print(app.explain())
        composite Numbers {
        ...
    """

    stage: str
    text: str
    application: Application
    groups: tuple[Group, ...] = ()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"{graph_picture(self.application, self.groups)}<pre>{html.escape(self.text)}</pre>"


def check(app: App) -> str:
    """A sentence that the application is right.

    Raises:
        UserError: It is not; every mistake with its place.
    """
    application = app.program().application
    # The papers count a stream once for each operator that subscribes to it.
    counts = {
        "operators": len(application.operators),
        "streams": len(application.streams),
        "subscriptions": sum(1 for _ in application.edges()),
    }
    return f"{application.name}: {', '.join(f'{n} {what}' for what, n in counts.items())}, no errors"


def picture(app: App) -> str:
    """The graph of an application, as SVG text."""
    return graph_picture(app.program().application)


def explain(app: App, stage: str, given: Mapping[str, Any]) -> Explanation:
    """The application at a stage of its compilation.

    Raises:
        UserError: There is no such stage, the application is not right, or nothing is known of what its PEs cost.
    """
    if stage not in STAGES:
        hint = did_you_mean(stage, STAGES) or f"the stages are {', '.join(STAGES)}"
        raise UserError(f"there is no stage `{stage}`", hint=hint)
    options = make_options({"channels": 1, "fusion": "all", **given})
    program = app.program()
    compiling = Options(
        environment=options.environment(program), channels=options.channels, fusion=options.fusion, loops="inside"
    )
    text, application, groups = STAGES[stage](program, compiling)
    return Explanation(stage=stage, text=redact(text), application=application, groups=tuple(groups))


Shown = tuple[str, Application, Iterable[Group]]
"""A text, the graph that is drawn, and what lies on one ground in it."""


def _logical(program: Program, options: Options) -> Shown:
    return pretty(program.application), program.application, ()


def _parallel(program: Program, options: Options) -> Shown:
    regions = run_stages(program, replace(options, extensions=Extensions()), until="find regions").parallel
    assert regions is not None
    groups = [Group(label=summary_of(region), operators=region.operators) for region in regions.regions]
    return pretty_regions(program.application, regions), program.application, groups


def _fused(program: Program, options: Options) -> Shown:
    plan = run_stages(program, options, until="cut into PEs").plan
    assert plan is not None
    return fused_text(plan), plan.application, _pes(plan)


def _placed(program: Program, options: Options) -> Shown:
    hosts = machine_hosts(options.cores)
    placed = run_stages(program, replace(options, hosts=hosts), until="place").placed
    assert placed is not None
    return placed_text(placed, hosts), placed.plan.application, _pes(placed.plan)


def _generated(program: Program, options: Options) -> Shown:
    job = compile(program, options)
    return generated_text(job.plan, job.build), job.plan.application, _pes(job.plan)


def _pes(plan: PhysicalPlan) -> list[Group]:
    return [Group(label=pe_title(pe), operators=pe.operators) for pe in plan.pes]


STAGES: Mapping[str, Callable[[Program, Options], Shown]] = {
    "logical": _logical,
    "parallel": _parallel,
    "fused": _fused,
    "placed": _placed,
    "generated": _generated,
}
