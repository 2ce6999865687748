"""Which runs go on when their sources have no more for now.

Some sources never say that they have ended: whoever reads a topic or a hot file wants what comes later, so a run with
one of them goes on until it is stopped. Others (`PartitionedSource`, `TimedLines`) can go on, but mostly hold what is
to be processed once; a run goes on with them if the user says for how long, or that it shall.
"""

from __future__ import annotations

from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.graph import Application, Operator
from penstock.runtime.pes.container import Container
from penstock.runtime.sources.outside_rows import own_sources
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
    plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
    for pe in own_sources(plan):
        (operator,) = plan.pes[pe].operators
        runtime = Container(program, plan, pe, environment.renewed()).node[operator].runtime
        source = runtime.columns(follows=True) if isinstance(runtime, ReadByColumns) else None
        if source is not None and source.is_live:
            return True
    return False


def _never_ends(operator: Operator, evaluator: Evaluator) -> bool:
    values = (value for name in operator.facts.never_ends_with for value in operator.param(name))
    return operator.facts.never_ends or any(map(evaluator.constant, values))
