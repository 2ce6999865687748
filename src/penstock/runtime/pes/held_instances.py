"""The instances of a `KeyedOperator` that a container runs, between batches: those with timers above all.

Introduction:
    A class with an `on_wake` or an `on_expire` runs in a container, because its calls have a place in the sequential
    order. Held as one value, the instances of all keys cost every batch a pickle of them all. Here they lie in a table,
    as those that generated code calls (`codegen.functions.instance_table`), with their timers and the time at which the
    first of these is due.

Formulation:
    A batch needs the instances of the keys that come, and those whose timers are due by its last item: `prepare` gives
    them to the runtime, all at once. What is asked for besides, by operators that make other keys, is fetched key by
    key. What reaches all keys, a marker or the end, fetches all.

Algorithm:
    What is due is found in an array, 8 bytes for each key that is known; all else costs what the batch touches.

When it does not apply:
    Where `can_hold` says no, and to operators of other kinds: their memory is one value.

Preserves:
    The memory of the runtime: `completed` makes it of a table.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.keyed.keyed_runtime import KeyedRuntime, Stored
from penstock.codegen.functions.instance_table import FEW, NOT_MADE, InstanceTable, can_hold, parts_of
from penstock.codegen.kernels.column_operations import typed
from penstock.codegen.kernels.key_tables import Table
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Tuple
from penstock.reference.node import Node
from penstock.toolkit.core.memory import Memory

_NEVER = np.iinfo(np.int64).max


class HeldInstances(InstanceTable):
    """The instances of a runtime in a container.

    Args:
        runtime: Makes them, and holds those that are loaded.
    """

    def __init__(self, runtime: KeyedRuntime) -> None:
        super().__init__(runtime, None, is_timed=True)
        self._seen: set[Hashable] = set()
        self._has_all, self._is_outlining = True, False
        runtime.apart = self

    def key_of(self, port: int) -> Callable[[Tuple], Hashable]:
        """The function that gives the key of a tuple of an input port."""
        return self._runtime.key_of[port]

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
        self._bring(np.flatnonzero(self._is_made() & (self.table.head("due_ns") <= until_ns)))
        self._look_up([key for key in dict.fromkeys(keys) if key not in self._seen])

    def fetch(self, key: Hashable) -> None:
        """Give the runtime the instance of a key, if there is one."""
        if not self._has_all and key not in self._seen:
            self._look_up([key])

    def fetch_all(self) -> None:
        """Give it all."""
        if not self._has_all:
            self._bring(np.flatnonzero(self._is_made()))
            self._has_all = True

    def is_whole(self) -> bool:
        """Give it all for a snapshot, unless that is to leave out what is held."""
        if not self._is_outlining:
            self.fetch_all()
        return not self._is_outlining

    def _is_made(self) -> Array:
        made: Array = self.table.head("form") != NOT_MADE
        return made

    def _look_up(self, keys: Sequence[Any]) -> None:
        if keys:
            self._seen.update(keys)
            codes = self.table.keys.codes(self._columns(keys), known=True)
            self._bring(np.unique(codes[codes >= 0]))

    def _columns(self, keys: Sequence[Any]) -> list[Any]:
        parts = zip(zip(*keys, strict=True), self._types, strict=True)
        return [typed(list(part), type_) for part, type_ in parts]

    def _bring(self, codes: Array) -> None:
        """Load the instances of some rows, with their timers."""
        fresh = np.array([code for code in codes.tolist() if code not in self._loaded], np.int64)
        if not len(fresh):
            return
        keys, runtime = self._keys(fresh), self._runtime
        self._loaded.update(zip(fresh.tolist(), keys, strict=True))
        self._seen.update(keys)
        rows = {name: self.table.take(name, fresh) for name in self._rows}
        for stored in self.form.stored(keys, rows):
            runtime.entries[stored[0]] = stored
            if "on_wake" in runtime.hooks:
                runtime.wakes.add(stored[0], stored[4])
            if runtime.says_farewell:
                runtime.expiries.add(stored[0], stored[5])

    # To the table.

    def flush(self) -> None:
        """Write back all that is loaded."""
        known = set(self._loaded.values())
        fresh = [key for key in self._runtime.entries if key not in known]
        if fresh:
            self._loaded.update(zip(self.table.find(self._columns(fresh)).tolist(), fresh, strict=True))
        if self._loaded:
            self._dirty = [np.array(list(self._loaded), np.int64)]
        super().flush()
        self._make_smaller()

    def _write(self, codes: Array, stored: Sequence[Stored]) -> None:
        super()._write(codes, stored)
        timers = [own[4:] for own in stored]
        due_ns = [min((timer[0] for timer in own if timer is not None), default=_NEVER) for own in timers]
        pickled = [b"" if own == (None, None) else pickle.dumps(own, 5) for own in timers]
        self.table.put("due_ns", codes, np.array(due_ns, np.int64))
        self.table.put("timers", codes, pa.array(pickled, pa.binary()))

    def _clear(self, codes: Array) -> None:
        codes = codes[self.table.take("form", codes) != NOT_MADE] if len(codes) else codes
        if len(codes):
            self.table.put("timers", codes, pa.array([b""] * len(codes), pa.binary()))
        super()._clear(codes)

    def _make_smaller(self) -> None:
        kept = self._is_made()
        self.table.unused = len(kept) - int(np.count_nonzero(kept))
        if len(kept) > FEW and 2 * np.count_nonzero(kept) < len(kept):
            numbers = (np.cumsum(kept) - 1).tolist()
            self._loaded = {numbers[code]: key for code, key in self._loaded.items() if kept[code]}
            self.table.keep(kept)

    def forget_expired(self, now_ns: int) -> None:
        """Forget, and count, the instances whose time to live is over and that wait for nothing."""
        runtime = self._runtime
        if runtime.ttl_ns is None or runtime.says_farewell:
            return
        for key, entry in list(runtime.entries.items()):
            if runtime.is_old(entry):
                runtime.forget(key)
        if not self._has_all:
            is_old = self._is_made() & (self.table.head("last_ns") <= now_ns - runtime.ttl_ns)
            is_old[list(self._loaded)] = False
            old = np.flatnonzero(is_old)
            self._clear(old)
            runtime.expired += len(old)

    # State.

    def outline(self) -> dict[str, Any]:
        """What has to be known to go on with the table, which is up to date; a snapshot now leaves it out."""
        self.flush()
        self._is_outlining = True
        return {"form": self.form, "born": self._runtime.born, "ttl_ns": self._runtime.ttl_ns}

    def end_outline(self) -> None:
        """The snapshot is taken."""
        self._is_outlining = False

    def takes(self, own: Mapping[str, Any]) -> bool:
        """Whether a table can be gone on with of which this is the outline."""
        return bool(own["form"] == self.form and own["ttl_ns"] == self._runtime.ttl_ns)

    def restore(self, own: Mapping[str, Any], table: Table | None) -> None:
        """Go on with a table; the one that there is, unless another is given."""
        if table is not None:
            self.table.restore(table)
        self._runtime.born = own["born"]
        self._has_all = False


def held_instances(nodes: Iterable[Node]) -> dict[str, HeldInstances]:
    """Those of the operators whose instances can lie in tables."""
    inner = {node.id: getattr(node.runtime, "inner", node.runtime) for node in nodes}
    return {id_: HeldInstances(own) for id_, own in inner.items() if isinstance(own, KeyedRuntime) and can_hold(own)}


def completed(state: Mapping[str, Any], chosen: Iterable[str] | None = None) -> dict[str, Any]:
    """The state of a container with the instances of tables where its runtimes have them.

    Args:
        state: What `state_log` has read.
        chosen: The operators that it is done for; all of them without it.
    """
    nodes, held = dict(state["nodes"]), dict(state.get("held", {}))
    for id_ in list(held) if chosen is None else chosen:
        parts = parts_of(held.pop(id_)["form"], state["tables"][id_])
        memory: Memory = nodes[id_]["runtime"] or ({}, {})
        memory = memory[0], memory[1] | parts
        nodes[id_] = {**nodes[id_], "runtime": memory if any(memory) else None}
    return {**state, "nodes": nodes, "held": held}
