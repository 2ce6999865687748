"""Which applications of one run feed which: by what they export, and what the others import."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from penstock.base.topological_order import sort_topologically
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Operator
from penstock.toolkit.adapters.import_ import Offer, Wanted, offer_of, wanted_by
from penstock.toolkit.core.program import Program


@dataclass(frozen=True)
class Exchange:
    """The streams that the applications of one run exchange.

    Attributes:
        programs: The applications.
        environment: Of the run.
    """

    programs: Sequence[Program]
    environment: Environment

    @cached_property
    def exports(self) -> list[tuple[int, Operator, Offer]]:
        """Each Export, with the number of its application and what it offers."""
        return [
            (number, operator, offer_of(operator, self.programs[number].application.name, evaluator))
            for number, operator, evaluator in self._operators
            if operator.model.facts.exports
        ]

    @cached_property
    def imports(self) -> list[tuple[int, Operator, Wanted]]:
        """Each Import, with the number of its application and what it asks for."""
        return [
            (number, operator, wanted_by(operator, evaluator))
            for number, operator, evaluator in self._operators
            if operator.model.facts.imports
        ]

    @property
    def unfed(self) -> list[Operator]:
        """The imports that take none of the streams of this run."""
        return [
            operator
            for _, operator, wanted in self.imports
            if not any(wanted.may_take(offer) for _, _, offer in self.exports)
        ]

    @property
    def order(self) -> list[int] | None:
        """The applications, each behind those that feed it; None if they feed each other in a circle."""
        after: dict[int, list[int]] = {number: [] for number in range(len(self.programs))}
        for number, _, wanted in self.imports:
            for exporter, _, offer in self.exports:
                if wanted.may_take(offer):
                    after[exporter].append(number)
        found = sort_topologically(after)
        return found if len(found) == len(after) else None

    @property
    def _operators(self) -> list[tuple[int, Operator, Evaluator]]:
        evaluators = [Evaluator(functions=p.application.functions, environment=self.environment) for p in self.programs]
        return [
            (number, operator, evaluator)
            for number, (program, evaluator) in enumerate(zip(self.programs, evaluators, strict=True))
            for operator in program.application.operators
        ]
