"""Catches operators that lie in their models: what `--verify-models` does.

Introduction:
    Parallel regions are as safe as the models are true. Models of standard operators and of SPL code are worked out;
    those of Python operators may be declared, and a declaration is believed. The paper leaves it at trust (section
    3.2). Here a run can check every claim on every tuple, at about three times the cost.

Formulation:
    Every operator with inputs and outputs is given a watcher around its instance. For each tuple it checks
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
    The program's operators are renamed to kinds of their own, which code generation does not know: so they run in
    containers, on Spark as in the reference interpreter.

Preserves:
    What every sink receives.

Reference:
    Auto-parallelization paper, section 3.2, which asks for the trust that this replaces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.ir.graph import Operator
from penstock.parallel.meeting import WATCHED
from penstock.spark.watcher import Watcher
from penstock.toolkit.definition import OperatorDefinition
from penstock.toolkit.program import Program
from penstock.toolkit.runtime import Context, Runtime


def verify_models(program: Program) -> Program:
    """The same program with a watcher around every operator that has inputs and outputs.

    Example:
        >>> from penstock.lang import compile_text
        >>> text = "composite Main { graph stream<int32 x> A = Beacon() { } stream<A> B = Functor(A) { } }"
        >>> program = compile_text(text)
        >>> [o.kind for o in verify_models(program).application.operators]
        ['Beacon', 'watched::Functor']
    """
    watched = {o.kind for o in program.application.operators if o.inputs and o.outputs}
    definitions = [_watched(program.registry.get(kind)) for kind in sorted(watched)]
    operators = tuple(
        replace(o, kind=WATCHED + o.kind) if o.inputs and o.outputs else o for o in program.application.operators
    )
    return replace(
        program,
        application=replace(program.application, operators=operators),
        registry=program.registry.extended(definitions),
    )


def _watched(definition: OperatorDefinition) -> OperatorDefinition:
    namespace, name = WATCHED.removesuffix("::"), definition.kind
    return replace(definition, name=name, namespace=namespace, runtime=_Factory(definition))


@dataclass(frozen=True, slots=True)
class _Factory:
    """Makes watchers around the instances of a definition."""

    definition: OperatorDefinition

    def __call__(self, operator: Operator, context: Context) -> Runtime:
        original = replace(operator, kind=self.definition.kind)
        return Watcher(original, context, self.definition.runtime)
