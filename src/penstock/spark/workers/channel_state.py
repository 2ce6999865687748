"""The state of one channel of a PE: in Spark's store, and in files that the workers of a machine share.

The store has the head of the state and its entries (`runtime.pes.state_log`) in a map. A batch reads the head alone
where the files (`runtime.pes.table_files`) are those of that head, and writes what it has changed.
"""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from pyspark import SparkFiles

from penstock.base.diagnostics import UserError
from penstock.runtime.pes import state_log
from penstock.runtime.pes.held_state import check_limit, measure_state
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.reports import Counts
from penstock.runtime.pes.state_log import Head
from penstock.runtime.pes.table_files import TableFiles
from penstock.spark.workers.state_mark import StateMark

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState

STATE_VERSION = 4

HEAD = ""
"""The name of the entry that is the head."""


class ChannelState:
    """The state that an instance goes on from and leaves behind; a context, in which a batch is processed.

    Args:
        entries: Of Spark's store.
        instance: That processes the batch.
        folder: For the files.
        mark: What the state must have been written under, where no checkpoint of ours says it.
    """

    def __init__(self, entries: MapState, instance: PEInstance, folder: Path, mark: StateMark | None = None) -> None:
        self._entries = _Entries(entries, is_marked=mark is not None)
        self._mark = mark
        self._instance = instance
        self._files = TableFiles(folder) if instance.tables else None
        self._head = Head()
        self._exits = ExitStack()

    def __enter__(self) -> ChannelState:
        if self._files is not None:
            self._exits.enter_context(self._files)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, t: TracebackType | None) -> None:
        self._exits.close()

    def resume(self) -> bool:
        """Let the instance go on from what is stored; tells whether there is anything."""
        stored = self._entries.find(HEAD)
        if stored is None:
            return False
        version, form, data = pickle.loads(stored)
        check_form(version, form, self._instance.module.form)
        _, _, self._head, *code = pickle.loads(data)
        if self._mark is not None:
            self._mark.check_code(*code)
        if self._files is None or not self._files.attach(self._instance, self._head, self._entries):
            state_log.resume(self._instance, self._head, self._entries)
        return True

    def store(self, pe: int, channel: int, limit: int | None = None) -> Counts:
        """Store what the batch has changed; returns how many keys and bytes each operator holds.

        Raises:
            UserError: That is more than a channel may hold.
        """
        has_changed = state_log.record(self._instance, self._head, self._entries)
        held = measure_state(self._instance, len(self._head.outline))
        check_limit(held, limit, channel)
        if has_changed:
            code = () if self._mark is None else (self._mark.code,)
            data = pickle.dumps((pe, channel, self._head, *code), protocol=5)
            self._entries.put(HEAD, pickle.dumps((STATE_VERSION, self._instance.module.form, data), protocol=5))
        if self._files is not None:
            self._files.hold(self._instance)
            self._files.keep(self._instance, self._head.stamp)
        return held

    @property
    def held(self) -> Counts:
        """How many keys and bytes each operator holds, as far as that is known in the middle of a batch."""
        return measure_state(self._instance, len(self._head.outline))

    @property
    def size(self) -> int:
        """The bytes of the state: of its head, and of the rows of its tables."""
        return len(self._head.outline) + sum(table.count_bytes() for table in self._instance.tables.values())


class _Entries:
    """The entries in Spark's store."""

    def __init__(self, entries: MapState, *, is_marked: bool) -> None:
        self._entries = entries
        # The column of the mark has a type that tells something, and no value.
        self._rest = (None,) if is_marked else ()

    def find(self, name: str) -> bytes | None:
        found = self._entries.getValue((name,))
        return None if found is None else bytes(found[0])

    def get(self, name: str) -> bytes:
        found = self.find(name)
        assert found is not None, f"there is no entry `{name}`"
        return found

    def put(self, name: str, entry: bytes) -> None:
        self._entries.updateValue((name,), (entry, *self._rest))

    def remove(self, name: str) -> None:
        self._entries.removeKey((name,))


def files_folder(identity: tuple[str, int, int], channel: int) -> Path:
    """Where the files of a channel are: in a folder of Spark's own, which it removes in the end.

    Args:
        identity: The path of a program, when it was written, and the PE.
        channel: Of the PE.
    """
    program, written_ns, pe = identity
    return files_of(program) / f"{written_ns}-{pe}-{channel}"


def files_of(program: str) -> Path:
    """Where the files of all channels of a program are."""
    name = blake2b(program.encode(), digest_size=12).hexdigest()
    return Path(SparkFiles.getRootDirectory()) / "penstock-state" / name


def check_form(version: int, form: str, wanted: str) -> None:
    """Refuse state that another version, or another kind of instance, has stored.

    Raises:
        UserError: The state cannot be read.
    """
    if (version, form) != (STATE_VERSION, wanted):
        raise UserError(
            f"the state is of version {version} by a {form}, this is version {STATE_VERSION} by a {wanted}",
            hint="resume it with the version of penstock that wrote it, or start with a new checkpoint folder",
        )
