"""The words that expressions over columns begin with: `col`, `lhs`, `rhs`, `fn`, `agg`, `when`, `record`.

    col.price, col["price"]                an attribute of the input
    lhs.price, rhs.price                   the two sides of a join
    fn.lower(fn.trim(col.sym))             any standard function of SPL, in snake_case or as SPL spells it
    agg.sum(col.volume), agg.last(col.ts)  in `aggregate` only

Example:
    >>> from penstock.api.columns import Scope
    >>> from penstock.ir.types import parse_schema
    >>> scope = Scope(schemas=(parse_schema("float64 price, int32 volume"),))
    >>> str((col.price * col.volume).build(scope).type)
    'float64'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, overload

from penstock.api.columns import Column, Scope, lift
from penstock.api.naming import find_name, snake_case
from penstock.api.spans import caller_span
from penstock.base.diagnostics import Diagnostic, UserError, did_you_mean
from penstock.expr import typing
from penstock.expr.functions.registry import names as function_names
from penstock.ir.expressions import Attribute, Expression, InputTuple
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.output_calls import output_call, output_function_names

Attributes = str | Column | Sequence[str | Column]
"""The name of an attribute, or several; a column that is an attribute stands for its name."""


@dataclass(frozen=True, slots=True)
class When:
    """A test that waits for its two values.

    Example:
        >>> when(col.x > 0)
        When(test=<Column col.x > 0>)
    """

    test: Column

    def then(self, value: Any) -> Then:
        """Set the value where the test holds; `otherwise` must follow.

        Example:
            >>> when(col.volume > 0).then(col.price).otherwise(0.0)
            <Column when(col.volume > 0).then(col.price).otherwise(0.0)>
        """
        return Then(self.test, lift(value))


@dataclass(frozen=True, slots=True)
class Then:
    """A test and its first value, waiting for the second.

    Example:
        >>> when(col.x > 0).then(1)
        Then(test=<Column col.x > 0>, value=<Column 1>)
    """

    test: Column
    value: Column

    def otherwise(self, value: Any) -> Column:
        """Set the value where the test does not hold.

        Example:
            >>> from penstock import App
            >>> numbers = App().from_rows([(1,), (20,)], "int32 x")
            >>> numbers.select(size=when(col.x > 9).then("large").otherwise("small")).collect()
            [Row(size='small'), Row(size='large')]
        """
        test, a, b = self.test, self.value, lift(value)
        return Column(
            lambda s: typing.conditional(test.build(s), a.build(s), b.build(s), s.span),
            f"when({test.text}).then({a.text}).otherwise({b.text})",
        )


_LATER = object()
"""Stands for values that `then` and `otherwise` will give; None is a value itself."""


@overload
def when(test: Column) -> When: ...
@overload
def when(test: Column, then: Any, otherwise: Any) -> Column: ...
def when(test: Column, then: Any = _LATER, otherwise: Any = _LATER) -> When | Column:
    """`then` where the test holds, else `otherwise`; only that side is evaluated.

    Example:
        >>> when(col.volume > 0, col.price / col.volume, 0.0)
        <Column when(col.volume > 0).then(col.price / col.volume).otherwise(0.0)>
    """
    waiting = When(test)
    if then is _LATER:
        return waiting
    return waiting.then(then).otherwise(otherwise)


def record(*columns: Any, **values: Any) -> Column:
    """A nested tuple of named values; names that Python forbids, or any, in a dict or by `alias`.

    Example:
        >>> record(x=col.x, y=0), record({"class": col.c}, col.x)
        (<Column record({'x': col.x, 'y': 0})>, <Column record({'class': col.c, 'x': col.x})>)
    """
    named = {name: lift(value) for name, value in output_columns(columns, values).items()}
    text = ", ".join(f"{name!r}: {value.text}" for name, value in named.items())
    return Column(
        lambda s: typing.tuple_literal(list(named), [c.build(s) for c in named.values()], s.span),
        f"record({{{text}}})",
    )


def output_columns(columns: Iterable[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The output attributes that a call gives: names, named columns and dicts by position, and keywords.

    Example:
        >>> output_columns(["sym", {"name": 1}, (col.x * 2).alias("by")], {"y": 2})
        {'sym': <Column col.sym>, 'name': 1, 'by': <Column (col.x * 2).alias('by')>, 'y': 2}
    """
    found: dict[str, Any] = {}
    for name, value in [*(pair for given in columns for pair in _named(given)), *keywords.items()]:
        if name in found:
            message = f"the output attribute `{name}` is given twice"
            raise UserError(Diagnostic(message=message, span=caller_span()))
        found[name] = value
    return found


def _named(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, str):
        return [(given, col[given])]
    if isinstance(given, Mapping):
        return list(given.items())
    if isinstance(given, Column) and (name := given.given_name or given.attribute) is not None:
        return [(name, given)]
    if isinstance(given, Column):
        message, hint = f"`{given.text}` has no name to become an attribute by", 'add .alias("name")'
    else:
        message = f"an output attribute is a name, a column with an alias, or a dict of columns, found {given!r}"
        hint = 'write {"name": value}'
    raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))


class Columns:
    """Names the attributes of an input port: `col.price`, or `col["price"]` for names that Python forbids.

    Example:
        >>> col.price, col["class"], lhs.id == rhs.id
        (<Column col.price>, <Column col['class']>, <Column lhs.id == rhs.id>)
    """

    def __init__(self, word: str, port: int | None = None) -> None:
        self._word = word
        self._port = port

    def __getattr__(self, name: str) -> Column:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> Column:
        written = f".{name}" if name.isidentifier() and not iskeyword(name) else f"[{name!r}]"
        return Column(lambda scope: _attribute(scope, name, self._port), f"{self._word}{written}", attribute=name)

    def __call__(self) -> Column:
        """The whole tuple as a value."""
        port = self._port or 0
        text = f"{self._word}()"
        return Column(lambda scope: InputTuple(type=scope.schemas[port], port=port, span=scope.span), text)

    def __repr__(self) -> str:
        return f"<the attributes of the input, as in {self._word}.price>"


