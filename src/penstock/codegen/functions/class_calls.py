"""Classes of the user's with state, in a loop over a batch.

Introduction:
    A container calls an operator for every tuple, keeps its place, its clock and its counts, and hands on what it gives
    tuple by tuple. Here the rows of a frame go to the same runtime in one loop, and what it gives becomes columns.

Formulation:
    The runtime of the class (`api.runtimes`, `api.keyed`) submits into a list. After each row the length of the list is
    noted, which tells whose each value is and which turn it has among those of its row, over all output ports.
    The instance of a key is found once a tuple. A runtime whose model is checked on its first tuples takes these
    itself, one by one.

When it does not apply:
    `plan.python_classes` says why: classes that act by time, at the end or on markers, that have effects outside,
    or whose state others may share.

Preserves:
    The order of calls, of keys and of what leaves; the clock at each call; the memory, which is that of the runtime, so
    that a container can go on with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from types import FunctionType
from typing import Any

import numpy as np

from penstock.api.keyed.keyed_runtime import KeyedRuntime
from penstock.api.rows import ConformError, conformer
from penstock.codegen.functions.collecting import Collected
from penstock.codegen.functions.light_calls import LightCall, lighten_method
from penstock.codegen.functions.row_calls import (
    PIECE,
    Call,
    Columns,
    columns_of,
    make_own,
    own_values,
    rows_of,
    whole_columns,
)
from penstock.codegen.kernels.key_tables import AgingState
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Array, Places, merge
from penstock.expr.environment import Clock
from penstock.expr.vector.frame import Column
from penstock.toolkit.core.runtime import Runtime, Submit

Times = Callable[[Frame], Array]
"""The application's time at each row of a frame, in ns."""


