"""Functions that search, order and make lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Any

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.expr.values.numbers import DECIMAL_CONTEXTS, as_type
from penstock.expr.values.order import order_key
from penstock.ir.types import ListType, Primitive, Type, is_decimal

List = list[Any]


@function(
    "<any T> int32 findFirst(list<T> values, T item)",
    "<any T> int32 findFirst(list<T> values, T item, int32 start)",
)
def find_first(values: List, item: Any, start: int = 0) -> int:
    """The position of the first element equal to an item, or -1."""
    return _first(values, start, lambda v: v == item)


@function(
    "<any T> int32 findFirst(list<T> values, list<T> items)",
    "<any T> int32 findFirst(list<T> values, list<T> items, int32 start)",
)
def find_first_sequence(values: List, items: List, start: int = 0) -> int:
    """The position where the elements of a list first stand one after the other in another, or -1."""
    places = range(max(start, 0), len(values) - len(items) + 1)
    return next((i for i in places if i < len(values) and values[i : i + len(items)] == items), -1)


@function("<any T> int32 findLast(list<T> values, T item, int32 last)")
def find_last(values: List, item: Any, last: int) -> int:
    """The position of the last element, at `last` or before, equal to an item, or -1."""
    return _last(values, last, lambda v: v == item)


@function("<any T> int32 findLast(list<T> values, list<T> items, int32 last)")
def find_last_sequence(values: List, items: List, last: int) -> int:
    """The last position, `last` or before, where the elements of a list stand one after the other in another, or -1."""
    places = range(min(last, len(values) - len(items)), -1, -1)
    return next((i for i in places if values[i : i + len(items)] == items), -1)


@function(
    "<any T> int32 findFirstOf(list<T> values, list<T> items)",
    "<any T> int32 findFirstOf(list<T> values, list<T> items, int32 start)",
)
def find_first_of(values: List, items: List, start: int = 0) -> int:
    """The position of the first element that is among the items, or -1."""
    return _first(values, start, lambda v: v in items)


@function(
    "<any T> int32 findFirstNotOf(list<T> values, list<T> items)",
    "<any T> int32 findFirstNotOf(list<T> values, list<T> items, int32 start)",
)
def find_first_not_of(values: List, items: List, start: int = 0) -> int:
    """The position of the first element that is not among the items, or -1."""
    return _first(values, start, lambda v: v not in items)


@function("<any T> int32 findLastOf(list<T> values, list<T> items, int32 last)")
def find_last_of(values: List, items: List, last: int) -> int:
    """The position of the last element, at `last` or before, that is among the items, or -1."""
    return _last(values, last, lambda v: v in items)


@function("<any T> int32 findLastNotOf(list<T> values, list<T> items, int32 last)")
def find_last_not_of(values: List, items: List, last: int) -> int:
    """The position of the last element, at `last` or before, that is not among the items, or -1."""
    return _last(values, last, lambda v: v not in items)


def _first(values: List, start: int, accepts: Callable[[Any], bool]) -> int:
    return next((i for i in range(max(start, 0), len(values)) if accepts(values[i])), -1)


def _last(values: List, last: int, accepts: Callable[[Any], bool]) -> int:
    return next((i for i in range(min(last, len(values) - 1), -1, -1) if accepts(values[i])), -1)


@function("<any T> list<int32> find(list<T> values, T item)")
def find(values: List, item: Any) -> list[int]:
    """The positions of all elements equal to an item."""
    return [i for i, v in enumerate(values) if v == item]


@function("<any T> list<int32> findOf(list<T> values, list<T> items)")
def find_of(values: List, items: List) -> list[int]:
    """The positions of all elements that are among the items."""
    return [i for i, v in enumerate(values) if v in items]


@function("<any T> list<int32> findNotOf(list<T> values, list<T> items)")
def find_not_of(values: List, items: List) -> list[int]:
    """The positions of all elements that are not among the items."""
    return [i for i, v in enumerate(values) if v not in items]


@function("<any T> int32 count(list<T> values, T item)")
def count(values: List, item: Any) -> int:
    """The number of elements equal to an item."""
    return sum(1 for v in values if v == item)


@function("<any T> int32 countDistinct(list<T> values)")
def count_distinct(values: List) -> int:
    """The number of different elements."""
    try:
        return len(set(values))
    except TypeError:
        return sum(1 for i, v in enumerate(values) if v not in values[:i])


@function("<any T> list<T> at(list<T> values, list<uint32> indices)")
def at(values: List, indices: list[int]) -> List:
    """The elements at some positions; positions past the end are passed over."""
    return [values[i] for i in indices if i < len(values)]


@function("<list T> T reverse(T values)")
def reversed_list(values: List) -> List:
    """The elements in opposite order."""
    return values[::-1]


@function("<list T> void reverseM(mutable T values)")
def reverse(values: List) -> None:
    """Turn the order of a list."""
    values.reverse()


@function("<ordered T> list<T> sort(list<T> values)", needs_types=True)
def sorted_list(type_: ListType) -> Callable[[List], List]:
    """The elements in ascending order; equal ones keep their order."""
    key = order_key(type_.element)
    return lambda values: sorted(values, key=key)


@function("<ordered T> void sortM(mutable list<T> values)", needs_types=True)
def sort(type_: ListType) -> Callable[[List], None]:
    """Put a list in ascending order."""
    key = order_key(type_.element)
    return lambda values: values.sort(key=key)


@function("<ordered T> list<uint32> sortIndices(list<T> values)", needs_types=True)
def sort_indices(type_: ListType) -> Callable[[List], list[int]]:
    """The positions of the elements, in the ascending order of the elements."""
    key = order_key(type_.element) or (lambda value: value)
    return lambda values: sorted(range(len(values)), key=lambda i: key(values[i]))


def _compare(key: Callable[[Any], Any], a: Any, b: Any) -> int:
    x, y = key(a), key(b)
    return -1 if x < y else 0 if x == y else 1


def _comparer(type_: Type) -> Callable[[Any, Any], int]:
    return partial(_compare, order_key(type_) or (lambda value: value))


@function("<ordered T> int32 lexicographicalCompare(list<T> first, list<T> second)", needs_types=True)
def lexicographical_compare(type_: ListType, _: Type) -> Callable[[List, List], int]:
    """-1, 0 or 1: how two lists compare, element by element and then by length."""
    compare = _comparer(type_.element)

    def of_lists(first: List, second: List) -> int:
        found = next((c for c in map(compare, first, second) if c), 0)
        return found or (len(first) > len(second)) - (len(first) < len(second))

    return of_lists


@function("<ordered T> list<int32> pairwiseCompare(list<T> first, list<T> second)", needs_types=True)
def pairwise_compare(type_: ListType, _: Type) -> Callable[[List, List], list[int]]:
    """-1, 0 or 1 for each pair of elements of two lists, as far as both reach."""
    compare = _comparer(type_.element)
    return lambda first, second: [compare(a, b) for a, b in zip(first, second, strict=False)]


@function("<ordered T> list<int32> pairwiseCompare(list<T> values, T other)", needs_types=True)
def compare_with_one(type_: ListType, _: Type) -> Callable[[List, Any], list[int]]:
    """-1, 0 or 1 for each element of a list, compared with a value."""
    compare = _comparer(type_.element)
    return lambda values, other: [compare(value, other) for value in values]


@function("<ordered T> list<int32> pairwiseCompare(T other, list<T> values)", needs_types=True)
def compare_one_with(_: Type, type_: ListType) -> Callable[[Any, List], list[int]]:
    """-1, 0 or 1 for a value, compared with each element of a list."""
    compare = _comparer(type_.element)
    return lambda other, values: [compare(other, value) for value in values]


@function("<ordered T> list<T> pairwiseMax(list<T> first, list<T> second)", needs_types=True)
def pairwise_max(type_: ListType, _: Type) -> Callable[[List, List], List]:
    """The greater of each pair of elements of two lists, as far as both reach."""
    compare = _comparer(type_.element)
    return lambda first, second: [b if compare(a, b) < 0 else a for a, b in zip(first, second, strict=False)]


@function("<ordered T> list<T> pairwiseMin(list<T> first, list<T> second)", needs_types=True)
def pairwise_min(type_: ListType, _: Type) -> Callable[[List, List], List]:
    """The lesser of each pair of elements of two lists, as far as both reach."""
    compare = _comparer(type_.element)
    return lambda first, second: [b if compare(b, a) < 0 else a for a, b in zip(first, second, strict=False)]


@function("<list T> T selectFromList(list<boolean> selector, T first, T second)")
def select_from_list(selector: list[bool], first: List, second: List) -> List:
    """For each position, the element of the first list where the selector is true, else of the second."""
    if not len(selector) == len(first) == len(second):
        raise EvaluationError(f"selectFromList of lists of {len(selector)}, {len(first)} and {len(second)} elements")
    return [a if chosen else b for chosen, a, b in zip(selector, first, second, strict=True)]


@function(
    "<list T> T slice(T values, int32 start, int32 count)",
    "<list T> T slice(T values, int32 start, int32 count, int32 skip)",
    "<list T> T slice(T values, int32 start, int32 count, int32 skip, int32 more)",
)
def slice_list(values: List, start: int, count: int, skip: int = 0, more: int = 0) -> List:
    """`count` runs of `1 + more` elements from `start` on, with `skip` elements left out after each run."""
    if skip < 0 or more < 0:
        raise EvaluationError(f"slice with a negative number of elements: skip {skip}, more {more}")
    step = 1 + more + skip
    starts = range(start, min(start + step * count, len(values)), step)
    return [values[i] for i in chain.from_iterable(range(s, s + 1 + more) for s in starts) if 0 <= i < len(values)]


@function(
    "list<int32> range(int32 limit)",
)
def range_to(limit: int) -> list[int]:
    """The numbers from 0 to a limit, which is left out."""
    return list(range(limit))


@function("list<int32> range(int32 start, int32 limit)", "list<int32> range(int32 start, int32 limit, int32 step)")
def range_between(start: int, limit: int, step: int = 1) -> list[int]:
    """The numbers from a start to a limit, which is left out."""
    if step == 0:
        raise EvaluationError("range with step 0 has no end")
    return list(range(start, limit, step))


@function("<list T> list<int32> range(T values)")
def range_of(values: List) -> list[int]:
    """The positions of the elements of a list."""
    return list(range(len(values)))


@function("<string T> list<T> makeSequence(T value, int32 count)")
def string_sequence(value: str, count: int) -> list[str]:
    """A string followed by 0, 1, 2 ..."""
    return [f"{value}{i}" for i in range(count)]


@function("<numeric T> list<T> makeSequence(T value, int32 count)", needs_types=True)
def number_sequence(type_: Primitive, _: Type) -> Callable[[Any, int], List]:
    """`count` numbers from a value on, each one more than the one before."""
    add = _adder(type_)
    return lambda value, count: [add(value, as_type(i, type_)) for i in range(count)]


@function("<numeric T> list<T> makeSequence(T value, int32 count, T step)", needs_types=True)
def stepped_sequence(type_: Primitive, _: Type, __: Type) -> Callable[[Any, int, Any], List]:
    """`count` numbers from a value on, each a step more than the one before."""
    add = _adder(type_)

    def make(value: Any, count: int, step: Any) -> List:
        found = []
        for _ in range(count):
            found.append(value)
            value = add(value, step)
        return found

    return make


def _adder(type_: Primitive) -> Callable[[Any, Any], Any]:
    if is_decimal(type_):
        return DECIMAL_CONTEXTS[type_.name].add
    return lambda a, b: as_type(a + b, type_)


@function("<any T> list<list<T>> transpose(list<list<T>> rows)")
def transpose(rows: list[List]) -> list[List]:
    """Rows and columns exchanged; as many columns as the shortest row has."""
    return [list(column) for column in zip(*rows, strict=False)]
