"""Instances of a PE: generated code where there is any, else a container."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.expr.environment import Environment
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import ContainerInstance, Left, Values, process_batch
from penstock.runtime.pes.generated_instance import GeneratedContainer, LoadedPE, loaded_module
from penstock.toolkit.core.program import Program


class Instance(Protocol):
    """One instance of a PE: generated code, or a container."""

    def process_batch(self, values: Values) -> Left:
        """Take a batch; yields a report, and what leaves."""

    def remember(self) -> dict[str, Any]:
        """The state, as plain data."""

    def recall(self, state: dict[str, Any]) -> None:
        """Go on where an instance that remembered this has stopped."""


def instance_maker(
    program: Program, plan: PhysicalPlan, pieces: Pieces, environment: Environment
) -> Callable[[], Instance]:
    """Makes fresh instances of a PE, which share its generated code; each has a time of its own."""
    module = loaded_module(program, pieces, environment)
    return lambda: instance_of(module, program, plan, pieces.pe, environment.renewed())


def instance_of(
    module: LoadedPE | None, program: Program, plan: PhysicalPlan, pe: int, environment: Environment
) -> Instance:
    """A fresh instance of a PE with its code; a container without."""
    if module is None:
        return ContainerInstance(Container(program, plan, pe, environment))
    return GeneratedContainer(module, lambda values: run_in_container(program, plan, pe, environment, values))


def run_in_container(program: Program, plan: PhysicalPlan, pe: int, environment: Environment, values: Values) -> Left:
    """Take a batch with a fresh container."""
    return process_batch(Container(program, plan, pe, environment), values)
