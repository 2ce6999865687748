"""Functions that look into lists, sets and maps, and that put in and take out.

A function whose name ends in M changes its argument; the others give a changed copy. What does not fit into a bounded
collection is left out, as in SPL. A position before the start of a list means its start, one past the end its end.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import setitem
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.errors import EvaluationError
from penstock.expr.functions.registry import function
from penstock.expr.values.default import copier
from penstock.expr.values.order import ascending
from penstock.ir.types import ListType, MapType, SetType, Type

List = list[Any]
Set = set[Any]
Map = dict[Any, Any]


def _size_vector(values: pa.Array) -> object:
    # Arrow has no length of maps.
    return NotImplemented if pa.types.is_map(values.type) else pc.list_value_length(values)


@function("<collection T> int32 size(T values)", vector=_size_vector)
def size(values: Any) -> int:
    """The number of elements."""
    return len(values)


@function("<collection T> boolean isEmpty(T values)")
def is_empty(values: Any) -> bool:
    """Whether there are no elements."""
    return not values


@function(
    "<any T> boolean has(list<T> values, T item)",
    "<any T> boolean has(set<T> values, T item)",
    "<any K, any V> boolean has(map<K, V> values, K key)",
)
def has(values: Any, item: object) -> bool:
    """Whether an element or key is there."""
    return item in values


@function("<any K, any V> list<K> keys(map<K, V> values)")
def keys(values: Map) -> List:
    """The keys of a map."""
    return list(values)


@function("<any K, any V> list<V> values(map<K, V> values)")
def map_values(values: Map) -> List:
    """The values of a map, in the order of its keys."""
    return list(values.values())


@function("<any K, any V> V getOrElse(map<K, V> values, K key, V otherwise)", needs_types=True)
def get_or_else(type_: MapType, _: Type, __: Type) -> Callable[[Map, Any, Any], Any]:
    """The value of a key, or another one if the key is not there."""
    copy = copier(type_.value)
    if copy is None:
        return lambda values, key, otherwise: values.get(key, otherwise)
    return lambda values, key, otherwise: copy(values.get(key, otherwise))


@function("<collection T> void clearM(mutable T values)")
def clear(values: Any) -> None:
    """Remove all elements."""
    values.clear()


@function("<any T> void appendM(mutable list<T> values, T value)", needs_types=True)
def append(type_: ListType, _: Type) -> Callable[[List, Any], None]:
    """Add an element to the end of a list."""
    bound = type_.bound
    if bound is None:
        return list.append
    return lambda values, value: values.append(value) if len(values) < bound else None


@function("<any T> list<T> append(list<T> values, T value)")
def appended(values: List, value: Any) -> List:
    """A list with one more element at its end."""
    return [*values, value]


@function(
    "<any T> list<T> concat(list<T> first, list<T> second)",
)
def concatenated(first: List, second: List) -> List:
    """One list after the other."""
    return first + second


@function("<any T> void concatM(mutable list<T> values, list<T> others)", needs_types=True)
def concat_lists(type_: ListType, _: Type) -> Callable[[List, List], None]:
    """Add the elements of a list to the end of another."""
    return lambda values, others: _put(values, len(values), list(others), type_.bound)


@function("<any T> void concatM(mutable set<T> values, set<T> others)", needs_types=True)
def concat_sets(type_: SetType, other: Type) -> Callable[[Set, Set], None]:
    """Add the elements of a set to another."""
    bound, in_order = type_.bound, ascending(type_.element)

    def put_all(values: Set, others: Set) -> None:
        for value in in_order(others):
            _put_into_set(values, value, bound)

    return set.update if bound is None else put_all


def _put(values: List, position: int, items: List, bound: int | None) -> None:
    place = min(max(position, 0), len(values))
    values[place:place] = items
    if bound is not None:
        del values[bound:]


def _put_into_set(values: Set, value: Any, bound: int | None) -> None:
    if bound is None or len(values) < bound:
        values.add(value)


def _put_into_map(values: Map, key: Any, value: Any, bound: int | None) -> None:
    if bound is None or key in values or len(values) < bound:
        values[key] = value


@function("<any T> void insertM(mutable list<T> values, T value, int32 index)", needs_types=True)
def insert_in_list(type_: ListType, _: Type, __: Type) -> Callable[[List, Any, int], None]:
    """Insert an element before the one at a position."""
    return lambda values, value, index: _put(values, index, [value], type_.bound)


@function("<any T> void insertM(mutable list<T> values, list<T> items, int32 index)", needs_types=True)
def insert_all_in_list(type_: ListType, _: Type, __: Type) -> Callable[[List, List, int], None]:
    """Insert the elements of a list before the one at a position."""
    return lambda values, items, index: _put(values, index, list(items), type_.bound)


@function("<any T> void insertM(mutable set<T> values, T value)", needs_types=True)
def insert_in_set(type_: SetType, _: Type) -> Callable[[Set, Any], None]:
    """Add an element to a set."""
    bound = type_.bound
    return set.add if bound is None else lambda values, value: _put_into_set(values, value, bound)


@function("<any K, any V> void insertM(mutable map<K, V> values, K key, V value)", needs_types=True)
def insert_in_map(type_: MapType, _: Type, __: Type) -> Callable[[Map, Any, Any], None]:
    """Set the value of a key."""
    bound = type_.bound
    return setitem if bound is None else lambda values, k, v: _put_into_map(values, k, v, bound)


@function("<any T> list<T> insert(list<T> values, T value, int32 index)")
def inserted(values: List, value: Any, index: int) -> List:
    """A list with an element inserted before the one at a position."""
    return inserted_all(values, [value], index)


@function("<any T> list<T> insert(list<T> values, list<T> items, int32 index)")
def inserted_all(values: List, items: List, index: int) -> List:
    """A list with the elements of another inserted before the one at a position."""
    place = max(index, 0)
    return [*values[:place], *items, *values[place:]]


@function("<any T> set<T> insert(set<T> values, T value)")
def inserted_in_set(values: Set, value: Any) -> Set:
    """A set with one more element."""
    return values | {value}


@function("<any K, any V> map<K, V> insert(map<K, V> values, K key, V value)")
def inserted_in_map(values: Map, key: Any, value: Any) -> Map:
    """A map with the value of a key set."""
    return {**values, key: value}


@function("<list T> void removeM(mutable T values, int32 index)")
def remove_at(values: List, index: int) -> None:
    """Remove the element at a position; one before the start removes nothing."""
    if index >= len(values):
        raise EvaluationError(f"removeM of element {index} of a list of {len(values)} elements")
    if index >= 0:
        del values[index]


@function("<list T> void removeM(mutable T values, int32 first, int32 last)")
def remove_range(values: List, first: int, last: int) -> None:
    """Remove the elements from one position to another, both included."""
    if last >= 0:
        del values[max(first, 0) : last + 1]


@function("<any T> void removeM(mutable set<T> values, T value)")
def remove_from_set(values: Set, value: Any) -> None:
    """Remove an element, if it is there."""
    values.discard(value)


@function("<any K, any V> void removeM(mutable map<K, V> values, K key)")
def remove_from_map(values: Map, key: Any) -> None:
    """Remove a key, if it is there."""
    values.pop(key, None)


@function("<list T> T remove(T values, int32 index)")
def removed_at(values: List, index: int) -> List:
    """A list without the element at a position; the same elements if there is none."""
    return [v for i, v in enumerate(values) if i != index]


@function("<list T> T remove(T values, int32 first, int32 last)")
def removed_range(values: List, first: int, last: int) -> List:
    """A list without the elements from one position to another, both included."""
    return [v for i, v in enumerate(values) if not first <= i <= last]


@function("<list T> T remove(T values, list<int32> indices)")
def removed_all(values: List, indices: list[int]) -> List:
    """A list without the elements at some positions."""
    gone = set(indices)
    return [v for i, v in enumerate(values) if i not in gone]


@function("<any T> set<T> remove(set<T> values, T value)")
def removed_from_set(values: Set, value: Any) -> Set:
    """A set without an element."""
    return values - {value}


@function("<any K, any V> map<K, V> remove(map<K, V> values, K key)")
def removed_from_map(values: Map, key: Any) -> Map:
    """A map without a key."""
    return {k: v for k, v in values.items() if k != key}


@function("<any T> set<T> toSet(list<T> values)")
def to_set(values: List) -> Set:
    """The set of the elements of a list."""
    return set(values)


@function("<any T> list<T> toList(set<T> values)", needs_types=True)
def to_list(type_: SetType) -> Callable[[Set], List]:
    """The elements of a set, in ascending order."""
    return ascending(type_.element)


@function("<set T> T setUnion(T a, T b)")
def union(a: Set, b: Set) -> Set:
    """The elements of either set."""
    return a | b


@function("<set T> T setIntersection(T a, T b)")
def intersection(a: Set, b: Set) -> Set:
    """The elements of both sets."""
    return a & b


@function("<set T> T setDifference(T a, T b)")
def difference(a: Set, b: Set) -> Set:
    """The elements of the first set that are not in the second."""
    return a - b
