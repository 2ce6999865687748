"""An instance of a PE: its state on one channel, and the module that works on it.

It takes and gives encoded values by edge. Its pieces, generated ones and containers, work one after the other and hand
each other frames. If generated code fails, `codegen.run.failing` finds the tuple.

An edge from outside that leads to several pieces is dealt out to them: in the sequential program the subscribers of a
stream fire in order of declaration, so its items get a step more on their path, by which piece after piece takes its
turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from penstock.codegen.kernels.key_tables import KeyTable
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import refined
from penstock.codegen.run.failing import Failing, find_failing
from penstock.codegen.run.loaded_module import OperatorError
from penstock.codegen.run.piece_instance import PieceInstance, check_version
from penstock.codegen.transport.batches import REPORT, TUPLE, Item
from penstock.codegen.transport.placed_frames import PlacedFrame, PlacedFrames, encode_frame, read_frame
from penstock.codegen.write.generate import Module
from penstock.expr.environment import Environment
from penstock.expr.values import text_form
from penstock.ir.models import State
from penstock.profiler.clock import cpu_ns
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance, Left, Values
from penstock.runtime.pes.pe_module import PEModule
from penstock.runtime.pes.reports import Report
from penstock.toolkit.core.logic_runtime import VARIABLES
from penstock.toolkit.core.program import Program

STATE_VERSION = 3

FallBack = Callable[[Values], Left]
"""Takes a batch with a fresh container of the same PE."""

Arrived = Iterable[tuple[int, bytes | PlacedFrame]]
"""Values by edge as they come from other processes, and frames as they come from this one."""


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
        plan, pieces = module.pieces.plan, module.pieces.made
        mine = [edge for edge in plan.edges if edge.consumer in pieces or edge.consumer == module.pieces.pe]
        self._entering = plan.schemas(edge for edge in mine if edge.producer not in pieces)
        self._leaving = plan.schemas(
            edge for edge in plan.edges if edge.producer in pieces and edge.consumer not in pieces
        )
        self._dead = {edge.index: plan.dead[edge.stream] for edge in plan.edges if edge.index in self._leaving}
        self._instances = {piece: module.instance(piece) for piece in module.pieces.made}
        self._fall_back = fall_back
        self._before: Callable[[], dict[int, Any]] | None = dict
        self._fed: dict[int, PlacedFrames] = {}

    def process_batch(self, values: Arrived) -> Left:
        """Take a batch, or the next part of one in the sequential order; yields a report, and what leaves.

        Raises:
            OperatorFailed: An operator failed.
        """
        arriving = list(values)
        self._fed = {}
        try:
            report, left = self._take(arriving)
        except OperatorError as error:
            if isinstance(error.error, MemoryError) and self._pe.role != "stateless":
                # Nothing is to be found out by trying again.
                raise error.error from None
            if isinstance(error.error, OperatorFailed):
                # A model that was found to be wrong: nobody else may find it right.
                raise error.error from None
            # Without state a container has the last word.
            if self._pe.role == "stateless":
                yield from self._fall_back(list(self._as_values(arriving)))
                return
            raise self._told(error) from error.error
        # Where it stands now is written down only if somebody asks.
        self._before = None
        yield REPORT, report.encode()
        yield from left

    def _told(self, error: OperatorError) -> OperatorFailed:
        """A failure of generated code in the words of the reference interpreter, as far as it can be found again."""
        piece = self.module.pieces.plan.home[error.operator]
        module = self.module.modules[piece]
        # A piece without state stands where it stood in the beginning.
        is_stateless = all(o.model.state is State.STATELESS for o in module.code.part.operators)
        if is_stateless or self._before is not None:
            before = {} if self._before is None else self._before()
            found = find_failing(module, before.get(piece), self._fed[piece])
            if found is not None:
                return told(self.module.program, module.code, found)
        return OperatorFailed(self.module.program.application.operator[error.operator], reason_of(error.error))

    def _take(self, values: Sequence[tuple[int, bytes | PlacedFrame]]) -> tuple[Report, list[tuple[int, list[bytes]]]]:
        """Let piece after piece take its edges."""
        waiting, took_ns = self._read(values)
        report, left = Report(pe=self.module.pieces.pe), []
        for piece, instance in self._instances.items():
            edges = [edge.index for edge in self.module.pieces.plan.into(piece)]
            frames = {edge: waiting.pop(edge, []) for edge in edges}
            if self._pe.role != "stateless" and piece in self.module.modules:
                self._fed[piece] = frames
            for edge, frame in instance.take(frames, sum(took_ns.pop(edge, 0) for edge in edges)).items():
                if edge in self._leaving:
                    left.append((edge, self._encoded(instance, edge, frame)))
                else:
                    waiting[edge] = [frame]
            report = _added(report, _report_of(instance))
        return report, left

    def _read(
        self, values: Sequence[tuple[int, bytes | PlacedFrame]]
    ) -> tuple[dict[int, list[PlacedFrame]], dict[int, int]]:
        """The frames of values by edge, those of an edge that leads to several pieces once for each, and CPU times."""
        frames: defaultdict[int, list[PlacedFrame]] = defaultdict(list)
        took_ns: Counter[int] = Counter()
        for number, value in values:
            if number in self._entering:
                began = cpu_ns()
                frame = value if isinstance(value, PlacedFrame) else read_frame(value, self._entering[number])
                dealt = [(edge.index, frame.stepped(step)) for step, edge in enumerate(self._dealt.get(number, ()))]
                for edge, found in dealt or [(number, frame)]:
                    frames[edge].append(found)
                took_ns[dealt[0][0] if dealt else number] += cpu_ns() - began
        return frames, took_ns

    def _as_values(self, arriving: Arrived) -> Iterator[tuple[int, bytes]]:
        for edge, value in arriving:
            encoded = encode_frame(value, self._entering[edge]) if isinstance(value, PlacedFrame) else [value]
            yield from ((edge, each) for each in encoded)

    def _encoded(self, instance: PieceInstance | ContainerInstance, edge: int, frame: PlacedFrame) -> list[bytes]:
        """The values of what leaves the PE by an edge."""
        began = cpu_ns()
        values = encode_frame(frame, self._leaving[edge], self._dead[edge])
        instance.sent(cpu_ns() - began)
        return values

    def keep_operators(self) -> None:
        """Let the operators of a PE without state, which have done their work, serve another batch."""
        for piece, instance in self._instances.items():
            if isinstance(instance, PieceInstance):
                instance.keep_classes()
            elif instance.may_be_kept:
                instance.rewind()
                self.module.kept[piece] = instance

    def snapshot(self) -> dict[str, Any]:
        """The state, as plain data."""
        return {"version": STATE_VERSION, "pieces": [i.snapshot() for i in self._instances.values()]}

    def outline(self) -> dict[str, Any]:
        """The state without the rows of tables, as plain data."""
        pieces = self._instances.values()
        return {
            "version": STATE_VERSION,
            "pieces": [i.outline() for i in pieces],
        }

    @property
    def tables(self) -> dict[str, KeyTable]:
        """The tables of operators, by name; no operator is in two pieces."""
        return {name: table for piece in self._instances.values() for name, table in piece.tables.items()}

    @property
    def stateful(self) -> list[str]:
        """The operators that have state of their own."""
        operator = self.module.program.application.operator
        return [id_ for id_ in self._pe.operators if operator[id_].model.state is not State.STATELESS]

    def restore(self, state: dict[str, Any], whole: Callable[[], dict[str, Any]] | None = None) -> None:
        """Go on where an instance that remembered this has stopped.

        Args:
            state: What it remembered, or an outline of it; the tables are then filled by the caller.
            whole: Gives all of it, if it is an outline.

        Raises:
            UserError: The state was written by another version.
        """
        check_version(state, STATE_VERSION)
        for instance, remembered in zip(self._instances.values(), state["pieces"], strict=True):
            instance.restore(remembered)
        self._before = lambda: dict(zip(self._instances, (whole() if whole else state)["pieces"], strict=True))

    def close(self) -> None:
        """Let go of what operators have open; only those in containers can have anything."""
        for instance in self._instances.values():
            if isinstance(instance, ContainerInstance):
                instance.close()


def _report_of(instance: PieceInstance | ContainerInstance) -> Report:
    """The report of a piece on the last batch."""
    if isinstance(instance, ContainerInstance):
        return instance.report()
    collected = () if instance.signals is None else (instance.signals.take().to_json(),)
    return Report(
        pe=0,
        received=instance.received,
        submitted=instance.submitted,
        signals=collected,
        expired=instance.expired,
    )


def _added(report: Report, more: Report) -> Report:
    """The report of several pieces; no operator is in two of them."""
    return replace(
        report,
        received=report.received | more.received,
        submitted=report.submitted | more.submitted,
        dead_letters=report.dead_letters + more.dead_letters,
        prints=report.prints + more.prints,
        signals=report.signals + more.signals,
        late=report.late | more.late,
        expired=report.expired | more.expired,
    )


def told(program: Program, module: Module, failing: Failing) -> OperatorFailed:
    """A failure of generated code as a user is to read it: as the reference interpreter tells it.

    The item on which the code failed is known. A container with the operators that share its loop, with their variables
    as they were, takes the tuples of that item and fails in turn, with the operator and the tuple. Where it does not,
    because what the operator had in its windows is missing, the failure names the tuple that came.
    """
    operator = program.application.operator[failing.error.operator]
    reason = reason_of(failing.error.error)
    try:
        _repeat(program, module, failing)
    except OperatorFailed as failure:
        if failure.reason == reason:
            return failure
    if not failing.tuples:
        return OperatorFailed(operator, reason)
    port, tuple_ = failing.tuples[-1]
    return OperatorFailed(operator, reason, text_form(operator.inputs[port].schema)(tuple_))


def _repeat(program: Program, module: Module, failing: Failing) -> None:
    """Let the reference interpreter take the tuples."""
    head = failing.error.operator
    inside = module.loops.get(head, (head,))
    plan, pe = module.part.plan, module.part.pe
    rest = tuple(o.id for o in module.part.operators if o.id not in inside)
    finer = refined(plan, pe, [inside, rest])
    container = Container(program, finer, len(plan.pes), Environment())
    for id_, variables in failing.variables.items():
        if id_ in inside:
            container.node[id_].runtime.restore(({VARIABLES: variables}, {}))
    for id_, memory in failing.memories.items():
        if id_ in inside:
            container.node[id_].runtime.restore(memory)
    for number, (port, tuple_) in enumerate(failing.tuples):
        container.take([(_edge(finer, len(plan.pes), head, port), Item(0, number, b"", TUPLE, tuple_))])


def _edge(plan: PhysicalPlan, pe: int, operator: str, port: int) -> int:
    """An edge that leads to a port of an operator."""
    return next(e.index for e in plan.into(pe) if (operator, port) in e.subscribers)
