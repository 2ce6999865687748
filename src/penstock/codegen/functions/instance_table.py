"""The instances of a `KeyedOperator` between batches: a table with a row for each key.

Introduction:
    An instance is a Python object. Held as such, the instances of all keys cost every batch a pickle of them all. In
    a table (`kernels.key_tables`) they cost what a batch touches, and lie in files that workers map.

Formulation:
    A row has the number of the instance among all (`born`), the time of its last tuple, and its attributes in one of
    two forms. Where the class has become columns (`class_columns`) and an instance holds just what these can hold, its
    attributes are columns, too; those that never change are left out. Otherwise they are pickled, a value for each key.

    `load` makes entries of `KeyedRuntime` for the keys of some rows, and `flush` writes them back, so the loop of
    `class_calls` works on objects; `begin` and `end` hand the columns to the rounds of `class_rounds`.

When it does not apply:
    Keys with floats, of which a table keeps one zero; ports whose keys have different types (`can_hold`).

Preserves:
    The memory of the runtime: `memory_of` makes one of a table, `adopt` a table of one.
"""

from __future__ import annotations

import pickle
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.keyed.keyed_runtime import NOT_KEPT, KeyedRuntime, Stored
from penstock.codegen.functions.left import FILLERS, to_kind
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.kernels.key_tables import KeyTable, Table, unpacked
from penstock.codegen.rows.frames import taken
from penstock.codegen.rows.places import Array
from penstock.expr.vector.frame import Column
from penstock.ir.types import BLOB, RSTRING, Type, parse_type
from penstock.toolkit.core.memory import Memory, Parts

NOT_MADE, PICKLED, IN_COLUMNS = range(3)
"""The form of a row: of a key that has no instance yet, or of its attributes."""

FEW = 1024
"""A table of so many rows is not made smaller."""

