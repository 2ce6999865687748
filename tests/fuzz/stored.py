"""Channels whose state lies where Spark's workers have it: in a store of heads and entries, and in files.

Each batch is processed by a fresh instance, as by another worker. Some are tried several times, and what fails leaves
its files behind. Of what lies in the files anything may be lost or be that of another time; the store decides.
"""

from __future__ import annotations

import errno
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

from penstock.codegen.kernels import growing_arrays
from penstock.local.channel import Values
from penstock.local.line import Line
from penstock.runtime.pes import state_log
from penstock.runtime.pes.entry_bytes import decode_entry
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.spark.workers.channel_state import HEAD, ChannelState


def store_channels(line: Line, folder: Path, rng: Random) -> None:
    """Let the channels of a line with state have it in a store."""
    for index, pe in line._pes._pes.items():
        if pe.is_stateful:
            pe._fresh = _maker(pe._make, pe._width, folder / str(index), rng)
            pe.restore(())


def _maker(make: Callable[[], PEInstance], width: int, folder: Path, rng: Random) -> Callable[[], list[StoredChannel]]:
    return lambda: [StoredChannel(make, folder / str(channel), rng) for channel in range(width)]


@dataclass
class Store:
    """What Spark's store has of a channel, as far as `ChannelState` asks for it."""

    entries: dict[str, bytes] = field(default_factory=dict)

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        return (self.entries[key[0]],) if key[0] in self.entries else None

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.entries[key[0]] = value[0]

    def removeKey(self, key: tuple[str]) -> None:
        del self.entries[key[0]]

    def copied(self) -> Store:
        return Store(dict(self.entries))


class StoredChannel:
    """One channel of a PE; it has what a `Channel` of the local engine has.

    Args:
        make: Makes an instance of the PE.
        folder: For the files.
        rng: Tells what goes wrong.
        initial: The state of a savepoint that it begins with, if there is one.
        compares: Whether what is stored is compared with what the instance knows, where that is plain data.
    """

    def __init__(
        self,
        make: Callable[[], PEInstance],
        folder: Path,
        rng: Random,
        initial: Callable[[], Any] | None = None,
        *,
        compares: bool = True,
    ) -> None:
        self._make = make
        self._folder = folder
        self._rng = rng
        self._initial = initial
        self._compares = compares
        self._store = self.nothing

    @property
    def nothing(self) -> Store:
        """What the store has of it in the beginning."""
        return Store()

    def process(self, values: Values) -> Iterator[tuple[int, list[bytes]]]:
        """Take a batch, after some attempts that are given up."""
        if not values:
            return iter(())
        disturb(self._folder, self._rng)
        largest = self._rng.choice([100, 1000, state_log.LARGEST_ENTRY])
        others: list[Store] = []
        with patch.object(state_log, "LARGEST_ENTRY", largest), ExitStack() as twins, _full_disk(self._rng):
            for _ in range(self._rng.choice([0, 0, 0, 1, 2])):
                self._give_up(values, twins, others)
            found, left = self._attempt(values)
            if self._rng.random() < 0.1:
                self._give_up(values, twins, others)
        # Spark may put the state together from what several attempts have stored.
        assert all(same(_content(other), _content(found)) for other in others), "attempts have stored other entries"
        self._store = found
        return iter(left)

    def _attempt(self, values: Values) -> tuple[Store, list[tuple[int, list[bytes]]]]:
        store, instance = self._store.copied(), self._make()
        with ChannelState(store, instance, self._folder) as state:
            self._resume(state, instance)
            if self._rng.random() < 0.03:
                shutil.rmtree(self._folder, ignore_errors=True)
            left = list(instance.process_batch(values))
            state.store(0, 0)
        if self._compares:
            _check_stored(store, instance, self._make)
        instance.close()
        return store, left

    def _resume(self, state: ChannelState, instance: PEInstance) -> None:
        if not state.resume() and self._initial is not None:
            instance.restore(self._initial())

    def _give_up(self, values: Values, twins: ExitStack, others: list[Store]) -> None:
        """Attempt a batch and fail in the middle of it, or behind it; or still run while another one attempts it."""
        store, instance = self._store.copied(), self._make()
        state = ChannelState(store, instance, self._folder)
        state.__enter__()
        self._resume(state, instance)
        how = self._rng.choice(["before", "processed", "stored", "still runs", "still runs"])
        if how == "still runs":
            others.append(store)
            twins.callback(_run_on, state, instance, values)
            return
        if how != "before":
            list(instance.process_batch(values))
        if how == "stored":
            others.append(store)
            state.store(0, 0)
        state.__exit__(None, None, None)

    def snapshot(self) -> Any:
        """What the store has."""
        return self._store.copied()

    def restore(self, state: Any) -> None:
        """Have that in the store."""
        self._store = state

    def close(self) -> None:
        """Nothing is open."""


