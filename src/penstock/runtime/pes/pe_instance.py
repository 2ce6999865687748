"""An instance of a PE: its state on one channel, and the module that works on it.

It takes and gives encoded values by edge. Its pieces work one after the other: generated ones, and containers. If
generated code fails, `codegen.run.failing` finds the tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from penstock.codegen.run.failing import find_failing
from penstock.codegen.run.loaded_module import OperatorError
from penstock.codegen.run.piece_entry import dealt_out
from penstock.codegen.run.piece_instance import PieceInstance, check_version
from penstock.codegen.transport.batches import REPORT
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container_instance import ContainerInstance, Left, Values
from penstock.runtime.pes.failures import told
from penstock.runtime.pes.pe_module import PEModule
from penstock.runtime.pes.reports import Report, decode_report

STATE_VERSION = 3

FallBack = Callable[[Values], Left]
"""Takes a batch with a fresh container of the same PE."""


class PEInstance:
    """The state of a PE on one channel.

    Args:
        module: The code.
        fall_back: Takes a batch on which generated code failed.
    """

    def __init__(self, module: PEModule, fall_back: FallBack) -> None:
        self.module = module
        self._pe = module.pieces.plan.pes[module.pieces.pe]
        self._dealt = module.pieces.dealt
        self._inner = {edge.index for edge in module.pieces.plan.edges if edge.consumer in module.pieces.made}
        self._instances = {piece: module.instance(piece) for piece in module.pieces.made}
        self._fall_back = fall_back
        self._before: dict[int, Any] | None = {}
        self._fed: dict[int, list[tuple[int, bytes]]] = {piece: [] for piece in self._instances}

    def process_batch(self, values: Values) -> Left:
        """Take a batch, or the next part of one in the sequential order; yields a report, and what leaves.

        Raises:
            OperatorFailed: An operator failed.
        """
        arriving = list(values)
        self._fed = {piece: [] for piece in self._instances}
        try:
            report, left = self._take(arriving)
        except OperatorError as error:
            if isinstance(error.error, OperatorFailed):
                # A model that was found to be wrong: nobody else may find it right.
                raise error.error from None
            # Without state a container has the last word.
            if self._pe.role == "stateless":
                yield from self._fall_back(arriving)
                return
            raise self._told(error) from error.error
        # Where it stands now is written down only if somebody asks.
        self._before = None
        yield REPORT, report.encode()
        yield from left

    def _told(self, error: OperatorError) -> OperatorFailed:
        """A failure of generated code in the words of the reference interpreter, as far as it can be found again."""
        piece = self.module.pieces.plan.home[error.operator]
        if self._before is not None:
            found = find_failing(self.module.modules[piece], self._before.get(piece), self._fed[piece])
            if found is not None:
                return told(self.module.program, self.module.modules[piece].code, found)
        return OperatorFailed(self.module.program.application.operator[error.operator], reason_of(error.error))

    def _take(self, arriving: Sequence[tuple[int, bytes]]) -> tuple[Report, list[tuple[int, list[bytes]]]]:
        """Let piece after piece take its edges."""
        waiting = list(dealt_out(arriving, self._dealt))
        report, left = Report(pe=self.module.pieces.pe), []
        for piece, instance in self._instances.items():
            if self._pe.role != "stateless" and piece in self.module.modules:
                self._fed[piece] += waiting
            told, found = _taken(instance, waiting)
            report = _added(report, told)
            for edge, values in found:
                if edge in self._inner:
                    waiting += [(edge, value) for value in values]
                else:
                    left.append((edge, values))
        return report, left

    def keep_containers(self) -> None:
        """Let the containers of a PE without state, which have done their work, serve another batch."""
        for piece, instance in self._instances.items():
            if isinstance(instance, ContainerInstance) and instance.may_be_kept:
                instance.rewind()
                self.module.kept[piece] = instance

    def snapshot(self) -> dict[str, Any]:
        """The state, as plain data."""
        return {"version": STATE_VERSION, "pieces": [i.snapshot() for i in self._instances.values()]}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped.

        Raises:
            UserError: The state was written by another version.
        """
        check_version(state, STATE_VERSION)
        self._before = {}
        for (piece, instance), remembered in zip(self._instances.items(), state["pieces"], strict=True):
            instance.restore(remembered)
            self._before[piece] = remembered

    def close(self) -> None:
        """Let go of what operators have open; only those in containers can have anything."""
        for instance in self._instances.values():
            if isinstance(instance, ContainerInstance):
                instance.close()


def _taken(instance: PieceInstance | ContainerInstance, values: Values) -> tuple[Report, list[tuple[int, list[bytes]]]]:
    """The report of a piece, and what leaves it."""
    if isinstance(instance, ContainerInstance):
        (_, reports), *left = instance.process_batch(values)
        return reduce(_added, map(decode_report, reports)), left
    left = list(instance.take(values))
    collected = () if instance.signals is None else (instance.signals.take().to_json(),)
    return Report(pe=0, received=instance.received, submitted=instance.submitted, signals=collected), left


def _added(report: Report, more: Report) -> Report:
    """The report of several pieces; no operator is in two of them."""
    return replace(
        report,
        received=report.received | more.received,
        submitted=report.submitted | more.submitted,
        dead_letters=report.dead_letters + more.dead_letters,
        prints=report.prints + more.prints,
        signals=report.signals + more.signals,
    )
