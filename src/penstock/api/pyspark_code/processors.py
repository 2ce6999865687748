"""PySpark's `StatefulProcessor` as an operator: the state of each key is ours, and nothing asks Java for it.

A block is told apart by key, each key's rows are handed over as one frame of pandas, and what the processor gives
stands behind the last of them. Variables (`getValueState`, `getListState`, `getMapState`) hold tuples, as in PySpark.
Timers and times to live ask for a clock that a DataFrame does not bring; a processor that asks for them is refused.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.pyspark_code.pandas_blocks import from_frame, to_frame
from penstock.base.diagnostics import UserError
from penstock.expr.values import rows_from_batch
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel, State
from penstock.ir.types import TIMESTAMP, OptionalType, TupleType
from penstock.toolkit.core.block_runtime import BlockRuntime, Given
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.memory import Keyed, same_nan
from penstock.toolkit.core.runtime import Context

Variables = dict[str, Any]
"""The state of a key, by the names of its variables."""


class _States(Keyed):
    """The state of all keys.

    Attributes:
        names: The attributes that are the key.
        by_key: The variables of each key that has any.
        current: Those of the key whose rows are processed.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.by_key: dict[Hashable, Variables] = {}
        self.current: Variables = {}

    def snapshot_parts(self) -> dict[Hashable, Any]:
        return {key: dict(variables) for key, variables in self.by_key.items()}

    def restore_parts(self, parts: Mapping[Hashable, Any]) -> None:
        self.by_key.update((same_nan(key), dict(variables)) for key, variables in parts.items())


class _Variable:
    """A variable of state: what there is of it belongs to the key at hand."""

    def __init__(self, states: _States, name: str) -> None:
        self._states, self._name = states, name

    def exists(self) -> bool:
        """Whether the key has a value."""
        return self._name in self._states.current

    def clear(self) -> None:
        """Forget it."""
        self._states.current.pop(self._name, None)


class ValueState(_Variable):
    """One tuple."""

    def get(self) -> tuple[Any, ...] | None:
        """The tuple, if there is one."""
        found: tuple[Any, ...] | None = self._states.current.get(self._name)
        return None if found is None else _plain(found)

    def update(self, newValue: Any) -> None:
        """Hold another."""
        self._states.current[self._name] = _plain(newValue)


class ListState(_Variable):
    """Tuples in order."""

    def get(self) -> Iterator[tuple[Any, ...]]:
        """All of them."""
        return iter(list(map(_plain, self._states.current.get(self._name, ()))))

    def put(self, newState: Any) -> None:
        """Hold others."""
        self._states.current[self._name] = list(map(_plain, newState))

    def appendValue(self, newState: Any) -> None:
        """Add one."""
        self._states.current.setdefault(self._name, []).append(_plain(newState))

    def appendList(self, newState: Any) -> None:
        """Add several."""
        self._states.current.setdefault(self._name, []).extend(map(_plain, newState))


