"""Files read by columns: planning cuts them into blocks of whole records, reading parses a block at once.

Planning reads the bytes, but looks only for line ends and quotes. It also takes down what the file was (inode, size,
time of change); a block of a file that has changed since is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import Chunk, Extent, Planned, Position
from penstock.toolkit.files import file_blocks
from penstock.toolkit.files.file_blocks import check_stamp, cut, opened, read_range, stamp_of
from penstock.toolkit.formats import Malformed, Settings
from penstock.toolkit.formats.column_blocks import Records, block_reader, can_read_blocks, ends_between_records
from penstock.toolkit.formats.parquet import read_group

Output = Callable[[pa.RecordBatch], pa.RecordBatch]
"""From the attributes read to the tuples that leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """A file of text, one record a line or more.

    Attributes:
        path: Of the file.
        name: As the program says it.
        schema: Of the attributes read.
        settings: How the records are written.
        output: Makes the tuples.
        delay_ns: The time before the first tuple.
        is_live: Whether lines that are appended later are read too.
    """

    path: Path
    name: str
    schema: Schema
    settings: Settings
    output: Output
    delay_ns: int = 0
    is_live: bool = False
    tasks: int = 1
    ends_with_marker: bool = True

    @property
    def is_timed(self) -> bool:
        """Whether each record tells its delay."""
        return self.settings.has_delay_field

    def start(self) -> Position:
        """The beginning of the file."""
        header = self.settings.header_lines
        return {"byte": 0, "number": 0, "header": header, "stamp": None, "time_ns": self.delay_ns}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """Cut off blocks with about so many lines."""
        extents: list[Extent] = []
        with opened(self.path) as file:
            stamp = stamp_of(file)
            check_stamp(self.name, position["stamp"], stamp, may_grow=self.is_live, end=position["byte"])
            here = {**position, "stamp": stamp}
            size = stamp[1]
            most = position["byte"] + file_blocks.BATCH_BYTES
            while rows > 0 and here["byte"] < min(size, most):
                extent = self._block(file, here, rows, size)
                if extent is None:
                    break
                extents.append(extent)
                rows -= extent["lines"]
                here = self._behind(extent, here, file)
        return Planned(
            extents=tuple(extents),
            position=here,
            has_ended=not self.is_live and here["byte"] >= size,
            number=here["number"],
            time_ns=here["time_ns"],
        )

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """Parse a block."""
        with opened(self.path) as file:
            check_stamp(self.name, extent["stamp"], stamp_of(file), may_grow=self.is_live, end=extent["end"])
            read = self._records(file, extent)
        time_ns, delays = extent["time_ns"], read.delays_ns
        yield Chunk(
            batch=self.output(read.batch),
            number=extent["number"],
            time_ns=time_ns,
            times_ns=None if delays is None else time_ns + np.cumsum(delays),
            malformed=read.malformed,
        )

    def _records(self, file: BinaryIO, extent: Extent) -> Records:
        block = read_range(file, extent["start"], extent["end"])
        return block_reader(self.schema, replace(self.settings, header_lines=extent["header"]))(block)

    def _behind(self, extent: Extent, here: Position, file: BinaryIO) -> Position:
        """The position behind a block; where records tell delays they have to be read."""
        delays = self._records(file, extent).delays_ns if self.is_timed else None
        time_ns = here["time_ns"] + (0 if delays is None else int(delays.sum()))
        return {
            **here,
            "byte": extent["end"],
            "number": here["number"] + extent["most"],
            "header": 0,
            "time_ns": time_ns,
        }

    def _block(self, file: BinaryIO, here: Position, rows: int, size: int) -> Extent | None:
        """The next block: so many lines, or as many as make a block of the usual size."""
        length, wanted = file_blocks.BLOCK_BYTES, rows + here["header"]
        settings = replace(self.settings, header_lines=here["header"])
        while True:
            file.seek(here["byte"])
            data = file.read(length)
            # A file that has become shorter in the meantime ends before its size; reading tells of that.
            is_last = len(data) < length or here["byte"] + len(data) >= size
            end, lines = cut(data, wanted, is_last and not self.is_live)
            is_whole = end == len(data) and is_last and not self.is_live
            if end and lines > here["header"] and ends_between_records(data[:end], self.schema, settings):
                break
            if is_whole:
                break
            if self.is_live and is_last and end == data.rfind(b"\n") + 1:
                # A record has begun and goes on with what is appended later.
                return None
            # A longer block, or if its end stands inside a record, more lines.
            length, wanted = 2 * length, wanted + max(lines, 1)
        block = data[:end]
        most = block.count(b"\n") + block.count(b"\r") + 1
        place = {"start": here["byte"], "end": here["byte"] + end, "number": here["number"], "header": here["header"]}
        return {**place, "lines": lines, "most": most, "stamp": here["stamp"], "time_ns": here["time_ns"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParquetColumns:
    """A Parquet file, one group of rows after the other."""

    path: Path
    name: str
    schema: Schema
    output: Output
    delay_ns: int = 0
    is_live: bool = False
    is_timed: bool = False
    tasks: int = 1
    ends_with_marker: bool = True

    def start(self) -> Position:
        """The first group."""
        return {"group": 0, "number": 0, "stamp": None}

    def plan(self, position: Position, rows: int, until_ns: int | None = None) -> Planned:
        """Take whole groups until there are so many rows."""
        extents: list[Extent] = []
        with opened(self.path) as file:
            stamp = stamp_of(file)
            check_stamp(self.name, position["stamp"], stamp)
            try:
                metadata = parquet.ParquetFile(file).metadata
            except (pa.ArrowException, OSError) as error:
                extent = {"group": -1, "number": 0, "stamp": stamp, "error": f"not a Parquet file: {error}"}
                here = {**position, "stamp": stamp}
                return Planned(extents=(extent,), position=here, has_ended=True, number=0, time_ns=self.delay_ns)
            group, number = position["group"], position["number"]
            while group < metadata.num_row_groups and rows > 0:
                extents.append({"group": group, "number": number, "stamp": stamp})
                count = metadata.row_group(group).num_rows
                group, number, rows = group + 1, number + count, rows - count
        here = {"group": group, "number": number, "stamp": stamp}
        has_ended = group >= metadata.num_row_groups
        return Planned(extents=tuple(extents), position=here, has_ended=has_ended, number=number, time_ns=self.delay_ns)

    def read(self, extent: Extent) -> Iterator[Chunk]:
        """The tuples of a group."""
        empty = pa.RecordBatch.from_pylist([], pa.schema([]))
        found: pa.RecordBatch | Malformed
        with opened(self.path) as file:
            check_stamp(self.name, extent["stamp"], stamp_of(file))
            if extent["group"] < 0:
                found = Malformed("", extent["error"])
            else:
                found = read_group(parquet.ParquetFile(file), extent["group"], self.schema)
        if isinstance(found, Malformed):
            yield Chunk(batch=empty, number=extent["number"], time_ns=self.delay_ns, malformed=(found,))
        else:
            yield Chunk(batch=self.output(found), number=extent["number"], time_ns=self.delay_ns)


def file_columns(
    path: Path, name: str, schema: Schema, settings: Settings, output: Output, *, delay_ns: int, is_live: bool
) -> FileColumns | ParquetColumns | None:
    """A file by columns; None if its format is not read in blocks, or if it cannot be opened.

    Args:
        path: Of the file.
        name: As the program says it.
        schema: Of the attributes read.
        settings: How the records are written.
        output: Makes the tuples.
        delay_ns: The time before the first tuple.
        is_live: Whether what is appended later is read too.
    """
    if not os.access(path, os.R_OK) or not path.is_file():
        return None
    if settings.format == "parquet" and not is_live:
        return ParquetColumns(path=path, name=name, schema=schema, output=output, delay_ns=delay_ns)
    if not can_read_blocks(settings):
        return None
    return FileColumns(
        path=path, name=name, schema=schema, settings=settings, output=output, delay_ns=delay_ns, is_live=is_live
    )
