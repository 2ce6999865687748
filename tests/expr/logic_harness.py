"""Runs the logic clause of a Custom operator, written in SPL, on tuples."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, field

from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator, LogicRuntime
from penstock.ir.graph import Operator
from penstock.lang.compile import compile_text

Tuples = list[tuple[object, ...]]


@dataclass
class Run:
    """What a logic clause did.

    Attributes:
        submitted: The tuples and markers of the output port, in order, as they are after everything has run.
        snapshots: The same, pickled at the moment of submission.
        logic: The clause itself.
    """

    submitted: list[object] = field(default_factory=list)
    snapshots: list[bytes] = field(default_factory=list)
    logic: LogicRuntime | None = None

    def take(self, item: object) -> None:
        self.submitted.append(item)
        self.snapshots.append(pickle.dumps(item))


def custom(clauses: str, *, into: str = "int32 x", out: str = "int32 y", more: str = "") -> tuple[Operator, Evaluator]:
    """The Custom operator with these clauses and an evaluator for it; `more` stands outside the composite."""
    source = f"stream<{into}> In = Beacon() {{ param iterations: 1u; }}" if into else ""
    text = f"""
        {more}
        composite Main {{ graph
            {source}
            stream<{out}> Out = Custom({"In" if into else ""}) {{ logic {clauses} }}
        }}"""
    program = compile_text(text)
    return program.application.operators[-1], Evaluator(program.application.functions, Environment())


def run(clauses: str, tuples: Tuples, *, into: str = "int32 x", out: str = "int32 y", more: str = "") -> Run:
    """Compile the clauses and give them tuples; a str among the tuples is a punctuation."""
    operator, evaluator = custom(clauses, into=into, out=out, more=more)
    found = Run()
    assert operator.logic is not None
    ports = [port.schema for port in operator.inputs]
    found.logic = evaluator.logic(operator.logic, ports=ports, submit=[found.take], punctuate=[found.take])
    for item in tuples:
        if isinstance(item, str):
            found.logic.on_punctuation[0](item)
        else:
            found.logic.on_tuple[0](item)
    return found
