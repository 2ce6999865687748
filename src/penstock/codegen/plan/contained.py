"""Which operators with state run in containers whatever the fusion is, so that their state has one form.

Introduction:
    A kernel keeps other state than a container: it folds what a container holds tuple by tuple. So state does not come
    from one to the other. Where operators whose effects have one order share a PE, or those of a loop, all that lies
    between them runs in one container (`pieces`). An operator that lies between two such operators of the application
    would have a container in one fusion and a kernel in another, and could not go on with its state.

Formulation:
    An operator with state is contained if it lies on a path from an operator with effects, or of a loop, to another
    one, whether they share a PE or not.

When it does not apply:
    To operators without a kernel, which have but one form; what loops write as variables is understood by containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.codegen.plan.python_functions import python_function
from penstock.codegen.write.forms import KERNELS
from penstock.ir.graph import Application, Operator
from penstock.ir.models import State
from penstock.toolkit.analysis.effects import stateful_calls
from penstock.toolkit.core.program import Program


def find_contained(program: Program) -> frozenset[str]:
    """The operators that containers run in any plan of a program."""
    application = program.application
    candidates = {o.id for o in application.operators if o.kind in KERNELS and o.model.state is not State.STATELESS}
    if not candidates:
        return frozenset()
    bound = {o.id for o in application.operators if o.inputs and o.id not in candidates and _has_effects(program, o)}
    bound |= _on_loops(application)
    before, after = _neighbours(application)
    return frozenset(candidates & _reach(bound, before) & _reach(bound, after))


def _has_effects(program: Program, operator: Operator) -> bool:
    """Whether the order of an operator's calls among those of others can be seen."""
    if python_function(program, operator) is not None:
        return operator.model.state is not State.STATELESS
    return bool(stateful_calls(operator, program.application.functions))


def _on_loops(application: Application) -> set[str]:
    """The two ends of each feedback edge."""
    return {id_ for producer, consumer, _, feedback in application.edges() if feedback for id_ in (producer, consumer)}


def _neighbours(application: Application) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """The operators before and behind each operator, loops left out."""
    before: dict[str, list[str]] = {o.id: [] for o in application.operators}
    after: dict[str, list[str]] = {o.id: [] for o in application.operators}
    for producer, consumer, _, feedback in application.edges():
        if not feedback:
            before[consumer].append(producer)
            after[producer].append(consumer)
    return before, after


def _reach(start: Iterable[str], steps: Mapping[str, Iterable[str]]) -> set[str]:
    """All that can be reached from some operators; those themselves only by a step."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        fresh = set(steps[waiting.pop()]) - found
        found |= fresh
        waiting.extend(fresh)
    return found
