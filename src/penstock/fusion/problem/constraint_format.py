"""Reading the constraints of a fusion problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from penstock.base.json_reader import JsonReader, Object
from penstock.base.json_source import kind_of
from penstock.ir.constraints import Constraint, ConstraintKind

CONSTRAINT_KEYS = ("kind", "operators", "hosts", "replicas", "isomorphic")
_KINDS = {kind.value: kind for kind in ConstraintKind}
_KEYS_OF = {
    ConstraintKind.RESOURCE_MATCH: {"operators", "hosts"},
    ConstraintKind.HIGH_AVAILABILITY: {"replicas", "isomorphic"},
}


def read_constraint(
    item: Object, number: int, operators: Collection[str], hosts: Collection[str], reader: JsonReader
) -> Constraint | None:
    """One constraint, or None after a complaint.

    Args:
        item: What stands in the file.
        number: Its position there.
        operators: The operators' names.
        hosts: The hosts' names and tags.
        reader: Where to complain.
    """
    owner = f"constraints[{number}]"
    word = reader.kind(item, _KINDS, owner)
    if word is None:
        return None
    kind = _KINDS[word]
    needed = _KEYS_OF.get(kind, {"operators"})
    for key in sorted(item.keys() & set(CONSTRAINT_KEYS) - needed - {"kind"}):
        reader.complain(f"{owner}: a {kind.value} takes no `{key}`", f"it takes {', '.join(sorted(needed))}")
    if kind is ConstraintKind.HIGH_AVAILABILITY:
        return _high_availability(item, owner, operators, reader)
    names = _known(reader.names(item.get("operators"), f"`operators` of {owner}"), owner, "operator", operators, reader)
    matched: list[str] = []
    if kind is ConstraintKind.RESOURCE_MATCH:
        wanted = reader.names(item.get("hosts"), f"`hosts` of {owner}")
        matched = _known(wanted, owner, "host or tag", hosts, reader)
    return Constraint(kind=kind, operators=tuple(names), hosts=tuple(matched)) if names else None


def _high_availability(item: Object, owner: str, operators: Collection[str], reader: JsonReader) -> Constraint | None:
    rows = item.get("replicas")
    if not isinstance(rows, list) or not rows:
        reader.complain(f"`replicas` of {owner} is {kind_of(rows)}", 'write lists of operators: [["a1"], ["a2"]]')
        return None
    replicas = []
    for number, row in enumerate(rows):
        names = reader.names(row, f"replicas[{number}] of {owner}")
        replicas.append(tuple(_known(names, owner, "operator", operators, reader)))
    everyone = [name for replica in replicas for name in replica]
    for name in sorted(_repeated(everyone)):
        reader.complain(f"{owner} names operator `{name}` twice", "an operator is in one replica, once")
    isomorphic = reader.flag(item, "isomorphic", owner)
    lengths = [len(row) if isinstance(row, list) else 0 for row in rows]
    if isomorphic and len(set(lengths)) > 1:
        reader.complain(
            f"{owner} is isomorphic, and its replicas have {', '.join(map(str, lengths))} operators",
            "list in every replica the operators that correspond, in the same order",
        )
        return None
    return Constraint(kind=ConstraintKind.HIGH_AVAILABILITY, replicas=tuple(replicas), isomorphic=isomorphic)


def _known(names: Sequence[str], owner: str, what: str, known: Collection[str], reader: JsonReader) -> list[str]:
    for name in names:
        reader.check_name(name, known, owner, what)
    twice = _repeated(names)
    if what == "operator" and twice:
        reader.complain(f"{owner} names {', '.join(f'`{name}`' for name in sorted(twice))} twice", "name each once")
    return [name for name in dict.fromkeys(names) if name in known]


def _repeated(names: Iterable[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def refuse_overlaps(constraints: Sequence[Constraint], reader: JsonReader) -> None:
    """Complain of operators in the replicas of two isomorphic constraints: what corresponds to what is then unclear."""
    isomorphic = (constraint for constraint in constraints if constraint.isomorphic)
    for name in sorted(_repeated(name for constraint in isomorphic for name in set(_operators(constraint)))):
        reader.complain(
            f"operator `{name}` is in the replicas of two isomorphic high_availability constraints",
            "put it into one of them, or make one of them not isomorphic",
        )


def _operators(constraint: Constraint) -> Iterator[str]:
    for replica in constraint.replicas:
        yield from replica
