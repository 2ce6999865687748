"""Windows against an oracle that looks at the whole history of a partition again for every firing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import SECOND, WINDOW, Wait, feed, items_of


@dataclass(frozen=True)
class Event:
    key: str
    x: int
    second: int


Policy = tuple[str, int]


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    steps = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 20), st.integers(0, 3)), max_size=25))
    second, events = 0, []
    for key, x, wait in steps:
        second += wait
        events.append(Event(key, x, second))
    return events


policies = st.tuples(st.sampled_from(["count", "time", "delta"]), st.integers(1, 6))


def text(policy: Policy) -> str:
    kind, size = policy
    return f"delta(x, {size})" if kind == "delta" else f"{kind}({size})"


def fires(window: str, events: list[Event], *, incomplete: bool = False) -> dict[str, list[list[int] | None]]:
    """For each partition, what it held at each firing; None for a marker without tuples."""
    items: list[object] = []
    second = 0
    for event in events:
        if event.second > second:
            items.append(Wait((event.second - second) * SECOND))
            second = event.second
        items.append((event.key, event.x))
    param = "param aggregateIncompleteWindows: true;" if incomplete else ""
    graph = f"""stream<rstring k, list<int32> xs> B = Aggregate(A) {{
        window A: {window}, partitioned; param partitionBy: k; {param} output B: xs = Collect(x); }}"""
    found: dict[str, list[list[int] | None]] = {"a": [], "b": []}
    for item in items_of(graph, "B", A=feed("rstring k, int32 x", items)):
        if item is not WINDOW:
            found[item[0]].append(item[1])
    return found


def tumbling_oracle(policy: Policy, history: list[Event], end: int) -> list[list[int]]:
    kind, size = policy
    if kind == "count":
        return [[e.x for e in history[i : i + size]] for i in range(0, len(history) - size + 1, size)]
    if kind == "time":
        first = history[0].second
        borders = range(first, end, size)
        chunks = [[e.x for e in history if b <= e.second < b + size] for b in borders if b + size <= end]
        return [chunk for chunk in chunks if chunk]
    starts = [0]
    for i, event in enumerate(history):
        if event.x - history[starts[-1]].x > size:
            starts.append(i)
    return [[e.x for e in history[a:b]] for a, b in pairwise(starts)]


def sliding_oracle(evict: Policy, trigger: Policy, history: list[Event], end: int, incomplete: bool) -> list[list[int]]:
    """Every firing as (what had come by then, when), each looked at on its own."""
    firings: list[list[int]] = []
    for come, now in moments(trigger, history, end):
        held, full = contents(evict, history[:come], now)
        if held and (full or incomplete or trigger[0] == "time"):
            firings.append(held)
    return firings


def moments(trigger: Policy, history: list[Event], end: int) -> list[tuple[int, int]]:
    kind, size = trigger
    if kind == "count":
        return [(i, history[i - 1].second) for i in range(size, len(history) + 1, size)]
    if kind == "time":
        first = history[0].second
        return [(sum(e.second < t for e in history), t) for t in range(first + size, end + 1, size)]
    last, found = history[0].x, []
    for i, event in enumerate(history):
        if event.x - last > size:
            last = event.x
            found.append((i, event.second))
    return found


def contents(evict: Policy, come: list[Event], now: int) -> tuple[list[int], bool]:
    kind, size = evict
    if kind == "count":
        return [e.x for e in come[-size:]], len(come) >= size
    if kind == "time":
        return [e.x for e in come if e.second > now - size], bool(come) and now - come[0].second >= size
    start, full = 0, False
    for i, event in enumerate(come):
        while start < i and event.x - come[start].x > size:
            start, full = start + 1, True
    return [e.x for e in come[start:]], full


@settings(max_examples=60, deadline=None)
@given(histories(), policies)
def test_tumbling_windows_hold_what_the_oracle_says(events, policy):
    found = fires(f"tumbling, {text(policy)}", events)
    end = events[-1].second if events else 0
    for key, windows in found.items():
        history = [e for e in events if e.key == key]
        assert windows == (tumbling_oracle(policy, history, end) if history else [])


@settings(max_examples=120, deadline=None)
@given(histories(), policies, policies, st.booleans())
def test_sliding_windows_hold_what_the_oracle_says(events, evict, trigger, incomplete):
    found = fires(f"sliding, {text(evict)}, {text(trigger)}", events, incomplete=incomplete)
    end = events[-1].second if events else 0
    for key, windows in found.items():
        history = [e for e in events if e.key == key]
        assert windows == (sliding_oracle(evict, trigger, history, end, incomplete) if history else [])
