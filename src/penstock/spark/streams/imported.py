"""Import on Spark: a Python data source that reads stream tables.

An offset says how many lines of each table's log have been read. Lines are never changed and files are never written
again, so a batch that is replayed is the same, and the source needs no log of its own. Tables are looked for with every
batch: an exporter may start after its importers.

Within a batch the items of several tables are taken in the order of their time; what has the same time is taken table
by table. An until-done run reads what is there: the stream ends if every exporter's has, and also if there is no
exporter, as in the reference. A continuous run goes on waiting for more.
"""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from penstock.ir.types import parse_schema
from penstock.runtime.sources.outside_rows import SourcePE
from penstock.runtime.sources.stored_items import items_of, take_wanted
from penstock.spark.sources.admission import ReadAllAvailable, ReadLimit, SupportsTriggerAvailableNow
from penstock.spark.streams.stream_tables import Table, between, tables
from penstock.toolkit.adapters.import_ import OFFER, Offer, Wanted

FORMAT = "penstock_streams"

IDLE_SECONDS = 0.1
"""How long a continuous run waits before it looks for more."""

Offset = dict[str, Any]


class ImportedBatch(InputPartition):
    """The input of one batch: the paths of its files, and whether the stream ends."""

    def __init__(self, files: list[str], ends: bool) -> None:
        super().__init__((tuple(files), ends))


class ImportReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans batches by the tables' logs, and reads their files.

    Args:
        options: `streams`, the folder of all tables; `wanted`, as JSON; `filter`, a predicate over tuples; `source`,
            the pickled `SourcePE`; `items_per_batch`; `continuous`; and `began`, the offset that the job goes on from.
    """

    def __init__(self, options: dict[str, str]) -> None:
        self._root = Path(options["streams"])
        wanted = json.loads(options["wanted"])
        self._wanted = Wanted(schema=parse_schema(wanted.pop("schema")), **wanted)
        self._filter = options.get("filter") or None
        self._source_file = options["source"]
        self._items_per_batch = int(options.get("items_per_batch", "200000"))
        self._is_continuous = options.get("continuous") == "true"
        self._began: Offset = json.loads(options["began"]) if "began" in options else {"tables": {}, "ended": 0}
        self._known: dict[str, bool] = {}

    @cached_property
    def _source(self) -> SourcePE:
        source: SourcePE = pickle.loads(Path(self._source_file).read_bytes())
        return source

    def initialOffset(self) -> Offset:
        """Nothing has been read, or what was when the plan changed."""
        return self._began

    def prepareForTriggerAvailableNow(self) -> None:
        """Do nothing: rows that an exporter adds meanwhile are read, too; a run ends when a batch finds nothing new."""

    def getDefaultReadLimit(self) -> ReadLimit:
        """The size of a batch is ours to choose."""
        return ReadAllAvailable()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """As far as one batch goes."""
        if start["ended"]:
            return start
        found = self._tables(start)
        read, room, is_over = dict(start["tables"]), self._items_per_batch, True
        for table in found:
            position = read.get(table.name, 0)
            has_ended = bool(position and table.entries(position - 1)[0].has_ended)
            for entry in table.entries(position):
                if room <= 0:
                    break
                room -= entry.items
                read[table.name] = position = position + 1
                has_ended = entry.has_ended
            is_over = is_over and has_ended
        if self._is_continuous and read == start["tables"]:
            # Spark asks again at once.
            time.sleep(IDLE_SECONDS)
        return {"tables": read, "ended": int(is_over and not self._is_continuous)}

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """One, for what comes from several tables is put in one order."""
        files = [
            str(table.folder / entry.file)
            for table, entries in between(self._tables(end), start["tables"], end["tables"])
            for entry in entries
            if entry.file is not None
        ]
        return [ImportedBatch(files, bool(end["ended"] and not start["ended"]))]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a batch."""
        files, ends = partition.value
        batches = [batch for file in files for batch in _read_wanted(self._root, Path(file), self._wanted)]
        yield from self._source.rows(items_of(batches, self._wanted.row_schema, self._filter), ends=ends)

    def _tables(self, offset: Offset) -> list[Table]:
        """The tables that are wanted: those not superseded, and those that we have begun with."""
        found = [table for table in tables(self._root) if self._is_wanted(table)]
        return [table for table in found if table.name in offset["tables"] or not table.is_superseded]

    def _is_wanted(self, table: Table) -> bool:
        if table.name not in self._known:
            self._known[table.name] = self._wanted.may_take(table.offer())
        return self._known[table.name]


def _read_wanted(root: Path, path: Path, wanted: Wanted) -> Iterator[pa.RecordBatch]:
    """The rows of a table's file that an Import takes."""
    offer = Table(root, path.parent).offer()
    batches = _read_file(path)
    if offer.changes:
        offer = _offer_before(path, offer)
    for batch in batches:
        rows, offer = take_wanted(batch, offer, wanted)
        yield rows


def _offer_before(path: Path, offer: Offer) -> Offer:
    """The offer of the last tuple before a file: a marker that comes first goes where that went."""
    for earlier in sorted((p for p in path.parent.glob("*.arrow") if p.name < path.name), reverse=True):
        texts = [t for batch in _read_file(earlier) for t in batch.column(OFFER).to_pylist() if t is not None]
        if texts:
            return replace(offer.with_properties(texts[-1]), changes=True)
    return offer


def _read_file(path: Path) -> list[pa.RecordBatch]:
    with pa.OSFile(str(path)) as file:
        reader = pa.ipc.open_file(file)
        return [reader.get_batch(i) for i in range(reader.num_record_batches)]
