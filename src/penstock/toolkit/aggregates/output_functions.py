"""The output functions of Aggregate and Match: what can be said of the tuples of a window.

Each function has its prototype, a factory for computing it over all rows of a group at once, and, where that is exact,
a factory for keeping it up to date tuple by tuple (`running`). Rows are in order of arrival, never empty.

| function | value |
|---|---|
| Count, CountAll | the tuples of the group; of the whole window |
| CountDistinct, CountByDistinct | the distinct values in the group; how often each of them occurs |
| CountGroups, CountByGroup | the groups of the window; the tuples of each, in order of appearance |
| Sum, Average, Min, Max | in the arithmetic and the order of the type; lists element by element |
| StdDev, SampleStdDev, PopulationStdDev | the standard deviation; `StdDev` is that of a sample |
| First, Last, Any | the oldest, the newest, any value (we take the newest) |
| ArgMin, ArgMax | the second argument where the first is least, greatest; the earliest among equals |
| MinBy, MaxBy | other names of these |
| CollectArgMin, CollectArgMax | all those values of the second argument, in order |
| MinCount, MaxCount | how many values are the least, the greatest |
| Collect, CollectDistinct | all values in order; without repetitions |

Aggregate has `Custom(init(c), process(value, c), result(c))` besides: for each group it calls the first function, then
the second for each tuple, and the third for the result.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.values.order import order_key
from penstock.ir.types import ListType, Primitive, Type, is_integer
from penstock.toolkit.aggregates.distinct import distinct, identity_of
from penstock.toolkit.aggregates.numeric import average_of, by_element, deviation_of, sum_of
from penstock.toolkit.aggregates.running import (
    Refolded,
    Running,
    RunningAverage,
    RunningDistinct,
    RunningExtreme,
    RunningSum,
)
from penstock.toolkit.core.definition import OutputFunction

Rows = Sequence[Tuple]
Whole = Callable[[Rows, Sequence[Rows]], Any]
"""Computes an aggregate from the rows of a group and from all groups of the window."""

MakeWhole = Callable[[Sequence[Type], Sequence[int]], Whole]
"""Given the types of the arguments and their columns in a row."""

MakeRunning = Callable[[Sequence[Type]], Running | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """An output function and how to compute it."""

    prototype: str
    doc: str
    whole: MakeWhole
    running: MakeRunning = lambda types: None

    @property
    def name(self) -> str:
        """As a call writes it."""
        return self.prototype.partition("(")[0].rpartition(" ")[2]


def _of_column(make: Callable[[Type], Callable[[list[Any]], Any]]) -> MakeWhole:
    """An aggregate of the one argument's column."""

    def whole(types: Sequence[Type], columns: Sequence[int]) -> Whole:
        compute, i = make(types[0]), columns[0]
        return lambda rows, groups: compute([row[i] for row in rows])

    return whole


def _of_rows(compute: Callable[[Rows, Sequence[Rows]], Any]) -> MakeWhole:
    """An aggregate without arguments."""
    return lambda types, columns: compute


def _picked(index: int) -> MakeWhole:
    """The value of one row."""

    def whole(types: Sequence[Type], columns: Sequence[int]) -> Whole:
        i = columns[0]
        return lambda rows, groups: rows[index][i]

    return whole


def _extreme(pick: Callable[..., Any]) -> Callable[[Type], Callable[[Iterable[Any]], Any]]:
    def make(type_: Type) -> Callable[[Iterable[Any]], Any]:
        if isinstance(type_, ListType):
            return by_element(make(type_.element))
        key = order_key(type_)
        return lambda column: pick(column, key=key)

    return make


def _running_extreme(beats: Callable[[Any, Any], bool], pick: Callable[..., Any]) -> MakeRunning:
    def running(types: Sequence[Type]) -> Running:
        if isinstance(types[0], ListType):
            return Refolded(_extreme(pick)(types[0]))
        return RunningExtreme(beats, order_key(types[0]))

    return running


