"""Custom: does what its logic clause says, and nothing by itself.

Its code may submit tuples and markers to any output port, and may change the tuple that it received. A Custom without
input ports is a source: its `onProcess` code runs once. Window markers are dropped unless `onPunct` submits them; final
markers are passed on when all inputs have ended.

What a Custom remembers are its state variables. A source remembers how often its code has paused: the code of a fresh
instance runs again from the start to that place, its submissions muted. Code that asks for random numbers or for the
time, or that writes files, cannot be resumed so.

The model is read off the code: see `logic_analysis`.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import UNKNOWN_MODEL, Markers, OperatorModel, Selectivity
from penstock.toolkit.analysis.logic_analysis import (
    ends_a_stream,
    forwarded_by_submits,
    selectivity_of,
    stateless,
    submits_per_tuple,
    unknown_state,
)
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation, Submit, Wait


class CustomRuntime(LogicRuntime):
    """Runs the logic clause."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._environment = context.environment
        self._pauses = 0

    def receiver(self, port: int) -> Submit:
        """The code for the tuples of a port."""
        code = self.logic.on_tuple.get(port) if self.logic is not None else None
        return _ignore if code is None else cast(Submit, code)

    def take_window_marker(self, port: int) -> None:
        """Drop the marker; `onPunct` has had it."""

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """Run the `onProcess` code; other sources have a turn after each tuple that it submits."""
        if self.logic is not None and self.logic.on_process is not None:
            steps = self.logic.on_process()
            self._replay(steps)
            for pause in steps:
                self._pauses += 1
                yield None if pause is None else Wait(pause)

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """The state of a source is where its code stands, that of all others is their variables."""
        if self.operator.inputs:
            super().snapshot_into(whole, parts)
        else:
            whole["pauses"] = self._pauses

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Stand in the same place."""
        super().restore_from(whole, parts)
        self._pauses = whole.get("pauses", 0)

    def _replay(self, steps: Iterator[int | None]) -> None:
        """Run the code to where it stood, without effect on the outputs and on what was printed before."""
        submit, punctuate, stdout = list(self.submit), list(self.punctuate), self._environment.stdout
        self.submit[:], self.punctuate[:] = [_ignore] * len(submit), [_ignore_marker] * len(punctuate)
        self._environment.stdout = io.StringIO()
        for _ in range(self._pauses):
            next(steps, None)
        self.submit[:], self.punctuate[:], self._environment.stdout = submit, punctuate, stdout


def _ignore(tuple_: Tuple) -> None:
    """Drop a tuple."""


def _ignore_marker(punctuation: Punctuation) -> None:
    """Drop a marker."""


def _model(operator: Operator) -> OperatorModel:
    if not operator.inputs:
        return UNKNOWN_MODEL
    selectivity = selectivity_of(submits_per_tuple(operator))
    why = "its code may submit more than one tuple for one" if selectivity is Selectivity.UNKNOWN else ""
    model = stateless(operator, selectivity, why, forwards=forwarded_by_submits(operator))
    model = replace(model, markers=Markers.NONE)
    if operator.logic is not None and ends_a_stream(operator.logic):
        return unknown_state(model, "its code may end its output")
    return model


def _check(operator: Operator, found: Diagnostics) -> None:
    if operator.logic is not None and operator.logic.on_process is not None and operator.inputs:
        found.error("a Custom with input ports has no `onProcess`", operator.span, hint="use `onTuple`")


DEFINITION = OperatorDefinition(
    name="Custom",
    doc="Does what its logic clause says: receives and submits tuples and markers on any number of ports.",
    inputs=(0, None),
    outputs=(0, None),
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=_model,
    check=_check,
    runtime=CustomRuntime,
)
