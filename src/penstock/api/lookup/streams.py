"""`stream.lookup`: tuples with what a table says of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import Attributes, attribute_names
from penstock.api.lookup.given_tables import columns_of, conform_table
from penstock.api.lookup.lookups import lookup_of
from penstock.api.lookup.versions import LookedUp, versions_of
from penstock.api.outputs import Output
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.schemas.inferred_schemas import SampledFile, infer_parquet
from penstock.api.spans import caller_span
from penstock.api.windows import EventDuration, duration_seconds
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.ir.types import (
    BOOLEAN,
    ListType,
    MapType,
    OptionalType,
    Schema,
    SetType,
    TupleType,
    Type,
    TypedName,
)

if TYPE_CHECKING:
    from penstock.api.application import App
    from penstock.api.streams import Stream


class StreamLookup:
    """The method of a stream that looks its tuples up in a table."""

    __slots__ = ()

    app: App
    schema: Schema

    def lookup(
        self,
        table: Any,
        *,
        on: Attributes,
        schema: SchemaLike | None = None,
        how: str = "inner",
        every: EventDuration | None = None,
        name: str | None = None,
    ) -> Stream:
        """The tuples with the attributes that a table has for their key; one for each row of the key, in its order.

        The table is read before the first tuple. Which version of it a tuple sees is part of the job's log: a batch
        that comes again sees the same.

        Args:
            table: The path of a Parquet file or of a folder of these; rows, a table of pandas, Polars or Arrow, a
                DataFrame of Spark; or a function that gives one of these.
            on: The attributes that are the key; the table has them, too.
            schema: Of the table; for rows and functions, or for some of its columns. By default all that it has.
            how: `inner`: a tuple without a row is left out; `left`: it is there with nulls.
            every: After what time the table is read again, such as `"1 minute"`, in a run that goes on when its sources
                have no more for now; for files and functions. A file that has not changed is not read.
            name: Of the operator; also `named`.

        Example:
            >>> from penstock import App
            >>> trades = App().from_rows([("IBM", 3), ("XYZ", 4)], "rstring sym, int32 n")
            >>> names = [("IBM", "Big Blue"), ("HPQ", "Hewlett")]
            >>> trades.lookup(names, on="sym", schema="rstring sym, rstring title").collect()
            [Row(sym='IBM', n=3, title='Big Blue')]
        """
        keys = tuple(attribute_names(on))
        found = self._table_schema(table, schema)
        self._check(keys, found, how)
        values = tuple(a for a in found.attributes if a.name not in keys)
        # A key is of the type that it has in the stream, so that equal keys are equal.
        rows = TupleType((*(self.schema.attribute(key) for key in keys), *values))
        given = table if callable(table) else _as_given(table, rows)
        if every is not None and not (callable(given) or isinstance(given, str)):
            raise _refuse("a table at hand does not change", "give a file, or a function that gives the table")
        every_ns = None if every is None else round(duration_seconds(every) * 1e9)
        if every_ns is not None and every_ns <= 0:
            raise _refuse(f"`every` is {every!r}", 'write a time above 0, such as "1 minute"')
        looked_up = LookedUp(given=given, schema=rows, keys=len(keys), every_ns=every_ns)
        source = self._add_source(looked_up)
        made = tuple(TypedName(a.name, _optional(a.type)) for a in values) if how == "left" else values
        definition = lookup_of(keys, how == "left", self.app.new_kind("Lookup"))
        stream: Any = self
        output = Output(schema=TupleType((*self.schema.attributes, *made)), name=name)
        return self.app.invoke(definition, stream, source, outputs=[output])[0]

    def _add_source(self, table: LookedUp) -> Stream:
        """The stream of the rows; its source is the first of all, so that rows come before what looks them up."""
        is_row = "is_row"
        while is_row in table.schema.position:
            is_row += "_"
        schema = TupleType((*table.schema.attributes, TypedName(is_row, BOOLEAN)))
        definition = versions_of(table, self.app.new_kind("Table"))
        return self.app._invoke_first(definition, Output(schema=schema))

    def _table_schema(self, table: Any, schema: SchemaLike | None) -> Schema:
        if schema is not None:
            return schema_of(schema)
        if isinstance(table, str | os.PathLike):
            path = os.fspath(table)
            return schema_of(infer_parquet(SampledFile(path=_a_file(path, self.app), folder=self.app._data_folder())))
        columns = None if callable(table) else columns_of(table)
        if columns is None:
            raise _refuse("the attributes of the table are not known", 'give its schema="rstring sym, rstring title"')
        return schema_of(columns.schema)

    def _check(self, keys: tuple[str, ...], table: Schema, how: str) -> None:
        if how not in ("inner", "left"):
            raise _refuse(f"`how` is {how!r}", "write 'inner' or 'left'")
        if not keys:
            raise _refuse("a lookup needs a key", 'name the attributes that both have: on="sym"')
        for owner, schema in (("stream", self.schema), ("table", table)):
            missing = next((key for key in keys if key not in schema.position), None)
            if missing is not None:
                message = f"the {owner} has no attribute `{missing}`; it has {', '.join(schema.names)}"
                raise _refuse(message, did_you_mean(missing, schema.names))
        twice = next((n for n in table.names if n in self.schema.position and n not in keys), None)
        if twice is not None:
            raise _refuse(f"both the stream and the table have `{twice}`", "rename or drop one of them before")
        for key in keys:
            if isinstance(_inner(table.attribute(key).type), ListType | SetType | MapType):
                raise _refuse(
                    f"`{key}` is {table.attribute(key).type}, which is no key", "name attributes of one value"
                )
            wanted, found = (_inner(schema.attribute(key).type) for schema in (self.schema, table))
            if wanted != found:
                raise _refuse(f"`{key}` is {wanted} in the stream and {found} in the table", "cast one of them before")


def _as_given(table: Any, schema: Schema) -> Any:
    """A path as text, and all else as a table of Arrow, which travels with the program."""
    return os.fspath(table) if isinstance(table, str | os.PathLike) else conform_table("table", table, schema)


def _a_file(path: str, app: App) -> str:
    """A file of a table, which may be a folder of them."""
    folder = app._data_folder() / path
    files = sorted(folder.rglob("*.parquet")) if folder.is_dir() else []
    return str(files[0].absolute()) if files else path


def _optional(type_: Type) -> Type:
    return type_ if isinstance(type_, OptionalType) else OptionalType(type_)


def _inner(type_: Type) -> Type:
    return type_.inner if isinstance(type_, OptionalType) else type_


def _refuse(message: str, hint: str | None) -> UserError:
    return UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
