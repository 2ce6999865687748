"""Which overload of a function a call means.

Introduction
    Several functions share a name (`size` of a list, of a blob); a call has arguments of known types. This module
    picks the overload, the types that its variables stand for, and so the types that the arguments are converted to.

Formulation
    For each overload with the right number of parameters, a type variable may stand for any type that an argument
    shows in its place (`_candidates`) and that its constraint allows. The cost of a choice is the number of arguments
    that then need an implicit conversion (`_fit`). The cheapest choice wins, the earliest written one among equals.

Example
    `max(price, 0)` with `<ordered T> T max(T a, T b)` and a float64 `price`: T may be float64 or int32. An int32
    becomes a float64 (cost 1), a float64 does not become an int32, so T is float64.

When it does not apply
    A `mutable` argument is never converted. Bounds of types (`rstring[4]`) never stand in the way: the values of a
    bounded and of an unbounded type are alike.

Algorithm
    All combinations of candidates, at most (arguments) to the power of (variables), both below five.

Reference
    SPL's own rule looks for an exact match first and then for one by implicit conversions; this is the same rule with
    the number of conversions as its measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from penstock.expr.functions.prototypes import CONSTRAINTS, Formal, Prototype, TypeVariable
from penstock.ir.types import (
    FLOAT64,
    ListType,
    MapType,
    OptionalType,
    Primitive,
    SetType,
    TupleType,
    Type,
    TypedName,
)

Converts = Callable[[int, Type], bool]
"""Tells whether the argument of a position may be converted implicitly to a type."""

_WIDENS_TO = {"floatingpoint": FLOAT64, "float": FLOAT64}
"""The type that an argument is converted to where its own type is not allowed, as in `sqrt(2)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An overload chosen for a call.

    Attributes:
        index: Which of the overloads.
        parameter_types: What each argument is to be converted to; its own type where no conversion is needed.
        return_type: Of the call.
        conversions: How many arguments need a conversion.
    """

    index: int
    parameter_types: tuple[Type, ...]
    return_type: Type
    conversions: int


def choose_overload(
    overloads: Sequence[Prototype], argument_types: Sequence[Type], converts: Converts | None = None
) -> Choice | None:
    """Pick the overload that fits the arguments with the fewest conversions, or none.

    Args:
        overloads: Prototypes of one name, the preferred first.
        argument_types: In order.
        converts: What may be converted; by default nothing.

    Example:
        >>> from penstock.expr.functions.prototypes import parse_prototype
        >>> from penstock.ir.types import INT32
        >>> chosen = choose_overload([parse_prototype("<any T> int32 size(list<T> values)")], [ListType(INT32)])
        >>> print(chosen.return_type)
        int32
    """
    allowed = converts or (lambda position, type_: False)
    best: Choice | None = None
    for index, overload in enumerate(overloads):
        for choice in _choices(index, overload, argument_types, allowed):
            if best is None or choice.conversions < best.conversions:
                best = choice
    return best


def _choices(index: int, overload: Prototype, arguments: Sequence[Type], converts: Converts) -> Iterator[Choice]:
    if len(overload.parameters) != len(arguments):
        return
    names = [v.name for v in overload.variables]
    for types in product(*_candidates(overload, arguments)):
        meaning = dict(zip(names, types, strict=True))
        wanted = [substitute(p.type, meaning) for p in overload.parameters]
        costs = [
            _fit(i, p, w, a, converts)
            for i, (p, w, a) in enumerate(zip(overload.parameters, wanted, arguments, strict=True))
        ]
        if None not in costs:
            parameter_types = tuple(w if cost else a for w, a, cost in zip(wanted, arguments, costs, strict=True))
            yield Choice(
                index=index,
                parameter_types=parameter_types,
                return_type=substitute(overload.returns, meaning),
                conversions=sum(cost or 0 for cost in costs),
            )


def _fit(position: int, formal: Formal, wanted: Type, argument: Type, converts: Converts) -> int | None:
    """0 if the argument fits as it is, 1 if by a conversion, None if not at all."""
    if formal.mutable:
        # What is inside must be of the very type, because the call may put something there.
        return 0 if _without_outer_bound(wanted) == _without_outer_bound(argument) else None
    if without_bounds(wanted) == without_bounds(argument) and not _is_narrower(wanted, argument):
        return 0
    return 1 if converts(position, wanted) else None


def _is_narrower(wanted: Type, argument: Type) -> bool:
    """Whether the wanted type has a bound that the argument does not keep."""
    bound = getattr(wanted, "bound", None)
    found = getattr(argument, "bound", None)
    return bound is not None and (found is None or found > bound)


def _candidates(overload: Prototype, arguments: Sequence[Type]) -> list[list[Type]]:
    """For each variable, the types that it may stand for, most natural first."""
    found: dict[str, list[Type]] = {v.name: [] for v in overload.variables}
    for formal, argument in zip(overload.parameters, arguments, strict=True):
        for name, type_ in _occurrences(formal.type, argument):
            found[name].append(type_ if formal.mutable else _without_outer_bound(type_))
    kept = []
    for variable in overload.variables:
        types = found[variable.name] + [_WIDENS_TO[c] for c in (variable.constraint,) if c in _WIDENS_TO]
        kept.append([t for t in dict.fromkeys(types) if CONSTRAINTS[variable.constraint](t)])
    return kept


def _occurrences(pattern: Type, argument: Type) -> Iterator[tuple[str, Type]]:
    """Which type stands in the place of each variable of a pattern."""
    match pattern, argument:
        case TypeVariable(name=name), _:
            yield name, argument
        case OptionalType(inner=inner), OptionalType(inner=found):
            yield from _occurrences(inner, found)
        case OptionalType(inner=inner), _:
            yield from _occurrences(inner, argument)
        case (ListType(element=inner), ListType(element=found)) | (SetType(element=inner), SetType(element=found)):
            yield from _occurrences(inner, found)
        case MapType(key=key, value=value), MapType(key=found_key, value=found_value):
            yield from _occurrences(key, found_key)
            yield from _occurrences(value, found_value)


def substitute(type_: Type, meaning: Mapping[str, Type]) -> Type:
    """A type with its variables replaced by what they stand for.

    Example:
        >>> from penstock.ir.types import INT32
        >>> print(substitute(ListType(TypeVariable("T")), {"T": INT32}))
        list<int32>
    """
    match type_:
        case TypeVariable(name=name):
            return meaning[name]
        case OptionalType(inner=inner):
            return OptionalType(substitute(inner, meaning))
        case ListType(element=element) | SetType(element=element):
            return replace(type_, element=substitute(element, meaning))
        case MapType(key=key, value=value):
            return replace(type_, key=substitute(key, meaning), value=substitute(value, meaning))
        case TupleType(attributes=attributes):
            return TupleType(tuple(TypedName(a.name, substitute(a.type, meaning)) for a in attributes))
    return type_


def _without_outer_bound(type_: Type) -> Type:
    if isinstance(type_, Primitive | ListType | SetType | MapType) and type_.bound is not None:
        return replace(type_, bound=None)
    return type_


def without_bounds(type_: Type) -> Type:
    """A type without the bounds of its strings and collections.

    Example:
        >>> from penstock.ir.types import parse_type
        >>> print(without_bounds(parse_type("list<rstring[8]>[4]")))
        list<rstring>
    """
    match type_:
        case Primitive():
            return _without_outer_bound(type_)
        case OptionalType(inner=inner):
            return OptionalType(without_bounds(inner))
        case ListType(element=element):
            return ListType(without_bounds(element))
        case SetType(element=element):
            return SetType(without_bounds(element))
        case MapType(key=key, value=value):
            return MapType(without_bounds(key), without_bounds(value))
        case TupleType(attributes=attributes):
            return TupleType(tuple(TypedName(a.name, without_bounds(a.type)) for a in attributes))
    return type_
