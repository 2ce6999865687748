"""Placement settings of config clauses as constraints (COLA paper, section 3.1).

| in a config clause | constraint |
|---|---|
| `partitionColocation("x")` | pe_colocation of all operators with the tag |
| `partitionExlocation("x")` | pe_exlocation of all operators with the tag |
| `partitionIsolation` | pe_dedication of the operator |
| `hostColocation("x")`, `hostExlocation("x")`, `hostIsolation` | likewise of hosts |
| `host("name")`, `host(Pool)`, `host(Pool[1])` | resource_match of the operator |

A tag means the same in the whole application. A pool is defined in a composite's config clause as a list of host names
or by `createPool` with tags; `host(Pool)` allows any of them. A pool without hosts and tags takes the hosts that there
are, so it asks for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr.evaluate import Evaluator
from penstock.expr.typing import convert
from penstock.ir.constraints import Constraint, ConstraintKind
from penstock.ir.types import RSTRING, UINT32, ListType, Type
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.expand.composites import Instance
from penstock.lang.expand.expand import Expanded
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code

_TAGGED = {
    "partitionColocation": ConstraintKind.PE_COLOCATION,
    "partitionExlocation": ConstraintKind.PE_EXLOCATION,
    "hostColocation": ConstraintKind.HOST_COLOCATION,
    "hostExlocation": ConstraintKind.HOST_EXLOCATION,
}
_DEDICATED = {
    "partitionIsolation": ConstraintKind.PE_DEDICATION,
    "hostIsolation": ConstraintKind.HOST_DEDICATION,
}
_KNOWN = (*_TAGGED, *_DEDICATED, "host")


def placement_constraints(expanded: Iterable[Expanded], evaluator: Evaluator) -> tuple[Constraint, ...]:
    """The constraints of all operators: groups by tag first, then demands of single operators.

    Mistakes are reported to the compilation of the settings' scopes.
    """
    groups: dict[tuple[ConstraintKind, str], list[str]] = {}
    single: list[Constraint] = []
    for item in expanded:
        for setting, scope in item.placement:
            for value in setting.values:
                try:
                    _place(value, item.operator.id, scope, evaluator, groups, single)
                except UserError as problem:
                    scope.compilation.found.extend(problem)
    shared = (Constraint(kind=kind, operators=tuple(ids)) for (kind, _), ids in groups.items() if len(ids) > 1)
    return (*shared, *single)


def _place(
    value: ast.Actual | ast.NamedArgument,
    operator: str,
    scope: Instance,
    evaluator: Evaluator,
    groups: dict[tuple[ConstraintKind, str], list[str]],
    single: list[Constraint],
) -> None:
    name, arguments = _demand(value)
    if name in _TAGGED:
        for argument in arguments:
            members = groups.setdefault((_TAGGED[name], _constant(argument, RSTRING, scope, evaluator)), [])
            if operator not in members:
                members.append(operator)
    elif name in _DEDICATED:
        single.append(Constraint(kind=_DEDICATED[name], operators=(operator,)))
    else:
        hosts = tuple(host for argument in arguments for host in _hosts(argument, scope, evaluator))
        if hosts:
            single.append(Constraint(kind=ConstraintKind.RESOURCE_MATCH, operators=(operator,), hosts=hosts))


def _demand(value: ast.Actual | ast.NamedArgument) -> tuple[str, tuple[code.SyntaxExpression, ...]]:
    match value:
        case code.CallSyntax(function=word, arguments=arguments):
            name = word.text
        case code.NameSyntax(name=word):
            name, arguments = word.text, ()
        case _:
            raise error(f"expected one of {', '.join(_KNOWN)}", value.span)
    if name not in _KNOWN:
        hint = did_you_mean(name, _KNOWN)
        raise error(f"there is no placement `{name}`; there are {', '.join(_KNOWN)}", value.span, hint)
    if bool(arguments) == (name in _DEDICATED):
        wanted = "takes no argument" if name in _DEDICATED else "needs an argument"
        raise error(f"`{name}` {wanted}", value.span)
    return name, arguments


def _constant(syntax: code.SyntaxExpression, type_: Type, scope: Instance, evaluator: Evaluator) -> str:
    names = Names(scope=scope, home=scope)
    expression = convert(check_expression(syntax, names, type_), type_, syntax.span)
    return cast("str", _evaluated(expression, syntax, evaluator))


def _evaluated(expression: object, syntax: code.SyntaxExpression, evaluator: Evaluator) -> object:
    try:
        return evaluator.constant(expression)  # type: ignore[arg-type]
    except Exception as problem:
        raise error(f"this has no value at compile time: {problem}", syntax.span) from problem


def _hosts(syntax: code.SyntaxExpression, scope: Instance, evaluator: Evaluator) -> Iterator[str]:
    match syntax:
        case code.NameSyntax(name=word) if not word.text.startswith("$"):
            yield from _find_pool(word, scope, evaluator).hosts
        case code.IndexSyntax(base=code.NameSyntax(name=word), index=index):
            pool = _find_pool(word, scope, evaluator)
            names = Names(scope=scope, home=scope)
            at = _evaluated(check_expression(index, names), index, evaluator)
            if not isinstance(at, int) or at < 0 or (pool.size is not None and at >= pool.size):
                raise error(f"the pool `{word}` has {pool.size} members", index.span)
            # Which host is the third of those that a tag means is known to those who run the job.
            yield from pool.hosts[at : at + 1] if pool.is_list else pool.hosts
        case _:
            yield _constant(syntax, RSTRING, scope, evaluator)


@dataclass(frozen=True, slots=True)
class _Pool:
    """A host pool.

    Attributes:
        hosts: Names, or tags; none if any host will do.
        size: How many hosts it has, if that is said.
        is_list: Whether `hosts` are all of its hosts, in order.
    """

    hosts: tuple[str, ...]
    size: int | None
    is_list: bool


def _find_pool(word: code.Word, scope: Instance, evaluator: Evaluator) -> _Pool:
    """A pool that this composite or one around it defines."""
    known: dict[str, tuple[code.SyntaxExpression, Instance]] = {}
    for instance in scope.chain:
        for setting in instance.composite.config:
            if setting.name.text == "hostPool":
                named = (v for v in setting.values if isinstance(v, ast.NamedArgument))
                known.update({v.name.text: (v.value, instance) for v in named})
    if word.text not in known:
        raise error(f"there is no host pool `{word}`", word.span, did_you_mean(word.text, known))
    value, instance = known[word.text]
    names = Names(scope=instance, home=instance)
    is_list = not (isinstance(value, code.CallSyntax) and value.function.text == "createPool")
    listed = value if is_list else _field(value, "tags") or code.ListSyntax(span=value.span, elements=())
    checked = convert(check_expression(listed, names, ListType(RSTRING)), ListType(RSTRING), listed.span)
    hosts = tuple(cast("list[str]", _evaluated(checked, listed, evaluator)))
    size = None if is_list else _field(value, "size")
    number = None if size is None else convert(check_expression(size, names, UINT32), UINT32, size.span)
    count = None if number is None else cast("int", _evaluated(number, size or value, evaluator))
    if not hosts:
        message = f"the host pool `{word}` names no hosts: it takes those that there are"
        scope.compilation.warn(message, value.span)
    return _Pool(hosts, len(hosts) if is_list and hosts else count, is_list)


def _field(call: code.SyntaxExpression, name: str) -> code.SyntaxExpression | None:
    """A field of `createPool({size = 2u, tags = ["a", "b"]}, Sys.Shared)`."""
    for argument in call.arguments if isinstance(call, code.CallSyntax) else ():
        if isinstance(argument, code.TupleLiteralSyntax):
            for field in argument.fields:
                if field.name.text == name:
                    return field.value
    return None
