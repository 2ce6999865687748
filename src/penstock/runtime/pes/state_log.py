"""The stored state of an instance: what has changed, batch by batch, and no more of it than is needed.

Introduction:
    A batch touches some keys of many. Writing the whole state with each batch costs what is known; this log costs what
    is touched.

Formulation:
    The state is a head and entries. The head has all but the rows of tables, and the names of the entries of each
    table. An entry has some rows of a table; of several with the same row the newest holds. An entry that is not needed
    any more is removed.

Algorithm:
    A batch adds an entry with the rows that it has touched. When there are twice as many rows in the entries as in the
    table, each batch adds some of the others too, as many as it has touched, one range of keys after the other. After
    a turn around the table all that is older than the turn is not needed any more. So at most twice of what is touched
    is written, and at most about four times the table is kept. If a batch touches half of the table, all of it is
    written.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import uuid4

import numpy as np

from penstock.codegen.kernels.key_tables import KeyTable, Table, assemble
from penstock.codegen.rows.places import Array
from penstock.codegen.run.piece_instance import fill_outline
from penstock.runtime.pes.entry_bytes import decode_entry, encode_entry
from penstock.runtime.pes.pe_instance import PEInstance

LARGEST_ENTRY = 8 << 20
"""Larger ones are divided: they pass through the store's process as one value."""


class Store(Protocol):
    """Holds entries by name."""

    def get(self, name: str) -> bytes:
        """An entry."""

    def put(self, name: str, entry: bytes) -> None:
        """Hold an entry."""

    def remove(self, name: str) -> None:
        """Forget an entry."""


@dataclass(slots=True)
class TableLog:
    """What is stored of a table.

    Attributes:
        entries: The number of each entry, with that of its rows, the oldest first.
        added: How many entries there have ever been.
        cursor: Up to which row the table has been written again in this turn.
        turn: The first entry of this turn.
    """

    entries: dict[int, int] = field(default_factory=dict)
    added: int = 0
    cursor: int = 0
    turn: int = 0


@dataclass(slots=True)
class Head:
    """All that is stored but the entries.

    Attributes:
        stamp: Tells this state from all others.
        outline: The state without the rows of tables, pickled.
        logs: What is stored of each table.
    """

    stamp: str = ""
    outline: bytes = b""
    logs: dict[str, TableLog] = field(default_factory=dict)


def record(instance: PEInstance, head: Head, store: Store) -> bool:
    """Store what has changed; tells whether anything has, in which case the head is to be stored, too."""
    outline = pickle.dumps(instance.outline(), protocol=5)
    has_changed = outline != head.outline
    head.outline = outline
    for name, table in instance.tables.items():
        has_changed |= _record_table(name, table, head.logs.setdefault(name, TableLog()), store)
    if has_changed:
        head.stamp = uuid4().hex
    return has_changed


def _record_table(name: str, table: KeyTable, log: TableLog, store: Store) -> bool:
    touched = table.take_touched()
    if table.is_new or (len(touched) and 2 * len(touched) >= len(table)):
        done, needed = np.arange(len(table)), log.added
        log.cursor, table.is_new = 0, False
    elif len(touched):
        done, needed = _with_others(touched, len(table), log)
    else:
        return False
    for part in _parts(table, done):
        store.put(entry_name(name, log.added), encode_entry(table.change(part)))
        log.entries[log.added] = len(part)
        log.added += 1
    for number in [number for number in log.entries if number < needed]:
        store.remove(entry_name(name, number))
        del log.entries[number]
    return True


def _with_others(touched: Array, rows: int, log: TableLog) -> tuple[Array, int]:
    """The rows to write, and the first entry that is needed afterwards."""
    if not log.cursor and sum(log.entries.values()) + len(touched) <= 2 * rows:
        return touched, 0
    if not log.cursor:
        log.turn = log.added
    others = np.arange(log.cursor, min(log.cursor + len(touched), rows))
    log.cursor += len(others)
    is_round = log.cursor >= rows
    log.cursor = 0 if is_round else log.cursor
    return np.union1d(touched, others), log.turn if is_round else 0


def _parts(table: KeyTable, rows: Array) -> Iterator[Array]:
    """Rows in parts that are not too large for an entry, at least one.

    A batch that is run again divides them alike: Spark may put the state together from what both attempts have stored.
    """
    largest = max(LARGEST_ENTRY * len(table) // max(table.count_bytes(), 1), 1)
    for begin in range(0, max(len(rows), 1), largest):
        yield rows[begin : begin + largest].astype(np.int32)


def read(head: Head, get: Callable[[str], bytes]) -> dict[str, Any]:
    """The state that is stored, as plain data.

    Args:
        head: The head.
        get: Gives an entry by its name.
    """
    tables: dict[str, Table] = {}
    for name, log in head.logs.items():
        tables[name] = assemble([decode_entry(get(entry_name(name, number))) for number in sorted(log.entries)])
    outline = pickle.loads(head.outline)
    return {**outline, "pieces": [_with_tables(piece, tables) for piece in outline["pieces"]]}


def _with_tables(piece: dict[str, Any], tables: Mapping[str, Table]) -> dict[str, Any]:
    """The state of a piece, generated or a container, with its tables."""
    if "operators" in piece:
        return fill_outline(piece, tables)
    return {**piece, "tables": {name: tables[name] for name in piece.get("held", {})}}


def resume(instance: PEInstance, head: Head, store: Store) -> None:
    """Let an instance go on from what is stored."""
    instance.restore(read(head, store.get))
    for table in instance.tables.values():
        table.is_new = False


def entry_name(table: str, number: int) -> str:
    """The name of an entry of a table."""
    return f"{table} {number}"
