"""The operator that looks tuples up in a table: it holds the rows of each key, as `versions` gives them.

Each tuple gives a tuple for every row of its key, in the order of the table. A tuple without a row of its key gives
none, or one without values. A key with a null in it has no rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import Flag, Markers, OperatorModel, State, Why
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.memory import Keyed, same_nan
from penstock.toolkit.core.runtime import Context, Runtime, Submit


class RowsOfKeys(Keyed):
    """The values that each key has in the table, in order."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.by_key: dict[Hashable, list[Tuple]] = {}

    def snapshot_parts(self) -> dict[Hashable, Any]:
        """The rows of each key."""
        return {key: list(rows) for key, rows in self.by_key.items()}

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        """Hold the same."""
        self.by_key.update((_key(key), list(rows)) for key, rows in parts.items())


def _key(key: Any) -> Tuple:
    return tuple(map(same_nan, key))


class LookupRuntime(Runtime):
    """A lookup at work."""

    remembers = ("rows",)

    def __init__(self, on: tuple[str, ...], is_left: bool, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        data, table = (port.schema for port in operator.inputs)
        self._at = [data.position[name] for name in on]
        self._keys = len(on)
        # Where no row is, and a tuple shall leave nevertheless.
        self._nothing = [(None,) * (len(table.attributes) - len(on) - 1)] if is_left else []
        self.rows = RowsOfKeys(on)

    def receiver(self, port: int) -> Submit:
        """Look a tuple up, or take a row of the table."""
        by_key, at, keys, nothing, submit = self.rows.by_key, self._at, self._keys, self._nothing, self.submit[0]

        def look_up(tuple_: Tuple) -> None:
            key = tuple([same_nan(tuple_[i]) for i in at])
            for values in (None not in key and by_key.get(key)) or nothing:
                submit((*tuple_, *values))

        def take_row(row: Tuple) -> None:
            key = tuple(map(same_nan, row[:keys]))
            if row[-1]:
                by_key.setdefault(key, []).append(row[keys:-1])
            else:
                by_key.pop(key, None)

        return look_up if port == 0 else take_row

    def on_window_punctuation(self, port: int) -> None:
        """Markers of the stream stop here: rows of the table are no part of its windows."""


def lookup_of(on: tuple[str, ...], is_left: bool, name: str) -> OperatorDefinition:
    """The definition of a lookup by some attributes."""
    why = Why(Flag.SELECTIVITY, "a key may have any number of rows in the table")
    keys = frozenset(on)
    model = OperatorModel(state=State.PARTITIONED, partition_by=(keys, keys), markers=Markers.NONE, why=(why,))
    return OperatorDefinition(
        name=name,
        namespace="",
        doc="Looks tuples up in a table.",
        inputs=(2, 2),
        outputs=(1, 1),
        facts=Facts(is_repeatable=True),
        model=lambda operator: model,
        runtime=lambda operator, context: LookupRuntime(on, is_left, operator, context),
    )
