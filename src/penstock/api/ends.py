"""Where streams end: files, the console, Kafka, PostgreSQL, other applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from penstock.api.readers import checked_separator
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError

if TYPE_CHECKING:
    from penstock.api.application import App


class StreamEnds:
    """The methods of a stream that add a sink.

    Files: a relative name lies in the output folder: that of `app.run(out=...)` or `penstock run --out`, by default the
    data folder. With `partition_by`, and for Parquet, the path is that of a folder. Parameters of FileSink that a
    method does not name are taken too, in snake_case: `close_mode="count"`, `tuples_per_file=1000`.
    """

    __slots__ = ()

    app: App

    def write_csv(
        self,
        path: str | PathLike[str],
        *,
        separator: str = ",",
        quote_strings: bool = True,
        partition_by: str | Sequence[str] = (),
        append: bool = False,
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> None:
        """Write the tuples to a file of separated values, one a line, without a header.

        Args:
            path: Of the file.
            separator: Between values: one character.
            quote_strings: Whether strings stand in quotes.
            partition_by: Attributes whose values name folders, each with a file of its own.
            append: Whether to keep what the file holds already.
            encoding: Of the text; UTF-8 without it.
            compression: `gzip`, `zlib` or `bzip2`.
            name: Of the operator.
            params: More parameters of FileSink, in snake_case.

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([("IBM", 1)], "rstring sym, int32 n").write_csv("n.csv", separator=";")
            >>> app.run(engine="reference", out=folder).wait().status
            'done'
            >>> (folder / "n.csv").read_text()
            '"IBM";1\\n'
        """
        if params.pop("header", False):
            message = "a file is written without a header line"
            hint = "leave `header` out, or write Parquet or JSON, which have the names in them"
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
        text = {
            "separator": checked_separator(separator),
            "quoteStrings": None if quote_strings else False,
            "encoding": encoding,
        }
        self._write(path, "csv", partition_by, append, compression, name, {**text, **params})

    def write_json(
        self,
        path: str | PathLike[str],
        *,
        partition_by: str | Sequence[str] = (),
        append: bool = False,
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> None:
        """Write the tuples to a file, a JSON object a line.

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([("IBM", 1)], "rstring sym, int32 n").write_json("n.json")
            >>> app.run(engine="reference", out=folder).wait().status
            'done'
            >>> print((folder / "n.json").read_text(), end="")
            {"sym":"IBM","n":1}
        """
        self._write(path, "json", partition_by, append, compression, name, {"encoding": encoding, **params})

    def write_parquet(
        self,
        path: str | PathLike[str],
        *,
        partition_by: str | Sequence[str] = (),
        name: str | None = None,
        **params: Any,
    ) -> None:
        """Write the tuples to a folder of Parquet files.

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> from pyarrow import parquet
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([("IBM", 1)], "rstring sym, int32 n").write_parquet("numbers")
            >>> app.run(engine="reference", out=folder).wait().status
            'done'
            >>> parquet.read_table(folder / "numbers").to_pylist()
            [{'sym': 'IBM', 'n': 1}]
        """
        self._write(path, "parquet", partition_by, False, None, name, params)

    def write_text(
        self,
        path: str | PathLike[str],
        *,
        append: bool = False,
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> None:
        """Write the one attribute of the tuples, which is text, to a file, one a line.

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([("to be",), ("or not",)], "rstring line").write_text("lines.txt")
            >>> app.run(engine="reference", out=folder).wait().status
            'done'
            >>> (folder / "lines.txt").read_text()
            'to be\\nor not\\n'
        """
        self._write(path, "line", (), append, compression, name, {"encoding": encoding, **params})

    def write_file(self, path: str | PathLike[str], *, name: str | None = None, **params: Any) -> None:
        """Write the tuples to a file of any format of FileSink: `csv` (the default), `txt`, `line`, `bin`, ...

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([("IBM", 1)], "rstring sym, int32 n").write_file("n.txt", format="txt")
            >>> app.run(engine="reference", out=folder).wait().status
            'done'
            >>> (folder / "n.txt").read_text()
            '{sym="IBM",n=1}\\n'
        """
        self._end("FileSink", {"file": path, "format": "csv", **params}, name)

    def print(self, *, format: str = "txt", name: str | None = None, **params: Any) -> None:
        """Print the tuples where the application was started; `format` is `txt`, `csv`, `json` or `line`.

        Example:
            >>> from penstock import App
            >>> from penstock.testing import run
            >>> app = App()
            >>> app.from_rows([("IBM", 1)], "rstring sym, int32 n").print()
            >>> _ = run(app)
            {sym="IBM",n=1}
        """
        self._end("ConsoleSink", {"format": format, **params}, name)

    def write_nothing(self, *, name: str | None = None) -> None:
        """Count the tuples and drop them, where they are made: an end for load tests and experiments.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.beacon("int32 x", iterations=3).write_nothing(name="Nowhere")
            >>> app.run(engine="local").wait().totals["Nowhere"].received
            3
        """
        self._end("Discard", {}, name)

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
        """Write the tuples to a Kafka topic, each exactly once, on Spark; `format` is `json`, `csv` or `raw`.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1)
            >>> numbers.write_kafka("numbers", servers="localhost:9092", key="x")
            >>> numbers.app
            <App Main: 2 operators, 1 streams>
        """
        given = {"topic": topic, "bootstrapServers": servers, "format": format, "keyAttribute": key, **params}
        self._end("KafkaProducer", given, name)

    def write_postgres(
        self, url: str, table: str, *, create: bool = False, name: str | None = None, **params: Any
    ) -> None:
        """Add the tuples to a table of a PostgreSQL database, each exactly once.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1)
            >>> numbers.write_postgres("postgresql://localhost/shop", "numbers", create=True)
            >>> numbers.app
            <App Main: 2 operators, 1 streams>
        """
        self._end("PostgresSink", {"url": url, "table": table, "createTable": create, **params}, name)

    def to_spark(self, output: str, *, name: str | None = None) -> None:
        """Make the tuples the rows of a DataFrame, which `penstock.spark.transform` returns under this name.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.from_spark("trades", "rstring sym, float64 price").to_spark("same")
            >>> app
            <App Main: 2 operators, 1 streams>
        """
        self._end("ToSpark", {"output": output}, name)

    def write_spark(
        self,
        format: str,
        path: str | PathLike[str] | None = None,
        *,
        table: str | None = None,
        options: Mapping[str, str] | None = None,
        partition_by: str | Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        """Append the tuples in any format that Spark has a writer for, on Spark.

        Args:
            format: As `df.write.format` takes it: `parquet`, `json`, `orc`, `csv`, `delta`, `iceberg`, `jdbc`, ...
            path: Where to write.
            table: A table of Spark's catalog, in the place of a path.
            options: Those of the format.
            partition_by: Attributes by whose values Spark divides what it writes.
            name: Of the operator.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1)
            >>> numbers.write_spark("orc", "numbers.orc", options={"compression": "zlib"})
            >>> numbers.app
            <App Main: 2 operators, 1 streams>
        """
        keys = [partition_by] if isinstance(partition_by, str) else list(partition_by)
        given = {"format": format, "path": path, "table": table, "partitionBy": keys or None}
        self._end("SparkSink", {**given, "options": dict(options) if options else None}, name)

    def export(self, *, name: str | None = None, **params: Any) -> None:
        """Let other applications import the stream, by `stream_id` or by `properties`.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=1)
            >>> numbers.export(stream_id="numbers")
            >>> numbers.app
            <App Main: 2 operators, 1 streams>
        """
        self._end("Export", params, name)

    def _write(
        self,
        path: str | PathLike[str],
        format_: str,
        partition_by: str | Sequence[str],
        append: bool,
        compression: str | None,
        name: str | None,
        params: Mapping[str, Any],
    ) -> None:
        keys = [partition_by] if isinstance(partition_by, str) else list(partition_by)
        given = {"partitionBy": keys or None, "append": append or None, "compression": compression}
        self._end("FileSink", {"file": path, "format": format_, **given, **params}, name)

    def _end(self, kind: str, params: dict[str, Any], name: str | None) -> None:
        """Add a sink with the parameters that have a value."""
        given = {param: value for param, value in params.items() if value is not None}
        stream: Any = self
        self.app.invoke(kind, stream, params=given, name=name)
