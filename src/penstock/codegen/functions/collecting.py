"""Loops that call a function of the user's and collect what it gives by attribute.

A loop is written for the schema of what is given and for what the function takes, as its text is a few lines. In it a
result is taken apart at once, whatever its form, because whoever gave it may go on changing it: values of Python's own
classes that never change wait in the lists of their attributes, and become columns many at a time; with anything else
among them the result is conformed in its turn (`conformer`). A value that turns out not to fit its column fails then,
with the words of `conformer`, and before what failed after it.

Example:
    For `int64 n, rstring s` and a function of one value, a map is

        def loop(rows, call, instances, conform, Row, named, ends, c0, c1):
            by_name = None
            for a0 in rows:
                value = call(a0)
                kind = type(value)
                try:
                    if kind is tuple or kind is Row or kind is list:
                        v0, v1 = value
                    elif kind is dict and len(value) == 2:
                        v0, v1 = value["n"], value["s"]
                    elif kind is by_name:
                        v0, v1 = value.n, value.s
                    else:
                        v0 = missing
                except (ValueError, KeyError, AttributeError):
                    v0 = missing
                if type(v0) is not int or type(v1) is not str:
                    v0, v1 = conform(value)
                    by_name = named(value) or by_name
                c0.append(v0)
                c1.append(v1)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from keyword import iskeyword
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.api.rows import conformer, row_class
from penstock.base.modules import load_text
from penstock.codegen.kernels.column_operations import typed
from penstock.expr.vector.frame import Column, dtype_of, to_column
from penstock.ir.arrow import arrow_type
from penstock.ir.types import OptionalType, Primitive, Schema, Type, is_integer, is_string

Call = Callable[..., Any]

_INDENT = "    "


class Collected:
    """What a function has given, by attribute.

    Args:
        outputs: The schema of what it gives.
    """

    def __init__(self, outputs: Schema) -> None:
        self._outputs = outputs
        self._lists: list[list[Any]] = [[] for _ in range(max(1, len(outputs.names)))]
        self.ends: list[int] = []

    @cached_property
    def take(self) -> Callable[[Any], None]:
        """The function that takes one tuple in any form."""
        made = _taker(self._outputs)
        taker: Callable[[Any], None] = made(*self._checks(), self.ends, *self._lists)
        return taker

    def _checks(self) -> tuple[Any, ...]:
        return conformer(self._outputs), row_class(self._outputs), _class_by_name(self._outputs)

    def call(
        self, form: str, call: Call, rows: Iterable[Any], arity: int | None, instances: Mapping[Any, Any] | None = None
    ) -> None:
        """Call a function for rows, and take what it gives.

        Args:
            form: `whole` if it gives a tuple in any form, `parts` if one that is known to have just these values, or
                the only one by itself, `many` and `many parts` if it gives several of them or none.
            call: The function.
            rows: For each call what it takes.
            arity: How many values that is, None if it is one row.
            instances: By the key that stands before the values of each row; the function takes one first.
        """
        loop = _loop(self._outputs, form, arity, instances is not None)
        try:
            loop(rows, call, instances, *self._checks(), self.ends, *self._lists)
        except Exception:
            self.columns()  # what was given before fails first, if it does not fit
            raise

    def columns(self) -> list[Column]:
        """All that was given, as columns; there is none of it any more then."""
        types = [a.type for a in self._outputs.attributes]
        columns = [_column(found, type_) for found, type_ in zip(self._lists, types, strict=False)]
        if not all(column is not None for column in columns):
            rows = list(map(conformer(self._outputs), zip(*self._lists, strict=True)))
            columns = [typed(list(v), type_) for v, type_ in zip(zip(*rows, strict=True), types, strict=True)]
        for found in (self.ends, *self._lists):
            found.clear()
        return columns


def _class_by_name(outputs: Schema) -> Callable[[Any], type | None]:
    """The function that tells the class of a value that is taken by its attributes; None if it is not."""
    names = outputs.names

    def named(value: Any) -> type | None:
        is_sequence = isinstance(value, tuple | list) and not hasattr(value, "_fields")
        if is_sequence or isinstance(value, Mapping) or not all(hasattr(value, name) for name in names):
            return None
        return type(value)

    return named


def own_class(type_: Type) -> type | None:
    """The class whose values need nothing but the check of their column; None if there is none."""
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    if not isinstance(inner, Primitive) or inner.bound is not None:
        return None
    if is_integer(inner) or inner.name == "timestamp":
        return int
    # An optional float32 is an array of Arrow's, to which what is too great is infinite, and an error to us.
    if inner.name == "float32" and inner is not type_:
        return None
    return str if is_string(inner) else _OWN_CLASSES.get(inner.name)


_OWN_CLASSES: dict[str, type] = {"float64": float, "float32": float, "boolean": bool, "blob": bytes}


def _column(found: list[Any], type_: Type) -> Column | None:
    """The column of values that have been looked at; None if one does not fit."""
    if own_class(type_) is None:
        return typed(found, type_)
    dtype = dtype_of(type_)
    try:
        if dtype is None:
            return to_column(pa.array(found, arrow_type(type_)), type_)
        with np.errstate(over="ignore"):
            wide = np.fromiter(found, np.float64 if dtype == np.float32 else dtype, len(found))
            column = wide.astype(dtype, copy=False)
    except (OverflowError, ValueError):
        return None
    is_lost = column is not wide and bool((np.isinf(column) & ~np.isinf(wide)).any())
    return None if is_lost else column


@cache
def _loop(outputs: Schema, form: str, arity: int | None, by_key: bool) -> Callable[..., None]:
    text = "\n".join(_lines(outputs, form, arity, by_key))
    found: Callable[..., None] = load_text(text, {"missing": object()})["loop"]
    return found


@cache
def _taker(outputs: Schema) -> Callable[..., Any]:
    lines = [line.replace("continue", "return") for line in _take_whole(outputs)]
    head = [f"def taker({_lists(outputs)}):", f"{_INDENT}by_name = None", f"{_INDENT}def take(value):"]
    body = _indented(["nonlocal by_name", *lines], 2)
    found: Callable[..., Any] = load_text("\n".join([*head, *body, f"{_INDENT}return take"]), {"missing": object()})[
        "taker"
    ]
    return found


def _lists(outputs: Schema) -> str:
    return ", ".join(["conform", "Row", "named", "ends", *(f"c{i}" for i in range(max(1, len(outputs.names))))])


def _lines(outputs: Schema, form: str, arity: int | None, by_key: bool) -> Iterator[str]:
    args = "row" if arity is None else ", ".join(f"a{i}" for i in range(arity))
    yield f"def loop(rows, call, instances, {_lists(outputs)}):"
    yield f"{_INDENT}by_name = None"
    yield f"{_INDENT}for {f'key, {args}' if by_key else args or '_'} in rows:"
    args = f"instances[key], {args}" if by_key else args
    take = _take_parts(outputs) if form.endswith("parts") else _take_whole(outputs)
    if form.startswith("many"):
        yield f"{_INDENT * 2}for value in call({args}) or ():"
        yield from _indented(take, 3)
        yield f"{_INDENT * 2}ends.append(len(c0))"
    else:
        yield f"{_INDENT * 2}value = call({args})"
        yield from _indented(take, 2)


def _indented(lines: Iterable[str], times: int) -> Iterator[str]:
    return (_INDENT * times + line for line in lines)


def _take_parts(outputs: Schema) -> Iterator[str]:
    """Take the values of a tuple that is known to have them, or the only value."""
    values = _values(outputs)
    if len(outputs.names) == 1:
        yield "v0 = value"
        yield from _keep(outputs, ["v0, = conform((value,))"])
    elif values:
        yield f"{values} = value"
        yield from _keep(outputs, [f"{values} = conform(value)"])
    else:
        yield from _append(outputs)


def _take_whole(outputs: Schema) -> Iterator[str]:
    """Take the values of a tuple in any form."""
    names, values = outputs.names, _values(outputs)
    conform = f"{values or '_'} = conform(value)"
    if not names or any(own_class(a.type) is None for a in outputs.attributes):
        yield from (conform, *_append(outputs))
        return
    yield "kind = type(value)"
    class_ = own_class(outputs.attributes[0].type)
    if len(names) == 1 and not hasattr(class_, names[0]):
        yield f"if kind is {class_.__name__}:"  # type: ignore[union-attr] # all have one
        yield from _indented(["c0.append(value)", "continue"], 1)
    yield "try:"
    yield f"{_INDENT}if kind is tuple or kind is Row or kind is list:"
    yield f"{_INDENT * 2}{values} = value"
    yield f"{_INDENT}elif kind is dict and len(value) == {len(names)}:"
    yield f"{_INDENT * 2}{values} = {''.join(f'value[{name!r}], ' for name in names)}"
    yield f"{_INDENT}elif kind is by_name:"
    yield f"{_INDENT * 2}{values} = {''.join(f'{_attribute(name)}, ' for name in names)}"
    yield f"{_INDENT}else:"
    yield f"{_INDENT * 2}v0 = missing"
    yield "except (ValueError, KeyError, AttributeError):"
    yield f"{_INDENT}v0 = missing"
    yield from _keep(outputs, [conform, "by_name = named(value) or by_name"])


def _attribute(name: str) -> str:
    return f"getattr(value, {name!r})" if iskeyword(name) else f"value.{name}"


def _values(outputs: Schema) -> str:
    return "".join(f"v{i}, " for i in range(len(outputs.names))).strip()


def _keep(outputs: Schema, otherwise: Iterable[str]) -> Iterator[str]:
    """Append values to their lists, all that are not of their own classes conformed before."""
    tests = [_is_other(f"v{i}", a.type) for i, a in enumerate(outputs.attributes)]
    yield f"if {' or '.join(tests)}:"
    yield from _indented(otherwise, 1)
    yield from _append(outputs)


def _append(outputs: Schema) -> Iterator[str]:
    if not outputs.names:
        yield "c0.append(())"
    yield from (f"c{i}.append(v{i})" for i in range(len(outputs.names)))


def _is_other(value: str, type_: Type) -> str:
    """The text that tells whether a value is of another class than its attribute's own."""
    class_ = own_class(type_)
    if class_ is None:
        return "True"
    test = f"type({value}) is not {class_.__name__}"
    test = f"{test} and type({value}) is not int" if class_ is float else test
    return f"({value} is not None and {test})" if isinstance(type_, OptionalType) else f"({test})"
