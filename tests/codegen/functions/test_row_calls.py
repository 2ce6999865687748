"""Functions that are called row by row: light rows in, columns out, the same errors."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.api.rows import ConformError, conformer
from penstock.codegen.functions.row_calls import PIECE, columns_of, filter_rows, flat_map_rows, map_rows
from penstock.codegen.kernels.column_operations import typed, values
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.places import Places
from penstock.ir.types import parse_schema

PLAIN = parse_schema("int32 n, rstring s")
LISTS = parse_schema("int32 n, list<int32> l, tuple<int32 a, list<int32> b> p")


def framed(schema, rows):
    columns = {a.name: typed([r[i] for r in rows], a.type) for i, a in enumerate(schema.attributes)}
    return Frame(Places(np.arange(len(rows))), columns)


def rows_in(frame, schema):
    return list(zip(*(values(frame[a.name], a.type) for a in schema.attributes), strict=True))


def numbered(count):
    return framed(PLAIN, [(i, f"s{i}") for i in range(count)])


def test_rows_that_come_back_unchanged_are_the_same_frame():
    frame = numbered(3 * PIECE)
    assert map_rows(frame, lambda row: row, PLAIN, PLAIN) is frame
    assert map_rows(frame, lambda row: row if len(row) else (), PLAIN, PLAIN) is frame


@pytest.mark.parametrize("first", [0, 1, PIECE, PIECE + 1, 3 * PIECE - 1])
def test_rows_that_change_behind_unchanged_ones_are_in_their_places(first):
    made = map_rows(numbered(3 * PIECE), lambda row: row if row[:1] < (first,) else (-row.n, row.s), PLAIN, PLAIN)
    assert rows_in(made, PLAIN) == [(i if i < first else -i, f"s{i}") for i in range(3 * PIECE)]


def test_a_list_that_a_function_changes_in_the_row_it_returns_is_changed():
    def grown(row):
        row.l.append(7)
        row.p.b.append(8)
        return row

    frame = framed(LISTS, [(1, [2], (3, [4]))])
    assert rows_in(map_rows(frame, grown, LISTS, LISTS), LISTS) == [(1, [2, 7], (3, [4, 8]))]
    assert rows_in(frame, LISTS) == [(1, [2], (3, [4]))]


def test_a_list_that_a_filter_changes_is_not_changed_for_others():
    frame = framed(LISTS, [(1, [2], (3, [4]))])
    kept = filter_rows(frame, lambda row: row.l.append(7) or row.p.b.append(8) or True, LISTS)
    assert rows_in(kept, LISTS) == [(1, [2], (3, [4]))]


def test_results_that_a_function_goes_on_changing_are_as_they_were_when_it_gave_them():
    held, items = {}, [0, ""]

    def same_dict(row):
        held.update(n=row.n, s=row.s)
        return held

    def same_list(row):
        items[:] = row.n, row.s
        return items

    def yielded(row):
        made = {"n": row.n, "s": "a"}
        yield made
        made["s"] = "b"
        yield made

    rows = [(i, f"s{i}") for i in range(3)]
    for function in (same_dict, same_list):
        assert rows_in(map_rows(numbered(3), function, PLAIN, PLAIN), PLAIN) == rows
    assert rows_in(flat_map_rows(numbered(1), yielded, PLAIN, PLAIN), PLAIN) == [(0, "a"), (0, "b")]


def test_a_function_that_raises_stop_iteration_fails():
    def empty(row):
        return next(iter(()))

    for work in (map_rows, flat_map_rows):
        with pytest.raises(StopIteration):
            work(numbered(2), empty, PLAIN, PLAIN)
    with pytest.raises(StopIteration):
        filter_rows(numbered(2), empty, PLAIN)


def test_what_does_not_fit_fails_before_what_raises_later():
    def wrong(row):
        if row.n == 2:
            raise KeyError("late")
        return (row.n, 5 if row.n == 1 else row.s)

    with pytest.raises(ConformError, match="attribute `s` is rstring, got 5"):
        map_rows(numbered(3), wrong, PLAIN, PLAIN)
    with pytest.raises(ConformError, match="attribute `s` is rstring, got 5"):
        flat_map_rows(numbered(3), lambda row: [wrong(row)], PLAIN, PLAIN)


def test_a_flat_map_gives_each_row_its_turn():
    made = flat_map_rows(numbered(4), lambda row: [(row.n, c) for c in "ab"][: row.n], PLAIN, PLAIN)
    assert rows_in(made, PLAIN) == [(1, "a"), (2, "a"), (2, "b"), (3, "a"), (3, "b")]
    assert made.places.item.tolist() == [1, 2, 2, 3, 3]


def test_no_rows_give_no_rows():
    assert rows_in(map_rows(numbered(0), lambda row: {"n": 1, "s": ""}, PLAIN, PLAIN), PLAIN) == []
    assert rows_in(flat_map_rows(numbered(0), lambda row: [], PLAIN, LISTS), LISTS) == []


def test_rows_without_attributes_are_counted():
    nothing = parse_schema("")
    frame = Frame(Places(np.arange(3)), {})
    assert len(map_rows(frame, lambda row: row, nothing, nothing)) == 3
    assert rows_in(map_rows(frame, lambda row: (1, "x"), nothing, PLAIN), PLAIN) == [(1, "x")] * 3


TYPES = [
    "int8", "uint64", "float64", "float32", "boolean", "rstring", "rstring[2]", "timestamp", "blob", "decimal64",
    "optional<int8>", "optional<float32>", "optional<rstring>", "list<int32>", "enum{a, b}",
]  # fmt: skip
GIVEN = [
    0, 1, -1, 127, 128, 2**63, 2**64 - 1, 2**70, 2**53 + 1, True, None, 1.0, 2.5, 1e300, float("nan"), float("inf"),
    "", "a", "abc", "\ud800", b"x", bytearray(b"y"), np.int64(5), np.float64(0.5), [1], (1, 2), {"x": 1},
]  # fmt: skip


@pytest.mark.parametrize("type_", TYPES)
def test_columns_hold_what_the_values_conform_to(type_):
    schema = parse_schema(f"{type_} x, int32 y")
    for given in GIVEN:
        for form in ((given, 7), [given, 7], {"x": given, "y": 7}, {"y": 7, "x": given}):
            assert told(lambda form=form: by_columns(form, schema)) == told(lambda form=form: by_value(form, schema))


@pytest.mark.parametrize("form", [(), (1,), (1, 2, 3), {"x": 1}, {"x": 1, "z": 2}, {"x": 1, "y": 2, "z": 3}, 5, None])
def test_results_of_another_shape_fail_with_the_same_words(form):
    schema = parse_schema("int32 x, int32 y")
    assert told(lambda: by_columns(form, schema)) == told(lambda: by_value(form, schema))
    assert told(lambda: columns_of([(1, 2), form], schema)) == told(lambda: by_value(form, schema))


def by_columns(form, schema):
    columns = columns_of([form], schema)
    return [values(c, a.type) for c, a in zip(columns, schema.attributes, strict=True)]


def by_value(form, schema):
    row = conformer(schema)(form)
    return [values(typed([v], a.type), a.type) for v, a in zip(row, schema.attributes, strict=True)]


def told(compute):
    try:
        return repr(compute())
    except Exception as error:
        return type(error), str(error)
