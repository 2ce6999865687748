"""Checks statements: a mistake in one of them does not hide those in the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.base.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.expr import typing
from penstock.expr.typing import assign, convert
from penstock.ir.expressions import Expression, Literal
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
from penstock.ir.types import BOOLEAN, VOID, ListType, MapType, SetType, Type, is_numeric, is_string
from penstock.lang.check.calls import check_changeable
from penstock.lang.check.expressions import check_converted, check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import PUNCTUATION, Local, Names
from penstock.lang.check.type_syntax import resolve_type
from penstock.lang.syntax import ast_code as code
from penstock.lang.syntax.literals import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """The context of statements beside names.

    Attributes:
        found: Receives the mistakes.
        returns: The type that the function returns; None in a logic clause.
        in_loop: Whether `continue` has a target.
        in_switch: Whether `break` has a target beside a loop.
    """

    found: Diagnostics
    returns: Type | None = None
    in_loop: bool = False
    in_switch: bool = False


def check_block(body: code.Statement, names: Names, around: Around) -> Block:
    """The statement as a block; statements with mistakes are left out after these are reported."""
    inner = body.body if isinstance(body, code.BlockStatement) else (body,)
    return Block(body=_check_body(inner, names, around), span=body.span)


def check_declaration(syntax: code.DeclareStatement, names: Names, found: Diagnostics) -> tuple[list[Declare], Names]:
    """The variables of a declaration, and the names with them; one that is wrong is known, but without type."""
    declared: list[Declare] = []
    try:
        type_: Type | None = resolve_type(syntax.type, names.scope, names.types)
        if type_ == VOID:
            raise error("a variable cannot be void", syntax.type.span)
    except UserError as problem:
        found.extend(problem)
        type_ = None
    for declarator in syntax.declarators:
        if type_ is not None:
            value = _initial(declarator, syntax, type_, names, found)
            name = declarator.name.text
            declared.append(Declare(name=name, type=type_, value=value, mutable=syntax.mutable, span=declarator.span))
        names = names.declared(declarator.name.text, Local(type=type_, mutable=syntax.mutable))
    return declared, names


def _initial(
    declarator: code.Declarator, syntax: code.DeclareStatement, type_: Type, names: Names, found: Diagnostics
) -> Expression | None:
    if declarator.value is None:
        if not syntax.mutable:
            found.error(f"`{declarator.name}` is not mutable, so it needs a value", declarator.span)
        return None
    try:
        return _as_declared(declarator.value, names, type_)
    except UserError as problem:
        found.extend(problem)
        return None


def _as_declared(syntax: code.SyntaxExpression, names: Names, type_: Type) -> Expression:
    """The initial value: unlike elsewhere in SPL, a number becomes one of the declared type without a cast."""
    value = check_expression(syntax, names, type_)
    is_number = is_numeric(type_) and is_numeric(value.type) and not isinstance(value, Literal)
    return typing.cast(value, type_, syntax.span) if is_number else typing.convert(value, type_, syntax.span)


def _check_body(body: Sequence[code.Statement], names: Names, around: Around) -> tuple[Statement, ...]:
    checked: list[Statement] = []
    here: set[str] = set()
    for syntax in body:
        if isinstance(syntax, code.DeclareStatement):
            _check_new(syntax, here, around.found)
            declared, names = check_declaration(syntax, names, around.found)
            checked.extend(declared)
        elif isinstance(syntax, code.LocalType):
            names = _local_type(syntax, names, around.found)
        elif not isinstance(syntax, code.EmptyStatement):
            statement = _check(syntax, names, around)
            checked.extend(() if statement is None else (statement,))
    return tuple(checked)


def _check_new(syntax: code.DeclareStatement, here: set[str], found: Diagnostics) -> None:
    for declarator in syntax.declarators:
        if declarator.name.text in here:
            found.error(f"`{declarator.name}` is declared twice in this block", declarator.name.span)
        here.add(declarator.name.text)


def _local_type(syntax: code.LocalType, names: Names, found: Diagnostics) -> Names:
    try:
        return names.with_type(syntax.name.text, resolve_type(syntax.type, names.scope, names.types))
    except UserError as problem:
        found.extend(problem)
        return names


def _check(syntax: code.Statement, names: Names, around: Around) -> Statement | None:
    try:
        return _CHECKS[type(syntax)](syntax, names, around)
    except UserError as problem:
        around.found.extend(problem)
        return None


def _test(syntax: code.SyntaxExpression, names: Names, around: Around) -> Expression | None:
    """A condition, or none after reporting why it is not one: the statements below are checked all the same."""
    try:
        test = check_expression(syntax, names)
        if test.type != BOOLEAN:
            raise error(f"a condition must be boolean, found {test.type}", syntax.span)
        return test
    except UserError as problem:
        around.found.extend(problem)
        return None


def _block(syntax: code.BlockStatement, names: Names, around: Around) -> Statement:
    return check_block(syntax, names, around)


def _if(syntax: code.IfStatement, names: Names, around: Around) -> Statement | None:
    test = _test(syntax.test, names, around)
    then = check_block(syntax.then, names, around)
    otherwise = None if syntax.otherwise is None else check_block(syntax.otherwise, names, around)
    return None if test is None else If(test=test, then=then, otherwise=otherwise, span=syntax.span)


def _while(syntax: code.WhileStatement, names: Names, around: Around) -> Statement | None:
    test = _test(syntax.test, names, around)
    body = check_block(syntax.body, names, replace(around, in_loop=True))
    return None if test is None else While(test=test, body=body, span=syntax.span)


def _for(syntax: code.ForStatement, names: Names, around: Around) -> Statement | None:
    type_, values = _loop(syntax, names, around)
    inner = names.declared(syntax.name.text, Local(type=type_, mutable=syntax.mutable))
    body = check_block(syntax.body, inner, replace(around, in_loop=True))
    if type_ is None or values is None:
        return None
    return For(name=syntax.name.text, type=type_, values=values, body=body, span=syntax.span)


def _loop(syntax: code.ForStatement, names: Names, around: Around) -> tuple[Type | None, Expression | None]:
    """The type of the loop's variable and what it goes over, each none after reporting what is wrong with it."""
    type_, values = None, None
    try:
        type_ = resolve_type(syntax.type, names.scope, names.types)
        values = check_expression(syntax.values, names)
        element = _element(values.type)
        if element is None:
            raise error(
                f"a for loop goes over a list, a set, a map or a string, found {values.type}", syntax.values.span
            )
        if element not in (type_, VOID):
            hint = f"write `{element} {syntax.name}`"
            raise error(f"the elements are {element}, but `{syntax.name}` is {type_}", syntax.type.span, hint)
    except UserError as problem:
        around.found.extend(problem)
        return type_, None
    return type_, values


