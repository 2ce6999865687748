"""Event time means the same in the reference, however a program is cut, and to a plain Python computation."""

from __future__ import annotations

import csv
from collections import defaultdict
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from equivalence.test_keyed_operators import cut_and_run, written
from penstock import App, agg, col, lhs, rhs
from penstock import windows as w
from penstock.codegen.plan.physical import physical_plan
from penstock.reference import run

SCHEMA = "timestamp at, int32 key, int32 x"
SECOND = 1_000_000_000
Row = tuple[int, int, int]


def draw_rows(rng: Random, count: int) -> list[Row]:
    """Tuples whose times go on, with some disorder, equal times and long pauses."""
    now, rows = rng.choice([0, -50, 1_700_000_000]) * SECOND, []
    for _ in range(count):
        now += rng.choice([0, 0, 1, 1, 2, 3, 5, 40]) * SECOND // rng.choice([1, 2])
        rows.append((now - rng.choice([0, 0, 0, 1, 2, 4, 9]) * SECOND, rng.randrange(4), rng.randrange(100)))
    return rows


def split_late(rows: list[Row], lateness: int) -> tuple[list[Row], list[Row]]:
    """The tuples in order, and those that come too late."""
    kept, late, newest = [], [], None
    for row in rows:
        if newest is not None and row[0] < newest - lateness * SECOND:
            late.append(row)
        else:
            kept.append(row)
            newest = row[0] if newest is None else max(newest, row[0])
    return sorted(kept, key=lambda row: row[0]), late


def count_aligned(rows: list[Row], size: int, slide: int, offset: int) -> list[tuple[int, ...]]:
    """Key, start, end, count and sum of every window with tuples, as a set would have them."""
    found: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for at, key, x in rows:
        last = (at - offset * SECOND) // (slide * SECOND) * slide * SECOND + offset * SECOND
        for start in range(last, at - size * SECOND, -slide * SECOND):
            found[key, start].append(x)
    return sorted((key, start, start + size * SECOND, len(xs), sum(xs)) for (key, start), xs in found.items())


def count_sessions(rows: list[Row], gap: int) -> list[tuple[int, ...]]:
    found = []
    for key in {row[1] for row in rows}:
        own = [row for row in rows if row[1] == key]
        breaks = [i for i, (a, b) in enumerate(pairwise(own), start=1) if b[0] - a[0] > gap * SECOND]
        for start, end in pairwise([0, *breaks, len(own)]):
            part = own[start:end]
            last = part[-1][0] + gap * SECOND
            found.append((key, part[0][0], last, len(part), sum(x for _, _, x in part)))
    return sorted(found)


def draw_program(rng: Random, rows: list[Row], lateness: int) -> tuple[App, Any]:
    """A program with a window drawn at random, and what it must give."""
    app = App("Event")
    in_order, late = app.from_rows(rows, SCHEMA).by_event_time("at", lateness=lateness)
    late.write_csv("late.csv")
    kept, behind = split_late(rows, lateness)
    if rng.random() < 0.4:
        gap = rng.choice([1, 2, 4])
        window, wanted = w.session(gap), count_sessions(kept, gap)
    else:
        size, slide, offset = rng.choice([(5, 5, 0), (6, 2, 0), (5, 2, 1), (2, 3, 1), (7, 7, 3)])
        window = w.tumbling_time(size, offset=offset) if size == slide else w.sliding_time(size, slide, offset=offset)
        wanted = count_aligned(kept, size, slide, offset)
    counted = in_order.filter(col.x >= 0).aggregate(window, by="key", n=agg.count(), total=agg.sum(col.x))
    with_text = counted.with_columns(window_start=col.window_start.cast("rstring"))
    with_text.with_columns(window_end=col.window_end.cast("rstring")).write_csv("counted.csv")
    return app, (wanted, behind)


def number(text: str) -> int:
    """The nanoseconds of a timestamp as SPL prints it."""
    seconds, nanoseconds, _ = text.strip('"()').split(",")
    return int(seconds) * SECOND + int(nanoseconds)


def counted(text: bytes) -> list[tuple[int, ...]]:
    rows = csv.reader(text.decode().splitlines())
    return [(int(key), number(start), number(end), int(n), int(total)) for key, start, end, n, total in rows]


@pytest.mark.parametrize("start", range(0, 60, 20))
def test_windows_by_event_time_are_those_of_the_sorted_data_however_they_are_cut(start):
    for seed in range(start, start + 20):
        rng = Random(seed)
        rows = draw_rows(rng, rng.choice([0, 1, 7, 60]))
        app, (wanted, late) = draw_program(rng, rows, rng.choice([0, 2, 5]))
        program = app.program()
        files = written(lambda surroundings, made=program: run(made, environment=surroundings))
        assert files is not None
        assert sorted(counted(files["counted.csv"])) == wanted, f"seed {seed}"
        assert len(files["late.csv"].splitlines()) == len(late), f"seed {seed}"
        assert cut_and_run(rng, program) == files, f"seed {seed}"


@pytest.mark.parametrize("start", range(0, 40, 20))
def test_a_join_within_a_time_finds_all_pairs_however_it_is_cut(start):
    for seed in range(start, start + 20):
        rng = Random(seed)
        sides = [draw_rows(rng, rng.choice([0, 5, 40])) for _ in range(2)]
        lower, upper = rng.choice([(-2, 3), (0, 0), (1, 4), (-5, -1), (0, 9)])
        app = App("Joined")
        (left, _), (right, _) = (app.from_rows(rows, SCHEMA).by_event_time("at", lateness=60) for rows in sides)
        columns = {"key": lhs.key, "a": lhs.x, "b": rhs.x}
        left.join_within(right, columns, on="key", within=(lower, upper)).write_csv("joined.csv")
        kept = [split_late(rows, 60)[0] for rows in sides]
        pairs = [(a, b) for a in kept[0] for b in kept[1] if a[1] == b[1]]
        near = [(a, b) for a, b in pairs if lower * SECOND <= b[0] - a[0] <= upper * SECOND]
        program = app.program()
        files = written(lambda surroundings, made=program: run(made, environment=surroundings))
        assert files is not None
        wanted = sorted(f"{a[1]},{a[2]},{b[2]}" for a, b in near)
        assert sorted(files["joined.csv"].decode().splitlines()) == wanted, f"seed {seed}"
        assert cut_and_run(rng, program) == files, f"seed {seed}"


def test_what_is_computed_by_key_behind_the_order_is_partitioned():
    app, _ = draw_program(Random(1), [], 0)
    plan = physical_plan(app.program().application, [[o.id] for o in app.operators], 3)
    channels = {operator.kind: plan.pes[plan.home[operator.id]].channels for operator in app.operators}
    assert (channels["EventOrder"], channels["EventWindows"], channels["EventAggregate"]) == (1, 1, 3)
