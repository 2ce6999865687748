"""Operator definitions: parameters, windows, output functions, the model and the runtime of a kind of operator.

The front ends read it to check an invocation and to complete its output clause; the compiler asks it for the model
of an instance; the reference interpreter asks it for a runtime. Standard operators and users' operators alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from penstock.base.diagnostics import Diagnostics
from penstock.ir.facts import NO_FACTS, Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import Type

if TYPE_CHECKING:
    from penstock.toolkit.core.runtime import Context, Runtime


class ParamKind(Enum):
    """How a parameter's values are written and when they are evaluated.

    EXPRESSION: over the attributes of the input tuples, for each tuple. CONSTANT: once, when the job is submitted; no
    attributes. ATTRIBUTES: names of input attributes. SYMBOLS: words that belong to the operator, such as `csv`. TEXT:
    a predicate over names that another application defines (`subscription` of Import); a front end passes it on as
    an rstring literal, the text as written, or the string itself where a string is written.
    """

    EXPRESSION = "expression"
    CONSTANT = "constant"
    ATTRIBUTES = "attributes"
    SYMBOLS = "symbols"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamSpec:
    """One parameter of an operator.

    Attributes:
        name: As an invocation writes it.
        kind: How its values are written.
        types: What a value is converted to: the first of these that it converts to implicitly; empty for any type.
        symbols: The words allowed, for `SYMBOLS`.
        required: Whether every invocation must give it.
        many: Whether it takes more than one value.
        ports: The input ports whose attributes may stand in it; empty for all of them.
        doc: One sentence.
    """

    name: str
    kind: ParamKind = ParamKind.EXPRESSION
    types: tuple[Type, ...] = ()
    symbols: tuple[str, ...] = ()
    required: bool = False
    many: bool = False
    ports: tuple[int, ...] = ()
    doc: str = ""


class WindowUse(Enum):
    """Whether the input ports of an operator have windows."""

    NONE = "none"
    OPTIONAL = "optional"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputFunction:
    """A function that only the output clause of this operator knows, such as `Sum` of Aggregate.

    Attributes:
        prototype: As SPL writes it, `<numeric T> T Sum(T value)`; several definitions may share a name.
        doc: One sentence.
    """

    prototype: str
    doc: str = ""


class OutputClause(Enum):
    """How output tuples come about.

    ASSIGN: by an output clause over the input tuple; what is not assigned is copied from the input attribute of that
    name. AGGREGATE: likewise, but the values are output functions and the default is `Last`. GENERATE: by an output
    clause without input; what is not assigned is the type's default value. READ: by reading records (FileSource,
    Parse); without an output clause all attributes are read, with one those not assigned, which it then holds as
    `OutputCall("Read")`; only the first output port has a clause. FORWARD: as the input tuples are; the
    schemas are equal. FREE: as the operator's code makes them; there is no output clause.
    """

    ASSIGN = "assign"
    AGGREGATE = "aggregate"
    GENERATE = "generate"
    READ = "read"
    FORWARD = "forward"
    FREE = "free"


def _no_check(operator: Operator, found: Diagnostics) -> None:
    """Accept every invocation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDefinition:
    """The definition of an operator kind.

    Attributes:
        name: As an invocation writes it; `namespace::name` is its full name.
        namespace: `spl` for standard operators, empty for those of a program without namespace: no `use` is needed
            for either, and `kind` is the bare name.
        doc: What it does, in the words of its users.
        inputs: The least and the greatest number of input ports; no greatest for any number.
        outputs: Likewise of output ports.
        params: What an invocation may say.
        any_params: Whether it takes parameters beyond `params` (Python classes with keyword arguments).
        windows: Whether its input ports have windows.
        output: How its output tuples come about.
        assigned_outputs: How many output ports, from the first, have an output clause; none for all of them.
        output_functions: What only its output clause knows.
        facts: What every instance is like; without it, nothing is known.
        model: Tells what the compiler may assume of an instance, beside the facts.
        check: Finds what the declarations above cannot express; reports with the operator's spans.
        runtime: Makes the instance that the reference interpreter runs.
        upgrades: Whether it takes the state over that a class of another name has left, and makes it its own.
    """

    name: str
    namespace: str = "spl"
    doc: str
    inputs: tuple[int, int | None]
    outputs: tuple[int, int | None]
    params: tuple[ParamSpec, ...] = ()
    any_params: bool = False
    windows: WindowUse = WindowUse.NONE
    output: OutputClause = OutputClause.FREE
    assigned_outputs: int | None = None
    output_functions: tuple[OutputFunction, ...] = ()
    facts: Facts = NO_FACTS
    model: Callable[[Operator], OperatorModel]
    check: Callable[[Operator, Diagnostics], None] = _no_check
    runtime: Callable[[Operator, Context], Runtime]
    upgrades: bool = False

    @property
    def kind(self) -> str:
        """The full name, as `Operator.kind` has it."""
        return self.name if self.namespace in ("", "spl") else f"{self.namespace}::{self.name}"

    def param(self, name: str) -> ParamSpec | None:
        """The parameter of a name."""
        return next((p for p in self.params if p.name == name), None)
