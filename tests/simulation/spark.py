"""What stands in for Spark: the logs of a query, its store of state by version, and what it does with tasks.

Of Spark this has what jobs rely on: an entry of `offsets` is written before a batch runs and one of `commits` when it
is done; a batch that is not done runs again from the state behind the one before it; rows that tasks send arrive in
any order; a task may be run several times, of which one counts.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from fuzz.stored import Store, StoredChannel
from penstock.codegen.transport.batches import REPORT, values_as_rows
from penstock.local.channel import Values
from penstock.local.pes import PEs, _Arrived
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.state_log import read
from penstock.runtime.sinks.task_parts import TaskSinks, write_rows
from penstock.spark.job.query import Job
from penstock.spark.workers.channel_state import HEAD
from penstock.spark.workers.initial_state import INITIAL, read_initial

from .history import History

States = dict[tuple[int, int], Any]
"""By PE and channel what the store has of it."""

_HEAD = 'v1\n{"batchWatermarkMs":0,"batchTimestampMs":0}\n'


class Query:
    """The logs of a query under a checkpoint, and its states.

    Args:
        folder: Spark's own, inside the checkpoint.
        stores: The states behind each number of batches, by query; what is in them survives everything.
    """

    def __init__(self, folder: Path, stores: dict[str, dict[int, States]]) -> None:
        self._folder = folder
        for name in ("offsets", "commits"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        metadata = folder / "metadata"
        if not metadata.exists():
            metadata.write_text(json.dumps({"id": f"query {len(stores)}"}))
        self.states = stores.setdefault(json.loads(metadata.read_text())["id"], {0: {}})

    @property
    def done(self) -> int:
        """How many batches are done."""
        return 1 + max((int(path.name) for path in (self._folder / "commits").iterdir()), default=-1)

    def offset(self, batch: int) -> dict[str, int] | None:
        """How far the sources are behind a batch; None if it has not begun."""
        path = self._folder / "offsets" / str(batch)
        return json.loads(path.read_text().splitlines()[2]) if path.exists() else None

    def begin(self, batch: int, offset: dict[str, int]) -> None:
        """Note what a batch is made of."""
        (self._folder / "offsets" / str(batch)).write_text(f"{_HEAD}{json.dumps(offset)}")

    def commit(self, batch: int) -> None:
        """Note that a batch is done."""
        (self._folder / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')


def read_states(stores: dict[str, dict[int, States]], folder: Path) -> States:
    """The state of each PE and channel behind the last batch that is done, as Spark's reader of stores gives it."""
    query = Query(folder, stores)
    return {place: _state(held) for place, held in query.states[query.done].items()}


def _state(held: Store | bytes) -> Any:
    if isinstance(held, bytes):
        return pickle.loads(held)
    _, _, data = pickle.loads(held.entries[HEAD])
    return read(pickle.loads(data)[2], held.entries.__getitem__)


class Workers:
    """The tasks of a job.

    Args:
        job: The job.
        history: Where state lies, and whether rows arrive in disorder.
        files: A folder for the files of states.
    """

    def __init__(self, job: Job, history: History, files: Path) -> None:
        self._rng = Random(f"workers {history.seed} {job.first_batch}")
        self._mixes = history.mixes
        self._pes = PEs(job.program, job.plan, job.build.pieces, job.environment)
        for index, pe in self._pes._pes.items():
            if pe.is_stateful:
                make = partial(self._channel, job, history, files / f"{job.first_batch}-{index}", index, pe._make)
                pe._fresh = lambda make=make, width=pe._width: [make(channel) for channel in range(width)]
                pe.restore(())

    def _channel(
        self, job: Job, history: History, files: Path, pe: int, make: Callable[[], PEInstance], channel: int
    ) -> StoredChannel | _WholeChannel:
        initial = partial(read_initial, job.checkpoint / INITIAL, pe, channel) if job.first_batch else None
        if history.stores:
            rng = self._rng if history.disturbs else _Calm()
            return StoredChannel(make, files / str(channel), rng, initial, compares=False)
        return _WholeChannel(make, initial)

    def process(
        self, rows: Iterable[pa.RecordBatch], before: States, step: Callable[[], None], sinks: TaskSinks, batch: int
    ) -> tuple[Values, States]:
        """What a batch sends to the driver, and the states behind it."""
        arrived = _Mixed(self._rng) if self._mixes else _Arrived()
        for some in rows:
            arrived.add(some)
        after = dict(before)
        for index, pe in self._pes._pes.items():
            step()
            if pe.is_stateful:
                for channel, held in enumerate(pe._channels):
                    held._store = before.get((index, channel), held.nothing)
            else:
                pe.restore(())
            pe.take(arrived)
            if pe.is_stateful:
                for channel, held in enumerate(pe._channels):
                    after[index, channel] = held._store
        step()
        return list(self._through_tasks(arrived.rest(), sinks, batch)), after

    def close(self) -> None:
        """Let go of what operators have open."""
        self._pes.close()

    def _through_tasks(self, values: Values, sinks: TaskSinks, batch: int) -> Iterator[tuple[int, bytes]]:
        """What goes on to the driver when a task has written what it may, perhaps twice."""
        if not sinks.edges:
            yield from values
            return
        attempts = 2 if self._mixes and self._rng.random() < 0.3 else 1
        for _ in range(attempts):
            rows = list(write_rows(sinks, batch, [values_as_rows(edge, [value]) for edge, value in values]))
        for row in rows:
            yield from zip(row.column("edge").to_pylist(), row.column("tuples").to_pylist(), strict=True)


class _Mixed(_Arrived):
    """Rows that arrive in any order; reports stay in theirs."""

    def __init__(self, rng: Random) -> None:
        super().__init__()
        self._rng = rng

    def take(self, edges: Iterable[int], channels: int) -> list[Values]:
        return [self._mix(values) for values in super().take(edges, channels)]

    def rest(self) -> Values:
        return self._mix(super().rest())

    def _mix(self, values: Values) -> Values:
        tuples = [value for value in values if value[0] != REPORT]
        self._rng.shuffle(tuples)
        return [*tuples, *(value for value in values if value[0] == REPORT)]


class _WholeChannel:
    """One channel of a PE whose state is stored as a whole, and processed by a fresh instance each time."""

    nothing = None

    def __init__(self, make: Callable[[], PEInstance], initial: Callable[[], Any] | None) -> None:
        self._make, self._initial = make, initial
        self._store: bytes | None = None

    def process(self, values: Values) -> Iterator[tuple[int, list[bytes]]]:
        """Take a batch."""
        if not values:
            return iter(())
        instance = self._make()
        if self._store is not None:
            instance.restore(pickle.loads(self._store))
        elif self._initial is not None:
            instance.restore(self._initial())
        left = list(instance.process_batch(values))
        self._store = pickle.dumps(instance.snapshot(), protocol=5)
        instance.close()
        return iter(left)

    def close(self) -> None:
        """Nothing is open."""


class _Calm(Random):
    """Chooses what is usual."""

    def random(self) -> float:
        return 1.0

    def choice(self, options: Any) -> Any:
        return options[0] if 0 in options or 0.0 in options else options[-1]
