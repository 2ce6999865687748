"""Functions of the user's whose models are checked on their first tuples, in every engine and in generated code."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from penstock.api.rows import conformer
from penstock.expr.values import text_form
from penstock.ir.graph import Operator
from penstock.ir.models import Selectivity, State
from penstock.ir.types import Type, has_collection
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.toolkit.aggregates.distinct import Identity, identity_of


class CheckedCall:
    """A function with the claims of its model; after so many calls it is the function alone.

    A function has no instances, so a claim of being stateless is checked by calling it twice: with the same tuple it
    must give the same again. One with state by key cannot be called twice; its other claims are checked.

    Args:
        operator: The instance.
        call: The function, its parameters bound.
        role: `map`, `filter` or `flat map`.
        limit: How many calls are checked.
    """

    def __init__(self, operator: Operator, call: Callable[..., Any], role: str, limit: int) -> None:
        self._operator, self._call, self._role, self._left = operator, call, role, limit
        self._model, self._schema = operator.model, operator.inputs[0].schema
        self._repeats = self._model.state is State.STATELESS and not self._model.side_effects
        self._copies = has_collection(self._schema)
        self._conform = conformer(operator.outputs[0].schema)
        self._same = comparable(operator.outputs[0].schema)

    @property
    def to_check(self) -> int:
        """How many calls are still to be checked."""
        return self._left

    @property
    def settled(self) -> Callable[..., Any]:
        """The function alone, once it has been checked."""
        return self if self._left > 0 else self._call

    def __call__(self, row: Any) -> Any:
        """The result of the function for a row, checked against its model while calls are left to check."""
        if self._left <= 0:
            return self._call(row)
        self._left -= 1
        before = deepcopy(row) if self._copies else row
        again = deepcopy(row) if self._copies else row
        given = self._taken(self._call(row))
        if self._role == "flat map":
            self._check_count(given, before)
        if self._role != "filter":
            self._check_forwarding(given, before)
        if self._repeats:
            self._check_state(given, again, before)
        return given

    def _taken(self, given: Any) -> Any:
        """The result in a form that can be read twice: of a flat map each value as it was when it was given."""
        return [self._conform(value) for value in given or ()] if self._role == "flat map" else given

    def _rows(self, given: Any) -> list[Any]:
        return [self._conform(value) for value in (given if self._role == "flat map" else [given])]

    def _check_count(self, given: list[Any], row: Any) -> None:
        claim = self._model.selectivity
        is_wrong = (claim is Selectivity.EXACTLY_ONE and len(given) != 1) or (
            claim is Selectivity.AT_MOST_ONE and len(given) > 1
        )
        if is_wrong:
            self._fail(row, f"gives {claim.value} for one", f"it gave {len(given) or 'none'}")

    def _check_forwarding(self, given: Any, row: Any) -> None:
        outputs = self._operator.outputs[0].schema
        names = [n for n in sorted(self._model.forwards) if n in self._schema.position and n in outputs.position]
        for made in self._rows(given) if names else ():
            for name in names:
                came, left = row[self._schema.position[name]], made[outputs.position[name]]
                same = comparable(outputs.attribute(name).type)
                # In a tuple, because there one NaN is equal to itself.
                if (same(came),) != (same(left),):
                    self._fail(row, f"forwards `{name}` unchanged", f"it made {left!r} of {came!r}")

    def _check_state(self, given: Any, again: Any, row: Any) -> None:
        try:
            found = self._taken(self._call(again))
        except Exception as error:
            self._fail(row, "is stateless", f"it failed when it was called again: {reason_of(error)}")
        if self._role == "filter":
            is_same = bool(found) == bool(given)
            texts = [str(bool(value)) for value in (given, found)]
        else:
            ours, theirs = self._rows(given), self._rows(found)
            is_same = list(map(self._same, ours)) == list(map(self._same, theirs))
            text = text_form(self._operator.outputs[0].schema)
            texts = [", ".join(map(text, rows)) or "nothing" for rows in (ours, theirs)]
        if not is_same:
            self._fail(row, "is stateless", f"it gave {texts[0]}, and {texts[1]} when it was called again")

    def _fail(self, row: Any, claim: str, found: str) -> None:
        text = f"its model says that it {claim}, but {found}; correct its model"
        raise OperatorFailed(self._operator, text, text_form(self._schema)(tuple(row)))


def comparable(type_: Type) -> Identity:
    """The function that makes values comparable: one NaN is like another."""
    return identity_of(type_) or (lambda value: value)