def _element(type_: Type) -> Type | None:
    match type_:
        case ListType(element=element) | SetType(element=element) | MapType(key=element):
            return element
    return type_ if is_string(type_) else None


def _switch(syntax: code.SwitchStatement, names: Names, around: Around) -> Statement:
    subject = check_expression(syntax.subject, names)
    inside = replace(around, in_switch=True)
    cases: list[Case] = []
    for case in syntax.cases:
        body = _check_body(case.body, names, inside)
        values = () if case.value is None else (check_converted(case.value, names, subject.type),)
        if case.value is None and any(not c.values for c in cases):
            raise error("a switch has one default", case.span)
        cases.append(Case(values=values, body=body))
    return Switch(subject=subject, cases=_merged(cases), span=syntax.span)


def _merged(cases: Sequence[Case]) -> tuple[Case, ...]:
    """`case 1: case 2: body` as one case with two values."""
    merged: list[Case] = []
    for case in cases:
        if merged and not merged[-1].body and merged[-1].values and case.values:
            case = Case(values=merged.pop().values + case.values, body=case.body)
        merged.append(case)
    return tuple(merged)


def _jump(syntax: code.JumpStatement, names: Names, around: Around) -> Statement:
    if syntax.word == "continue":
        if not around.in_loop:
            raise error("continue stands outside every loop", syntax.span)
        return Continue(span=syntax.span)
    if not (around.in_loop or around.in_switch):
        raise error("break stands outside every loop and switch", syntax.span)
    return Break(span=syntax.span)


def _return(syntax: code.ReturnStatement, names: Names, around: Around) -> Statement:
    wanted = around.returns if around.returns != VOID else None
    if syntax.value is None:
        if wanted is not None:
            raise error(f"return needs a value of type {wanted}", syntax.span)
        return Return(span=syntax.span)
    if wanted is None:
        where = "a void function" if around.returns == VOID else "a logic clause"
        raise error(f"{where} returns no value", syntax.value.span)
    return Return(value=check_converted(syntax.value, names, wanted), span=syntax.span)


def _expression(syntax: code.ExpressionStatement, names: Names, around: Around) -> Statement:
    value = syntax.value
    if isinstance(value, code.AssignSyntax):
        return _assign(value, names)
    if isinstance(value, code.CallSyntax) and value.function.text == "submit":
        return _submit(value, names)
    if isinstance(value, code.NameSyntax | code.FieldSyntax | code.IndexSyntax):
        raise error("this statement does nothing", syntax.span, "expected a call or an assignment")
    return Evaluate(value=check_expression(value, names), span=syntax.span)


def _assign(syntax: code.AssignSyntax, names: Names) -> Assign:
    target = check_expression(syntax.target, names)
    check_changeable(target, names)
    if syntax.value is None:
        return assign(target, typing.literal(1, None, syntax.span), syntax.operator, syntax.span)
    value = check_expression(syntax.value, names, target.type)
    return assign(target, value, syntax.operator, syntax.span)


def _submit(syntax: code.CallSyntax, names: Names) -> Statement:
    if len(syntax.arguments) != 2:
        message = f"submit takes a tuple or a punctuation, and an output port; found {len(syntax.arguments)} arguments"
        raise error(message, syntax.span)
    value, target = syntax.arguments
    port = _output_port(target, names)
    schema = names.output_schemas[port]
    checked = check_expression(value, names, schema)
    if checked.type == PUNCTUATION:
        return SubmitPunctuation(value=checked, port=port, span=syntax.span)
    return Submit(value=convert(checked, schema, value.span), port=port, span=syntax.span)


def _output_port(target: code.SyntaxExpression, names: Names) -> int:
    """The index of the output port that a submit names, or gives as a number."""
    if isinstance(target, code.NumberSyntax):
        index = number(target.text, target.span).value
        if isinstance(index, int) and index < len(names.output_schemas):
            return index
    if isinstance(target, code.NameSyntax) and target.name.text in names.outputs:
        return names.outputs[target.name.text]
    known = ", ".join(f"`{name}`" for name in names.outputs) or "none"
    written = target.span.source.text[target.span.start : target.span.end]
    hint = did_you_mean(written, names.outputs)
    raise error(f"`{written}` is not an output port; there are: {known}", target.span, hint)


_CHECKS: dict[type, Callable[..., Statement | None]] = {
    code.BlockStatement: _block,
    code.IfStatement: _if,
    code.WhileStatement: _while,
    code.ForStatement: _for,
    code.SwitchStatement: _switch,
    code.JumpStatement: _jump,
    code.ReturnStatement: _return,
    code.ExpressionStatement: _expression,
}
