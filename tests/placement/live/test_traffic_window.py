"""The window over what tasks tell of themselves."""

from __future__ import annotations

import pytest

from penstock.placement.live.channel_graph import format_metis
from penstock.placement.live.traffic_window import BATCHES, HALF_LIFE, Line, TrafficWindow
from penstock.runtime.pes.traffic import TaskTraffic

LINE = Line(pes=(1, 2, 3), sources=frozenset([0]), consumers={0: 1, 1: 2, 2: 3, 3: 3})


def test_rows_that_are_passed_on_go_to_the_next_pe_in_the_line() -> None:
    window = TrafficWindow(LINE)
    window.add([TaskTraffic(pe=1, channel=0, sent={3: {1: [2, 40]}}, passed={0: 5})])
    graph = window.graph()
    assert graph.flows == {((1, 0), (2, 1)): 40, ((1, 0), (2, 0)): 5}
    assert graph.tuples == {(3, (1, 0), (3, 1)): (2, 40)}


def test_what_is_older_than_the_window_is_forgotten() -> None:
    window = TrafficWindow(LINE, batches=2)
    for size in (1000, 10, 20):
        window.add([TaskTraffic(pe=1, channel=0, sent={1: {0: [1, size]}}, cpu_seconds=size / 10)])
    graph = window.graph()
    older = 0.5 ** (1 / HALF_LIFE)
    mean = (older * 10 + 20) / (older + 1)
    assert (graph.batches, graph.flows) == (2, {((1, 0), (2, 0)): pytest.approx(mean)})
    assert graph.cpu_seconds == {(1, 0): pytest.approx(mean / 10)}


def test_load_that_has_changed_shows_after_some_batches() -> None:
    window = TrafficWindow(LINE)
    for channel, batches in ((0, BATCHES), (1, 2 * HALF_LIFE)):
        for _ in range(batches):
            window.add([TaskTraffic(pe=1, channel=0, sent={1: {channel: [1, 100]}})])
    flows = window.graph().flows
    assert flows[(1, 0), (2, 1)] > 2 * flows[(1, 0), (2, 0)]


def test_sources_are_counted_but_are_no_tasks() -> None:
    window = TrafficWindow(LINE)
    window.add([TaskTraffic(pe=0, channel=3, sent={0: {1: [2, 40]}}, executor="4", host="h")])
    graph = window.graph()
    assert (graph.tasks, graph.flows, graph.source_bytes) == ((), {}, 40)
    assert window.homes == {(0, 3): ("4", "h")}


def test_an_empty_window_is_an_empty_graph() -> None:
    graph = TrafficWindow(LINE).graph()
    assert (graph.tasks, graph.batches) == ((), 0)
    assert format_metis(graph.as_communication_graph()).splitlines()[1] == "0 0 011"
