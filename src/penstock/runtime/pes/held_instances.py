"""The instances of a `KeyedOperator` that a container runs: of classes with timers above all.

A class with an `on_wake` or an `on_expire` runs in a container, because its calls have a place in the sequential order.
Its instances lie in a table as those that generated code calls (`codegen.functions.instance_table`), with their timers.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.keyed.keyed_runtime import KeyedRuntime
from penstock.codegen.functions import instance_table
from penstock.codegen.functions.instance_table import InstanceTable, parts_of
from penstock.codegen.kernels.key_tables import Table
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Tuple
from penstock.runtime.pes.held_keys import NEVER, HeldKeys
from penstock.toolkit.core.memory import Parts


@dataclass(frozen=True, slots=True)
class InstanceForm:
    """What has to be known to read a table of instances."""

    form: instance_table.Form

    def parts(self, table: Table) -> Parts:
        """What a runtime's memory has of the keys of a table."""
        return parts_of(self.form, table)


class HeldInstances(HeldKeys):
    """The instances of a runtime in a container.

    Args:
        runtime: Makes them, and holds those that are loaded.
    """

    def __init__(self, runtime: KeyedRuntime) -> None:
        self._runtime, self._held = runtime, InstanceTable(runtime, None, is_timed=True)
        schema = runtime.operator.inputs[0].schema
        types = [schema.attribute(name).type for name in runtime.names]
        super().__init__(
            self._held.table, types, InstanceForm(self._held.form), [runtime.ttl_ns, sorted(runtime.hooks)]
        )
        runtime.apart = self

    @property
    def live(self) -> Collection[Hashable]:
        """The keys that have an instance."""
        return self._runtime.entries.keys()

    def key_of(self, port: int) -> Callable[[Tuple], Hashable]:
        """The function that gives the key of a tuple of an input port."""
        return self._runtime.key_of[port]

    def give(self, keys: Sequence[Hashable], rows: Mapping[str, Any]) -> None:
        """Give the runtime instances, with their timers."""
        runtime = self._runtime
        for stored in self._held.form.stored(keys, rows):
            runtime.entries[stored[0]] = stored
            if "on_wake" in runtime.hooks:
                runtime.wakes.add(stored[0], stored[4])
            if runtime.says_farewell:
                runtime.expiries.add(stored[0], stored[5])

    def write(self, keys: Sequence[Hashable], codes: Array) -> Array:
        """Hold instances."""
        stored = [self._runtime.stored(self._runtime.entries[key]) for key in keys]
        self._held.write(codes, stored)
        timers = [own[4:] for own in stored]
        due_ns = [min((timer[0] for timer in own if timer is not None), default=NEVER) for own in timers]
        pickled = [b"" if own == (None, None) else pickle.dumps(own, 5) for own in timers]
        self.table.put("due_ns", codes, np.array(due_ns, np.int64))
        self.table.put("timers", codes, pa.array(pickled, pa.binary()))
        return np.ones(len(codes), bool)

    def clear(self, codes: Array) -> None:
        """Let rows stand for no instance."""
        self.table.put("timers", codes, pa.array([b""] * len(codes), pa.binary()))
        self._held.clear(codes)

    def forget_expired(self, now_ns: int) -> None:
        """Forget, and count, the instances whose time to live is over and that wait for nothing."""
        runtime = self._runtime
        if runtime.ttl_ns is None or runtime.says_farewell:
            return
        for key, entry in list(runtime.entries.items()):
            if runtime.is_old(entry):
                runtime.forget(key)
        if not self._has_all:
            old = self.not_loaded(self.is_made() & (self.table.head("last_ns") <= now_ns - runtime.ttl_ns))
            runtime.expired += len(old)
            self._clear(old)

    def whole(self) -> int:
        """How many instances there have been."""
        return self._runtime.born

    def restore_whole(self, whole: int) -> None:
        """Know how many instances there have been."""
        self._runtime.born = whole
