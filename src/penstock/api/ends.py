"""Where streams end: files, the console, Kafka, PostgreSQL, other applications."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.api.application import App


class StreamEnds:
    """The methods of a stream that add a sink."""

    __slots__ = ()

    app: App

    def write_file(self, path: str, *, name: str | None = None, **params: Any) -> None:
        """Write the tuples to a file; `format="csv"` (the default), `txt`, `line`, `json` or `parquet`.

        With `partitionBy=["sym"]`, and with Parquet, the path is that of a folder.
        """
        self._end("FileSink", {"file": path, "format": "csv", **params}, name)

    def print(self, *, format: str = "txt", name: str | None = None, **params: Any) -> None:
        """Print the tuples where the application was started; `format` is `txt`, `csv`, `json` or `line`."""
        self._end("ConsoleSink", {"format": format, **params}, name)

    def write_kafka(
        self,
        topic: str,
        *,
        servers: str | None = None,
        format: str = "json",
        key: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> None:
        """Write the tuples to a Kafka topic, each exactly once, on Spark; `format` is `json`, `csv` or `raw`."""
        given = {"topic": topic, "bootstrapServers": servers, "format": format, "keyAttribute": key, **params}
        self._end("KafkaProducer", given, name)

    def write_postgres(
        self, url: str, table: str, *, create: bool = False, name: str | None = None, **params: Any
    ) -> None:
        """Add the tuples to a table of a PostgreSQL database, each exactly once."""
        self._end("PostgresSink", {"url": url, "table": table, "createTable": create, **params}, name)

    def export(self, *, name: str | None = None, **params: Any) -> None:
        """Let other applications import the stream, by `streamId` or by `properties`."""
        self._end("Export", params, name)

    def _end(self, kind: str, params: dict[str, Any], name: str | None) -> None:
        """Add a sink with the parameters that have a value."""
        given = {param: value for param, value in params.items() if value is not None}
        stream: Any = self
        self.app.invoke(kind, stream, params=given, name=name)
