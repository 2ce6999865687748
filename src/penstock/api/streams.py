"""`Stream`: what the operators of an application are chained by.

A method adds an operator to the application and returns its output. Names follow PySpark and Polars where they have
one for the thing, and SPL where they do not.

An output attribute can have any name: given by position, as `{"name": fn.upper(col.name)}` or as
`fn.upper(col.name).alias("name")`, it is never taken for an option. As a keyword it is shorter, unless the method has
an option of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from penstock.api.column_words import Attributes, attribute_names, col, lhs, output_columns
from penstock.api.columns import Column, Scope, lift
from penstock.api.ends import StreamEnds
from penstock.api.event_time.ordered import StreamEventTime
from penstock.api.lookup.streams import StreamLookup
from penstock.api.outputs import Output, output_schema
from penstock.api.placed import StreamPlacement
from penstock.api.pyspark_code.streams import StreamPySpark
from penstock.api.runnable import StreamRunning
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.api.windowed import StreamWindows
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Annotation, Param
from penstock.ir.types import Schema, Type

if TYPE_CHECKING:
    from penstock.api.application import App


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Stream(StreamWindows, StreamEventTime, StreamLookup, StreamEnds, StreamPlacement, StreamRunning, StreamPySpark):
    """A stream of an application.

    Attributes:
        app: What it belongs to.
        id: Of the stream.
        schema: Of its tuples.
        operator: The id of the operator that makes it.

    Example:
        >>> from penstock import App
        >>> App().beacon("int32 x, rstring name", iterations=3)
        <Stream Beacon: int32 x, rstring name>
    """

    app: App
    id: str
    schema: Schema
    operator: str

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {', '.join(map(str, self.schema.attributes))}>"

    if not TYPE_CHECKING:  # A type checker shall go on to refuse what is not there.

        def __getattr__(self, name: str) -> Any:
            """Say what a thing is called here that PySpark or Polars have by another name."""
            here = _ELSEWHERE.get(name)
            hint = f"write `{here}`" if here else did_you_mean(name, [n for n in dir(Stream) if n[0] != "_"])
            raise AttributeError(f"a stream has no `{name}`{f'; {hint}' if hint else ''}", name=name, obj=None)

    def named(self, name: str) -> Self:
        """Name the stream, and the operator that makes it if this is its first output.

        Example:
            >>> from penstock import App
            >>> App().beacon("int32 x", iterations=3).filter(col.x > 0).named("Positive")
            <Stream Positive: int32 x>
        """
        self.app.rename(self, name)
        return self

    # One tuple at a time.

    def filter(self, predicate: Column | Callable[[Any], bool], *, name: str | None = None, **options: Any) -> Stream:
        """Keep the tuples for which a condition, or a Python function, is true.

        Args:
            predicate: A boolean column, or a function of a tuple.
            name: Of the operator; also `named`.
            options: `on_error="skip"`, and the parameters of a function, any of them in `params={...}`.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1,), (2,), (3,)], "int32 x")
            >>> numbers.filter(col.x > 1).filter(lambda t: t.x < 3).collect()
            [Row(x=2)]
        """
        output = Output(schema=self.schema, name=name)
        settings, params = _split_options(options)
        if isinstance(predicate, Column):
            params = {"filter": predicate, **params}
            return self.app.invoke("Filter", self, outputs=[output], params=params, **settings)[0]
        return self.app.invoke(predicate, self, outputs=[output], role="filter", params=params, **settings)[0]

    def partition(
        self, predicate: Column, *, names: tuple[str | None, str | None] = (None, None)
    ) -> tuple[Stream, Stream]:
        """The tuples for which a condition is true, and the others.

        Example:
            >>> from penstock import App
            >>> even, odd = App().from_rows([(1,), (2,), (3,)], "int32 x").partition(col.x % 2 == 0)
            >>> even.collect(), odd.collect()
            ([Row(x=2)], [Row(x=1), Row(x=3)])
        """
        outputs = [Output(schema=self.schema, name=name) for name in names]
        kept, others = self.app.invoke("Filter", self, outputs=outputs, params={"filter": predicate})
        return kept, others

    def select(self, *attributes: Any, name: str | None = None, filter: Column | None = None, **columns: Any) -> Stream:
        """The named attributes as they are, and new ones computed from the tuple.

        Args:
            attributes: Names, columns with an alias, or dicts of columns.
            name: Of the operator; also `named`.
            filter: Which tuples to take.
            columns: More columns, by name.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1, "a"), (2, "b")], "int32 x, rstring s")
            >>> numbers.select("s", (col.x * 2).alias("by"), {"name": col.s}).collect()
            [Row(s='a', by=2, name='a'), Row(s='b', by=4, name='b')]
        """
        chosen = output_columns(attributes, columns)
        return self._functor(chosen, output_schema(chosen, "Functor", self.schema), name, filter)

    def with_columns(self, *columns: Any, name: str | None = None, **named: Any) -> Stream:
        """All attributes, with some added or replaced.

        Args:
            columns: Columns with an alias, or dicts of columns.
            name: Of the operator; also `named`.
            named: More columns, by name.

        Example:
            >>> from penstock import App, fn
            >>> people = App().from_rows([("ann",)], "rstring name")
            >>> people.with_columns({"name": fn.upper(col.name)}, fn.length(col.name).alias("count")).collect()
            [Row(name='ANN', count=3)]
        """
        chosen = {**{a: col[a] for a in self.schema.names}, **output_columns(columns, named)}
        return self._functor(chosen, output_schema(chosen, "Functor", self.schema), name, None)

    def drop(self, *attributes: str | Column, name: str | None = None) -> Stream:
        """All attributes but these.

        Example:
            >>> from penstock import App
            >>> App().beacon("int32 x, rstring s", iterations=1).drop("s").schema.names
            ('x',)
        """
        dropped = attribute_names(attributes)
        for attribute in dropped:
            self._check_attribute(attribute)
        return self.select(*(a for a in self.schema.names if a not in dropped), name=name)

    def to(
        self,
        schema: SchemaLike,
        *columns: Any,
        name: str | None = None,
        filter: Column | None = None,
        **named: Any,
    ) -> Stream:
        """Tuples of another schema: what is not given is copied from the attribute of the same name.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1, "a")], "int32 x, rstring s")
            >>> numbers.to("rstring s, float64 half", {"half": col.x.cast("float64") / 2.0}).collect()
            [Row(s='a', half=0.5)]
        """
        return self._functor(output_columns(columns, named), schema_of(schema), name, filter)

    def map(self, function: Callable[..., Any], schema: SchemaLike | None = None, **options: Any) -> Stream:
        """One tuple for each tuple, by a Python function; by default of the same schema.

        Args:
            function: Of a tuple; gives a dict, a tuple, or the tuple itself.
            schema: Of what it gives.
            options: `name`, `on_error="skip"`, and the function's parameters, any of them in `params={...}`.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1,), (2,)], "int32 x")
            >>> numbers.map(lambda t, *, name: {"s": name * t.x}, "rstring s", params={"name": "ab"}).collect()
            [Row(s='ab'), Row(s='abab')]
        """
        return self._python(function, "map", schema, options)

    def flat_map(self, function: Callable[..., Any], schema: SchemaLike | None = None, **options: Any) -> Stream:
        """Any number of tuples for each tuple, by a Python function that yields them or returns a list.

        Example:
            >>> from penstock import App
            >>> lines = App().from_rows([("to be",), ("or not",)], "rstring line")
            >>> lines.flat_map(lambda t: t.line.split(), "rstring word").collect()
            [Row(word='to'), Row(word='be'), Row(word='or'), Row(word='not')]
        """
        return self._python(function, "flat map", schema, options)

    def for_each(self, function: Callable[..., Any], *, name: str | None = None, **options: Any) -> None:
        """Call a Python function for each tuple, for its effect.

        Example:
            >>> from penstock import App
            >>> from penstock.testing import run
            >>> app = App()
            >>> app.from_rows([(1,), (2,)], "int32 x").for_each(lambda t: print(t.x))
            >>> _ = run(app)
            1
            2
        """
        settings, params = _split_options(options)
        self.app.invoke(function, self, role="sink", name=name, params=params, **settings)

    def apply(self, kind: Any, schema: SchemaLike | None = None, *, name: str | None = None, **options: Any) -> Stream:
        """Apply any operator of one input and one output: a class, or a standard operator by name.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1,), (1,), (2,)], "int32 x")
            >>> numbers.apply("DeDuplicate", key=[col.x]).collect()
            [Row(x=1), Row(x=2)]
        """
        output = Output(schema=schema_of(schema) if schema is not None else self.schema, name=name)
        settings, params = _split_options(options)
        return self.app.invoke(kind, self, outputs=[output], params=params, **settings)[0]

    # Many streams.

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """The tuples of several streams in one.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> a, b = (app.from_rows([(i,)], "int32 x") for i in (1, 2))
            >>> a.union(b).collect()
            [Row(x=1), Row(x=2)]
        """
        return self.app.invoke("Union", *(self, *others), outputs=[Output(schema=self.schema, name=name)])[0]

    def split(self, index: Column, *names: str) -> tuple[Stream, ...]:
        """Each tuple to the stream of its index, negative for none; `names` are those of the streams.

        Example:
            >>> from penstock import App
            >>> even, odd = App().from_rows([(1,), (2,)], "int32 x").split(col.x % 2, "Even", "Odd")
            >>> even.collect(), odd.collect()
            ([Row(x=2)], [Row(x=1)])
        """
        if not names:
            raise UserError(Diagnostic(message="split needs the names of its streams", span=caller_span()))
        outputs = [Output(schema=self.schema, name=name) for name in names]
        return self.app.invoke("Split", self, outputs=outputs, params={"index": index}, name=f"Split_{names[0]}")

    def combine(self, *others: Stream, by: str, name: str | None = None) -> Stream:
        """Merge streams, each in order of an attribute such as a timestamp, into one stream in that order.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> a, b = (app.from_rows([(i,), (i + 2,)], "int32 x") for i in (1, 2))
            >>> a.combine(b, by="x").collect()
            [Row(x=1), Row(x=2), Row(x=3), Row(x=4)]
        """
        output = Output(schema=self.schema, name=name)
        return self.app.invoke(
            "Combine", self, *others, outputs=[output], params={"orderBy": lhs[attribute_names(by)[0]]}
        )[0]

    # Parallelism.

    def parallel(self, width: Any, *, by: Attributes = ()) -> Stream:
        """Run on so many channels, partitioned by attributes: an instruction, where the compiler would choose.

        Example:
            >>> from penstock import App
            >>> numbers = App().beacon("int32 x", iterations=3)
            >>> numbers.filter(col.x > 0).parallel(4, by="x")
            <Stream Filter: int32 x>
        """
        scope = Scope(schemas=(), span=caller_span())
        arguments = [Param(name="width", values=(lift(width).build(scope),))]
        if by:
            keys = tuple(Attribute(type=self._check_attribute(a), name=a) for a in attribute_names(by))
            arguments.append(Param(name="partitionBy", values=keys))
        self.app.annotate(self, Annotation(name="parallel", arguments=tuple(arguments)))
        return self

    # Inside.

    def _functor(self, columns: Mapping[str, Any], schema: Schema, name: str | None, filter: Column | None) -> Stream:
        params = {} if filter is None else {"filter": filter}
        output = Output(schema=schema, name=name, assign=columns)
        return self.app.invoke("Functor", self, outputs=[output], params=params)[0]

    def _python(self, function: Any, role: str, schema: SchemaLike | None, options: dict[str, Any]) -> Stream:
        settings, params = _split_options(options)
        target = schema_of(schema) if schema is not None else self.schema
        output = Output(schema=target, name=settings.pop("name", None))
        return self.app.invoke(function, self, outputs=[output], role=role, params=params, **settings)[0]

    def _check_attribute(self, name: str) -> Type:
        """The type of an attribute, which must be there."""
        if name not in self.schema.position:
            message = f"`{self.id}` has no attribute `{name}`; its schema is {{{', '.join(self.schema.names)}}}"
            hint = did_you_mean(name, self.schema.names)
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
        return self.schema.attribute(name).type


def _split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an invocation, and the parameters of its operator."""
    settings = {k: v for k, v in options.items() if k in ("name", "on_error", "annotations")}
    return settings, {k: v for k, v in options.items() if k not in settings}


