"""How the attributes of a class that has become columns come about from tuple to tuple (`class_scans`).

A kind is only where a guess begins, which is checked: a wrong one costs time and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.codegen.functions.analysis import OWN
from penstock.codegen.functions.class_columns import CompiledClass
from penstock.codegen.functions.class_scans import HANDED_DOWN, HIGHEST, LOWEST, SUM
from penstock.codegen.functions.nodes import Node, Path, Where

_ADD = ("add", "plain +", "subtract", "plain -")
_WRAPS = ("choose", "fit", "float", "exact float", "present")
_ABOVE = {"plain >": 0, "plain >=": 0, "plain <": 1, "plain <=": 1}
"""Comparisons, each with the side that is the greater one where it holds."""


def scan_kinds(compiled: CompiledClass) -> dict[str, str] | None:
    """How each attribute that changes comes about; None if one of them does so in another way."""
    found = {name: _kind_of(name, node, compiled) for name, node in compiled.state.items()}
    kinds = {name: kind for name, kind in found.items() if kind is not None}
    return kinds if len(kinds) == len(found) else None


def _kind_of(name: str, node: Node, compiled: CompiledClass) -> str | None:
    kind = compiled.kinds[name]
    if kind.name not in ("int", "float", "bool", "str"):
        return None
    is_number = kind.name in ("int", "float")
    own = OWN + name
    forms = {_form(leaf, own) for leaf in _leaves(node)} - {"kept"}
    if forms <= {"set"}:
        found = _extreme_of_tests(node, own) if is_number else None
        return found or (None if _tests_ask(node, own) else HANDED_DOWN)
    if not is_number or len(forms) != 1:
        return None
    (form,) = forms
    return None if form == "else" or (form == SUM and kind.optional) else form


def _form(leaf: Node, own: str) -> str:
    """What a value is of the attribute: itself, a sum with it, an extreme of it, something without it, or else."""
    if _is_own(leaf, own):
        return "kept"
    if not _asks(leaf, own):
        return "set"
    if len(leaf.args) != 2:
        return "else"
    left, right = leaf.args
    sides = [_is_own(_unwrapped(side), own) for side in (left, right)]
    others = [side for side, is_own in zip((left, right), sides, strict=True) if not is_own]
    if len(others) != 1 or _asks(others[0], own):
        return "else"
    if leaf.vector in _ADD:
        return SUM if sides[0] or leaf.vector in _ADD[:2] else "else"
    return {"max": HIGHEST, "min": LOWEST}.get(leaf.vector, "else")


def _extreme_of_tests(node: Node, own: str) -> str | None:
    """The extreme that a value is which is set where a comparison with the attribute holds."""
    for where, leaf in zip(node.choices, node.args, strict=False):
        if _is_own(_unwrapped(leaf), own):
            continue
        for test, holds in _tests(where):
            for compared, is_so in _comparisons(test, holds):
                if any(_is_own(_unwrapped(side), own) for side in compared.args):
                    is_own_greater = _is_own(_unwrapped(compared.args[_ABOVE[compared.vector]]), own)
                    return LOWEST if is_own_greater is is_so else HIGHEST
    return None


def _comparisons(test: Node, holds: bool) -> Iterator[tuple[Node, bool]]:
    """The comparisons in a test, and whether each holds where the test does or does not."""
    seen: set[tuple[int, bool]] = set()
    ready = [(test, holds)]
    while ready:
        found, is_so = ready.pop()
        if (id(found), is_so) not in seen:
            seen.add((id(found), is_so))
            if found.vector in _ABOVE:
                yield found, is_so
            ready += [(inner, is_so is not (found.vector == "plain ~")) for inner in found.args]


def _tests_ask(node: Node, own: str) -> bool:
    return any(_asks(test, own) for where in node.choices for test, _ in _tests(where))


def _tests(where: Where) -> Iterator[tuple[Node, bool]]:
    """The tests on a path, and whether they hold there."""
    ready: list[Path] = [] if where is None else [where]
    while ready:
        path = ready.pop()
        if path.test is not None:
            yield path.test, path.holds
        ready += [*path.either, *([path.parent] if path.parent is not None else [])]


def _leaves(node: Node) -> Iterator[Node]:
    if node.vector in _WRAPS and node.args:
        for inner in node.args:
            yield from _leaves(inner)
    else:
        yield node


def _unwrapped(node: Node) -> Node:
    while node.vector in _WRAPS and len(node.args) == 1:
        (node,) = node.args
    return node


def _nodes(node: Node) -> Iterator[Node]:
    """A node and all that it is made of."""
    seen: set[int] = set()
    ready = [node]
    while ready:
        found = ready.pop()
        if id(found) not in seen:
            seen.add(id(found))
            yield found
            ready += found.args


def _is_own(node: Node, own: str) -> bool:
    return node.vector == "attribute" and node.name == own


def _asks(node: Node, own: str) -> bool:
    return any(_is_own(inner, own) for inner in _nodes(node))