def _best_rows(pick: Callable[..., Any], types: Sequence[Type], columns: Sequence[int]) -> Callable[[Rows], list[Any]]:
    """All results of the second argument where the first is best, in order of arrival."""
    key, i, j = order_key(types[0]), columns[0], columns[1]

    def best(rows: Rows) -> list[Any]:
        ranks = [row[i] if key is None else key(row[i]) for row in rows]
        winner = pick(ranks)
        return [row[j] for row, rank in zip(rows, ranks, strict=True) if rank == winner]

    return best


def _by(pick: Callable[..., Any]) -> MakeWhole:
    def whole(types: Sequence[Type], columns: Sequence[int]) -> Whole:
        best = _best_rows(pick, types, columns)
        return lambda rows, groups: best(rows)[0]

    return whole


def _extreme_count(pick: Callable[..., Any]) -> MakeWhole:
    def whole(types: Sequence[Type], columns: Sequence[int]) -> Whole:
        best = _best_rows(pick, (types[0], types[0]), (columns[0], columns[0]))
        return lambda rows, groups: len(best(rows))

    return whole


def _collected_by(pick: Callable[..., Any]) -> MakeWhole:
    def whole(types: Sequence[Type], columns: Sequence[int]) -> Whole:
        best = _best_rows(pick, types, columns)
        return lambda rows, groups: best(rows)

    return whole


def _collect_distinct(type_: Type) -> Callable[[list[Any]], Any]:
    identity = identity_of(type_)
    return lambda column: distinct(column, identity)


def _count_distinct(type_: Type) -> Callable[[list[Any]], Any]:
    identity = identity_of(type_)
    return lambda column: len(distinct(column, identity))


def _count_by_distinct(type_: Type) -> Callable[[list[Any]], Any]:
    identity = identity_of(type_)
    return lambda column: list(Counter(column if identity is None else map(identity, column)).values())


def _running_numbers(
    exactly: Callable[[Primitive], Running], anew: Callable[[Type], Callable[[Any], Any]]
) -> MakeRunning:
    def running(types: Sequence[Type]) -> Running | None:
        type_ = types[0]
        if isinstance(type_, Primitive) and is_integer(type_):
            return exactly(type_)
        return Refolded(anew(type_))

    return running


def _deviation(*, sample: bool) -> MakeWhole:
    return _of_column(lambda type_: deviation_of(type_, sample=sample))


def _entry(prototype: str, doc: str, whole: MakeWhole, running: MakeRunning = lambda types: None) -> AggregateFunction:
    return AggregateFunction(prototype=prototype, doc=doc, whole=whole, running=running)


