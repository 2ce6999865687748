"""What an application is at a stage of its compilation: as text, and as a picture in a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.redaction import redact
from penstock.draw.page import Group
from penstock.draw.picture import graph_picture
from penstock.ir.graph import Application
from penstock.ir.pretty import pretty
from penstock.parallel.extensions import Extensions
from penstock.parallel.regions import parallel_regions
from penstock.parallel.report import pretty_regions, summary_of
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


def _logical(program: Program) -> Explanation:
    application = program.application
    return Explanation(stage="logical", text=pretty(application), application=application)


def _parallel(program: Program) -> Explanation:
    application = program.application
    plan = parallel_regions(application, Extensions())
    groups = tuple(Group(label=summary_of(region), operators=region.operators) for region in plan.regions)
    return Explanation(stage="parallel", text=pretty_regions(application, plan), application=application, groups=groups)


STAGES: Mapping[str, Callable[[Program], Explanation]] = {"logical": _logical, "parallel": _parallel}


def explain(app: App, stage: str) -> Explanation:
    """The application at a stage of its compilation.

    Raises:
        UserError: There is no such stage, or the application is not right.
    """
    if stage not in STAGES:
        hint = did_you_mean(stage, STAGES) or f"the stages are {', '.join(STAGES)}"
        raise UserError(f"there is no stage `{stage}`", hint=hint)
    found = STAGES[stage](app.program())
    return Explanation(stage=stage, text=redact(found.text), application=found.application, groups=found.groups)