_TYPES: dict[str, Any] = {"bool": np.bool_, "int": np.int64, "float": np.float64, "str": RSTRING}


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of instances of a class that has become columns.

    Attributes:
        names: All, in the order of an instance's dictionary.
        made: Those that the constructor sets.
        first: The values of all in the beginning.
        kinds: Of those that change; the others are what they were in the beginning.
        lines: How many lines the function of a round has.
    """

    names: tuple[str, ...]
    made: tuple[str, ...]
    first: dict[str, Any]
    kinds: dict[str, str]
    lines: int

    def row_types(self) -> dict[str, Any]:
        """The columns of a table that hold the attributes that change, with their types."""
        found: dict[str, Any] = {}
        for name, kind in self.kinds.items():
            found[_value_of(name)] = _TYPES[kind.rstrip("?")]
            if kind.endswith("?"):
                found[_none_of(name)] = np.bool_
        return found


@dataclass(frozen=True, slots=True)
class Form:
    """What has to be known to read a table of instances.

    Attributes:
        part: The name of the part of a memory that holds them, which tells the version of the class.
        names: The attributes that the key is.
        types: Their types, as SPL writes them.
        attributes: Of instances, if the class has become columns.
    """

    part: str
    names: tuple[str, ...]
    types: tuple[str, ...]
    attributes: Attributes | None

    def stored(self, keys: Sequence[Hashable], rows: Mapping[str, Column]) -> list[Stored]:
        """The instances of some keys as a memory holds them; keys without one are left out."""
        form = rows["form"]
        columns: list[Any] = [()] * len(keys)
        if self.attributes is not None and (form == IN_COLUMNS).any():
            columns = self._from_columns(self.attributes, rows)
        pickled = rows["state"].to_pylist()
        states = [
            (pickle.loads(pickled[i]) if how == PICKLED else columns[i]) if how else None
            for i, how in enumerate(form.tolist())
        ]
        made = zip(keys, rows["born"].tolist(), rows["last_ns"].tolist(), states, self._timers(rows), strict=True)
        return [(key, born, last_ns, state, *timers) for key, born, last_ns, state, timers in made if state is not None]

    def _timers(self, rows: Mapping[str, Column]) -> list[tuple[Any, Any]]:
        """For each row its wake and its expiry, where it may have any."""
        if "timers" not in rows:
            return [(None, None)] * len(rows["form"])
        return [pickle.loads(found) if found else (None, None) for found in rows["timers"].to_pylist()]

    def _from_columns(self, own: Attributes, rows: Mapping[str, Column]) -> list[Any]:
        """For each row its attributes: names and values."""
        count = len(rows["form"])
        lists = {name: _listed(rows, name, kind) for name, kind in own.kinds.items()}
        fixed = {name: [value] * count for name, value in own.first.items() if name not in lists}
        # One object for all instances, which a pickle holds once.
        return [(own.names, found) for found in zip(*((lists | fixed)[name] for name in own.names), strict=True)]


class InstanceTable:
    """The instances of a runtime.

    Args:
        runtime: Makes them, and holds those of the keys that are loaded.
        attributes: Of instances, if the class has become columns.
        is_timed: Whether instances have timers.

    Attributes:
        form: What has to be known to read the table.
        table: The table.
    """

    def __init__(self, runtime: KeyedRuntime, attributes: Attributes | None, *, is_timed: bool = False) -> None:
        schema = runtime.operator.inputs[0].schema
        self._runtime = runtime
        self._types: list[Type] = [schema.attribute(name).type for name in runtime.names]
        self.form = Form(runtime.stamp.keys, runtime.names, tuple(map(str, self._types)), attributes)
        rows = {} if attributes is None else attributes.row_types()
        rows |= {"form": np.int8, "born": np.int64, "last_ns": np.int64, "state": BLOB}
        rows |= {"due_ns": np.int64, "timers": BLOB} if is_timed else {}
        self.table = KeyTable(runtime.names, self.form.types, rows)
        self._rows = tuple(rows)
        self._loaded: dict[int, Hashable] = {}
        self._dirty: list[Array] = []

    # Objects.

    def load(self, columns: Sequence[Column]) -> None:
        """Have the instances of some rows' keys in the runtime; they may be changed from now on."""
        present = np.unique(self.table.find(columns))
        self._dirty.append(present)
        fresh = np.array([code for code in present.tolist() if code not in self._loaded], np.int64)
        if len(fresh):
            keys = self._keys(fresh)
            self._loaded.update(zip(fresh.tolist(), keys, strict=True))
            rows = {name: self.table.take(name, fresh) for name in self._rows}
            self._runtime.entries.update((stored[0], stored) for stored in self.form.stored(keys, rows))

    def _keys(self, codes: Array) -> list[Hashable]:
        columns = self.table.keys.columns(codes)
        return list(zip(*map(values, columns, self._types), strict=True))

    def adopt(self) -> None:
        """Hold all that the runtime has, which comes from a memory."""
        keys: list[Any] = list(self._runtime.entries)
        if keys:
            parts = zip(zip(*keys, strict=True), self._types, strict=True)
            codes = self.table.find([typed(list(part), type_) for part, type_ in parts])
            self._loaded = dict(zip(codes.tolist(), keys, strict=True))
            self._dirty = [codes]

    def flush(self) -> None:
        """Write back what was loaded."""
        if not self._dirty:
            return
        codes, self._dirty = np.unique(np.concatenate(self._dirty)), []
        entries = [self._runtime.entries.get(self._loaded[code]) for code in codes.tolist()]
        self.clear(codes[[entry is None for entry in entries]])
        stored = [self._runtime.stored(entry) for entry in entries if entry is not None]
        codes = codes[[entry is not None for entry in entries]]
        if len(codes):
            self.write(codes, stored)

    def write(self, codes: Array, stored: Sequence[Stored]) -> None:
        """Hold instances in the rows of their keys."""
        self.table.put("born", codes, np.array([own[1] for own in stored], np.int64))
        self.table.put("last_ns", codes, np.array([own[2] for own in stored], np.int64))
        in_columns = self._put_columns(codes, [own[3] for own in stored])
        self.table.put("form", codes, np.where(in_columns, IN_COLUMNS, PICKLED))
        pickled = [
            b"" if is_in else pickle.dumps(own[3], 5) for is_in, own in zip(in_columns.tolist(), stored, strict=True)
        ]
        self.table.put("state", codes, pa.array(pickled, pa.binary()))

    def forget_old(self, now_ns: int, ttl_ns: int) -> int:
        """Forget the instances whose last tuple came by then; tells how many the runtime has not counted itself."""
        self.flush()
        is_made, last_ns = self.table.head("form") != NOT_MADE, self.table.head("last_ns")
        old = np.flatnonzero(is_made & (last_ns <= now_ns - ttl_ns) & (last_ns != NOT_KEPT))
        begun = np.flatnonzero(is_made & (last_ns == NOT_KEPT))
        self.table.put("last_ns", begun, np.full(len(begun), now_ns))
        self.clear(old)
        # Those that were loaded, and that the runtime has forgotten meanwhile, it has counted.
        known = 0
        for code in set(old.tolist()) & self._loaded.keys():
            known += self._runtime.entries.pop(self._loaded.pop(code), None) is None
        self._make_smaller()
        return len(old) - known

    def clear(self, codes: Array) -> None:
        """Let the rows of some keys stand for no instance."""
        codes = codes[self.table.take("form", codes) != NOT_MADE] if len(codes) else codes
        if len(codes):
            self.table.put("form", codes, np.full(len(codes), NOT_MADE))
            self.table.put("state", codes, pa.array([b""] * len(codes), pa.binary()))

    def _make_smaller(self) -> None:
        """Let go of the keys without an instance, once they are most of all."""
        kept = self.table.head("form") != NOT_MADE
        self.table.unused = len(kept) - int(np.count_nonzero(kept))
        if len(kept) > FEW and 2 * np.count_nonzero(kept) < len(kept):
            self._loaded.clear()
            self._runtime.entries.clear()
            self.table.keep(kept)

    def _put_columns(self, codes: Array, states: Sequence[Any]) -> Array:
        """Write attributes as columns; tells of which instances these hold all there is."""
        own = self.form.attributes
        if own is None:
            return np.zeros(len(codes), bool)
        fits = np.array([isinstance(state, tuple) and state[0] == own.names for state in states], bool)
        first = tuple(own.first[name] for name in own.names)
        rows = [state[1] if fit else first for state, fit in zip(states, fits.tolist(), strict=True)]
        for name, found in zip(own.names, zip(*rows, strict=True), strict=True):
            if name in own.kinds:
                column, bad = to_kind(list(found), own.kinds[name])
                self._put(name, codes, column)
                fits &= True if bad is None else ~bad
            else:
                # By its text, because 0.0 and -0.0 are equal, and NaN is not.
                wanted = type(own.first[name]), repr(own.first[name])
                fits &= np.array([(type(value), repr(value)) == wanted for value in found], bool)
        return fits

    # Columns.

    def begin(self, codes: Array) -> tuple[list[Column], Array]:
        """The attributes of some keys that change, as columns, and whose are pickled."""
        own = self.form.attributes
        assert own is not None
        self.flush()
        self._loaded.clear()
        self._runtime.entries.clear()
        form = self.table.take("form", codes)
        fresh = np.flatnonzero(form == NOT_MADE)
        return [self._taken(name, codes, fresh) for name in own.kinds], form == PICKLED

    def _taken(self, name: str, codes: Array, fresh: Array) -> Column:
        """An attribute of some keys; those that have none yet get the first value."""
        own = self.form.attributes
        assert own is not None
        kind, first = own.kinds[name], own.first[name]
        column = self.table.take(_value_of(name), codes)
        if not kind.endswith("?"):
            return _filled(column, fresh, first)
        is_none = _filled(self.table.take(_none_of(name), codes), fresh, first is None)
        column = _filled(column, fresh, FILLERS[kind.rstrip("?")] if first is None else first)
        if isinstance(column, np.ndarray):
            return pa.array(column, mask=is_none)
        return pc.if_else(pa.array(is_none), pa.scalar(None, column.type), column)

    def end(self, codes: Array, took: Array, columns: Sequence[Column]) -> None:
        """Hold the attributes of keys after their rounds; every key that is new gets an instance.

        Args:
            codes: The numbers of the keys, ascending.
            took: Whether each has taken a round.
            columns: Of the attributes that change.
        """
        own = self.form.attributes
        assert own is not None
        is_new = self.table.take("form", codes) == NOT_MADE
        # Each as one array, of which the table notes once that its rows have changed.
        fresh, begun, done, chosen = codes[is_new], codes[is_new & ~took], codes[took], np.flatnonzero(took)
        self.table.put("born", fresh, self._runtime.born + np.arange(len(fresh)))
        self.table.put("last_ns", fresh, np.full(len(fresh), NOT_KEPT))
        self._runtime.born += len(fresh)
        if len(begun):
            state = pickle.dumps((own.made, tuple(own.first[name] for name in own.made)), 5)
            self.table.put("state", begun, pa.array([state] * len(begun), pa.binary()))
            self.table.put("form", begun, np.full(len(begun), PICKLED))
        self.table.put("form", done, np.full(len(done), IN_COLUMNS))
        for name, column in zip(own.kinds, columns, strict=True):
            self._put(name, done, taken(column, chosen))

    def _put(self, name: str, codes: Array, column: Column) -> None:
        own = self.form.attributes
        assert own is not None
        kind = own.kinds[name]
        if kind.endswith("?"):
            column = pa.array(column)
            self.table.put(_none_of(name), codes, column.is_null().to_numpy(zero_copy_only=False))
            column = column.fill_null(FILLERS[kind.rstrip("?")])
        if kind.rstrip("?") != "str" and not isinstance(column, np.ndarray):
            column = column.to_numpy(zero_copy_only=False)
        self.table.put(_value_of(name), codes, column)


