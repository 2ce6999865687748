"""Runs chains of toy operators sequentially, and on channels as a plan says: split, replicas, shuffles, merge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parallel.graphs import AT_MOST_ONE, MANY, NOT_PARALLEL, app, model, op, source
from penstock.ir.graph import Application
from penstock.ir.models import OperatorModel
from penstock.parallel.region_plan import Joint, Ordering, ParallelRegions, Region, Routing

Row = dict[str, int]
State = dict[Any, int]
Number = tuple[int, ...]
Toy = Callable[[Row, State], list[Row]]


def add(t: Row, state: State) -> list[Row]:
    return [{**t, "m": t["m"] + 1}]


def keep_some(t: Row, state: State) -> list[Row]:
    return [t] if t["m"] % 3 else []


def multiply(t: Row, state: State) -> list[Row]:
    return [{**t, "m": t["m"] * 2 + i} for i in range(t["m"] % 4)]


def rekey(t: Row, state: State) -> list[Row]:
    return [{**t, "k": (t["k"] + t["m"]) % 3}]


def counted(key: str) -> Toy:
    def count(t: Row, state: State) -> list[Row]:
        place = tuple(t[name] for name in key)
        state[place] = state.get(place, 0) + 1
        return [{**t, "m": state[place]}]

    return count


def changed(key: str) -> Toy:
    def change(t: Row, state: State) -> list[Row]:
        place = tuple(t[name] for name in key)
        before, state[place] = state.get(place), t["m"] % 2
        return [t] if before != state[place] else []

    return change


def burst(key: str) -> Toy:
    def send(t: Row, state: State) -> list[Row]:
        (once,) = counted(key)(t, state)
        return [{**once, "l": once["l"] + i} for i in range(once["m"] % 3)]

    return send


def count_all(t: Row, state: State) -> list[Row]:
    state[()] = state.get((), 0) + 1
    return [{**t, "m": t["m"] + state[()]}]


KEYS = ("k", "l", "kl")
TOYS: dict[str, tuple[Toy, OperatorModel]] = {
    "add": (add, model(forwards="kl")),
    "keep_some": (keep_some, model(selectivity=AT_MOST_ONE)),
    "multiply": (multiply, model(selectivity=MANY, forwards="kl")),
    "rekey": (rekey, model(forwards="lm")),
    "count_all": (count_all, NOT_PARALLEL),
    **{f"counted_{key}": (counted(key), model(key, forwards="kl")) for key in KEYS},
    **{f"changed_{key}": (changed(key), model(key, selectivity=AT_MOST_ONE)) for key in KEYS},
    **{f"burst_{key}": (burst(key), model(key, selectivity=MANY, forwards="k")) for key in KEYS},
}


def toy_chain(kinds: Sequence[str]) -> Application:
    """A source, toy operators in a row, and a sequential end."""
    chain = [op(f"o{i}", f"o{i - 1}" if i else "in", TOYS[kind][1]) for i, kind in enumerate(kinds)]
    return app(source("in"), *chain, op("end", f"o{len(kinds) - 1}", NOT_PARALLEL, outputs=0))


def run_sequentially(kinds: Sequence[str], rows: Sequence[Row]) -> list[Row]:
    """Depth first, one tuple at a time."""
    states: list[State] = [{} for _ in kinds]
    return [row for t in rows for row in _through([TOYS[kind][0] for kind in kinds], states, t)]


def _through(toys: Sequence[Toy], states: Sequence[State], t: Row) -> list[Row]:
    rows = [t]
    if toys:
        rows = [out for row in toys[0](t, states[0]) for out in _through(toys[1:], states[1:], row)]
    return rows


Channels = list[list[tuple[Number, Row]]]


def run_on_channels(kinds: Sequence[str], plan: ParallelRegions, rows: Sequence[Row], width: int) -> list[Row]:
    """Region by region; what is between regions runs sequentially."""
    rows, position, numbered = list(rows), 0, None
    while position < len(kinds):
        region = plan.region_of.get(f"o{position}")
        if region is None:
            rows = _sequential(kinds[position], rows)
            position += 1
            continue
        if numbered is None:
            numbered = _split(region, [((s,), row) for s, row in enumerate(rows)], width)
        numbered = [_channel(kinds, region, channel) for channel in numbered]
        position += len(region.operators)
        if region.last_joint is Joint.SHUFFLE:
            crossing = [item for channel in numbered for item in channel]
            following = plan.region_of[f"o{position}"]
            numbered = [sorted(c, key=lambda item: item[0]) for c in _split(following, crossing, width)]
        else:
            assert region.last_joint is Joint.MERGE
            rows, numbered = merge(region, numbered), None
    return rows


def _sequential(kind: str, rows: Sequence[Row]) -> list[Row]:
    state: State = {}
    return [out for row in rows for out in TOYS[kind][0](row, state)]


def _split(region: Region, items: list[tuple[Number, Row]], width: int) -> Channels:
    channels: Channels = [[] for _ in range(width)]
    for turn, (number, row) in enumerate(items):
        key = hash(tuple(row[name] for name in sorted(region.key)))
        channels[(turn if region.routing is Routing.ROUND_ROBIN else key) % width].append((number, row))
    return channels


def _channel(kinds: Sequence[str], region: Region, items: list[tuple[Number, Row]]) -> list[tuple[Number, Row]]:
    """One replica of a region; it numbers what comes of one tuple if the plan says so."""
    toys = [TOYS[kinds[int(id_[1:])]][0] for id_ in region.operators]
    states: list[State] = [{} for _ in toys]
    found = []
    for number, row in items:
        for k, out in enumerate(_through(toys, states, row)):
            is_prolific = region.selectivity is MANY
            found.append(((*number, k) if is_prolific else number, out))
    assert all(len(number) == 1 + region.levels for number, _ in found)
    return found


def merge(region: Region, channels: Channels) -> list[Row]:
    """The region's end, by its strategy."""
    if region.ordering is Ordering.ROUND_ROBIN:
        longest = max(map(len, channels))
        return [channel[i][1] for i in range(longest) for channel in channels if i < len(channel)]
    items = sorted((item for channel in channels for item in channel), key=lambda item: item[0])
    numbers = [number for number, _ in items]
    assert len(set(numbers)) == len(numbers)
    if region.ordering is Ordering.SEQNO:
        assert numbers == [(s,) for s in range(len(numbers))]
    return [row for _, row in items]
