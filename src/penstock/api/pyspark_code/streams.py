"""The methods of a stream that add an operator made of PySpark code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import attribute_names
from penstock.api.outputs import Output
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.schemas.problems import FieldProblem
from penstock.api.schemas.spark import value_type
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.ir.types import Schema, TupleType, TypedName

if TYPE_CHECKING:
    from penstock.api.application import App
    from penstock.api.streams import Stream
    from penstock.toolkit.core.definition import OperatorDefinition


class StreamPySpark:
    """Code that was written for PySpark, unchanged, as operators.

    Such code sees blocks of rows, as it does in PySpark, and what it gives must not depend on how rows are cut into
    blocks. The reference makes one block of all rows.
    """

    __slots__ = ()

    app: App
    schema: Schema

    def map_in_pandas(
        self, function: Any, schema: SchemaLike, *, stateless: bool = False, name: str | None = None
    ) -> Stream:
        """What a function gives that was written for `DataFrame.mapInPandas`.

        Args:
            function: Of an iterator of frames of pandas; it gives such frames.
            schema: Of what it gives.
            stateless: Whether it looks at one row at a time and remembers nothing, so that it may run in parallel.
            name: Of the operator; also `named`.

        Example:
            >>> from penstock import App
            >>> def dear(frames):
            ...     for frame in frames:
            ...         yield frame[frame.price > 50]
            >>> trades = App().from_rows([("IBM", 83.5), ("HPQ", 30.0)], "rstring sym, float64 price")
            >>> trades.map_in_pandas(dear, trades.schema, stateless=True).collect()
            [Row(sym='IBM', price=83.5)]
        """
        return self._map_in(function, "pandas", schema, stateless, name)

    def map_in_arrow(
        self, function: Any, schema: SchemaLike, *, stateless: bool = False, name: str | None = None
    ) -> Stream:
        """What a function gives that was written for `DataFrame.mapInArrow`; arguments as for `map_in_pandas`.

        Example:
            >>> from penstock import App
            >>> def first(batches):
            ...     for batch in batches:
            ...         yield batch.slice(0, 1)
            >>> App().from_rows([(1,), (2,)], "int32 x").map_in_arrow(first, "int32 x").collect()
            [Row(x=1)]
        """
        return self._map_in(function, "arrow", schema, stateless, name)

    def transform_with_state(
        self, processor: Any, schema: SchemaLike, *, by: str | Sequence[str], name: str | None = None
    ) -> Stream:
        """What a `StatefulProcessor` gives that was written for `transformWithStateInPandas`.

        Args:
            processor: The instance. Its state (values, lists, maps) is kept by key; it uses no timers and no TTL.
            schema: Of what it gives.
            by: The attributes that rows are grouped by.
            name: Of the operator; also `named`.

        Example:
            >>> import pandas as pd
            >>> from penstock import App
            >>> class Count:
            ...     def init(self, handle):
            ...         self.seen = handle.getValueState("seen", "n long")
            ...     def handleInputRows(self, key, frames, timers):
            ...         n = sum(len(frame) for frame in frames) + (self.seen.get() or (0,))[0]
            ...         self.seen.update((n,))
            ...         yield pd.DataFrame({"sym": [key[0]], "n": [n]})
            ...     def close(self):
            ...         pass
            >>> trades = App().from_rows([("IBM",), ("HPQ",), ("IBM",)], "rstring sym")
            >>> trades.transform_with_state(Count(), "rstring sym, int64 n", by="sym").collect(engine="reference")
            [Row(sym='HPQ', n=1), Row(sym='IBM', n=2)]
        """
        from penstock.api.pyspark_code.processors import processor_of

        columns = self._names(attribute_names(by))
        definition = processor_of(processor, columns, self._kind(type(processor).__name__))
        return self._add(definition, schema, name)

    def with_udf(self, attribute: str, udf: Any, *columns: str, name: str | None = None) -> Stream:
        """The tuples with one more attribute, which a UDF of PySpark (`udf`, `pandas_udf`) makes of others.

        Args:
            attribute: Its name; it is optional, as a UDF may give None.
            udf: The UDF.
            columns: The attributes that it takes.
            name: Of the operator; also `named`.

        Example:
            >>> from pyspark.sql.functions import udf
            >>> from pyspark.sql.types import IntegerType
            >>> from penstock import App
            >>> double = udf(lambda x: 2 * x, IntegerType())
            >>> App().from_rows([(1,), (2,)], "int32 x").with_udf("twice", double, "x").collect()
            [Row(x=1, twice=2), Row(x=2, twice=4)]
        """
        from penstock.api.pyspark_code.udfs import with_udf

        self._names(columns)
        definition = with_udf(udf, attribute, tuple(columns), self._kind(getattr(udf, "__name__", "udf")))
        try:
            made = TypedName(attribute, value_type(udf.returnType, attribute))
        except FieldProblem as problem:
            raise UserError(Diagnostic(message=str(problem), span=caller_span(), hint=problem.hint)) from None
        others = tuple(a for a in self.schema.attributes if a.name != attribute)
        return self._add(definition, TupleType((*others, made)), name)

    def _map_in(self, function: Any, of: str, schema: SchemaLike, stateless: bool, name: str | None) -> Stream:
        from penstock.api.pyspark_code.udfs import map_in

        kind = self._kind(getattr(function, "__name__", "function"))
        return self._add(map_in(function, of, kind, stateless=stateless), schema, name)

    def _names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Names of attributes that there are."""
        for name in names:
            if name not in self.schema.position:
                message = f"there is no attribute `{name}`; the stream has {{{', '.join(self.schema.names)}}}"
                hint = did_you_mean(name, self.schema.names)
                raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
        return tuple(names)

    def _kind(self, wanted: str) -> str:
        return self.app.new_kind(wanted)

    def _add(self, definition: OperatorDefinition, schema: SchemaLike, name: str | None) -> Stream:
        stream: Any = self
        return self.app.invoke(definition, stream, outputs=[Output(schema=schema_of(schema), name=name)])[0]
