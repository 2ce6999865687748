"""No operator is judged better than it is, and no ordinary one worse than it must be."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import harmless_enrichments  # noqa: F401
import harmless_operators  # noqa: F401
import pytest
import tricky_again  # noqa: F401
import tricky_classes  # noqa: F401
import tricky_flows  # noqa: F401
import tricky_functions  # noqa: F401
import tricky_more  # noqa: F401
import tricky_orders  # noqa: F401
import tricky_reflection  # noqa: F401
import tricky_tables  # noqa: F401
from judged import INPUT, OUTPUT, TABLE, Judged

from penstock.api.inference import Role, infer_model
from penstock.api.rows import conformer, row_maker
from penstock.ir.models import OperatorModel, State
from penstock.parallel.routing import group_of_values

HARMLESS = [judged for judged in TABLE if judged.is_harmless]
TRICKY = [judged for judged in TABLE if not judged.is_harmless]


def name(judged: Judged) -> str:
    return getattr(judged.operator, "__qualname__", type(judged.operator).__name__)


def model_of(judged: Judged) -> OperatorModel:
    role, is_class = Role(judged.role), judged.role == "process"
    function = judged.operator.process if is_class else judged.operator
    owner = judged.operator if is_class else None
    return infer_model(function, role, inputs=INPUT, outputs=(OUTPUT,), owner=owner)


def test_the_table_is_long_enough():
    assert len(TRICKY) >= 300
    assert len(HARMLESS) >= 100


@pytest.mark.parametrize("judged", TABLE, ids=name)
def test_no_operator_is_judged_better_than_it_is(judged):
    found = model_of(judged)
    if judged.key is None:
        assert found.state is State.UNKNOWN
        assert any(str(why).startswith("state: ") for why in found.why)
    elif judged.key:
        assert found.state is not State.STATELESS
        assert found.state is State.UNKNOWN or found.partition_by[0] <= judged.key


@pytest.mark.parametrize("judged", HARMLESS, ids=name)
def test_no_ordinary_operator_is_judged_worse_than_it_is(judged):
    found = model_of(judged)
    if judged.key:
        assert (found.state, found.partition_by) == (State.PARTITIONED, (judged.key,)), found.why
    else:
        assert found.state is State.STATELESS, found.why
    assert not any(str(why).startswith("state: ") for why in found.why)


# What is judged stateless or keyed behaves so: three instances that share the tuples give what one gives.


class Instance:
    """One instance of an operator, called as the engine calls it."""

    def __init__(self, judged: Judged) -> None:
        self.role, self.sent = judged.role, []
        self.target: Any = judged.operator() if judged.role == "process" else None
        if self.target is not None:
            self.target.submit = lambda value, port=0: self.sent.append(value)
        self.call = self.target.process if self.target is not None else judged.operator

    def take(self, values: tuple[Any, ...]) -> list[Any]:
        self.sent = []
        row = row_maker(INPUT)(values)
        given = self.call(row)
        if self.role == "filter":
            return [bool(given)]
        many = [*self.sent, *(given or ())] if self.role in ("process", "flat map") else [given]
        return [conformer(OUTPUT)(value) for value in many]


def outcome(instance: Instance, values: tuple[Any, ...]) -> Any:
    with contextlib.suppress(ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return repr(instance.take(values))
    return "failed"


def rows(seed: int) -> list[tuple[Any, ...]]:
    chosen = random.Random(seed)
    words = ["a", "b", "A", "ab", "c d", "", "B"]
    return [
        (
            chosen.choice(words),
            chosen.choice(words),
            chosen.randrange(-2, 5),
            chosen.choice([0.0, -0.0, 1.0, 2.5, 120.0, float("nan")]),
            [chosen.randrange(-3, 6) for _ in range(chosen.randrange(4))],
            set(chosen.sample(words, chosen.randrange(4))),
        )
        for _ in range(120)
    ]


def channel(model: OperatorModel, values: tuple[Any, ...], turn: int) -> int:
    if model.state is State.STATELESS:
        return turn % 3
    return group_of_values([values[INPUT.position[n]] for n in sorted(model.partition_by[0])], 3)


@pytest.mark.parametrize("judged", TABLE, ids=name)
def test_what_is_judged_harmless_gives_the_same_on_three_channels(judged):
    model = model_of(judged)
    if model.state is State.UNKNOWN:
        return
    for seed in (1, 2):
        one, three = Instance(judged), [Instance(judged) for _ in range(3)]
        for turn, values in enumerate(rows(seed)):
            expected, found = outcome(one, values), outcome(three[channel(model, values, turn)], values)
            assert found == expected, (values, model)