col = Columns("col")
lhs = Columns("lhs", 0)
rhs = Columns("rhs", 1)


class Functions:
    """The standard functions by name, in snake_case or as SPL spells them.

    Example:
        >>> fn.regex_match(col.url, "/item/.*"), "regex_match" in dir(fn)
        (<Column fn.regex_match(col.url, '/item/.*')>, True)
    """

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Column:
            columns = [lift(a) for a in arguments]

            def build(scope: Scope) -> Expression:
                spelled = find_name(name, function_names())
                return typing.call(spelled, [c.build(scope) for c in columns], scope.span)

            return Column(build, f"fn.{name}({', '.join(c.text for c in columns)})")

        return call

    def __dir__(self) -> list[str]:
        return sorted({snake_case(name) for name in function_names()})

    def __repr__(self) -> str:
        return "<the standard functions, as in fn.upper(col.sym)>"


fn = Functions()

_AGGREGATES = {
    "avg": "Average",
    "mean": "Average",
    "stddev": "SampleStdDev",
    "stddev_pop": "PopulationStdDev",
    "count_distinct": "CountDistinct",
    "min_by": "MinBy",
    "max_by": "MaxBy",
    "collect_list": "Collect",
    "collect_set": "CollectDistinct",
}


class Aggregates:
    """The output functions of the operator at hand, in snake_case or as SPL spells them.

    Example:
        >>> agg.sum(col.volume), agg.arg_max(col.price, col.sym), "count_distinct" in dir(agg)
        (<Column agg.sum(col.volume)>, <Column agg.arg_max(col.price, col.sym)>, True)
    """

    def __getattr__(self, name: str) -> Callable[..., Column]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Column:
            columns = [lift(a) for a in arguments]
            return Column(
                lambda scope: _output_call(scope, name, [c.build(scope) for c in columns]),
                f"agg.{name}({', '.join(c.text for c in columns)})",
            )

        return call

    def __dir__(self) -> list[str]:
        known = {name for kind in standard().names() for name in output_function_names(standard().get(kind))}
        return sorted({*map(snake_case, known), *_AGGREGATES})

    def __repr__(self) -> str:
        return "<the output functions of a window, as in agg.sum(col.price)>"


agg = Aggregates()


def attribute_names(attributes: Any) -> list[str]:
    """The names of attributes that are given as names or as columns.

    Example:
        >>> attribute_names("sym"), attribute_names([col.sym, "day"])
        (['sym'], ['sym', 'day'])
    """
    given = [attributes] if isinstance(attributes, str | Column) else list(attributes)
    return [_attribute_name(one) for one in given]


def _attribute_name(given: Any) -> str:
    name = given.attribute if isinstance(given, Column) else given
    if not isinstance(name, str):
        message = f"an attribute is given by its name, found {given!r}"
        hint = 'for an output attribute that is called like an option, write {"by": value}'
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    return name


def equal_columns(on: Any) -> tuple[Any, Any]:
    """The expressions of the left and of the right side that must be equal."""
    names = [on] if isinstance(on, str) else list(on)
    if all(isinstance(name, str) for name in names):
        return [lhs[name] for name in names], [rhs[name] for name in names]
    if len(names) != 2:
        hint = 'write on="id", on=["id", "day"] or on=(lhs.id, rhs.key)'
        message = f"`on` takes names, or one expression for each side, found {len(names)}"
        raise UserError(Diagnostic(message=message, span=caller_span(), hint=hint))
    return names[0], names[1]


def submission_value(name: str, default: Any = None, *, type: str = "rstring") -> Column:
    """A value that `--set NAME=VALUE`, or `app.run(set={"NAME": "VALUE"})`, gives when the application is submitted.

    Example:
        >>> from penstock import App
        >>> numbers = App().from_rows([(1,), (9,)], "int32 x")
        >>> numbers.filter(col.x > submission_value("least", 5, type="int32")).collect()
        [Row(x=9)]
    """
    arguments = [name] if default is None else [name, str(default)]
    text = fn.get_submission_time_value(*arguments)
    return text if type == "rstring" else text.cast(type)


def _output_call(scope: Scope, name: str, arguments: list[Expression]) -> Expression:
    if scope.definition is None or not scope.definition.output_functions:
        what = "this operator" if scope.definition is None else f"`{scope.definition.name}`"
        raise UserError(Diagnostic(message=f"{what} has no output functions", span=scope.span))
    spelled = find_name(name, output_function_names(scope.definition))
    if spelled == name:
        spelled = _AGGREGATES.get(name) or name[:1].upper() + name[1:]
    return output_call(scope.definition, spelled, arguments, scope.span)


def _attribute(scope: Scope, name: str, port: int | None) -> Expression:
    ports = range(len(scope.schemas)) if port is None else [port]
    having = [p for p in ports if name in scope.schemas[p].position]
    if len(having) == 1:
        type_ = scope.schemas[having[0]].attribute(name).type
        return Attribute(type=type_, name=name, port=having[0], span=scope.span)
    if having:
        hint = f"write `lhs.{name}` or `rhs.{name}`"
        raise UserError(Diagnostic(message=f"both inputs have an attribute `{name}`", span=scope.span, hint=hint))
    known = [n for p in ports for n in scope.schemas[p].names]
    message = f"there is no attribute `{name}`; the input has {{{', '.join(known)}}}"
    raise UserError(Diagnostic(message=message, span=scope.span, hint=did_you_mean(name, known)))
