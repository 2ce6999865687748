"""Statements, functions and logic clauses as Python text, one line of a list for each line of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.expr.analysis import changed_roots, root_of
from penstock.expr.emit.arithmetic import comparison
from penstock.expr.emit.code import COMPARE, Code
from penstock.expr.emit.expression_text import changed, code, owned
from penstock.expr.emit.ownership import Ownership, ownership
from penstock.expr.emit.scope import INDENT, Scope
from penstock.expr.emit.store import settle, store_statement
from penstock.ir.expressions import Call, Expression, Update, Variable
from penstock.ir.statements import (
    Assign,
    Block,
    Break,
    Case,
    Continue,
    Declare,
    Evaluate,
    For,
    If,
    Return,
    Statement,
    Submit,
    SubmitPunctuation,
    Switch,
    While,
)
from penstock.ir.types import ListType, MapType, SetType, Type, has_collection

Lines = list[str]


def emit_statement(statement: Statement, scope: Scope) -> Lines:
    """The Python lines of a statement.

    Example:
        >>> from penstock.expr.emit.scope import Module
        >>> from penstock.expr.typing import literal
        >>> from penstock.ir.types import INT32
        >>> scope = Scope(module=Module())
        >>> emit_statement(Declare(name="n", type=INT32, value=literal(1), mutable=True), scope)
        ['n = 1']
    """
    return _EMITTERS[type(statement)](statement, scope)


def emit_body(statement: Statement, scope: Scope) -> Lines:
    """A statement as the indented body of something."""
    inner = scope.inner()
    parts = statement.body if isinstance(statement, Block) else (statement,)
    lines = [line for part in parts for line in emit_statement(part, inner)]
    return indent(lines or ["pass"])


def indent(lines: Sequence[str]) -> Lines:
    """The lines one level deeper."""
    return [INDENT + line for line in lines]


def _declare(s: Declare, scope: Scope) -> Lines:
    value = initial_value(s, scope)
    return [f"{scope.declare(s.name, owned=s.mutable)} = {value}"]


def initial_value(s: Declare, scope: Scope) -> str:
    """The text of the value that a declared variable starts with."""
    if s.value is not None:
        return owned(s.value, scope, into_owned=s.mutable).text
    spelled = f'parse_type("{s.type}")'
    if has_collection(s.type):
        return f"default_value({scope.module.define('type', spelled)})"
    return scope.module.define("default", f"default_value({spelled})")


def _assign(s: Assign, scope: Scope) -> Lines:
    if s.operator == "+" and isinstance(s.target, Variable) and is_unbounded_collection(s.target.type):
        operator = "+" if isinstance(s.target.type, ListType) else "|"
        place, value = scope.variables[s.target.name], owned(s.value, scope, into_owned=True)
        return [f"{place.text} {operator}= {value.text}"]
    target, positions = settle(s.target, scope, code)
    lines = [text.replace(" := ", " = ", 1) for text in positions]
    return [*lines, store_statement(target, changed(target, s.operator, s.value, scope), scope, code)]


def is_unbounded_collection(type_: Type) -> bool:
    """Whether `+=` can extend a collection in place without a check."""
    return isinstance(type_, ListType | SetType | MapType) and type_.bound is None


def _evaluate(s: Evaluate, scope: Scope) -> Lines:
    match s.value:
        case Update(target=target, operator=operator, value=value):
            return _assign(Assign(target=target, operator=operator, value=value), scope)
        case Call(function="block", arguments=(seconds,)) if scope.in_generator:
            return [f"yield round({code(seconds, scope).text} * 1e9)"]
    return [code(s.value, scope).text]


def _block(s: Block, scope: Scope) -> Lines:
    inner = scope.inner()
    return [line for part in s.body for line in emit_statement(part, inner)]


def _if(s: If, scope: Scope) -> Lines:
    lines = [f"if {code(s.test, scope).text}:", *emit_body(s.then, scope)]
    if isinstance(s.otherwise, If):
        nested = _if(s.otherwise, scope)
        return [*lines, f"el{nested[0]}", *nested[1:]]
    return lines if s.otherwise is None else [*lines, "else:", *emit_body(s.otherwise, scope)]


def _while(s: While, scope: Scope) -> Lines:
    inside = replace(scope, continue_flag=None)
    return [f"while {code(s.test, scope).text}:", *emit_body(s.body, inside)]


def _for(s: For, scope: Scope) -> Lines:
    changes = changed_roots(s.body, scope.module.functions)
    inside = replace(scope.inner(), continue_flag=None)
    source = root_of(s.values)
    values = _iterated(s.values, scope, copied=source is not None and source in changes)
    own = ("variable", s.name) in changes
    name = inside.declare(s.name, owned=own or ownership(s.values, scope) is Ownership.OWNED)
    lines = [f"for {name} in {values}:"]
    if own and has_collection(s.type):
        copier = scope.module.define("copy", f'copier(parse_type("{s.type}"))')
        lines.append(f"{INDENT}{name} = {copier}({name})")
    return [*lines, *emit_body(s.body, inside)]


def _iterated(x: Expression, scope: Scope, *, copied: bool) -> str:
    values = code(x, scope)
    if isinstance(x.type, SetType):
        ascending = scope.module.define("ascending", f'ascending(parse_type("{x.type.element}"))')
        return f"{ascending}({values.text})"
    if copied or isinstance(x.type, MapType):
        return f"list({values.text})"
    return values.text


def _switch(s: Switch, scope: Scope) -> Lines:
    """A loop of one turn, which `break` leaves; the cases from the matching one on are run."""
    subject, start, flag = (scope.locals.temporary() for _ in range(3))
    inner = replace(scope.inner(), continue_flag=flag)
    lines = [f"{subject} = {code(s.subject, scope).text}", f"{start} = {_first_case(s, subject, scope)}"]
    cases = [line for number, case in enumerate(s.cases) for line in _case(number, case, start, inner)]
    lines += ["for _ in (0,):", *indent(cases or ["pass"])]
    if not any(map(_continues, s.children())):
        return lines
    return [f"{flag} = False", *lines, f"if {flag}:", *indent(_continue(Continue(), scope))]


def _case(number: int, case: Case, start: str, scope: Scope) -> Lines:
    body = [line for part in case.body for line in emit_statement(part, scope)]
    return [f"if {start} <= {number}:", *indent(body or ["pass"])]


def _continues(s: Statement) -> bool:
    """Whether a statement continues the loop around it."""
    return isinstance(s, Continue) or (not isinstance(s, While | For) and any(map(_continues, s.children())))


def _first_case(s: Switch, subject: str, scope: Scope) -> str:
    tests = [f"{n} if {_matches(case, subject, scope)} else " for n, case in enumerate(s.cases) if case.values]
    default = next((n for n, case in enumerate(s.cases) if not case.values), len(s.cases))
    return "".join(tests) + str(default)


def _matches(case: Case, subject: str, scope: Scope) -> str:
    tests = (comparison("==", v.type, Code(subject), code(v, scope), scope) for v in case.values)
    return " or ".join(test.at(COMPARE) for test in tests)


def _break(s: Break, scope: Scope) -> Lines:
    return ["break"]


def _continue(s: Continue, scope: Scope) -> Lines:
    return ["continue"] if scope.continue_flag is None else [f"{scope.continue_flag} = True", "break"]


def _return(s: Return, scope: Scope) -> Lines:
    if s.value is None:
        return [f"return {scope.return_text}".rstrip()]
    value = owned(s.value, scope).text
    return [f"return {', '.join((value, *scope.rebound))}"]


def _submit(s: Submit, scope: Scope) -> Lines:
    return [f"submit[{s.port}]({owned(s.value, scope).text})", *_turn(scope)]


def _submit_punctuation(s: SubmitPunctuation, scope: Scope) -> Lines:
    return [f"punctuate[{s.port}]({code(s.value, scope).text})", *_turn(scope)]


def _turn(scope: Scope) -> Lines:
    return ["yield None"] if scope.in_generator else []


_EMITTERS: dict[type[Statement], Callable[[Any, Scope], Lines]] = {
    Declare: _declare,
    Assign: _assign,
    Evaluate: _evaluate,
    Block: _block,
    If: _if,
    While: _while,
    For: _for,
    Switch: _switch,
    Break: _break,
    Continue: _continue,
    Return: _return,
    Submit: _submit,
    SubmitPunctuation: _submit_punctuation,
}