def can_hold(runtime: KeyedRuntime) -> bool:
    """Whether a table can hold the instances of a runtime."""
    ports = zip(runtime.operator.inputs, runtime.key_names, strict=True)
    types = {tuple(str(port.schema.attribute(name).type) for name in names) for port, names in ports}
    return not runtime.has_floats and len(types) == 1


def memory_of(state: Any) -> Memory | None:
    """The memory of a class, of a snapshot that may be a table of instances."""
    if not isinstance(state, dict):
        memory: Memory | None = state
        return memory
    (table,) = state["tables"]
    parts = parts_of(state["whole"]["form"], table)
    whole = dict(state["whole"]["watched"])
    return (whole, parts) if whole or parts else None


def parts_of(form: Form, table: Table) -> Parts:
    """The parts of a memory that are the instances of a table, as plain data."""
    keys = [values(unpacked(part), parse_type(type_)) for part, type_ in zip(table["keys"], form.types, strict=True)]
    stored = form.stored(list(zip(*keys, strict=True)), {name: unpacked(c) for name, c in table["rows"].items()})
    return {form.part: (form.names, {own[0]: own for own in stored})} if stored else {}


def _value_of(name: str) -> str:
    return f"self.{name}"


def _none_of(name: str) -> str:
    return f"self.{name} is None"


def _listed(rows: Mapping[str, Column], name: str, kind: str) -> list[Any]:
    column = rows[_value_of(name)]
    found: list[Any] = column.tolist() if isinstance(column, np.ndarray) else column.to_pylist()
    if kind.endswith("?"):
        is_none = rows[_none_of(name)].tolist()
        return [None if none else value for value, none in zip(found, is_none, strict=True)]
    return found


def _filled(column: Column, rows: Array, value: Any) -> Column:
    """A column with a value in some rows."""
    if not len(rows):
        return column
    if isinstance(column, np.ndarray):
        column[rows] = value
        return column
    chosen = np.arange(len(column))
    chosen[rows] = len(column)
    return taken(pa.concat_arrays([column, pa.array([value], column.type)]), chosen)
