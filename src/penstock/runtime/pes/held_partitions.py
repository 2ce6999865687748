"""The partitions of an operator that a container runs: windows without a kernel, matchers, what waits to meet.

A partition that is as good as new (`is_blank`) has no row. Partitions have a place among all, because a marker reaches
them in the order in which they were made.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.codegen.functions.instance_table import NOT_MADE
from penstock.codegen.kernels.column_operations import values
from penstock.codegen.kernels.key_tables import KeyTable, Table, unpacked
from penstock.codegen.rows.places import Array
from penstock.expr.environment import Tuple
from penstock.ir.types import BLOB, parse_type
from penstock.runtime.pes.held_keys import MADE, NEVER, HeldKeys
from penstock.toolkit.core.memory import Parts, Remembering, Timer
from penstock.toolkit.core.runtime import Runtime
from penstock.toolkit.windows.age import AgingPartitions
from penstock.toolkit.windows.partition import Partitions

_ROWS: dict[str, Any] = {"form": np.int8, "place": np.int64, "last_ns": np.int64, "due_ns": np.int64, "state": BLOB}


@dataclass(frozen=True, slots=True)
class PartitionForm:
    """What has to be known to read a table of partitions.

    Attributes:
        attribute: Of the runtime, under which its memory has them.
        names: The attributes that the key is.
        types: Their types, as SPL writes them.
        is_aging: Whether a partition has the time of its last tuple.
    """

    attribute: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    is_aging: bool

    def parts(self, table: Table) -> Parts:
        """What a runtime's memory has of the keys of a table."""
        keys = zip(
            *(values(unpacked(c), parse_type(t)) for c, t in zip(table["keys"], self.types, strict=True)), strict=True
        )
        rows = {name: unpacked(column) for name, column in table["rows"].items()}
        columns = rows["form"].tolist(), rows["place"].tolist(), rows["last_ns"].tolist(), rows["state"].to_pylist()
        found: dict[Hashable, Any] = {}
        for key, form, place, last_ns, state in zip(keys, *columns, strict=True):
            if form != NOT_MADE:
                found[key] = (place, pickle.loads(state), *([last_ns] if self.is_aging else []))
        return {self.attribute: (self.names, found)} if found else {}


class HeldPartitions(HeldKeys):
    """Partitions of a runtime in a container.

    Args:
        runtime: Whose they are.
        attribute: Under which it has them.
        partitions: Those that are loaded.
    """

    def __init__(self, runtime: Runtime, attribute: str, partitions: Partitions[Any]) -> None:
        schema = runtime.operator.inputs[0].schema
        types = [schema.attribute(name).type for name in partitions.names or ()]
        self._runtime, self._partitions = runtime, partitions
        self._aging = partitions if isinstance(partitions, AgingPartitions) else None
        texts = tuple(map(str, types))
        form = PartitionForm(attribute, partitions.names or (), texts, self._aging is not None)
        super().__init__(KeyTable(partitions.names, texts, _ROWS), types, form, [])
        self._places: dict[Hashable, tuple[int, object]] = {}
        self._placed = 0
        partitions.apart = self

    @property
    def live(self) -> Collection[Hashable]:
        """The keys that have a partition, in the order of these."""
        return self._partitions.parts.keys()

    def key_of(self, port: int) -> Callable[[Tuple], Hashable]:
        """The function that gives the key of a tuple of an input port."""
        return self._partitions.key or self._runtime.keys[port]  # type: ignore[attr-defined] # by port

    def in_order(self) -> list[Hashable]:
        """The keys of all partitions that are loaded, in the order in which these were made."""
        return sorted(self._partitions.parts, key=self._place)

    def _place(self, key: Hashable) -> float:
        place, part = self._places.get(key, (math.inf, None))
        # One that was dropped, and made again, is the last.
        return place if part is self._partitions.parts[key] else math.inf

    def give(self, keys: Sequence[Hashable], rows: Mapping[str, Any]) -> None:
        """Give the operator partitions, with their timers."""
        columns = rows["place"].tolist(), rows["last_ns"].tolist(), rows["state"].to_pylist()
        for key, place, last_ns, state in zip(keys, *columns, strict=True):
            part = self._partitions.parts[key] = self._partitions.make(key)
            part.restore(pickle.loads(state))
            self._places[key] = place, part
            if self._aging is not None:
                self._aging.last_ns[key] = last_ns

    def write(self, keys: Sequence[Hashable], codes: Array) -> Array:
        """Hold partitions; those that are blank are as good as none."""
        number = dict(zip(keys, codes.tolist(), strict=True))
        made = [key for key in self.in_order() if not self._partitions.parts[key].is_blank()]
        parts = [self._partitions.parts[key] for key in made]
        for key, part in zip(made, parts, strict=True):
            if self._place(key) == math.inf:
                self._places[key] = self._placed, part
                self._placed += 1
        rows = np.array([number[key] for key in made], np.int64)
        if made:
            self.table.put("form", rows, np.full(len(rows), MADE))
            self.table.put("place", rows, np.array([self._places[key][0] for key in made], np.int64))
            self.table.put("due_ns", rows, np.array([_due_ns(part) for part in parts], np.int64))
            self.table.put("state", rows, pa.array([pickle.dumps(part.snapshot(), 5) for part in parts], pa.binary()))
            if self._aging is not None:
                self.table.put("last_ns", rows, np.array([self._aging.last_ns[key] for key in made], np.int64))
        return np.isin(codes, rows)

    def clear(self, codes: Array) -> None:
        """Let rows stand for no partition."""
        self.table.put("form", codes, np.full(len(codes), NOT_MADE))
        self.table.put("state", codes, pa.array([b""] * len(codes), pa.binary()))

    def forget_expired(self, now_ns: int) -> None:
        """Forget, and count, the partitions that have been idle for too long."""
        aging = self._aging
        if aging is None:
            return
        for key in list(aging.last_ns):
            aging.forget_if_old(key)
        if not self._has_all:
            old = self.not_loaded(self.is_made() & (self.table.head("last_ns") <= now_ns - aging.age_ns))
            aging.expired += len(old)
            self._clear(old)

    def whole(self) -> int:
        """How many partitions have had a place."""
        return self._placed

    def restore_whole(self, whole: int) -> None:
        """Know how many partitions have had a place."""
        self._placed = whole


def _due_ns(part: Any) -> int:
    """When the first timer of a partition is due."""
    if isinstance(part, Timer):
        return NEVER if part.due_ns is None else part.due_ns
    if isinstance(part, Remembering):
        return min((_due_ns(getattr(part, name)) for name in part.remembers), default=NEVER)
    return NEVER
