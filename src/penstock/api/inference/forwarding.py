"""Which attributes an operator copies unchanged from the tuple it takes to every tuple it gives.

An attribute is forwarded if every tuple that leaves has under its name the attribute of the tuple in hand, as it came,
and both schemas give it the same type: a float64 that leaves as a float32 is another value.
"""

from __future__ import annotations

from typing import Any

from penstock.api.inference.judgement import Findings
from penstock.api.inference.names.objects import is_record_class
from penstock.api.inference.values import Field, Record, Thing, Value
from penstock.ir.types import Schema


def forwarded(findings: Findings, inputs: Schema, outputs: Schema) -> frozenset[str]:
    """The attributes that every tuple of the findings copies."""
    atoms = {atom for value in findings.given for atom in value}
    if not atoms:
        return frozenset()
    same = {n for n in inputs.names if n in outputs.position and inputs.attribute(n).type == outputs.attribute(n).type}
    return frozenset.intersection(*(_copied(atom, outputs) for atom in atoms)) & same - findings.changed


def _copied(atom: Any, outputs: Schema) -> frozenset[str]:
    if isinstance(atom, Field):
        return frozenset()
    if isinstance(atom, Record):
        names = atom.names or (outputs.names if len(atom.parts) == len(outputs.names) else ())
        return _matching(zip(names, atom.parts, strict=False))
    if (
        isinstance(atom, Thing)
        and not atom.is_kept
        and (is_record_class(atom.type) or (atom.type is dict and not atom.is_open))
    ):
        return _matching(atom.fields.items())
    return frozenset()


def _matching(named: Any) -> frozenset[str]:
    return frozenset(name for name, value in named if _is_field(value, name))


def _is_field(value: Value, name: str) -> bool:
    return len(value) == 1 and all(isinstance(atom, Field) and atom.name == name for atom in value)
