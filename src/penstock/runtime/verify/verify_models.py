"""Catches operators that lie in their models: what `--verify-models` does.

Introduction:
    Parallel regions are as safe as the models are true. Models of standard operators and of SPL code are worked out;
    those of Python operators are inferred or declared, and a declaration is believed. The paper leaves it at trust
    (section 3.2). Here every run checks the claims of Python operators on their first tuples (`some`), and can check
    every claim of every operator on every tuple, at about three times the cost (`all`).

Formulation:
    An operator with inputs and outputs is given a watcher around its instance. For each tuple it checks
      - selectivity: how many tuples are submitted while the tuple is in hand, over all outputs;
      - forwarding: that attributes which are said to be copied are (those of the key, if there is state: other
        attributes may come from a tuple before);
      - spontaneous: that nothing is submitted while no tuple is in hand, if that is the claim;
      - state: that replicas, each of which sees only a part of the tuples, give for each of their tuples what the
        operator itself gives. This is what channels would do: replicas of a stateless operator take turns, those of an
        operator with partitioned state are chosen by the hash of the key.

Example:
    A map that is declared stateless but numbers its tuples: the second tuple goes to a replica that has not seen the
    first, which numbers it 0 instead of 1. The run ends, with the operator, the tuple and the claim.

When it does not apply:
    Unknown state claims nothing. Operators with side effects, and those that fire by time, get no replicas. A lie that
    shows in no output shows nowhere. Sources and sinks are not watched.

Algorithm:
    `all`: the program's operators are renamed to kinds of their own, which code generation does not know: so they run
    in containers, on Spark as in the reference interpreter. `some`: kinds and plans stay as they are. A function is
    called through a `CheckedCall`, also by generated code; one that takes batches is called again with parts of them;
    an instance of a class has a watcher with one replica, which takes every other tuple, or the keys of one of two
    channels. After the first tuples all of them step aside.

Preserves:
    What every sink receives.

Reference:
    Auto-parallelization paper, section 3.2, which asks for the trust that this replaces.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.operators import Marks
from penstock.ir.facts import Facts, Reads
from penstock.ir.graph import Operator
from penstock.runtime.verify.checked_batches import CheckedBatchCall
from penstock.runtime.verify.checked_calls import CheckedCall
from penstock.runtime.verify.watcher import Watcher
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Context, Runtime

WATCHED = "watched"
"""The namespace of operators whose models are verified while they run."""

FIRST_TUPLES = 2000
"""How many tuples of an instance are checked if nothing else is said."""


def verify_some(program: Program) -> Program:
    """The same program, in which Python operators are checked on their first tuples."""
    kinds = {o.kind for o in program.application.operators if o.inputs and o.outputs}
    definitions = [program.registry.get(kind) for kind in sorted(kinds)]
    # One that takes blocks is seen by nobody tuple by tuple.
    tuplewise = [d for d in definitions if _is_python(d.runtime) and not d.facts.takes_blocks]
    checked = [replace(d, runtime=_First(d.runtime)) for d in tuplewise]
    return replace(program, registry=program.registry.replaced(checked)) if checked else program


def _is_python(runtime: Any) -> bool:
    return str(getattr(runtime, "__module__", "")).startswith("penstock.api.")


@dataclass(frozen=True, slots=True)
class _First:
    """Makes instances that are checked on their first tuples; `original` makes them without."""

    original: Any

    def __call__(self, operator: Operator, context: Context) -> Runtime:
        held = inspect.getclosurevars(self.original).nonlocals if inspect.isfunction(self.original) else {}
        marks = held.get("marks")
        if not isinstance(marks, Marks):
            owner = held.get("owner")
            is_free = owner is None or "environment" not in inspect.signature(owner).parameters
            return Watcher(operator, context, self.original, limit=FIRST_TUPLES, replicas=1 if is_free else 0)
        runtime = self.original(operator, context)
        checked = CheckedBatchCall if marks.batch else CheckedCall
        runtime.call = checked(operator, runtime.call, marks.role, FIRST_TUPLES)
        return runtime  # type: ignore[no-any-return] # the factory of a definition


def verify_models(program: Program) -> Program:
    """The same program with a watcher around every operator that has inputs and outputs.

    Example:
        >>> from penstock.lang import compile_text
        >>> text = "composite Main { graph stream<int32 x> A = Beacon() { } stream<A> B = Functor(A) { } }"
        >>> program = compile_text(text)
        >>> [o.kind for o in verify_models(program).application.operators]
        ['Beacon', 'watched::Functor']
    """
    watched = {o.kind for o in program.application.operators if _can_be_watched(o)}
    definitions = [_watched(program.registry.get(kind)) for kind in sorted(watched)]
    operators = tuple(_renamed(o) if _can_be_watched(o) else o for o in program.application.operators)
    return replace(
        program,
        application=replace(program.application, operators=operators),
        registry=program.registry.extended(definitions),
    )


def _can_be_watched(operator: Operator) -> bool:
    return bool(operator.inputs and operator.outputs) and not operator.facts.takes_blocks


def _renamed(operator: Operator) -> Operator:
    model = replace(operator.model, facts=_seen_whole(operator.facts))
    return replace(operator, kind=f"{WATCHED}::{operator.kind}", model=model)


def _watched(definition: OperatorDefinition) -> OperatorDefinition:
    facts = _seen_whole(definition.facts)
    return replace(definition, name=definition.kind, namespace=WATCHED, facts=facts, runtime=_Factory(definition))


def _seen_whole(facts: Facts) -> Facts:
    """The facts of an operator whose watcher has to see every tuple, with all its attributes."""
    return replace(facts, reads=Reads.WHOLE_TUPLES, drops_by=None)


@dataclass(frozen=True, slots=True)
class _Factory:
    """Makes watchers around the instances of a definition."""

    definition: OperatorDefinition

    def __call__(self, operator: Operator, context: Context) -> Runtime:
        original = replace(operator, kind=self.definition.kind)
        return Watcher(original, context, self.definition.runtime)
