"""The module of a PE: its code in this process, which its instances share.

Where only some operators of the PE have a generated form, it is in pieces (`codegen.plan.pieces`), and containers run
the others; where none has, a container runs them all. Nothing is generated here: the code comes with the job.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace

from penstock.codegen.plan.pieces import Pieces
from penstock.codegen.run.loaded_module import LoadedModule, OperatorError
from penstock.codegen.run.piece_instance import PieceInstance
from penstock.expr.environment import Clock, Environment
from penstock.ir.models import State
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.runtime.pes.block_instance import BlockInstance, takes_blocks
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, eq=False)
class PEModule:
    """The code of a PE.

    Attributes:
        pieces: The PE in pieces.
        modules: The generated modules, by piece; containers run the others.
        program: What the PE is part of.
        environment: Of its code.
        start_ns: The time at which the job began.
        kept: Containers of pieces without state, while nobody uses them.
    """

    pieces: Pieces
    modules: dict[int, LoadedModule]
    program: Program
    environment: Environment
    start_ns: int = 0
    kept: dict[int, ContainerInstance] = field(default_factory=dict)

    def instance(self, piece: int) -> PieceInstance | ContainerInstance:
        """An instance of a piece: a fresh one, or one that was kept."""
        if piece in self.modules:
            return self._piece(self.modules[piece])
        if piece in self.kept:
            return self.kept.pop(piece)
        # Pieces work one after the other, so each has its own time, as PEs have.
        own = replace(self.environment, clock=Clock(self.start_ns), random=copy(self.environment.random), metrics={})
        container = Container(self.program, self.pieces.plan, piece, own)
        return BlockInstance(container) if takes_blocks(container) else ContainerInstance(container)

    def _piece(self, module: LoadedModule) -> PieceInstance:
        try:
            return PieceInstance(module)
        except OperatorError as error:
            operator = self.program.application.operator[error.operator]
            raise OperatorFailed(operator, f"it cannot start: {reason_of(error.error)}") from error.error

    @property
    def form(self) -> str:
        """The form of the state of its instances: for each piece, that of generated code or that of a container."""
        return "+".join("module" if piece in self.modules else "container" for piece in self.pieces.made)

    @property
    def may_be_kept(self) -> bool:
        """Whether generated code may serve batch after batch: nothing that its functions may remember counts."""
        operators = self.program.application.operator
        called = {id_ for module in self.modules.values() for id_, _ in module.code.given.values()}
        classes = {id_ for module in self.modules.values() for id_ in module.code.classes}
        return (
            bool(self.modules)
            and all(operators[id_].model.state is State.STATELESS for id_ in called)
            and all(operators[id_].model.state is not State.UNKNOWN for id_ in classes)
        )


def load_module(program: Program, pieces: Pieces, environment: Environment) -> PEModule:
    """Load the code of a PE."""
    modules = {piece: LoadedModule(made, program, environment) for piece, made in pieces.modules.items()}
    return PEModule(pieces, modules, program, environment, environment.clock.now_ns)
