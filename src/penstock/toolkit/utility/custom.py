"""Custom: does what its logic clause says, and nothing by itself.

Its code may submit tuples and markers to any output port, and may change the tuple that it received. A Custom without
input ports is a source: its `onProcess` code runs once. Window markers are dropped unless `onPunct` submits them; final
markers are passed on when all inputs have ended.

With `ttl` the entries of the maps among its state variables are forgotten when nobody has looked them up or stored them
for so many seconds (`aging_map`); what has expired is gone before its code runs.

What a Custom remembers are its state variables. A source remembers how often its code has paused: the code of a fresh
instance runs again from the start to that place, its submissions muted. Code that asks for random numbers or for the
time, or that writes files, cannot be resumed so.

The model is read off the code: see `logic_analysis`.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Expression, Literal, MapLiteral
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import UNKNOWN_MODEL, Markers, OperatorModel, Selectivity
from penstock.ir.types import FLOAT64, MapType
from penstock.toolkit.analysis.logic_analysis import (
    ends_a_stream,
    forwarded_by_submits,
    selectivity_of,
    stateless,
    submits_per_tuple,
    unknown_state,
)
from penstock.toolkit.core.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import VARIABLE, VARIABLES, LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation, Submit, Wait
from penstock.toolkit.windows.aging_map import Aged, AgingMap


class CustomRuntime(LogicRuntime):
    """Runs the logic clause."""

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._environment = context.environment
        self._pauses = 0
        self._ttl_ns = self._ready_ttl_ns()
        self._map_names = aging_maps(operator) if self._ttl_ns else ()
        self._let_age()

    def _ready_ttl_ns(self) -> int:
        seconds = self.constant("ttl")
        problem = None if seconds is None else ttl_problem(seconds)
        if problem is not None:
            raise UserError(f"{problem} of `{self.operator.id}`")
        return 0 if seconds is None else max(1, round(seconds * 1e9))

    def receiver(self, port: int) -> Submit:
        """The code for the tuples of a port."""
        code = self.logic.on_tuple.get(port) if self.logic is not None else None
        if code is None:
            return _ignore
        return cast(Submit, self._aging(code) if self._map_names else code)

    def on_window_punctuation(self, port: int) -> None:
        """Run `onPunct`."""
        self._aging(super().on_window_punctuation)(port)

    def on_final_punctuation(self, port: int) -> None:
        """Run `onPunct`."""
        self._aging(super().on_final_punctuation)(port)

    def take_window_marker(self, port: int) -> None:
        """Drop the marker; `onPunct` has had it."""

    # Maps whose entries are forgotten.

    def forget_expired(self) -> None:
        """Forget the entries of maps that have been idle for too long."""
        for map_ in self._maps().values():
            self.expired += map_.forget_old()

    def _maps(self) -> dict[str, AgingMap]:
        return {name: getattr(self._state, name) for name in self._map_names}

    def _aging(self, code: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Code before which the maps forget, and behind which all of them can."""

        def run(given: Any) -> Any:
            self.forget_expired()
            try:
                return code(given)
            finally:
                self._let_age()

        return run

    def _let_age(self) -> None:
        """Let maps age that the code has stored as a whole."""
        for name, map_ in self._maps().items():
            if type(map_) is not AgingMap:
                setattr(self._state, name, AgingMap(map_, ttl_ns=self._ttl_ns, clock=self._environment.clock))

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
            self.forget_expired()
            super().snapshot_into(whole, parts)
            self._store_ages(whole, parts)
        else:
            whole["pauses"] = self._pauses

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Stand in the same place."""
        super().restore_from(whole, parts)
        self._pauses = whole.get("pauses", 0)
        for name in self._map_names:
            aged: Aged = dict(getattr(self._state, name))
            setattr(self._state, name, AgingMap({}, ttl_ns=self._ttl_ns, clock=self._environment.clock))
            getattr(self._state, name).restore(aged)

    def _store_ages(self, whole: Whole, parts: Parts) -> None:
        """Put the time of its last use beside each entry."""
        for name, map_ in self._maps().items():
            aged = map_.aged()
            if VARIABLE + name in parts:
                names, held = parts[VARIABLE + name]
                parts[VARIABLE + name] = names, dict(zip(held, aged.values(), strict=True))
            else:
                whole[VARIABLES] = {**whole[VARIABLES], name: aged}

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
    for value in operator.param("ttl"):
        _check_ttl(operator, value, found)


def ttl_problem(seconds: float) -> str | None:
    """The problem with a time to live, if any.

    Example:
        >>> ttl_problem(0.0)
        'the `ttl` is a number of seconds above 0, found 0.0'
    """
    is_one = 0 < seconds < math.inf
    return None if is_one else f"the `ttl` is a number of seconds above 0, found {seconds}"


def aging_maps(operator: Operator) -> tuple[str, ...]:
    """The state variables of an operator whose entries are forgotten."""
    state = () if operator.logic is None else operator.logic.state
    return tuple(d.name for d in state if d.mutable and isinstance(d.type, MapType))


def _check_ttl(operator: Operator, value: Expression, found: Diagnostics) -> None:
    where = value.span or operator.span
    names = aging_maps(operator)
    if isinstance(value, Literal) and (problem := ttl_problem(float(value.value))) is not None:  # type: ignore[arg-type]
        found.error(problem, where)
    if not operator.inputs:
        found.error("a Custom without input ports remembers where its code stands, and has no `ttl`", where)
    elif not names:
        hint = "declare one: `state: mutable map<rstring, int32> seen = {};`"
        found.error(
            "`ttl` speaks of the maps among the state variables, but there is none that changes", where, hint=hint
        )
    for declared in () if operator.logic is None else operator.logic.state:
        if declared.name in names and not _is_empty(declared.value):
            message = f"`{declared.name}` does not begin empty, so it is not known when its entries were last used"
            found.error(message, declared.span or where, hint="let it begin as `{}`, or remove the `ttl`")


def _is_empty(value: Expression | None) -> bool:
    return value is None or (isinstance(value, MapLiteral) and not value.keys)


DEFINITION = OperatorDefinition(
    name="Custom",
    doc="Does what its logic clause says: receives and submits tuples and markers on any number of ports.",
    inputs=(0, None),
    outputs=(0, None),
    params=(
        ParamSpec(
            name="ttl",
            kind=ParamKind.CONSTANT,
            types=(FLOAT64,),
            doc="Seconds after which an entry of a map among the state variables is forgotten if nobody has used it.",
        ),
    ),
    facts=Facts(forwards_from_all=True, is_repeatable=True),
    model=_model,
    check=_check,
    runtime=CustomRuntime,
)