def _run_on(state: ChannelState, instance: PEInstance, values: Values) -> None:
    list(instance.process_batch(values))
    state.store(0, 0)
    state.__exit__(None, None, None)


def _content(store: Store) -> dict[str, Any]:
    return {name: decode_entry(entry) for name, entry in sorted(store.entries.items()) if name != HEAD}


def _check_stored(store: Store, instance: PEInstance, make: Callable[[], PEInstance]) -> None:
    """What the store holds is what the instance knows."""
    _, _, data = pickle.loads(store.entries[HEAD])
    _, _, head = pickle.loads(data)
    again = make()
    again.restore(state_log.read(head, store.entries.__getitem__))
    for wanted, found in zip(instance.snapshot()["pieces"], again.snapshot()["pieces"], strict=True):
        # Of what a container restores dictionaries may have another order.
        assert "operators" not in wanted or same(wanted, found), "the store has another state than the instance"
    assert set(store.entries) == {HEAD} | {
        state_log.entry_name(name, number) for name, log in head.logs.items() for number in log.entries
    }, "the store has other entries than its head says"
    again.close()


def same(one: Any, other: Any) -> bool:
    """Whether two states are the same plain data."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        if one.dtype == object:
            return same(one.tolist(), other.tolist())
        return one.tobytes() == other.tobytes()
    if isinstance(one, dict):
        return isinstance(other, dict) and list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)):
        return isinstance(other, type(one)) and len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one == other or repr(one) == repr(other))


@contextmanager
def _full_disk(rng: Random) -> Iterator[None]:
    """Sometimes there is no room in files, now and then or at all."""
    share = rng.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.3, 1.0])
    allocate = growing_arrays._allocate

    def fail(file: int, size: int) -> None:
        if rng.random() < share:
            raise OSError(errno.ENOSPC, "no space left on device")
        allocate(file, size)

    with patch.object(growing_arrays, "_allocate", fail):
        yield


def disturb(folder: Path, rng: Random) -> None:
    """Let something happen to the files of a channel, if seldom."""
    if rng.random() < 0.3 and folder.is_dir():
        rng.choice(_FAULTS)(folder, rng)


def _lose_all(folder: Path, rng: Random) -> None:
    shutil.rmtree(folder)


def _lose_one(folder: Path, rng: Random) -> None:
    if files := _files(folder):
        rng.choice(files).unlink()


def _cut_one(folder: Path, rng: Random) -> None:
    if files := _files(folder):
        chosen = rng.choice(files)
        os.truncate(chosen, chosen.stat().st_size // 2 if rng.random() < 0.5 else 0)


def _block_one(folder: Path, rng: Random) -> None:
    """Let a folder stand where a file was."""
    if files := _files(folder):
        chosen = rng.choice(files)
        chosen.unlink()
        chosen.mkdir()


def _block_stamp(folder: Path, rng: Random) -> None:
    chosen = folder / rng.choice(["stamp", "stamp.part", "lock"])
    if chosen.is_dir():
        shutil.rmtree(chosen)
    else:
        chosen.unlink(missing_ok=True)
        chosen.mkdir()
        (chosen / "full").touch()


def _be_a_file(folder: Path, rng: Random) -> None:
    shutil.rmtree(folder)
    folder.touch()


def _spoil_stamp(folder: Path, rng: Random) -> None:
    if (folder / "stamp").is_file():
        data = (folder / "stamp").read_bytes()
        (folder / "stamp").write_bytes(rng.choice([b"", b"\x80\x05K\x01.", data[: len(data) // 2], data + b"x"]))


def _go_back(folder: Path, rng: Random) -> None:
    """Put files of another time or another channel in the place of these."""
    kept = folder.parent / "kept"
    if kept.exists():
        shutil.rmtree(folder)
        shutil.move(kept, folder)
    else:
        shutil.copytree(folder, kept)


def _swap(folder: Path, rng: Random) -> None:
    others = [p for p in folder.parent.iterdir() if p.is_dir() and p != folder]
    if others:
        shutil.rmtree(folder)
        shutil.copytree(rng.choice(others), folder)


def _files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.glob("*/*") if p.is_file())


_FAULTS = (_lose_all, _lose_one, _cut_one, _block_one, _block_stamp, _be_a_file, _spoil_stamp, _go_back, _swap)
