"""What operators in a container know of their keys, between batches: a table of which a batch loads what it needs.

Introduction:
    An operator in a container holds Python objects for its keys. Held as one value, those of all keys cost every batch
    a pickle of them all. Here they lie in a table (`codegen.kernels.key_tables`), a pickle for each key, with the time
    at which the first of its timers is due.

Formulation:
    A batch needs the keys that come, and those whose timers are due by its last item: `prepare` gives them to the
    operator, all at once. What is asked for besides, by operators that make other keys, is fetched key by key. What
    reaches all keys, a marker or the end, fetches all.

Algorithm:
    What is due is found in an array, 8 bytes for each key that is known; all else costs what the batch touches.

When it does not apply:
    Keys with floats, of which a table keeps one zero, and keys that are computed.

Preserves:
    The memory of the runtime, which `completed` makes of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from penstock.codegen.functions.instance_table import FEW, NOT_MADE
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.kernels.key_tables import KeyTable, Table
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Tuple
from penstock.ir.types import Type
from penstock.toolkit.core.memory import Memory, Parts

NEVER = np.iinfo(np.int64).max
"""When a key is due that waits for nothing."""

MADE = 1


class Form(Protocol):
    """What has to be known to read a table."""

    def parts(self, table: Table) -> Parts:
        """What a runtime's memory has of the keys of a table."""


