"""The functions of an application: their signatures, their bodies, and which of them a graph needs.

A signature is resolved when a call needs it, a body when all signatures can be known, so functions may call each other
in any order. Functions of the main file are checked even if nobody calls them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock.base.diagnostics import UserError
from penstock.expr.functions.registry import overloads
from penstock.ir.expressions import Call, Expression, Literal
from penstock.ir.statements import Block, Evaluate, Function, If, Parameter, Return, Statement, Switch, While
from penstock.ir.types import VOID
from penstock.lang.check.mistakes import error, silent
from penstock.lang.check.names import Local, Names
from penstock.lang.check.scope import Compilation, Scope
from penstock.lang.check.statements import Around, check_block
from penstock.lang.check.type_syntax import resolve_type
from penstock.lang.library import Module
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code

_EMPTY = Block(body=())


class FunctionTable:
    """The application's functions, by what calls name."""

    def __init__(self, compilation: Compilation) -> None:
        self._compilation = compilation
        self._signatures: dict[int, Function | None] = {}
        self._origin: dict[int, tuple[ast.FunctionSyntax, Module]] = {}
        self._bodies: dict[int, Block] = {}

    def candidates(self, word: code.Word, scope: Scope) -> tuple[Function, ...]:
        """The signatures of the functions that a name means in a scope; none if it means none of the application's.

        Raises:
            UserError: Silent, if a signature is wrong.
        """
        if "." in word.text.rpartition("::")[2]:
            return ()
        found = scope.library.lookup(ast.FunctionSyntax, word.text, scope.module)
        for syntax, module in found:
            if module.namespace != scope.module.namespace and not syntax.public:
                raise error(f"the function `{word}` is not public", word.span, "declare it with the word `public`")
        signatures = [self.signature(syntax, module) for syntax, module in found]
        if None in signatures:
            raise silent()
        return tuple(s for s in signatures if s is not None)

    def names(self, scope: Scope) -> Iterator[str]:
        """The functions of the scope's file, for suggestions."""
        return (d.name.text for d in scope.module.file.definitions if isinstance(d, ast.FunctionSyntax))

    def signature(self, syntax: ast.FunctionSyntax, module: Module) -> Function | None:
        """The function without its body; none after reporting what is wrong with it."""
        if id(syntax) not in self._signatures:
            self._origin[id(syntax)] = (syntax, module)
            try:
                self._signatures[id(syntax)] = self._resolve(syntax, module)
            except UserError as problem:
                self._compilation.found.extend(problem)
                self._signatures[id(syntax)] = None
        return self._signatures[id(syntax)]

    def _resolve(self, syntax: ast.FunctionSyntax, module: Module) -> Function:
        scope = self._compilation.scope_of(module)
        parameters: list[Parameter] = []
        for formal in syntax.formals:
            if any(p.name == formal.name.text for p in parameters):
                raise error(f"the parameter `{formal.name}` is given twice", formal.name.span)
            type_ = resolve_type(formal.type, scope)
            if type_ == VOID:
                raise error("a parameter cannot be void", formal.type.span)
            parameters.append(Parameter(name=formal.name.text, type=type_, mutable=formal.mutable))
        return Function(
            name=f"{module.namespace}::{syntax.name}" if module.namespace else syntax.name.text,
            parameters=tuple(parameters),
            returns=resolve_type(syntax.returns, scope),
            body=_EMPTY,
            stateful=syntax.stateful,
        )

    def check_file(self, module: Module) -> None:
        """Check every function of a file."""
        seen: dict[tuple[str, tuple[object, ...]], ast.FunctionSyntax] = {}
        for syntax in module.file.definitions:
            if isinstance(syntax, ast.FunctionSyntax):
                signature = self.signature(syntax, module)
                if signature is not None:
                    key = (signature.name, tuple(p.type for p in signature.parameters))
                    if key in seen:
                        message = f"two functions `{syntax.name}` take the same parameters"
                        self._compilation.found.error(message, syntax.name.span)
                    seen[key] = syntax
                    self._body(syntax, module, signature)

    def _body(self, syntax: ast.FunctionSyntax, module: Module, signature: Function) -> Block:
        if id(syntax) not in self._bodies:
            self._bodies[id(syntax)] = _EMPTY
            scope = self._compilation.scope_of(module)
            locals_ = {p.name: Local(type=p.type, mutable=p.mutable) for p in signature.parameters}
            names = Names(scope=scope, home=scope, locals=locals_)
            around = Around(found=self._compilation.found, returns=signature.returns)
            before = len(tuple(self._compilation.found))
            body = check_block(syntax.body, names, around)
            is_whole = len(tuple(self._compilation.found)) == before
            if signature.returns != VOID and is_whole and not _returns(body):
                message = f"`{syntax.name}` can end without a return; it returns {signature.returns}"
                self._compilation.found.error(message, syntax.name.span)
            self._bodies[id(syntax)] = body
        return self._bodies[id(syntax)]

    def needed(self, expressions: Iterable[Expression]) -> tuple[Function, ...]:
        """The functions that expressions call, and those that these call, complete, in order of first call."""
        chosen: dict[int, Function] = {}
        waiting = [part for expression in expressions for part in expression.walk() if isinstance(part, Call)]
        while waiting:
            call = waiting.pop(0)
            key = self._called(call)
            signature = self._signatures.get(key) if key is not None else None
            if key is None or signature is None or key in chosen:
                continue
            body = self._body(*self._origin[key], signature)
            chosen[key] = replace(signature, body=body)
            waiting.extend(_calls(body))
        return _with_inferred_state(tuple(chosen.values()))

    def _called(self, call: Call) -> int | None:
        wanted = (call.function, [a.type for a in call.arguments])
        for key, signature in self._signatures.items():
            if signature is not None and (signature.name, [p.type for p in signature.parameters]) == wanted:
                return key
        return None


def _calls(block: Statement) -> Iterator[Call]:
    for statement in block.walk():
        for expression in statement.expressions():
            yield from (part for part in expression.walk() if isinstance(part, Call))


def _with_inferred_state(functions: tuple[Function, ...]) -> tuple[Function, ...]:
    """A function is stateful if it is declared so or calls one that is."""
    stateful = {f.name for f in functions if f.stateful}
    known = {f.name for f in functions}
    while True:
        more = {f.name for f in functions if any(_is_stateful(c, stateful, known) for c in _calls(f.body))} - stateful
        if not more:
            return tuple(replace(f, stateful=f.name in stateful) for f in functions)
        stateful |= more


def _is_stateful(call: Call, stateful: set[str], known: set[str]) -> bool:
    if call.function in known:
        return call.function in stateful
    return any(d.stateful for d in overloads(call.function))


def _returns(statement: Statement) -> bool:
    """Whether no path through a statement reaches its end; only an endless loop is known to be entered."""
    match statement:
        case Return() | Evaluate(value=Call(function="abort")) | While(test=Literal(value=True)):
            return True
        case Block(body=body):
            return any(_returns(s) for s in body)
        case If(then=then, otherwise=otherwise):
            return otherwise is not None and _returns(then) and _returns(otherwise)
        case Switch(cases=cases):
            has_default = any(not case.values for case in cases)
            return has_default and all(any(_returns(s) for s in case.body) for case in cases if case.body)
    return False
