"""Methods of a stream that use windows: aggregates, joins, sorting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.api.column_words import Attributes, agg, attribute_names, col, equal_columns, lhs, output_columns, rhs
from penstock.api.columns import Column
from penstock.api.event_time.windowing import aggregate_event_windows
from penstock.api.outputs import Output, output_schema
from penstock.api.schemas import SchemaLike, schema_of
from penstock.api.spans import caller_span
from penstock.api.windows import EventWindowSpec, WindowSpec
from penstock.base.diagnostics import Diagnostic, UserError
from penstock.ir.types import Schema

if TYPE_CHECKING:
    from penstock.api.application import App
    from penstock.api.streams import Stream

_ALGORITHMS = {"left": "leftOuter", "right": "rightOuter", "full": "outer"}


class StreamWindows:
    """The methods of a stream that keep tuples in windows."""

    __slots__ = ()

    app: App
    schema: Schema

    def aggregate(
        self,
        window: WindowSpec | EventWindowSpec,
        *columns: Any,
        by: Attributes = (),
        group_by: Attributes = (),
        schema: SchemaLike | None = None,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Stream:
        """Aggregate over windows: one window for each value of `by`, one tuple for each group of `group_by`.

        Without a schema the output has the keys and then the columns given; with one, what is not given is the last
        value of the attribute of that name. Windows by event time (`tumbling_time`, `sliding_time`, `session`) also
        give `window_start` and `window_end`, behind the keys.

        Example:
            >>> from penstock import App
            >>> from penstock import windows as w
            >>> sales = App().from_rows([("a", 1), ("b", 5), ("a", 2)], "rstring shop, int32 n")
            >>> sales.aggregate(w.tumbling(w.count(2)), {"count": agg.count()}, by="shop", n=agg.sum(col.n)).collect()
            [Row(shop='a', count=2, n=3)]
        """
        keys, groups = attribute_names(by), attribute_names(group_by)
        chosen = output_columns(columns, named)
        if isinstance(window, EventWindowSpec):
            if groups or params:
                message = "windows by event time have no `group_by` and no further parameters"
                raise UserError(Diagnostic(message=message, span=caller_span(), hint="give all keys in `by`"))
            return aggregate_event_windows(self._stream, window, chosen, keys, schema, name)
        if schema is None:
            chosen = {**{k: agg.any(col[k]) for k in (*keys, *groups) if k not in chosen}, **chosen}
        target = schema_of(schema) if schema is not None else output_schema(chosen, "Aggregate", self.schema)
        given = {"partitionBy": [col[k] for k in keys], "groupBy": [col[g] for g in groups]}
        return self.app.invoke(
            "Aggregate",
            self._stream,
            outputs=[Output(schema=target, name=name, assign=chosen)],
            params={**{k: v for k, v in given.items() if v}, **(params or {})},
            windows=[window],
            partitioned=bool(keys),
        )[0]

    def join(
        self,
        other: Stream,
        match: Any = None,
        *columns: Any,
        windows: tuple[WindowSpec, WindowSpec],
        schema: SchemaLike | None = None,
        how: str = "inner",
        by: tuple[Attributes, Attributes] | None = None,
        on: str | Sequence[Any] | None = None,
        name: str | None = None,
        params: Mapping[str, Any] | None = None,
        **named: Any,
    ) -> Stream:
        """Join the windows of two streams.

        Args:
            other: The right side.
            match: A condition over `lhs` and `rhs`; a dict, a name or a column with an alias is an output column.
            columns: The output: columns with an alias, or dicts of columns.
            windows: Of the left and of the right side.
            schema: Of the output; what is not given as a column is copied by name. By default: the columns given.
            how: `inner`, `left`, `right` or `outer`; SPL's `leftOuter` and `rightOuter` too.
            by: The attributes that partition the left and the right window.
            on: What the join looks up by: the name of an attribute that both sides have, several such names, or equal
                columns of the left and the right side as in `(lhs.id, rhs.key)`.
            name: Of the operator; also `named`.
            params: Further parameters, such as `default_tuple_lhs`.
            named: More columns, by name.

        Example:
            >>> from penstock import App
            >>> from penstock import windows as w
            >>> app = App()
            >>> people = app.from_rows([(1, "ann")], "int32 id, rstring name")
            >>> ages = app.from_rows([(1, 41)], "int32 id, int32 age")
            >>> both = (w.sliding(w.count(9)), w.sliding(w.count(9)))
            >>> people.join(ages, {"name": lhs.name, "age": rhs.age}, on="id", windows=both).collect()
            [Row(name='ann', age=41)]
        """
        if match is not None and not (isinstance(match, Column) and match.given_name is None):
            match, columns = None, (match, *columns)
        given: dict[str, Any] = {} if match is None else {"match": match}
        if how != "inner":
            given["algorithm"] = _ALGORITHMS.get(how, how)
        if by is not None:
            given["partitionByLHS"] = [lhs[name] for name in attribute_names(by[0])]
            given["partitionByRHS"] = [rhs[name] for name in attribute_names(by[1])]
        if on is not None:
            given["equalityLHS"], given["equalityRHS"] = equal_columns(on)
        chosen = output_columns(columns, named)
        target = schema_of(schema) if schema is not None else output_schema(chosen, "Join", self.schema, other.schema)
        return self.app.invoke(
            "Join",
            self._stream,
            other,
            outputs=[Output(schema=target, name=name, assign=chosen)],
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
        """Sort the tuples of each window by attributes or columns.

        Example:
            >>> from penstock import App
            >>> from penstock import windows as w
            >>> numbers = App().from_rows([(3,), (1,), (2,)], "int32 x")
            >>> numbers.sort("x", window=w.tumbling(w.count(3)), order="descending").collect()
            [Row(x=3), Row(x=2), Row(x=1)]
        """
        chosen = [col[key] if isinstance(key, str) else key for key in keys]
        params: dict[str, Any] = {"sortBy": chosen, "order": order}
        if by:
            params["partitionBy"] = [col[name] for name in attribute_names(by)]
        output = Output(schema=self.schema, name=name)
        return self.app.invoke(
            "Sort", self._stream, outputs=[output], params=params, windows=[window], partitioned=bool(by)
        )[0]

    @property
    def _stream(self) -> Any:
        return self