class ClassCalls(AgingState):
    """The state of an operator that is a class of the user's, and the loop over it.

    Args:
        runtime: Of the operator, perhaps within one that checks its model on the first tuples; not connected yet.
        clock: That the instances see.
    """

    def __init__(self, runtime: Runtime, clock: Clock) -> None:
        self._runtime, self._clock = runtime, clock
        self._inputs = [port.schema for port in runtime.operator.inputs]
        self._outputs = [port.schema for port in runtime.operator.outputs]
        self._own: Call = make_own(self._outputs[0])
        self._sent: list[Any] = []
        self._ports: list[int] = []
        self._calls: Call | _Instances | None = None
        self._settled: Any = None
        self._found = Collected(self._outputs[0])
        self._light: Any = _UNKNOWN
        self._dropped = 0
        runtime.submit[:] = self._collectors()
        self._checked = [runtime.receiver(port) for port in range(len(self._inputs))]

    def snapshot(self) -> Any:
        """The memory of the runtime."""
        return self._runtime.snapshot()

    def restore(self, state: Any) -> None:
        """Go on with a memory."""
        self._runtime.restore(state)

    def stand_at(self, now_ns: int) -> None:
        """Set the clock of the instances."""
        self._clock.now_ns = now_ns

    def forget_expired(self, now_ns: int) -> int:
        """Drop the instances whose time to live is over; tells how many have been dropped since the last call."""
        runtime: Any = getattr(self._runtime, "inner", self._runtime)
        self._clock.now_ns = now_ns
        runtime.forget_expired()
        self._dropped, before = runtime.expired, self._dropped
        return int(runtime.expired - before)

    def process(self, times: Times, frames: Sequence[Frame]) -> list[Frame]:
        """The frames that the operator gives by each output port for those of its input ports."""
        if self._is_light():
            (frame,) = frames
            counts, columns = self._call_light(frame, times(frame))
            return [Given(frame.places, counts, joined([]), frame.marks).frame(0, columns)]
        places, rows = self._in_order(frames)
        counts, ports, made = self._call(rows, times(Frame(places, {})).tolist())
        given = Given(places, counts, ports, _merged_marks(frames))
        return [given.frame(port, columns) for port, columns in enumerate(made)]

    def _is_light(self) -> bool:
        """Whether the class takes values instead of rows; never while it is checked."""
        if getattr(self._runtime, "to_check", 0) or len(self._inputs) * len(self._outputs) != 1:
            return False
        calls = self._settle()
        if self._light is _UNKNOWN:
            self._light = self._lighten(calls)
        if self._light is not None:
            self._settled.submit[:] = [self._found.take]
        return self._light is not None

    def _lighten(self, calls: Call | _Instances) -> LightCall | None:
        is_keyed = isinstance(self._settled, KeyedRuntime)
        owner = self._settled.owner if is_keyed else type(self._settled.instance)
        if (is_keyed and not isinstance(calls, _Instances)) or _is_moving(owner):
            return None
        return lighten_method(inspect.getattr_static(owner, "process"), self._inputs[0])

    def _call_light(self, frame: Frame, when: Array) -> tuple[Array, dict[str, Column]]:
        """Call the operator with values: how many tuples each row gave, and their columns."""
        light, schema, is_keyed = self._light, self._inputs[0], isinstance(self._calls, _Instances)
        instances: Any = self._calls if is_keyed else {None: self._settled.instance}
        names = [schema.names[instances.place], *light.reads] if is_keyed else light.reads
        pieces: list[Columns] = []
        counts: list[Array] = []
        for at in range(0, len(frame), PIECE):
            at_ns = when[at : at + PIECE].tolist()
            lists = [own_values(frame[name][at : at + PIECE], schema.attribute(name).type) for name in names]
            keys = [] if is_keyed else [repeat(None, len(at_ns))]
            rows = self._timed(zip(*keys, *lists, strict=True), at_ns)
            self._found.call("many", light.call, rows, len(light.reads), instances)
            counts.append(np.diff(self._found.ends, prepend=0))
            pieces.append(self._found.columns())
        return joined(counts), whole_columns(pieces, self._outputs[0])

    def _call(self, rows: Iterator[Any], when: Sequence[int]) -> tuple[Array, Array, list[dict[str, Column]]]:
        """Call the operator for rows: how many values each gave, by which port each leaves, the columns of ports."""
        made: list[list[Columns]] = [[] for _ in self._outputs]
        counts: list[Array] = []
        ports: list[Array] = []
        for start in range(0, len(when), PIECE):
            counts.append(np.diff(self._take(rows, when[start : start + PIECE]), prepend=0))
            ports.append(np.array(self._ports, np.int64))
            for port, columns in enumerate(self._columns()):
                made[port].append(columns)
        whole = [whole_columns(parts, schema) for parts, schema in zip(made, self._outputs, strict=True)]
        return joined(counts), joined(ports), whole

    def _in_order(self, frames: Sequence[Frame]) -> tuple[Places, Iterator[Any]]:
        """The places of all rows in the sequential order, and the rows, each with its port if there are several."""
        rows = [chain.from_iterable(rows_of(f, schema)) for f, schema in zip(frames, self._inputs, strict=True)]
        if len(frames) == 1:
            return frames[0].places, rows[0]
        places, order = merge([frame.places for frame in frames])
        ports = np.repeat(np.arange(len(frames)), [len(frame) for frame in frames])[order]
        # The rows of a port are in order already, so the next one is always the one that is wanted.
        return places, ((port, next(rows[port])) for port in ports.tolist())

    def _take(self, rows: Iterator[Any], when: Sequence[int]) -> list[int]:
        """Let the operator take a row at each of some times; returns how much it has given after each."""
        self._sent.clear()
        self._ports.clear()
        ends: list[int] = []
        first = min(getattr(self._runtime, "to_check", 0), len(when))
        try:
            if first:
                self._loop(self._timed(rows, when[:first]), self._check, ends)
            if len(when) > first:
                self._take_settled(self._timed(rows, when[first:]), ends)
        except Exception:
            self._conform()  # what was given before fails first, if it does not fit
            raise
        return ends

    def _timed(self, rows: Iterator[Any], when: Sequence[int]) -> Iterable[Any]:
        """The next rows, for each of which the clock is set."""
        self._clock.now_ns = when[0]
        return islice(rows, len(when)) if when[0] == when[-1] else _at_times(rows, when, self._clock)

    def _take_settled(self, rows: Iterable[Any], ends: list[int]) -> None:
        """Take rows once nothing is checked any more."""
        calls = self._settle()
        if isinstance(calls, _Instances):
            self._loop_by_key(rows, calls, ends)
        else:
            self._loop(rows, calls, ends)

    def _settle(self) -> Call | _Instances:
        """Let the runtime that was checked step aside; what to call then."""
        if self._calls is None:
            runtime: Any = getattr(self._runtime, "settled", self._runtime)
            runtime.submit[:] = self._collectors()
            self._settled = runtime
            self._calls = calls_by_key(runtime) if isinstance(runtime, KeyedRuntime) else _by_instance(runtime)
        return self._calls

    def _loop(self, rows: Iterable[Any], call: Call, ends: list[int]) -> None:
        sent, note, send, own = self._sent, ends.append, self._runtime.submit[0], self._own
        for row in rows:
            given = call(row)
            if given:
                for value in given:
                    send(own(value))
            note(len(sent))

    def _loop_by_key(self, rows: Iterable[Any], instances: _Instances, ends: list[int]) -> None:
        """The same for a key that is one attribute, the common case, with nothing called in between."""
        send: Call = self._runtime.submit[0]
        sent, note, place = self._sent, ends.append, instances.place
        own = self._own
        for row in rows:
            given = instances[row[place]].process(row)
            if given:
                for value in given:
                    send(own(value))
            note(len(sent))

    def _check(self, row: Any) -> None:
        """Let the runtime itself take a row."""
        port, tuple_ = (0, row) if len(self._inputs) == 1 else row
        self._checked[port](tuple(tuple_))

    def _collectors(self) -> list[Submit]:
        """The functions in the place of the output streams."""
        if len(self._outputs) == 1:
            return [self._sent.append]
        return [_collector(self._sent, self._ports, port) for port in range(len(self._outputs))]

    def _columns(self) -> list[Columns]:
        """What was given by each port, as columns."""
        try:
            if len(self._outputs) == 1:
                return [columns_of(self._sent, self._outputs[0])]
            return [columns_of(list(self._of_port(port)), schema) for port, schema in enumerate(self._outputs)]
        except ConformError:
            self._conform()
            raise

    def _of_port(self, port: int) -> Iterator[Any]:
        return (value for value, by in zip(self._sent, self._ports, strict=True) if by == port)

    def _conform(self) -> None:
        """Fail on the first value that does not fit, if there is one."""
        conform = [conformer(schema) for schema in self._outputs]
        for value, port in zip(self._sent, self._ports or [0] * len(self._sent), strict=True):
            conform[port](value)


