"""A generated PE in the place of a container.

It takes and gives what a container does. Where only some operators of the PE have a generated form, it runs the others
in containers, piece by piece (`codegen.plan.pieces`). If generated code fails, `codegen.run.failing` finds the tuple.
Nothing is generated here: the modules come with the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.run.failing import find_failing
from penstock.codegen.run.generated_pe import GeneratedPE, check_version
from penstock.codegen.run.loaded_module import LoadedModule, OperatorError
from penstock.codegen.run.piece_entry import dealt_out
from penstock.codegen.transport.batches import REPORT
from penstock.expr.environment import Clock, Environment
from penstock.ir.models import State
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance, Left, Values
from penstock.runtime.pes.failures import told
from penstock.runtime.pes.reports import Report, decode_report
from penstock.toolkit.core.program import Program

STATE_VERSION = 2

FallBack = Callable[[Values], Left]
"""Takes a batch with a fresh container of the same PE."""


@dataclass(frozen=True, slots=True, eq=False)
class LoadedPE:
    """The code of a PE in this process; instances share it.

    Attributes:
        pieces: The PE in pieces.
        modules: The generated modules, by piece; containers run the others.
        program: What the PE is part of.
        environment: The surroundings of its code.
        kept: Containers of pieces without state, while nobody uses them.
    """

    pieces: Pieces
    modules: dict[int, LoadedModule]
    program: Program
    environment: Environment
    kept: dict[int, ContainerInstance] = field(default_factory=dict)

    def instance(self, piece: int) -> GeneratedPE | ContainerInstance:
        """An instance of a piece: a fresh one, or one that was kept."""
        if piece in self.modules:
            return GeneratedPE(self.modules[piece])
        if piece in self.kept:
            return self.kept.pop(piece)
        # Pieces work one after the other, so each has its own time, as PEs have.
        own = replace(self.environment, clock=Clock(), random=copy(self.environment.random), metrics={})
        return ContainerInstance(Container(self.program, self.pieces.plan, piece, own))


def loaded_module(program: Program, pieces: Pieces, environment: Environment) -> LoadedPE | None:
    """The generated code of a PE, loaded; None if it has none and a container must run it."""
    if not pieces.modules:
        return None
    modules = {piece: LoadedModule(made, program, environment) for piece, made in pieces.modules.items()}
    return LoadedPE(pieces, modules, program, environment)


def may_be_kept(loaded: LoadedPE) -> bool:
    """Whether code may serve batch after batch: nothing that its functions may remember counts."""
    operators = loaded.program.application.operator
    called = {id_ for module in loaded.modules.values() for id_, _ in module.generated.given.values()}
    return all(operators[id_].model.state is State.STATELESS for id_ in called)


class GeneratedContainer:
    """One instance of a generated PE.

    Args:
        loaded: The generated code.
        fall_back: Takes a batch on which the code failed.
    """

    def __init__(self, loaded: LoadedPE, fall_back: FallBack) -> None:
        self._loaded = loaded
        self._pe = loaded.pieces.plan.pes[loaded.pieces.pe]
        self._dealt = loaded.pieces.dealt
        self._inner = {edge.index for edge in loaded.pieces.plan.edges if edge.consumer in loaded.pieces.made}
        self._instances = {piece: loaded.instance(piece) for piece in loaded.pieces.made}
        self._fall_back = fall_back
        self._before: dict[int, Any] = {}
        self._fed: dict[int, list[tuple[int, bytes]]] = {piece: [] for piece in self._instances}

    def process_batch(self, values: Values) -> Left:
        """Take a batch, or the next part of one in the sequential order; yields a report, and what leaves.

        Raises:
            OperatorFailed: An operator failed.
        """
        arriving = list(values)
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
        yield REPORT, report.encode()
        yield from left

    def _told(self, error: OperatorError) -> OperatorFailed:
        """A failure of generated code in the words of the reference interpreter, as far as it can be found again."""
        piece = self._loaded.pieces.plan.home[error.operator]
        found = find_failing(self._loaded.modules[piece], self._before.get(piece), self._fed[piece])
        if found is not None:
            return told(self._loaded.program, self._loaded.modules[piece].generated, found)
        return OperatorFailed(self._loaded.program.application.operator[error.operator], reason_of(error.error))

    def _take(self, arriving: Sequence[tuple[int, bytes]]) -> tuple[Report, list[tuple[int, list[bytes]]]]:
        """Let piece after piece take its edges."""
        waiting = list(dealt_out(arriving, self._dealt))
        report, left = Report(pe=self._loaded.pieces.pe), []
        for piece, instance in self._instances.items():
            if self._pe.role != "stateless":
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
                self._loaded.kept[piece] = instance

    def remember(self) -> dict[str, Any]:
        """The state, as plain data."""
        return {"version": STATE_VERSION, "pieces": [i.remember() for i in self._instances.values()]}

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped.

        Raises:
            UserError: The state was written by another version, or not by generated code.
        """
        check_version(state, STATE_VERSION)
        for (piece, instance), remembered in zip(self._instances.items(), state["pieces"], strict=True):
            instance.recall(remembered)
            self._before[piece] = remembered


def _taken(instance: GeneratedPE | ContainerInstance, values: Values) -> tuple[Report, list[tuple[int, list[bytes]]]]:
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
