"""The notices on a program before it runs: what has no effect, each thing once, and that it has no end."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.base.diagnostics import Diagnostic
from penstock.ir.graph import Application
from penstock.runtime.sources.endless import endless_sources
from penstock.toolkit.core.program import Program

_FOLLOWED = frozenset({"parallel", "catch", "consistent", "autonomous", "eventTime"})
"""Annotations that say how tuples are processed, or ask for what every job does (exactly once after a restart)."""

_SAID = {
    "@view": "there are no views; read a stream by a sink",
    "logLevel": "what operators log is not filtered by level",
    "tracing": "what operators log is not filtered by level",
    "threadedPort": "threads are the engine's choice; it changes no result",
    "inputTransport": "tuples travel as the engine sends them",
    "outputTransport": "tuples travel as the engine sends them",
    "checkpoint": "the state of every operator is kept where --checkpoint says",
    "relocatable": "where an operator runs is the engine's choice",
    "streamViewability": "there are no views; read a stream by a sink",
    "wrapper": "there are no processes of C++ to wrap",
    "defaultPoolSize": "which hosts there are is for the engine to say",
    "applicationScope": "applications meet where --streams says",
}
"""The notice on each annotation and setting; any other is only said to have no effect."""


def program_warnings(program: Program) -> Iterator[Diagnostic]:
    """The warnings on a program that compiles: pools, settings without effect, widths not followed."""
    from penstock.parallel.regions import parallel_regions

    yield from program.warnings
    yield from settings_without_effect(program.application)
    yield from parallel_regions(program.application).warnings


def settings_without_effect(application: Application) -> Iterator[Diagnostic]:
    """A warning for each annotation and setting that changes nothing, at the first operator that has it.

    Example:
        >>> list(settings_without_effect(Application(name="Main")))
        []
    """
    seen: set[str] = set()
    for operator in application.operators:
        annotations = [f"@{a.name}" for a in operator.annotations if a.name not in _FOLLOWED]
        for name in (*annotations, *(setting.name for setting in operator.config if setting.name != "restartable")):
            if name not in seen:
                seen.add(name)
                message = f"`{name}` has no effect"
                yield Diagnostic(message=message, span=operator.span, hint=_SAID.get(name))


HOW_TO_STOP = "stop it with Ctrl-C, or give --for SECONDS"


def describe_end(application: Application, can_have_more: bool) -> str | None:
    """A notice for a run without an end; None if it ends by itself."""
    names = ", ".join(f"`{operator.id}`" for operator in endless_sources(application))
    if names:
        return f"this run has no end, because {names} makes tuples for ever; {HOW_TO_STOP}"
    return f"this run goes on as long as its sources may have more; {HOW_TO_STOP}" if can_have_more else None
