"""One channel of a PE that lives as long as the run.

Introduction:
    Generated code that fails is run again from the state before the batch to find the tuple (`codegen.run.failing`). On
    Spark that state comes from the store with every batch. Here an instance keeps its state from batch to batch, and
    writing all of it down for each would cost as much as it holds, however little a batch touches.

Formulation:
    What is kept is a base, a snapshot of some batch boundary, and a journal, the batches since. When the journal has
    grown longer than the base, a new base is taken and the journal begins anew. So snapshots cost a constant for each
    byte that has come, and what is kept is at most twice as large as the state, or a few megabytes.

When it does not apply:
    PEs without state need no base. Where operators have effects outside, nothing is run again, and where the state
    cannot be stored, neither: the failure then names the operator and the cause, and perhaps not the tuple.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.reference.failure import OperatorFailed
from penstock.runtime.pes.pe_instance import PEInstance

JOURNAL_BYTES = 8 << 20
"""How long a journal may get, however small the base is."""

Values = list[tuple[int, bytes]]
"""(edge, IPC stream) pairs of a batch."""


class Channel:
    """One channel of a PE.

    Args:
        make: Makes an instance of the PE.
        repeats: Whether its batches may be run again to find the tuple that fails.
    """

    def __init__(self, make: Callable[[], PEInstance], *, repeats: bool) -> None:
        self._make = make
        self._instance = make()
        self._repeats = repeats
        self._base: bytes | None = None
        self._journal: list[Values] = []
        self._size = 0

    def process(self, values: Values) -> Iterator[tuple[int, list[bytes]]]:
        """Take a batch; yields a report, and what leaves.

        Raises:
            OperatorFailed: An operator failed; the message is that of the reference interpreter.
        """
        try:
            left = list(self._instance.process_batch(values))
        except OperatorFailed as failure:
            raise self._find(values) or failure from failure.__cause__
        self._note(values)
        return iter(left)

    def snapshot(self) -> dict[str, Any]:
        """The state, as plain data."""
        return self._instance.snapshot()

    def restore(self, state: dict[str, Any]) -> None:
        """Resume where a channel stood when this was its snapshot."""
        self._instance.restore(state)
        self._base, self._journal, self._size = pickle.dumps(state, protocol=5), [], 0

    def close(self) -> None:
        """Let go of what operators have open."""
        self._instance.close()

    def _note(self, values: Values) -> None:
        if not self._repeats:
            return
        self._journal.append(values)
        self._size += sum(len(value) for _, value in values)
        if self._size > max(JOURNAL_BYTES, len(self._base or b"")):
            try:
                self._base = pickle.dumps(self.snapshot(), protocol=5)
            except UserError:
                self._repeats = False
            self._journal, self._size = [], 0

    def _find(self, values: Values) -> OperatorFailed | None:
        """The failure of a batch, by an instance that has just come to it; None if it knows no more than the first."""
        is_first = self._base is None and not self._journal
        if not self._repeats or is_first:
            return None
        try:
            state = self._base
            for batch in self._journal:
                instance = self._at(state)
                list(instance.process_batch(batch))
                state = pickle.dumps(instance.snapshot(), protocol=5)
            list(self._at(state).process_batch(values))
        except OperatorFailed as failure:
            return failure
        except UserError:
            return None
        return None

    def _at(self, state: bytes | None) -> PEInstance:
        instance = self._make()
        if state is not None:
            instance.restore(pickle.loads(state))
        return instance