FUNCTIONS: tuple[AggregateFunction, ...] = (
    _entry("int32 Count()", "The number of tuples.", _of_rows(lambda rows, groups: len(rows))),
    _entry(
        "int32 CountAll()",
        "The number of tuples in the window, over all groups.",
        _of_rows(lambda rows, groups: sum(map(len, groups))),
    ),
    _entry(
        "<any T> int32 CountDistinct(T value)",
        "The number of distinct values.",
        _of_column(_count_distinct),
        lambda types: RunningDistinct(identity_of(types[0])),
    ),
    _entry(
        "<any T> list<int32> CountByDistinct(T value)",
        "How often each distinct value occurs, in order of their first occurrence.",
        _of_column(_count_by_distinct),
    ),
    _entry("int32 CountGroups()", "The number of groups.", _of_rows(lambda rows, groups: len(groups))),
    _entry(
        "list<int32> CountByGroup()",
        "The number of tuples of each group, in order of the groups' appearance.",
        _of_rows(lambda rows, groups: [len(group) for group in groups]),
    ),
    _entry(
        "<numeric T> T Sum(T value)",
        "The sum; integers wrap.",
        _of_column(sum_of),
        _running_numbers(RunningSum, sum_of),
    ),
    _entry(
        "<numeric T> T Average(T value)",
        "The mean; that of integers truncates.",
        _of_column(average_of),
        _running_numbers(RunningAverage, average_of),
    ),
    _entry(
        "<ordered T> T Min(T value)",
        "The least value.",
        _of_column(_extreme(min)),
        _running_extreme(operator.lt, min),
    ),
    _entry(
        "<ordered T> T Max(T value)",
        "The greatest value.",
        _of_column(_extreme(max)),
        _running_extreme(operator.gt, max),
    ),
    _entry("<numeric T> T StdDev(T value)", "The standard deviation of a sample.", _deviation(sample=True)),
    _entry("<numeric T> T SampleStdDev(T value)", "The standard deviation of a sample.", _deviation(sample=True)),
    _entry(
        "<numeric T> T PopulationStdDev(T value)",
        "The standard deviation of a whole population.",
        _deviation(sample=False),
    ),
    _entry("<any T> T First(T value)", "The value of the oldest tuple.", _picked(0)),
    _entry("<any T> T Last(T value)", "The value of the newest tuple.", _picked(-1)),
    _entry("<any T> T Any(T value)", "The value of any tuple; use it where all are equal.", _picked(-1)),
    _entry(
        "<ordered K, any T> T MinBy(K key, T value)",
        "The value where the key is least, the earliest among equals.",
        _by(min),
    ),
    _entry(
        "<ordered K, any T> T MaxBy(K key, T value)",
        "The value where the key is greatest, the earliest among equals.",
        _by(max),
    ),
    _entry(
        "<ordered K, any T> T ArgMin(K key, T value)",
        "The value where the key is least, the earliest among equals.",
        _by(min),
    ),
    _entry(
        "<ordered K, any T> T ArgMax(K key, T value)",
        "The value where the key is greatest, the earliest among equals.",
        _by(max),
    ),
    _entry(
        "<ordered K, any T> list<T> CollectArgMin(K key, T value)",
        "The values of all tuples where the key is least.",
        _collected_by(min),
    ),
    _entry(
        "<ordered K, any T> list<T> CollectArgMax(K key, T value)",
        "The values of all tuples where the key is greatest.",
        _collected_by(max),
    ),
    _entry("<ordered T> int32 MinCount(T value)", "The number of tuples with the least value.", _extreme_count(min)),
    _entry("<ordered T> int32 MaxCount(T value)", "The number of tuples with the greatest value.", _extreme_count(max)),
    _entry("<any T> list<T> Collect(T value)", "All values, in order.", _of_column(lambda type_: list)),
    _entry(
        "<any T> list<T> CollectDistinct(T value)",
        "All distinct values, in order of their first occurrence.",
        _of_column(_collect_distinct),
    ),
)

BY_NAME = {f.name: f for f in FUNCTIONS}

CUSTOM = "Custom"
"""The output function whose code is the user's."""

CUSTOM_FUNCTION = OutputFunction(
    prototype=f"<any T> T {CUSTOM}(boolean init, boolean process, T result)",
    doc="Calls functions of yours: `init` for each group, `process` for each tuple, `result` for the value.",
)

_MORE = (
    OutputFunction(prototype="<string T> T Sum(T value)", doc="All strings, joined in order."),
    *(
        OutputFunction(prototype=f"<complex T> {type_} {name}({type_} value)", doc=f"The {name.lower()}, part by part.")
        for name in ("Sum", "Average")
        for type_ in ("T", "list<T>")
    ),
    *(
        OutputFunction(prototype=f"<numeric T> list<T> {name}(list<T> values)", doc=f"The {what}, element by element.")
        for name, what in (("Sum", "sums"), ("Average", "means"), ("Min", "least values"), ("Max", "greatest values"))
    ),
)
"""Other arguments that some of the functions take."""

OUTPUT_FUNCTIONS = (*(OutputFunction(prototype=f.prototype, doc=f.doc) for f in FUNCTIONS), *_MORE)
