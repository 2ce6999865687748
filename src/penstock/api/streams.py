"""`Stream`: what the operators of an application are chained by.

A method adds an operator to the application and returns its output. Names follow PySpark and Polars where they have
one for the thing, and SPL where they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import agg, col, lhs, rhs
from penstock.api.columns import Column, Scope, lift
from penstock.api.ends import StreamEnds
from penstock.api.outputs import Output
from penstock.api.placed import StreamPlacement
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.api.windows import WindowSpec
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.expr import typing
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Annotation, Param
from penstock.ir.types import Schema, TupleType, Type, TypedName
from penstock.toolkit.core.registry import standard

if TYPE_CHECKING:
    from penstock.api.application import App

Attributes = str | Sequence[str]

_ALGORITHMS = {"left": "leftOuter", "right": "rightOuter", "full": "outer"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stream(StreamEnds, StreamPlacement):
    """A stream of an application.

    Attributes:
        app: What it belongs to.
        id: Of the stream.
        schema: Of its tuples.
        operator: The id of the operator that makes it.
    """

    app: App
    id: str
    schema: Schema
    operator: str

    # One tuple at a time.

    def filter(self, predicate: Column | Callable[[Any], bool], *, name: str | None = None, **options: Any) -> Stream:
        """Keep the tuples for which a condition, or a Python function, is true."""
        output = Output(schema=self.schema, name=name)
        settings, params = _split_options(options)
        if isinstance(predicate, Column):
            params = {"filter": predicate, **params}
            return self.app.invoke("Filter", self, outputs=[output], params=params, **settings)[0]
        return self.app.invoke(predicate, self, outputs=[output], role="filter", name=name, params=params, **settings)[
            0
        ]

    def partition(
        self, predicate: Column, *, names: tuple[str | None, str | None] = (None, None)
    ) -> tuple[Stream, Stream]:
        """The tuples for which a condition is true, and the others."""
        outputs = [Output(schema=self.schema, name=name) for name in names]
        kept, others = self.app.invoke("Filter", self, outputs=outputs, params={"filter": predicate})
        return kept, others

    def select(self, *attributes: str, name: str | None = None, filter: Column | None = None, **columns: Any) -> Stream:
        """The named attributes as they are, and new ones computed from the tuple."""
        chosen = {**{a: col[a] for a in attributes}, **columns}
        return self._functor(chosen, self._schema_of(chosen), name, filter)

    def with_columns(self, *, name: str | None = None, **columns: Any) -> Stream:
        """All attributes, with some added or replaced."""
        chosen = {**{a: col[a] for a in self.schema.names}, **columns}
        return self._functor(chosen, self._schema_of(chosen), name, None)

    def drop(self, *attributes: str, name: str | None = None) -> Stream:
        """All attributes but these."""
        for attribute in attributes:
            self._check_attribute(attribute)
        return self.select(*(a for a in self.schema.names if a not in attributes), name=name)

    def to(
        self, schema: SchemaLike, *, name: str | None = None, filter: Column | None = None, **columns: Any
    ) -> Stream:
        """Tuples of another schema: what is not given is copied from the attribute of the same name."""
        return self._functor(columns, schema_of(schema), name, filter)

    def map(self, function: Callable[..., Any], schema: SchemaLike | None = None, **options: Any) -> Stream:
        """One tuple for each tuple, by a Python function; by default of the same schema."""
        return self._python(function, "map", schema, options)

    def flat_map(self, function: Callable[..., Any], schema: SchemaLike | None = None, **options: Any) -> Stream:
        """Any number of tuples for each tuple, by a Python function that yields them or returns a list."""
        return self._python(function, "flat map", schema, options)

    def for_each(self, function: Callable[..., Any], *, name: str | None = None, **params: Any) -> None:
        """Call a Python function for each tuple, for its effect."""
        self.app.invoke(function, self, role="sink", name=name, params=params)

    def apply(self, kind: Any, schema: SchemaLike | None = None, *, name: str | None = None, **params: Any) -> Stream:
        """Apply any operator of one input and one output: a class, or a standard operator by name."""
        output = Output(schema=schema_of(schema) if schema is not None else self.schema, name=name)
        return self.app.invoke(kind, self, outputs=[output], params=params)[0]

    # Windows.

    def aggregate(
        self,
        window: WindowSpec,
        *,
        by: Attributes = (),
        group_by: Attributes = (),
        schema: SchemaLike | None = None,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> Stream:
        """Aggregate over windows: one window for each value of `by`, one tuple for each group of `group_by`.

        Without a schema the output has the keys and then the columns given; with one, what is not given is the last
        value of the attribute of that name.
        """
        keys, groups = _names(by), _names(group_by)
        if schema is None:
            columns = {**{k: agg.any(col[k]) for k in (*keys, *groups) if k not in columns}, **columns}
        target = schema_of(schema) if schema is not None else self._schema_of(columns, kind="Aggregate")
        given = {"partitionBy": [col[k] for k in keys], "groupBy": [col[g] for g in groups]}
        return self.app.invoke(
            "Aggregate",
            self,
            outputs=[Output(schema=target, name=name, assign=columns)],
            params={**{k: v for k, v in given.items() if v}, **(params or {})},
            windows=[window],
            partitioned=bool(keys),
        )[0]

    def join(
        self,
        other: Stream,
        match: Column | None = None,
        *,
        windows: tuple[WindowSpec, WindowSpec],
        schema: SchemaLike | None = None,
        how: str = "inner",
        by: tuple[Attributes, Attributes] | None = None,
        on: str | Sequence[Any] | None = None,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        **columns: Any,
    ) -> Stream:
        """Join the windows of two streams.

        Args:
            other: The right side.
            match: A condition over `lhs` and `rhs`.
            windows: Of the left and of the right side.
            schema: Of the output; what is not given in `columns` is copied by name. By default: the columns given.
            how: `inner`, `left`, `right` or `outer`; SPL's `leftOuter` and `rightOuter` too.
            by: The attributes that partition the left and the right window.
            on: What the join looks up by: the name of an attribute that both sides have, several such names, or equal
                columns of the left and the right side as in `(lhs.id, rhs.key)`.
            name: Of the operator.
            params: Further parameters, such as `defaultTupleLHS`.
            columns: The output clause.
        """
        given: dict[str, Any] = {} if match is None else {"match": match}
        if how != "inner":
            given["algorithm"] = _ALGORITHMS.get(how, how)
        if by is not None:
            given["partitionByLHS"] = [lhs[name] for name in _names(by[0])]
            given["partitionByRHS"] = [rhs[name] for name in _names(by[1])]
        if on is not None:
            given["equalityLHS"], given["equalityRHS"] = _equal(on)
        target = schema_of(schema) if schema is not None else self._schema_of(columns, other, kind="Join")
        return self.app.invoke(
            "Join",
            self,
            other,
            outputs=[Output(schema=target, name=name, assign=columns)],
            params={**given, **(params or {})},
            windows=windows,
            partitioned=by is not None,
        )[0]

    def sort(
        self,
        *keys: str | Column,
        window: WindowSpec,
        order: str = "ascending",
        by: Attributes = (),
        name: str | None = None,
    ) -> Stream:
        """Sort the tuples of each window by attributes or columns."""
        chosen = [col[key] if isinstance(key, str) else key for key in keys]
        params: dict[str, Any] = {"sortBy": chosen, "order": order}
        if by:
            params["partitionBy"] = [col[name] for name in _names(by)]
        output = Output(schema=self.schema, name=name)
        return self.app.invoke("Sort", self, outputs=[output], params=params, windows=[window], partitioned=bool(by))[0]

    # Many streams.

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """The tuples of several streams in one."""
        return self.app.invoke("Union", *(self, *others), outputs=[Output(schema=self.schema, name=name)])[0]

    def split(self, index: Column, *names: str) -> tuple[Stream, ...]:
        """Each tuple to the stream of its index, negative for none; `names` are those of the streams."""
        if not names:
            raise UserError(Diagnostic(message="split needs the names of its streams", span=caller_span()))
        outputs = [Output(schema=self.schema, name=name) for name in names]
        return self.app.invoke("Split", self, outputs=outputs, params={"index": index}, name=f"Split_{names[0]}")

    def combine(self, *others: Stream, by: str, name: str | None = None) -> Stream:
        """Merge streams, each in order of an attribute such as a timestamp, into one stream in that order."""
        output = Output(schema=self.schema, name=name)
        return self.app.invoke("Combine", self, *others, outputs=[output], params={"orderBy": lhs[by]})[0]

    # Parallelism.

    def parallel(self, width: Any, *, by: Attributes = ()) -> Stream:
        """Run on so many channels, partitioned by attributes: an instruction, where the compiler would choose."""
        scope = Scope(schemas=(), span=caller_span())
        arguments = [Param(name="width", values=(lift(width).build(scope),))]
        if by:
            keys = tuple(Attribute(type=self._check_attribute(a), name=a) for a in _names(by))
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
        output = Output(schema=schema_of(schema) if schema is not None else self.schema, name=settings.get("name"))
        return self.app.invoke(function, self, outputs=[output], role=role, params=params, **settings)[0]

    def _check_attribute(self, name: str) -> Type:
        """The type of an attribute, which must be there."""
        if name not in self.schema.position:
            message = f"`{self.id}` has no attribute `{name}`; its schema is {{{', '.join(self.schema.names)}}}"
            hint = did_you_mean(name, self.schema.names)
            raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
        return self.schema.attribute(name).type

    def _schema_of(self, columns: Mapping[str, Any], *others: Stream, kind: str = "Functor") -> Schema:
        """The schema of an output clause: the type of each value."""
        if not columns:
            raise UserError(Diagnostic(message="no output attributes are given", span=caller_span()))
        schemas = (self.schema, *(o.schema for o in others))
        scope = Scope(schemas=schemas, definition=standard().get(kind), span=caller_span())
        built = {a: lift(v).build(scope) for a, v in columns.items()}
        return TupleType(tuple(TypedName(a, typing.check_type(e.type, scope.span)) for a, e in built.items()))


def _split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an invocation, and the parameters of its operator."""
    settings = {k: v for k, v in options.items() if k in ("name", "on_error", "annotations")}
    return settings, {k: v for k, v in options.items() if k not in settings}


def _names(attributes: Attributes) -> list[str]:
    return [attributes] if isinstance(attributes, str) else list(attributes)


def _equal(on: str | Sequence[Any]) -> tuple[Any, Any]:
    """The expressions of the left and of the right side that must be equal."""
    names = _names(on)
    if all(isinstance(name, str) for name in names):
        return [lhs[name] for name in names], [rhs[name] for name in names]
    if len(names) != 2:
        hint = 'write on="id", on=["id", "day"] or on=(lhs.id, rhs.key)'
        message = f"`on` takes names, or one expression for each side, found {len(names)}"
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    return names[0], names[1]