_ELSEWHERE = {
    **dict.fromkeys(
        ("groupBy", "group_by", "groupby", "agg"), "aggregate(w.tumbling(w.count(100)), by=..., total=...)"
    ),
    **dict.fromkeys(("withColumn", "withColumns", "assign"), "with_columns(...)"),
    **dict.fromkeys(("withColumnRenamed", "rename"), 'select("other", col.old.alias("new"))'),
    **dict.fromkeys(("limit", "head", "take", "first", "fetch"), "collect(n)"),
    **dict.fromkeys(("dropDuplicates", "distinct", "unique"), 'apply("DeDuplicate", key=[...])'),
    **dict.fromkeys(("orderBy", "order_by"), "sort(...)"),
    **dict.fromkeys(("unionAll", "unionByName", "concat"), "union(...)"),
    **dict.fromkeys(("foreach", "foreachBatch"), "for_each(...)"),
    **dict.fromkeys(("mapInArrow", "mapInPandas", "map_batches"), "map(map_(function, batch=True), schema)"),
    **dict.fromkeys(("flatMap", "explode"), "flat_map(...)"),
    **dict.fromkeys(("write", "writeStream"), "write_csv(path)`, `write_json`, `write_parquet` or `write_text"),
    **dict.fromkeys(("printSchema", "columns", "dtypes"), "schema"),
    "where": "filter(...)",
    "toPandas": "collect()",
    "alias": "named(...)",
}
"""What PySpark, Polars and pandas call by other names."""
