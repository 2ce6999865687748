"""Streams between jobs over Kafka, where `PENSTOCK_STREAMS` is `kafka://host:port/prefix`.

Each Export has a topic, `prefix.application.export`. A message is an Arrow stream of some rows of a stream table, with
the offer in the metadata of its schema. All messages of a job have one key, so they are in one partition, in order;
each is written exactly once (`topic`). An Import reads all topics that may hold what it wants and takes the
messages whose offer is what it wants, also those of exporters that start later.

When it does not apply:
    A topic has no end, so an imported stream does not end, and a job that starts anew adds to its topic: there is
    nothing to supersede.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

import pyarrow as pa

from penstock.base.diagnostics import UserError
from penstock.codegen.transport.batches import SPARK_SCHEMA
from penstock.ir.graph import Operator
from penstock.runtime.sinks.order import Chunk
from penstock.runtime.sources.outside_rows import SourcePE
from penstock.runtime.sources.stored_items import file_rows, file_schema, items_of, take_wanted
from penstock.spark.kafka.topic import TopicWriter
from penstock.spark.streams.stream_tables import VARIABLE, described, offer_from
from penstock.toolkit.adapters.import_ import Offer, Wanted, offer_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.runtime.sinks.kinds import JobOutput

ROWS_PER_MESSAGE = 2_000
BYTES_PER_MESSAGE = 800_000
"""Brokers refuse messages of more than a million bytes, unless they are told otherwise."""
OFFER = b"penstock.offer"


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaStreams:
    """Where streams between jobs are.

    Attributes:
        servers: The brokers.
        prefix: What the names of the topics begin with.
    """

    servers: str
    prefix: str

    @property
    def properties(self) -> dict[str, str]:
        """As Kafka's clients take them."""
        return {"bootstrap.servers": self.servers}

    def topic(self, application: str, operator: str) -> str:
        """The topic of an Export.

        Example:
            >>> KafkaStreams(servers="a:1", prefix="p").topic("my.app::Main", "Out")
            'p.my_2eapp_3A_3AMain.Out'
        """
        return f"{self.prefix}.{_word(application)}.{_word(operator)}"

    def pattern(self, wanted: Wanted) -> str:
        """Matches the topics that may hold what is wanted."""
        application = re.escape(_word(wanted.application)) if wanted.application else "[^.]*"
        return rf"{re.escape(self.prefix)}\.{application}\.[^.]*"


def _word(name: str) -> str:
    """A name without points, in the characters that topics may have."""
    return quote(name, "").replace(".", "%2e").replace("~", "%7e").replace("%", "_") if _is_odd(name) else name


def _is_odd(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9-]+", name) is None


def kafka_streams(setting: str | None = None) -> KafkaStreams | None:
    """The Kafka streams that a setting, or else the environment variable, names; None if streams are in a folder.

    Raises:
        UserError: The setting is a URL of another form.

    Example:
        >>> kafka_streams("kafka://a:9092,b:9092/market")
        KafkaStreams(servers='a:9092,b:9092', prefix='market')
    """
    given = os.environ.get(VARIABLE, "") if setting is None else setting
    parts = urlsplit(given)
    if "://" not in given or parts.scheme == "file":
        return None
    if parts.scheme != "kafka" or not parts.netloc:
        message = f"streams are in a folder or at kafka://HOST:PORT/PREFIX, found {VARIABLE}={given}"
        raise UserError(message)
    return KafkaStreams(servers=parts.netloc, prefix=parts.path.strip("/").replace("/", "-") or "penstock")


class KafkaExportSink:
    """Writes an exported stream to its topic."""

    def __init__(self, operator: Operator, output: JobOutput, streams: KafkaStreams) -> None:
        offer = offer_of(operator, output.application, output.evaluator)
        topic = streams.topic(output.application, operator.id)
        note = output.folder / f"kafka-{quote(operator.id, '')}.json"
        self._topic = TopicWriter(topic, streams.properties, output.id, note)
        self._schema = file_schema(operator.inputs[0].schema).with_metadata({OFFER: described(offer).encode()})
        self._key = output.id.encode()

    def begin(self, batch: int) -> None:
        """A batch comes."""
        self._topic.begin(batch)

    def take(self, chunk: Chunk) -> None:
        """Write messages of many rows each."""
        values = list(_encoded(file_rows(chunk, self._schema)))
        self._topic.add([self._key] * len(values), values)

    def commit(self, *, has_ended: bool) -> None:
        """Write what waits."""
        self._topic.flush()

    def close(self) -> None:
        """Nothing is held open."""


def _encoded(rows: pa.RecordBatch) -> Iterator[bytes]:
    """The values of messages, none too large if no row is."""
    if not rows.num_rows:
        return
    if rows.num_rows <= ROWS_PER_MESSAGE:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
        value = sink.getvalue().to_pybytes()
        if len(value) <= BYTES_PER_MESSAGE or rows.num_rows == 1:
            yield value
            return
    half = rows.num_rows // 2
    yield from _encoded(rows.slice(0, half))
    yield from _encoded(rows.slice(half))


def imported_rows(frame: DataFrame, source: SourcePE, wanted: Wanted, filter_: str | None) -> DataFrame:
    """The messages of exported streams as rows of the transport."""
    asked = {
        "stream_id": wanted.stream_id,
        "application": wanted.application,
        "subscription": wanted.subscription,
        "changes": wanted.changes,
        "filters": filter_ is not None,
    }
    schema = str(wanted.schema)

    def rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = list(batches)
        if any(batch.num_rows for batch in found):
            table = pa.Table.from_batches(found).sort_by([(c, "ascending") for c in ("topic", "partition", "offset")])
            asking = _wanted(schema, asked)
            messages = wanted_messages(table.column("value").to_pylist(), asking)
            yield from source.rows(items_of(messages, asking.row_schema, filter_))

    return frame.mapInArrow(rows, SPARK_SCHEMA)


def wanted_messages(values: list[bytes], wanted: Wanted) -> list[pa.RecordBatch]:
    """The rows of the messages whose offer is wanted."""
    found: list[pa.RecordBatch] = []
    now: dict[bytes, Offer] = {}
    for value in values:
        reader = pa.ipc.open_stream(value)
        text = reader.schema.metadata[OFFER]
        if wanted.may_take(_offer(text)):
            for batch in reader:
                rows, now[text] = take_wanted(batch.replace_schema_metadata(None), now.get(text, _offer(text)), wanted)
                found.append(rows)
    return found


@functools.lru_cache(maxsize=256)
def _offer(text: bytes) -> Offer:
    return offer_from(json.loads(text))


def _wanted(schema: str, asked: dict[str, Any]) -> Wanted:
    from penstock.ir.types import parse_schema

    return Wanted(schema=parse_schema(schema), **asked)