_UNKNOWN = object()


def _is_moving(owner: type) -> bool:
    """Whether a class may call another method than `process` of its own for a tuple."""
    watched: Any = owner.__getattribute__
    if hasattr(owner, "__getattr__") or watched is not object.__getattribute__:
        return True
    methods = [f for class_ in owner.__mro__ for f in vars(class_).values() if isinstance(f, FunctionType)]
    return any("process" in f.__code__.co_names for f in methods if not f.__module__.startswith("penstock.api"))


def _collector(sent: list[Any], ports: list[int], port: int) -> Submit:
    def collect(value: Any) -> None:
        sent.append(value)
        ports.append(port)

    return collect


def _by_instance(runtime: Any) -> Call:
    """The call of the only instance."""
    instance = runtime.instance
    if len(runtime.operator.inputs) == 1:
        return lambda row: instance.process(row)
    return lambda row: instance.process_port(row[1], row[0])


class _Instances(dict[Any, Any]):
    """The instances of a class by key, each found when its key first comes.

    Args:
        runtime: Finds them.
        place: The position of the attribute that is the key; -1 if it is made of several.
    """

    def __init__(self, runtime: KeyedRuntime, place: int) -> None:
        super().__init__()
        self.place = place
        self._runtime = runtime

    def __missing__(self, key: Any) -> Any:
        found = self[key] = self._runtime.instance_for(key if self.place < 0 else (key,))
        return found


def calls_by_key(runtime: KeyedRuntime) -> Call | _Instances:
    """The call of the instance of a row's key; the instances where the key is a plain attribute of one port."""
    key_of = runtime.key_of
    if runtime.ttl_ns is not None:
        # Each tuple is asked for its instance anew: it may have expired, and lives on with the tuple.
        if len(key_of) == 1:
            return lambda row: runtime.instance_for(key_of[0](row)).process(row)
        return lambda row: runtime.instance_for(key_of[row[0]](row[1])).process_port(row[1], row[0])
    if len(key_of) == 1 and len(runtime.names) == 1 and not runtime.has_floats:
        return _Instances(runtime, runtime.operator.inputs[0].schema.position[runtime.names[0]])
    instances, own_key = _Instances(runtime, -1), key_of[0]
    if len(key_of) == 1:
        return lambda row: instances[own_key(row)].process(row)
    return lambda row: instances[key_of[row[0]](row[1])].process_port(row[1], row[0])


def _at_times(rows: Iterator[Any], when: Sequence[int], clock: Clock) -> Iterator[Any]:
    for now_ns, row in zip(when, rows, strict=False):
        clock.now_ns = now_ns
        yield row


class Given:
    """Where the values that an operator gave for the rows of a batch stand.

    Args:
        places: Of the rows.
        counts: How many values were given for each.
        ports: Of each value, by which it leaves; empty if there is one port.
        marks: The window markers, which leave by every port.
    """

    def __init__(self, places: Places, counts: Array, ports: Array, marks: Places | None) -> None:
        self._places, self._ports, self._marks = places, ports, marks
        self._at = np.repeat(np.arange(len(counts)), counts)
        self._turns = np.arange(len(self._at)) - np.repeat(np.cumsum(counts) - counts, counts)
        self._is_one = bool((counts == 1).all())
        self._is_one_at_most = not self._turns.any()

    def frame(self, port: int, columns: dict[str, Any]) -> Frame:
        """The values that leave by a port."""
        if len(self._ports):
            mine = self._ports == port
            places = self._places.take(self._at[mine]).under(self._turns[mine])
        elif self._is_one:
            places = self._places
        else:
            places = self._places.take(self._at)
            places = places if self._is_one_at_most else places.under(self._turns)
        return Frame(places, columns, None if self._marks is None else self._marks.under(port))


def joined(parts: Sequence[Array]) -> Array:
    """Arrays of whole numbers as one."""
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _merged_marks(frames: Sequence[Frame]) -> Places | None:
    marks = [frame.marks for frame in frames if frame.marks is not None]
    return marks[0] if len(marks) == 1 else merge(marks)[0] if marks else None
