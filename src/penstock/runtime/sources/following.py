"""Which runs go on when their sources have no more for now.

Some sources never say that they have ended: whoever reads a topic or a hot file wants what comes later, so a run with
one of them goes on until it is stopped. Others (`PartitionedSource`, `TimedLines`) can go on, but mostly hold what is
to be processed once; a run goes on with them if the user says for how long, or that it shall.
"""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application, Operator
from penstock.reference.engine import Engine, Limits
from penstock.reference.wiring import wire
from penstock.toolkit.core.column_source import ReadByColumns
from penstock.toolkit.core.program import Program


def goes_on(
    program: Program, environment: Environment, *, until_done: bool, continuous: bool, seconds: float | None
) -> bool:
    """Whether a run goes on when its sources have no more for now.

    Args:
        program: What runs.
        environment: Of the run.
        until_done: Whether the user wants it to stop then.
        continuous: Whether the user wants it to go on.
        seconds: For how long the user wants it to run.
    """
    if until_done or continuous:
        return continuous
    if seconds is not None:
        return can_follow(program, environment)
    return can_have_more(program.application, environment)


def can_have_more(
    application: Application, environment: Environment | None = None, *, but_imports: bool = False
) -> bool:
    """Whether some source never says that it has ended; imports may be left out, where those who feed them are known.

    Example:
        >>> can_have_more(Application(name="Empty"))
        False
    """
    evaluator = Evaluator(functions=application.functions, environment=environment or Environment())
    sources = (o for o in application.operators if not o.inputs and not (but_imports and o.facts.imports))
    return any(_never_ends(o, evaluator) for o in sources)


def can_follow(program: Program, environment: Environment) -> bool:
    """Whether some source can go on with what comes later."""
    if can_have_more(program.application, environment):
        return True
    operators = program.application.operators
    return any(_is_live(o, program, environment) for o in operators if not o.inputs and not o.facts.is_read_by_engine)


def _is_live(source: Operator, program: Program, environment: Environment) -> bool:
    """Whether a source, asked to go on, can have more."""
    alone = replace(program, application=replace(program.application, operators=(source,), constraints=()))
    environment = replace(environment.renewed(), stdout=StringIO())
    (node,) = wire(alone, "", Engine(environment, Limits()), environment, lambda stream: None)
    columns = node.runtime.columns(follows=True) if isinstance(node.runtime, ReadByColumns) else None
    return columns is not None and columns.is_live


def _never_ends(operator: Operator, evaluator: Evaluator) -> bool:
    values = (value for name in operator.facts.never_ends_with for value in operator.param(name))
    return operator.facts.never_ends or any(map(evaluator.constant, values))
