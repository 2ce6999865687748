"""Where streams begin: files, generated tuples, Python generators, Kafka, other applications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import output_columns
from penstock.api.outputs import Output
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.schemas.inferred_schemas import SampledFile, infer_csv, infer_json, infer_parquet
from penstock.api.schemas.type_hints import is_record
from penstock.api.sources.given_rows import feed
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import Schema

if TYPE_CHECKING:
    from penstock.api.application import App
    from penstock.api.streams import Stream


class AppSources:
    """The methods of an application that add a source.

    Files: a relative name is looked up in the data folder: that of `app.run(data=...)` or `penstock run --data`, by
    default the folder `data` beside the program, or else the current folder. Parameters of FileSource that a method
    does not name are taken too, in snake_case: `init_delay=1.0`, `parsing="permissive"`.

    A schema that is left out is inferred from the beginning of the file (from the footer of a Parquet file), when the
    method is called. An attribute is optional if the sample has nulls in it; a date or a time in text stays text.
    """

    directory: Path

    def read_csv(
        self,
        path: str | PathLike[str],
        schema: SchemaLike | None = None,
        *,
        header: bool | int = False,
        separator: str = ",",
        ignore_errors: bool = False,
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> Stream:
        """The lines of a file of separated values, columns by position.

        Args:
            path: Of the file.
            schema: Of its tuples; without it, inferred from the first lines, with the names that the header gives, or
                `column_1`, `column_2`, ...
            header: Whether the first line is left out because it has the names of the columns; or how many lines.
            separator: Between values: one character.
            ignore_errors: Whether to set malformed lines aside instead of failing.
            encoding: Of the text; UTF-8 without it.
            compression: `gzip`, `zlib` or `bzip2`.
            name: Of the operator; also `named`.
            params: More parameters of FileSource, in snake_case, any of them in `params={...}`.

        Example:
            >>> import pathlib, tempfile
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "trades.csv"
            >>> _ = file.write_text("sym;price\\nIBM;83.5\\nHPQ;\\n")
            >>> from penstock import App
            >>> App().read_csv(file, header=True, separator=";")
            <Stream FileSource: rstring sym, optional<float64> price>
            >>> App().read_csv(file, "rstring sym, float64 price", header=True, separator=";").collect()
            [Row(sym='IBM', price=83.5), Row(sym='HPQ', price=0.0)]
        """
        given = {
            "separator": checked_separator(separator),
            "hasHeaderLine": int(header) if header is not True and header else header or None,
            "parsing": "permissive" if ignore_errors else None,
            "encoding": encoding,
            "compression": compression,
            **params,
        }
        file = SampledFile(path=fspath(path), folder=self._data_folder(), compression=compression)
        found = schema if schema is not None else infer_csv(file, int(header), separator, encoding or "utf-8")
        return self._read(path, "csv", schema_of(found), name, given)

    def read_json(
        self,
        path: str | PathLike[str],
        schema: SchemaLike | None = None,
        *,
        ignore_errors: bool = False,
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> Stream:
        """The lines of a file that has a JSON object on each, attributes by name.

        Args:
            path: Of the file.
            schema: Of its tuples; without it, inferred from the first lines.
            ignore_errors: Whether to set malformed lines aside instead of failing.
            encoding: Of the text; UTF-8 without it.
            compression: `gzip`, `zlib` or `bzip2`.
            name: Of the operator; also `named`.
            params: More parameters of FileSource, in snake_case.

        Example:
            >>> import pathlib, tempfile
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.json"
            >>> _ = file.write_text('{"name": "ann", "age": 41}\\n{"name": "bob"}\\n')
            >>> from penstock import App
            >>> App().read_json(str(file)).collect()
            [Row(name='ann', age=41), Row(name='bob', age=None)]
        """
        file = SampledFile(path=fspath(path), folder=self._data_folder(), compression=compression)
        found = schema if schema is not None else infer_json(file, encoding or "utf-8")
        parsing = "permissive" if ignore_errors else None
        given = {"parsing": parsing, "encoding": encoding, "compression": compression, **params}
        return self._read(path, "json", schema_of(found), name, given)

    def read_parquet(
        self, path: str | PathLike[str], schema: SchemaLike | None = None, *, name: str | None = None, **params: Any
    ) -> Stream:
        """The rows of a Parquet file, columns by name; without a schema, all that the file has.

        Example:
            >>> import pathlib, tempfile
            >>> import pyarrow as pa
            >>> from pyarrow import parquet
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "numbers.parquet"
            >>> parquet.write_table(pa.table({"x": [1, 2], "s": ["a", None]}), file)
            >>> from penstock import App
            >>> App().read_parquet(str(file))
            <Stream FileSource: int64 x, optional<rstring> s>
            >>> App().read_parquet(str(file), "int32 x").collect()
            [Row(x=1), Row(x=2)]
        """
        file = SampledFile(path=fspath(path), folder=self._data_folder())
        found = schema if schema is not None else infer_parquet(file)
        return self._read(path, "parquet", schema_of(found), name, params)

    def read_text(
        self,
        path: str | PathLike[str],
        *,
        column: str = "value",
        encoding: str | None = None,
        compression: str | None = None,
        name: str | None = None,
        **params: Any,
    ) -> Stream:
        """The lines of a file, each as the one attribute `value`, or as `column` calls it.

        Example:
            >>> import pathlib, tempfile
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "lines.txt"
            >>> _ = file.write_text("to be\\nor not\\n")
            >>> from penstock import App
            >>> App().read_text(str(file), column="line").collect()
            [Row(line='to be'), Row(line='or not')]
        """
        given = {"encoding": encoding, "compression": compression, **params}
        return self._read(path, "line", schema_of({column: str}), name, given)

    def read_file(
        self, path: str | PathLike[str], schema: SchemaLike, *, name: str | None = None, **params: Any
    ) -> Stream:
        """The tuples of a file of any format of FileSource: `csv` (the default), `line`, `txt`, `bin`, `block`, ...

        Example:
            >>> import pathlib, tempfile
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "numbers.txt"
            >>> _ = file.write_text("{x=1}\\n{x=2}\\n")
            >>> from penstock import App
            >>> App().read_file(str(file), "int32 x", format="txt").collect()
            [Row(x=1), Row(x=2)]
        """
        return self._read(path, params.pop("format", "csv"), schema_of(schema), name, params)

    def beacon(
        self,
        schema: SchemaLike,
        *columns: Any,
        iterations: int | None = None,
        period: float | None = None,
        name: str | None = None,
        **assign: Any,
    ) -> Stream:
        """Generated tuples, `iterations` of them, one each `period` seconds.

        Example:
            >>> from penstock import App, agg
            >>> app = App()
            >>> app.beacon("uint64 n, rstring name", {"name": "x"}, iterations=2, n=agg.iteration_count()).collect()
            [Row(n=0, name='x'), Row(n=1, name='x')]
        """
        output = Output(schema=schema_of(schema), name=name, assign=output_columns(columns, assign))
        return self._app.invoke("Beacon", outputs=[output], params=_given(iterations=iterations, period=period))[0]

    def from_rows(
        self, rows: Iterable[Any], schema: SchemaLike | None = None, *, every: float = 0.0, name: str | None = None
    ) -> Stream:
        """Rows that are at hand: tuples, dicts, or instances of the class that is their schema.

        Args:
            rows: In order.
            schema: Of the rows; named tuples and instances of a dataclass bring theirs along.
            every: How many seconds of the application's time pass behind each.
            name: Of the operator; also `named`.

        Example:
            >>> from typing import NamedTuple
            >>> from penstock import App
            >>> Trade = NamedTuple("Trade", [("sym", str), ("price", float)])
            >>> App().from_rows([Trade("IBM", 83.5)]).collect()
            [Row(sym='IBM', price=83.5)]
            >>> App().from_rows([("IBM", 83.5), {"sym": "HPQ", "price": 30}], Trade)
            <Stream given: rstring sym, float64 price>
        """
        kept = list(rows)
        own = type(kept[0]) if kept and is_record(type(kept[0])) else None
        if schema is None and own is None:
            message = "the schema of these rows is not known"
            raise UserError(Diagnostic(message=message, span=caller_span(), hint="give the schema"))
        return self.source(feed(kept, every=every), own if schema is None else schema, name=name)

    def source(self, kind: Any, schema: SchemaLike, *, name: str | None = None, **params: Any) -> Stream:
        """The tuples of a Python generator function, or of a source class; keywords are its parameters.

        Example:
            >>> from penstock import App
            >>> def countdown(start: int):
            ...     for n in range(start, 0, -1):
            ...         yield {"n": n}
            >>> App().source(countdown, "int32 n", start=2).collect()
            [Row(n=2), Row(n=1)]
        """
        output = Output(schema=schema_of(schema), name=name)
        return self._app.invoke(kind, outputs=[output], params=params, role="source")[0]

    def import_(self, schema: SchemaLike, *, name: str | None = None, **params: Any) -> Stream:
        """A stream that another application exports, by `stream_id`, `application_name` or `subscription`.

        Example:
            >>> from penstock import App
            >>> App().import_("int32 x", stream_id="numbers", application_name="Numbers")
            <Stream Import: int32 x>
        """
        output = Output(schema=schema_of(schema), name=name)
        return self._app.invoke("Import", outputs=[output], params=params)[0]

    def kafka_source(
        self,
        topic: str | Sequence[str],
        schema: SchemaLike,
        *,
        servers: str | None = None,
        format: str = "json",
        name: str | None = None,
        **params: Any,
    ) -> Stream:
        """The messages of Kafka topics, on Spark; `format` is `json`, `csv` or `raw`.

        Example:
            >>> from penstock import App
            >>> App().kafka_source("clicks", "rstring user", servers="localhost:9092")
            <Stream KafkaConsumer: rstring user>
        """
        given = _given(topic=topic, bootstrapServers=servers, format=format, **params)
        return self._app.invoke("KafkaConsumer", outputs=[Output(schema=schema_of(schema), name=name)], params=given)[0]

    def from_spark(self, input: str, schema: SchemaLike, *, name: str | None = None) -> Stream:
        """The rows of a DataFrame of Spark, which is given when the application runs or transforms it.

        `penstock.spark.transform(app, {"trades": df})` gives one, and so does `app.run(inputs={"trades": df})`, which
        also takes rows, a table of pandas, Polars or Arrow, or the name of a Parquet file, on every engine.

        Args:
            input: The name under which it is given.
            schema: Of the tuples; `df.schema` will do. Columns are found by name, and others are left out.
            name: Of the operator; also `named`.

        Example:
            >>> from penstock import App, col
            >>> app = App()
            >>> trades = app.from_spark("trades", "rstring sym, float64 price")
            >>> trades.filter(col.price > 50).collect(inputs={"trades": [("IBM", 83.5), ("HPQ", 30.0)]})
            [Row(sym='IBM', price=83.5)]
        """
        output = Output(schema=schema_of(schema), name=name)
        return self._app.invoke("FromSpark", outputs=[output], params={"input": input})[0]

    @property
    def _app(self) -> App:
        app: Any = self
        return app  # type: ignore[no-any-return] # only `App` is made of this

    def _data_folder(self) -> Path:
        """Where relative names are looked up unless a run says otherwise."""
        return self.directory / "data" if (self.directory / "data").is_dir() else Path()

    def _read(
        self, path: str | PathLike[str], format_: str, schema: Schema, name: str | None, params: Mapping[str, Any]
    ) -> Stream:
        given = _given(file=path, format=format_, **params)
        return self._app.invoke("FileSource", outputs=[Output(schema=schema, name=name)], params=given)[0]


def checked_separator(separator: str) -> str | None:
    """The separator of values; None if it is the comma.

    Raises:
        UserError: It is not one character.

    Example:
        >>> checked_separator(","), checked_separator(";")
        (None, ';')
    """
    if not isinstance(separator, str) or len(separator) != 1:
        raise UserError(Diagnostic(message=f"a separator is one character, found {separator!r}", span=caller_span()))
    return None if separator == "," else separator


def _given(**params: Any) -> dict[str, Any]:
    """The parameters that have a value."""
    return {name: value for name, value in params.items() if value is not None}
