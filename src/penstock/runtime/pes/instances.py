"""Makes instances of a PE."""

from __future__ import annotations

from collections.abc import Callable

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces
from penstock.expr.environment import Environment
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.container_instance import Left, Values, process_batch
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.pe_module import load_module
from penstock.toolkit.core.program import Program


def instance_maker(
    program: Program, plan: PhysicalPlan, pieces: Pieces, environment: Environment
) -> Callable[[], PEInstance]:
    """Makes fresh instances of a PE, which share its module.

    Args:
        program: What runs.
        plan: How it is cut into PEs.
        pieces: The code of the PE.
        environment: Of its code.
    """
    module = load_module(program, pieces, environment)
    own = environment.renewed()
    return lambda: PEInstance(module, lambda values: run_in_container(program, plan, pieces.pe, own.renewed(), values))


def run_in_container(program: Program, plan: PhysicalPlan, pe: int, environment: Environment, values: Values) -> Left:
    """Take a batch with a fresh container."""
    return process_batch(Container(program, plan, pe, environment), values)
