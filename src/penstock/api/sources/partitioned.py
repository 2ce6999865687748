"""Sources with partitions that can be read again.

A Kafka topic, a folder of logs, a table with a number for each row: what they have in common is that they consist of
parts, each an ordered sequence, of which any stretch can be read again. A subclass of `PartitionedSource` says how. On
Spark its partitions are read in parallel, a batch is a stretch of each, and only the stretches are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from penstock.api.operators import Marks
from penstock.api.rows import conformer
from penstock.base.diagnostics import UserError
from penstock.expr.values import batch_from_rows
from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import Chunk, ColumnSource, Extent, Planned, Position


class PartitionedSource:
    """A source that consists of partitions.

    The items of a partition are numbered from 0. Its order is kept; items of different partitions take turns, first one
    of each partition, then the next of each. A run until everything is done reads what there is when it starts; a
    continuous run goes on with what comes later, and with partitions that come later.

    `read` must give the same items whenever it is asked, also in another process: an instance is made wherever it is
    needed, from the parameters of the invocation.

    Attributes:
        namespace: Where SPL programs find it.

    Example:
        >>> class Squares(PartitionedSource):
        ...     def __init__(self, count: int):
        ...         self.count = count
        ...     def partitions(self):
        ...         return ["even", "odd"]
        ...     def latest_offset(self, partition):
        ...         return self.count
        ...     def read(self, partition, start):
        ...         for i in range(start, self.count):
        ...             yield (2 * i + (partition == "odd")) ** 2
        >>> list(Squares(count=3))
        [0, 1, 4, 9, 16, 25]
    """

    namespace: ClassVar[str] = ""
    __penstock__: ClassVar[Marks]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__penstock__ = Marks(role="source", namespace=cls.namespace)

    def partitions(self) -> Sequence[str]:
        """The names of the partitions; new ones may come to stand behind the old ones.

        Example:
            >>> class Two(PartitionedSource):
            ...     def partitions(self):
            ...         return ["even", "odd"]
            >>> list(Two().partitions())
            ['even', 'odd']
        """
        raise NotImplementedError

    def latest_offset(self, partition: str) -> int:
        """How many items a partition has by now.

        Example:
            >>> class Ten(PartitionedSource):
            ...     def latest_offset(self, partition):
            ...         return 10
            >>> Ten().latest_offset("even")
            10
        """
        raise NotImplementedError

    def read(self, partition: str, start: int) -> Iterable[Any]:
        """The items of a partition from a number on, at least those that `latest_offset` tells of.

        Args:
            partition: Its name.
            start: The number of the first item.

        Example:
            >>> class Ten(PartitionedSource):
            ...     def read(self, partition, start):
            ...         yield from range(start, 10)
            >>> list(Ten().read("all", 7))
            [7, 8, 9]
        """
        raise NotImplementedError

    def by_columns(self, schema: Schema, *, follows: bool) -> ColumnSource:
        """The same by columns; the engines ask for it.

        Example:
            >>> from penstock.ir.types import parse_schema
            >>> PartitionedSource().by_columns(parse_schema("int32 x"), follows=False).is_live
            False
        """
        return PartitionColumns(source=self, schema=schema, is_live=follows)

    def __iter__(self) -> Iterator[Any]:
        """All items that there are now, in order."""
        readers = [stretch(self, name, 0, self.latest_offset(name)) for name in self.partitions()]
        while readers:
            going = []
            for reader in readers:
                for item in islice(reader, 1):
                    yield item
                    going.append(reader)
            readers = going


def stretch(source: PartitionedSource, partition: str, start: int, end: int) -> Iterator[Any]:
    """The items of a partition between two numbers.

    Raises:
        UserError: There are fewer.
    """
    count = start
    for item in islice(source.read(partition, start), end - start) if end > start else ():
        yield item
        count += 1
    if count < end:
        raise UserError(
            f"partition `{partition}` ends at {count}, but its latest offset was {end}",
            hint="`read` gives every item up to the latest offset, whenever it is asked",
        )


CHUNK_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumns:
    """A partitioned source.

    Attributes:
        source: The user's.
        schema: Of its tuples.
        is_live: Whether to go on with what comes later.
    """

    source: PartitionedSource
    schema: Schema
    is_live: bool = False
    delay_ns: int = 0
    is_timed: bool = False
    ends_with_marker: bool = False

    @property
    def tasks(self) -> int:
        """A task for each partition."""
        return max(1, len(self.source.partitions()))

    def start(self) -> Position:
        """The beginning of every partition."""
        return {"read": {}, "ends": None, "number": 0}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """A stretch of equal length of every partition that has so much."""
        ends = position["ends"]
        if ends is None or self.is_live:
            ends = {name: self.source.latest_offset(name) for name in self.source.partitions()}
        read = {name: position["read"].get(name, 0) for name in ends}
        going = [name for name in ends if read[name] < ends[name]]
        length = max(1, rows // max(1, len(going)))
        number, step = position["number"], len(ends)
        extents = tuple(
            {
                "partition": n,
                "start": read[n],
                "end": min(read[n] + length, ends[n]),
                "number": number + i,
                "step": step,
            }
            for i, n in enumerate(ends)
            if n in going
        )
        read |= {e["partition"]: e["end"] for e in extents}
        here = {"read": read, "ends": ends, "number": number + length * step}
        has_ended = not self.is_live and all(read[name] >= ends[name] for name in ends)
        return Planned(extents=extents, position=here, has_ended=has_ended, number=here["number"], time_ns=0)

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of a stretch."""
        from penstock.api.sources.partitioned import stretch

        conform = conformer(self.schema)
        items = map(conform, stretch(self.source, extent["partition"], extent["start"], extent["end"]))
        number = extent["number"]
        while found := list(islice(items, CHUNK_ROWS)):
            yield Chunk(batch=batch_from_rows(found, self.schema), number=number, step=extent["step"])
            number += len(found) * extent["step"]
