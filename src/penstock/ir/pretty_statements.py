"""Statements and functions as SPL text; compiling it gives an equal tree, as far as expressions do.

Example:
    >>> from penstock.ir.expressions import Literal, Variable
    >>> from penstock.ir.statements import Assign
    >>> from penstock.ir.types import INT32
    >>> n, one = Variable(name="n", type=INT32), Literal(value=1, type=INT32)
    >>> statement_text(Assign(target=n, value=one, operator="+"))
    'n += 1;'
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import indent

from penstock.ir import statements as ir
from penstock.ir.expressions import Expression
from penstock.ir.pretty_expressions import expression_text

INDENT = "  "


@dataclass(frozen=True, slots=True, kw_only=True)
class PortNames:
    """The names of the ports of an operator in its code."""

    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def output(self, index: int) -> str:
        """The name of an output port."""
        return self.outputs[index] if index < len(self.outputs) else f"out{index}"


def statement_text(statement: ir.Statement, ports: PortNames | None = None) -> str:
    """The statement as SPL, over as many lines as it takes."""
    return "\n".join(_PRINTS[type(statement)](statement, ports or PortNames()))


def function_text(function: ir.Function) -> str:
    """The function as SPL."""
    formals = (f"{'mutable ' if p.mutable else ''}{p.type} {p.name}" for p in function.parameters)
    head = f"{'stateful ' if function.stateful else ''}{function.returns} {function.name}({', '.join(formals)})"
    return f"{head} {statement_text(function.body)}"


def _text(expression: Expression, ports: PortNames) -> str:
    return expression_text(expression, ports.inputs)


def _braced(body: Sequence[ir.Statement], ports: PortNames) -> str:
    inside = "\n".join(statement_text(s, ports) for s in body)
    return f"{{\n{indent(inside, INDENT)}\n}}" if body else "{ }"


def _block(s: ir.Block, ports: PortNames) -> Iterator[str]:
    yield _braced(s.body, ports)


def _declare(s: ir.Declare, ports: PortNames) -> Iterator[str]:
    value = "" if s.value is None else f" = {_text(s.value, ports)}"
    yield f"{'mutable ' if s.mutable else ''}{s.type} {s.name}{value};"


def _assign(s: ir.Assign, ports: PortNames) -> Iterator[str]:
    yield f"{_text(s.target, ports)} {s.operator}= {_text(s.value, ports)};"


def _evaluate(s: ir.Evaluate, ports: PortNames) -> Iterator[str]:
    yield f"{_text(s.value, ports)};"


def _if(s: ir.If, ports: PortNames) -> Iterator[str]:
    otherwise = "" if s.otherwise is None else f" else {statement_text(s.otherwise, ports)}"
    yield f"if ({_text(s.test, ports)}) {statement_text(s.then, ports)}{otherwise}"


def _while(s: ir.While, ports: PortNames) -> Iterator[str]:
    yield f"while ({_text(s.test, ports)}) {statement_text(s.body, ports)}"


def _for(s: ir.For, ports: PortNames) -> Iterator[str]:
    yield f"for ({s.type} {s.name} in {_text(s.values, ports)}) {statement_text(s.body, ports)}"


def _switch(s: ir.Switch, ports: PortNames) -> Iterator[str]:
    yield f"switch ({_text(s.subject, ports)}) {{"
    for case in s.cases:
        labels = [f"case {_text(value, ports)}:" for value in case.values] or ["default:"]
        yield indent(" ".join(labels), INDENT)
        for statement in case.body:
            yield indent(statement_text(statement, ports), INDENT * 2)
    yield "}"


def _break(s: ir.Break, ports: PortNames) -> Iterator[str]:
    yield "break;"


def _continue(s: ir.Continue, ports: PortNames) -> Iterator[str]:
    yield "continue;"


def _return(s: ir.Return, ports: PortNames) -> Iterator[str]:
    yield "return;" if s.value is None else f"return {_text(s.value, ports)};"


def _submit(s: ir.Submit | ir.SubmitPunctuation, ports: PortNames) -> Iterator[str]:
    value = _text(s.value, ports)
    if isinstance(s, ir.SubmitPunctuation) and value.isidentifier():
        value = f"Sys.{value}"
    yield f"submit({value}, {ports.output(s.port)});"


_PRINTS: dict[type, Callable[..., Iterator[str]]] = {
    ir.Block: _block,
    ir.Declare: _declare,
    ir.Assign: _assign,
    ir.Evaluate: _evaluate,
    ir.If: _if,
    ir.While: _while,
    ir.For: _for,
    ir.Switch: _switch,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Return: _return,
    ir.Submit: _submit,
    ir.SubmitPunctuation: _submit,
}
