"""The state of a kernel taken apart by key, and put together again: tables of columns, a row for each key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.base.diagnostics import UserError
from penstock.codegen.kernels.key_tables import Table, packed, take_rows, unpacked
from penstock.codegen.rows.frames import concatenated
from penstock.codegen.rows.places import Array
from penstock.ir.types import Type
from penstock.parallel.routing import group_of
from penstock.runtime.savepoints.job_state import Columns


def count_keys(table: Table) -> int:
    """How many keys a table has."""
    columns = [*table["keys"], *table["rows"].values()]
    return len(unpacked(columns[0])) if columns else 0


def group_keys(table: Table, key: Sequence[str], types: Mapping[str, Type], groups: int) -> Array:
    """The key group of each row of a table.

    Args:
        table: Of a kernel.
        key: The attributes that tell the group; they are among those of the table's key.
        types: Of the attributes.
        groups: How many there are.

    Raises:
        UserError: The keys of the table do not tell the group.
    """
    names = table["names"]
    if names is None or not set(key) <= set(names):
        listed = ", ".join(f"`{name}`" for name in key)
        raise UserError(f"the state is not kept by {listed}, so it cannot be split by key")
    columns = [unpacked(table["keys"][names.index(name)]) for name in key]
    return group_of(columns, groups, [types[name] for name in key])


def split_columns(columns: Columns, chosen: Sequence[Array], parts: int) -> list[Columns]:
    """The state in parts.

    Args:
        columns: Of a kernel.
        chosen: For each table the part of each row.
        parts: How many there are.

    Raises:
        UserError: Something in the state belongs to no key.
    """
    if columns["whole"]:
        listed = ", ".join(f"`{name}`" for name in columns["whole"])
        raise UserError(f"the state {listed} belongs to no key, so it cannot be split by key")
    pairs = list(zip(columns["tables"], chosen, strict=True))
    return [
        {"tables": [take_rows(table, np.flatnonzero(part == i)) for table, part in pairs], "whole": {}}
        for i in range(parts)
    ]


def join_columns(states: Sequence[Columns]) -> Columns:
    """The state that holds the keys of several.

    Raises:
        UserError: They differ in what belongs to no key.
    """
    if len(states) == 1:
        return states[0]
    if any(state["whole"] != states[0]["whole"] for state in states):
        raise UserError("the states differ in what belongs to no key, so they cannot be joined")
    tables = zip(*(state["tables"] for state in states), strict=True)
    return {"tables": [_join(same) for same in tables], "whole": states[0]["whole"]}


def _join(tables: Sequence[Table]) -> Table:
    # What has no rows may not know its types yet.
    filled = [table for table in tables if count_keys(table)] or list(tables[:1])
    if len(filled) == 1:
        return filled[0]

    def together(parts: Sequence[Any]) -> Any:
        return packed(concatenated([unpacked(part) for part in parts]))

    return {
        "names": filled[0]["names"],
        "keys": [together(parts) for parts in zip(*(table["keys"] for table in filled), strict=True)],
        "rows": {name: together([table["rows"][name] for table in filled]) for name in filled[0]["rows"]},
    }
