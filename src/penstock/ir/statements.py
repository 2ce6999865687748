"""The statements of logic clauses and functions, as data; expressions inside them are fully typed.

Values have value semantics: an assignment, a submit and a literal copy what they take from a variable. So `Assign`
into a part of a variable changes that variable and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields

from penstock.base.diagnostics import Span
from penstock.ir.expressions import Expression
from penstock.ir.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The root of all statements."""

    span: Span | None = field(default=None, compare=False, repr=False)

    def expressions(self) -> Iterator[Expression]:
        """The expressions that stand directly in this statement."""
        for f in fields(self):
            value = getattr(self, f.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Expression):
                    yield part
                elif isinstance(part, Case):
                    yield from part.values

    def children(self) -> Iterator[Statement]:
        """The statements nested directly in this one."""
        for f in fields(self):
            value = getattr(self, f.name)
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Statement):
                    yield part
                elif isinstance(part, Case):
                    yield from part.body

    def walk(self) -> Iterator[Statement]:
        """This statement and all below it."""
        yield self
        for child in self.children():
            yield from child.walk()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare(Statement):
    """`[mutable] type name = value;`; in a state clause the initial value is computed once."""

    name: str
    type: Type
    value: Expression | None = None
    mutable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(Statement):
    """`target op= value;` where target is a `Variable`, `InputTuple`, `Attribute`, or a `Field` or `Index` of one.

    `operator` is empty for plain `=`, or an arithmetic or bitwise operator; `x++` is `x += 1`. The value is already
    cast to the target's type.
    """

    target: Expression
    value: Expression
    operator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluate(Statement):
    """An expression for its effect, such as `appendM(list, x);`."""

    value: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Statement):
    """`{ ... }`: a scope of its own."""

    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class If(Statement):
    """`if (test) then else otherwise`."""

    test: Expression
    then: Statement
    otherwise: Statement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class While(Statement):
    """`while (test) body`."""

    test: Expression
    body: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class For(Statement):
    """`for (type name in values) body`; over a map, the variable takes the keys."""

    name: str
    type: Type
    values: Expression
    body: Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`case v: body` of a switch; no values for `default`."""

    values: tuple[Expression, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch(Statement):
    """`switch (subject) { case ...: ... default: ... }`; falls through to the next case unless it breaks, as in C."""

    subject: Expression
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(Statement):
    """`break;`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue(Statement):
    """`continue;`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Return(Statement):
    """`return value;`; in a logic clause without value."""

    value: Expression | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit(Statement):
    """`submit(tuple, Port);`: the tuple leaves by the output port of that index."""

    value: Expression
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPunctuation(Statement):
    """`submit(Sys.WindowMarker, Port);`; the value is an enum expression of the punctuation type."""

    value: Expression
    port: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function of the application, `T name(params) { body }`.

    Attributes:
        name: With its namespace: `my.ns::f`.
        parameters: In order.
        returns: `VOID` for none.
        body: Its statements.
        stateful: Whether it is declared stateful; a call of it makes an operator's state unknown.
    """

    name: str
    parameters: tuple[Parameter, ...]
    returns: Type
    body: Block
    stateful: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of a function; a mutable one is passed by reference."""

    name: str
    type: Type
    mutable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """The code for one input port: what happens on its tuples or punctuations."""

    port: int
    body: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Logic:
    """The logic clause of an invocation.

    Attributes:
        state: Variables that live as long as the operator.
        on_tuple: At most one for each input port.
        on_punctuation: At most one for each input port.
        on_process: The code of an operator without inputs.
    """

    state: tuple[Declare, ...] = ()
    on_tuple: tuple[Handler, ...] = ()
    on_punctuation: tuple[Handler, ...] = ()
    on_process: Block | None = None

    def statements(self) -> Iterator[Statement]:
        """All statements, state declarations first."""
        blocks = [handler.body for handler in (*self.on_tuple, *self.on_punctuation)]
        if self.on_process is not None:
            blocks.append(self.on_process)
        yield from self.state
        for block in blocks:
            yield from block.walk()