class HeldKeys:
    """The keys of an operator in a container.

    Args:
        table: Of them; among its columns are `form` and `due_ns`.
        types: Of the parts of a key.
        form: What has to be known to read the table.
        facts: What else must be the same for others to go on with it.

    Attributes:
        table: The table.
    """

    def __init__(self, table: KeyTable, types: Sequence[Type], form: Form, facts: Sequence[Any]) -> None:
        self.table = table
        self._types, self._form, self._facts = types, form, list(facts)
        self._loaded: dict[int, Hashable] = {}
        self._seen: set[Hashable] = set()
        self._has_all, self._is_outlining = True, False

    # What a kind of operator says.

    @property
    def live(self) -> Collection[Hashable]:
        """The keys that the operator has now."""
        raise NotImplementedError

    def key_of(self, port: int) -> Callable[[Tuple], Hashable]:
        """The function that gives the key of a tuple of an input port."""
        raise NotImplementedError

    def give(self, keys: Sequence[Hashable], rows: Mapping[str, Any]) -> None:
        """Give the operator what some rows hold."""
        raise NotImplementedError

    def write(self, keys: Sequence[Hashable], codes: Array) -> Array:
        """Hold what the operator has of some keys; tells which of the rows it has made."""
        raise NotImplementedError

    def clear(self, codes: Array) -> None:
        """Let some rows that are made stand for nothing."""
        raise NotImplementedError

    def forget_expired(self, now_ns: int) -> None:
        """Forget, and count, the keys whose time to live is over and that wait for nothing."""

    def whole(self) -> Any:
        """What belongs to no key."""
        raise NotImplementedError

    def restore_whole(self, whole: Any) -> None:
        """Take over what belongs to no key."""

    # From the table.

    def prepare(self, keys: Iterable[Hashable], until_ns: int | None) -> None:
        """Load what a batch needs.

        Args:
            keys: For which tuples have come.
            until_ns: The time of its last item; None if time may go further.
        """
        if self._has_all:
            return
        if until_ns is None:
            self.fetch_all()
            return
        self._bring(np.flatnonzero(self.is_made() & (self.table.head("due_ns") <= until_ns)))
        self._look_up([key for key in dict.fromkeys(keys) if key not in self._seen])

    def fetch(self, key: Hashable) -> None:
        """Give the operator what is held of a key, if there is anything."""
        if not self._has_all and key not in self._seen:
            self._look_up([key])

    def fetch_all(self) -> None:
        """Give it all."""
        if not self._has_all:
            self._bring(np.flatnonzero(self.is_made()))
            self._has_all = True

    def is_whole(self) -> bool:
        """Give it all for a snapshot, unless that is to leave out what is held."""
        if not self._is_outlining:
            self.fetch_all()
        return not self._is_outlining

    def is_made(self) -> Array:
        """Which rows stand for something."""
        made: Array = self.table.head("form") != NOT_MADE
        return made

    def not_loaded(self, rows: Array) -> Array:
        """The numbers of the rows for which a mask holds and that are not loaded."""
        rows[list(self._loaded)] = False
        return np.flatnonzero(rows)

    def _look_up(self, keys: Sequence[Any]) -> None:
        if keys:
            self._seen.update(keys)
            codes = self.table.keys.codes(self._columns(keys), known=True)
            self._bring(np.unique(codes[codes >= 0]))

    def _columns(self, keys: Sequence[Any]) -> list[Any]:
        parts = zip(zip(*keys, strict=True), self._types, strict=True)
        return [typed(list(part), type_) for part, type_ in parts]

    def _bring(self, codes: Array) -> None:
        """Load some rows."""
        fresh = np.array([code for code in codes.tolist() if code not in self._loaded], np.int64)
        fresh = fresh[self.table.take("form", fresh) != NOT_MADE] if len(fresh) else fresh
        if len(fresh):
            keys: list[Hashable] = list(zip(*map(values, self.table.keys.columns(fresh), self._types), strict=True))
            self._loaded.update(zip(fresh.tolist(), keys, strict=True))
            self._seen.update(keys)
            self.give(keys, self.table.rows(fresh))

    # To the table.

    def flush(self) -> None:
        """Write back all that is loaded."""
        known, live = set(self._loaded.values()), self.live
        fresh = [key for key in live if key not in known]
        if fresh:
            self._loaded.update(zip(self.table.find(self._columns(fresh)).tolist(), fresh, strict=True))
        kept = {code: key for code, key in self._loaded.items() if key in live}
        codes = np.array(list(kept), np.int64)
        made = self.write(list(kept.values()), codes) if kept else np.zeros(0, bool)
        gone = np.array([code for code in self._loaded if code not in kept], np.int64)
        self._clear(np.concatenate([codes[~made], gone]))
        self._make_smaller()

    def _clear(self, codes: Array) -> None:
        codes = codes[self.table.take("form", codes) != NOT_MADE] if len(codes) else codes
        if len(codes):
            self.clear(codes)

    def _make_smaller(self) -> None:
        """Let go of the rows that stand for nothing, once they are most of all."""
        kept = self.is_made()
        self.table.unused = len(kept) - int(np.count_nonzero(kept))
        if len(kept) > FEW and 2 * np.count_nonzero(kept) < len(kept):
            numbers = (np.cumsum(kept) - 1).tolist()
            self._loaded = {numbers[code]: key for code, key in self._loaded.items() if kept[code]}
            self.table.keep(kept)

    # State.

    def outline(self) -> dict[str, Any]:
        """What has to be known to go on with the table, which is up to date; a snapshot now leaves it out."""
        self.flush()
        self._is_outlining = True
        return {"form": self._form, "facts": self._facts, "whole": self.whole()}

    def end_outline(self) -> None:
        """The snapshot is taken."""
        self._is_outlining = False

    def takes(self, own: Mapping[str, Any]) -> bool:
        """Whether a table can be gone on with of which this is the outline."""
        return bool(own["form"] == self._form and own["facts"] == self._facts)

    def restore(self, own: Mapping[str, Any], table: Table | None) -> None:
        """Go on with a table; the one that there is, unless another is given."""
        if table is not None:
            self.table.restore(table)
        self.restore_whole(own["whole"])
        self._has_all = False


def completed(state: Mapping[str, Any], chosen: Iterable[str] | None = None) -> dict[str, Any]:
    """The state of a container with what lies in tables where its runtimes have it.

    Args:
        state: What `state_log` has read.
        chosen: The tables that it is done for, by name; all of them without it.
    """
    nodes, held = dict(state["nodes"]), dict(state.get("held", {}))
    for name in list(held) if chosen is None else chosen:
        form: Form = held.pop(name)["form"]
        id_ = name.rpartition(" ")[0]
        memory: Memory = nodes[id_]["runtime"] or ({}, {})
        memory = memory[0], memory[1] | form.parts(state["tables"][name])
        nodes[id_] = {**nodes[id_], "runtime": memory if any(memory) else None}
    return {**state, "nodes": nodes, "held": held}