class MapState(_Variable):
    """Tuples by tuples."""

    @property
    def _map(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self._states.current.get(self._name, {})
        return found

    def exists(self) -> bool:
        """Whether it holds anything."""
        return bool(self._map)

    def getValue(self, key: Any) -> tuple[Any, ...] | None:
        """The value of a key, if there is one."""
        found: tuple[Any, ...] | None = self._map.get(_plain(key))
        return None if found is None else _plain(found)

    def containsKey(self, key: Any) -> bool:
        """Whether a key has a value."""
        return _plain(key) in self._map

    def updateValue(self, key: Any, value: Any) -> None:
        """Give a key a value."""
        self._states.current.setdefault(self._name, {})[_plain(key)] = _plain(value)

    def iterator(self) -> Iterator[tuple[Any, Any]]:
        """All keys with their values."""
        return iter(list(self._map.items()))

    def keys(self) -> Iterator[Any]:
        """All keys."""
        return iter(list(self._map))

    def values(self) -> Iterator[Any]:
        """All values."""
        return iter(list(self._map.values()))

    def removeKey(self, key: Any) -> None:
        """Forget a key."""
        self._map.pop(_plain(key), None)


def _plain(value: Any) -> tuple[Any, ...]:
    """A row of state as a tuple of Python's own values; what can be changed in place is copied."""
    return tuple(
        v.item() if isinstance(v, np.generic) else copy.deepcopy(v) if isinstance(v, list | dict | set) else v
        for v in value
    )


class Handle:
    """What a processor asks for its state, in the place of PySpark's `StatefulProcessorHandle`."""

    def __init__(self, states: _States) -> None:
        self._states = states

    def getValueState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ValueState:
        """A variable that holds one tuple."""
        _refuse_ttl(ttlDurationMs)
        return ValueState(self._states, stateName)

    def getListState(self, stateName: str, schema: Any, ttlDurationMs: int | None = None) -> ListState:
        """A variable that holds tuples in order."""
        _refuse_ttl(ttlDurationMs)
        return ListState(self._states, stateName)

    def getMapState(
        self, stateName: str, userKeySchema: Any, valueSchema: Any, ttlDurationMs: int | None = None
    ) -> MapState:
        """A variable that holds tuples by tuples."""
        _refuse_ttl(ttlDurationMs)
        return MapState(self._states, stateName)

    def deleteIfExists(self, stateName: str) -> None:
        """Forget a variable of the key at hand."""
        self._states.current.pop(stateName, None)

    def __getattr__(self, name: str) -> Any:
        hint = "count rows instead, or leave this processor to Spark"
        raise UserError(f"`{name}` of a StatefulProcessor's handle needs a clock, which rows do not bring", hint=hint)


def _refuse_ttl(milliseconds: int | None) -> None:
    if milliseconds:
        hint = "leave `ttlDurationMs` out, or leave this processor to Spark"
        raise UserError("a time to live needs a clock, which the rows of a DataFrame do not bring", hint=hint)


class _NoTime:
    """The times of a processor without timers, in the place of PySpark's `TimerValues`."""

    def getCurrentProcessingTimeInMs(self) -> int:
        """There is none."""
        return -1

    def getCurrentWatermarkInMs(self) -> int:
        """There is none."""
        return -1


class ProcessorRuntime(BlockRuntime):
    """Runs a processor."""

    remembers = ("states",)

    def __init__(self, processor: Any, by: tuple[str, ...], operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self.states = _States(by)
        # Each channel has one of its own, as each task of Spark has.
        self._processor, self._by = copy.deepcopy(processor), by
        self._keys = TupleType(tuple(a for name in by for a in self.inputs.attributes if a.name == name))
        types = [a.type.inner if isinstance(a.type, OptionalType) else a.type for a in self._keys.attributes]
        self._is_time = [type_ == TIMESTAMP for type_ in types]
        self._processor.init(Handle(self.states))

    def take_block(self, block: pa.RecordBatch) -> Given:
        """What the processor gives for a key stands behind the last of its rows."""
        keys = [tuple(map(same_nan, key)) for key in rows_from_batch(block.select(list(self._by)), self._keys)]
        numbers: dict[Hashable, int] = {}
        code = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code))
        starts = ends - np.bincount(code)
        frame = to_frame(block.take(pa.array(order)), self.inputs)
        last, names = order[ends - 1], list(numbers)
        for group in np.argsort(last).tolist():
            rows = frame.iloc[starts[group] : ends[group]].reset_index(drop=True)
            key = names[group]
            self.states.current = self.states.by_key.pop(key, {})
            # All of it: the next key has other state.
            given = [from_frame(found, self.outputs) for found in self._call(key, rows)]
            if self.states.current:
                self.states.by_key[key] = self.states.current
            for found in given:
                yield int(last[group]), found

    def _call(self, key: Any, rows: Any) -> Any:
        import pandas as pd

        if any(self._is_time):
            # As PySpark has them: in a zone that is UTC and not said.
            parts = zip(key, self._is_time, strict=True)
            key = tuple(pd.Timestamp(v // 1000, unit="us") if is_time and v is not None else v for v, is_time in parts)
        return self._processor.handleInputRows(key, iter([rows]), _NoTime()) or ()

    def close(self) -> None:
        """Let the processor go."""
        self._processor.close()


def processor_of(processor: Any, by: tuple[str, ...], name: str) -> OperatorDefinition:
    """The definition of a `StatefulProcessor`.

    Args:
        processor: It.
        by: The attributes that it is grouped by.
        name: Of the operator.

    Raises:
        UserError: It is none.
    """
    if not all(callable(getattr(processor, method, None)) for method in ("init", "handleInputRows", "close")):
        hint = "give an instance of a subclass of pyspark's StatefulProcessor"
        raise UserError(f"a StatefulProcessor is wanted, found {processor!r}", hint=hint)
    owner = type(processor)
    model = OperatorModel(state=State.PARTITIONED, partition_by=(frozenset(by),))
    return OperatorDefinition(
        name=name,
        namespace="",
        doc=owner.__doc__ or "",
        inputs=(1, 1),
        outputs=(1, 1),
        facts=Facts(takes_blocks=True),
        model=lambda operator: model,
        runtime=_maker(processor, owner, by),
    )


def _maker(processor: Any, owner: type, by: tuple[str, ...]) -> Callable[[Operator, Context], ProcessorRuntime]:
    """Makes the runtime; it holds the class beside the instance, so that a change of its code is seen."""

    def make(operator: Operator, context: Context) -> ProcessorRuntime:
        assert isinstance(processor, owner)
        return ProcessorRuntime(processor, by, operator, context)

    return make
