"""Finds the tuple on which generated code fails.

Introduction:
    Generated code takes a batch at once, and so it fails for a batch. A user wants to know the tuple.

Formulation:
    The code fails on a run of the first m items of a batch if and only if the item that it cannot process is among
    them, because what came before an item does not depend on what comes after. So the smallest such m tells the item.

Algorithm:
    Bisection: log b runs of a fresh instance from the state before the batch, each over at most b items.

When it does not apply:
    Where the batch does not fail again, because the code has changed a value of its state in place, or where it fails
    without any item, by time alone. Then there is no tuple to name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.codegen.functions.instance_table import memory_of
from penstock.codegen.rows.frames import Frame
from penstock.codegen.run.arriving import Arriving
from penstock.codegen.run.loaded_module import LoadedModule, OperatorError
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.codegen.transport.batches import PULSE
from penstock.codegen.transport.placed_frames import PlacedFrames
from penstock.expr.environment import Tuple
from penstock.expr.values import rows_from_batch


@dataclass(frozen=True, slots=True, eq=False)
class Failing:
    """Where generated code fails.

    Attributes:
        error: As it failed.
        tuples: What the operator had to take for the item, with the input ports.
        variables: The variables of logic clauses before the item, by operator.
        memories: The memories of classes of the user's before the item, by operator.
    """

    error: OperatorError
    tuples: tuple[tuple[int, Tuple], ...]
    variables: dict[str, dict[str, Any]]
    memories: dict[str, Any]


def find_failing(module: LoadedModule, state: Any, frames: PlacedFrames) -> Failing | None:
    """Find the first item on which a module fails, given the state before and all that has come since."""
    came = PieceInstance(module).arrived(frames)
    good, bad = 0, len(came.time_ns)
    if _failure(module, state, came, good) is not None or _failure(module, state, came, bad) is None:
        return None
    while bad - good > 1:
        middle = (good + bad) // 2
        if _failure(module, state, came, middle) is None:
            good = middle
        else:
            bad = middle
    error = _failure(module, state, came, bad)
    before = _instance(module, state)
    before.take_arrived(first(came, good))
    states = before.snapshot()["operators"]
    assert error is not None
    variables = {id_: states[id_] for id_ in module.code.variables}
    memories = {id_: memory_of(states[id_]) for id_ in module.code.classes}
    return Failing(error, _tuples(module, error, good), variables, memories)


def _instance(module: LoadedModule, state: Any) -> PieceInstance:
    instance = PieceInstance(module)
    if state is not None:
        instance.restore(state)
    return instance


def _failure(module: LoadedModule, state: Any, came: Arriving, items: int) -> OperatorError | None:
    try:
        _instance(module, state).take_arrived(first(came, items))
    except OperatorError as error:
        return error
    return None


def first(came: Arriving, items: int) -> Arriving:
    """The first items of a batch."""
    frames = {edge: _first(frame, items) for edge, frame in came.frames.items()}
    return replace(came, frames=frames, kind=np.where(np.arange(len(came.kind)) < items, came.kind, PULSE))


def _first(frame: Frame, items: int) -> Frame:
    marks = frame.marks
    kept = None if marks is None else marks.take(np.flatnonzero(marks.item < items))
    return frame.where(frame.places.item < items).marked(kept)


def _tuples(module: LoadedModule, error: OperatorError, item: int) -> tuple[tuple[int, Tuple], ...]:
    """The input tuples of the failed operator for an item, each with its port."""
    operator = module.code.part.plan.application.operator[error.operator]
    found: list[tuple[int, Tuple]] = []
    for port, variable in enumerate(module.code.inputs.get(error.operator, ())):
        frame = error.variables.get(variable)
        if isinstance(frame, Frame):
            schema = operator.inputs[port].schema
            rows = frame.where(frame.places.item == item).batch(schema)
            found += [(port, tuple_) for tuple_ in rows_from_batch(rows, schema)]
    return tuple(found)
