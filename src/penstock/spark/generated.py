"""A generated PE in the place of a container.

It takes and gives what `workers.process_batch` does. If generated code fails, a container takes the same batch, to say
which operator failed on which tuple in the words of the reference interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.codegen.generate import Generated, generate
from penstock.codegen.generated_pe import GeneratedPE
from penstock.codegen.loaded_module import LoadedModule, OperatorError
from penstock.codegen.plan import PhysicalPlan
from penstock.codegen.transport import REPORT
from penstock.expr.environment import Environment
from penstock.ir.models import State
from penstock.reference.failure import OperatorFailed, reason_of
from penstock.spark.reports import Report
from penstock.toolkit.program import Program

Values = Iterable[tuple[int, bytes]]
Left = Iterator[tuple[int, list[bytes]]]
"""What leaves: encoded values by edge; a report first."""

FallBack = Callable[[Values], Left]
"""Takes a batch with a fresh container of the same PE."""


def loaded_module(program: Program, plan: PhysicalPlan, pe: int, environment: Environment) -> LoadedModule | None:
    """The generated module of a PE, loaded; None if it has none and a container must run it."""
    made = generate(program, plan, pe)
    return LoadedModule(made, program, environment) if isinstance(made, Generated) else None


def may_be_kept(module: LoadedModule) -> bool:
    """Whether a module may serve batch after batch: nothing that its functions may remember counts."""
    operators = module.generated.part.plan.application.operator
    called = {id_ for id_, _ in module.generated.given.values()}
    return all(operators[id_].model.state is State.STATELESS for id_ in called)


class GeneratedContainer:
    """One instance of a generated PE.

    Args:
        module: The generated code; instances share it.
        fall_back: Takes a batch on which the code failed.
    """

    def __init__(self, module: LoadedModule, fall_back: FallBack) -> None:
        self._part = module.generated.part
        self._instance = GeneratedPE(module)
        self._fall_back = fall_back

    def process_batch(self, values: Values) -> Left:
        """Take a batch; yields a report, and what leaves.

        Raises:
            OperatorFailed: An operator failed.
        """
        arriving = list(values)
        try:
            left = list(self._instance.take(arriving))
        except OperatorError as error:
            yield from self._by_container(arriving, error)
            return
        report = Report(pe=self._part.pe, received=self._instance.received, submitted=self._instance.submitted)
        yield REPORT, [report.encode()]
        yield from left

    def remember(self) -> dict[str, Any]:
        """The state, as plain data."""
        return self._instance.remember()

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped."""
        self._instance.recall(state)

    def _by_container(self, values: Values, error: OperatorError) -> list[tuple[int, list[bytes]]]:
        """What a container makes of a batch on which generated code failed: its failure, in all likelihood.

        Without state its word is final. With state it lacks what came before, so it is believed only if it fails in
        the same operator for the same reason.
        """
        is_stateless = self._part.plan.pes[self._part.pe].role == "stateless"
        ours = OperatorFailed(self._part.plan.application.operator[error.operator], reason_of(error.error))
        try:
            left = list(self._fall_back(values))
        except OperatorFailed as failure:
            is_same = (failure.operator, failure.reason) == (ours.operator, ours.reason)
            raise (failure if is_same or is_stateless else ours) from error.error
        if is_stateless:
            return left
        raise ours from error.error
