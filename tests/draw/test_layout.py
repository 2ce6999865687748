"""The layered layout of graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from penstock.draw.layout import layered_layout


def random_dag(seed: int, size: int) -> tuple[list[str], list[tuple[str, str]]]:
    rng = random.Random(seed)
    vertices = [f"v{i}" for i in range(size)]
    edges = [(vertices[rng.randrange(i)], vertices[i]) for i in range(1, size) for _ in range(rng.randint(1, 2))]
    return vertices, edges


@pytest.mark.parametrize("seed", range(10))
def test_streams_run_from_left_to_right_through_every_layer(seed):
    vertices, edges = random_dag(seed, 60)
    layout = layered_layout(vertices, edges)
    for (a, b), path in zip(edges, layout.paths, strict=True):
        assert path[0] == layout.place[a]
        assert path[-1] == layout.place[b]
        assert [layer for layer, _ in path] == list(range(path[0][0], path[-1][0] + 1))


@pytest.mark.parametrize("seed", range(10))
def test_no_two_things_stand_in_one_place(seed):
    vertices, edges = random_dag(seed, 60)
    layout = layered_layout(vertices, edges)
    places = sorted(layout.place.values())
    for (layer, row), (next_layer, next_row) in itertools.pairwise(places):
        assert layer != next_layer or next_row - row >= 0.99


def test_a_loop_is_drawn_too():
    layout = layered_layout(["a", "b"], [("a", "b"), ("b", "a")])
    assert layout.paths[1] == (layout.place["b"], layout.place["a"])


def test_a_simple_tangle_is_untangled():
    layout = layered_layout(["a", "b", "c", "d"], [("a", "d"), ("b", "c")])
    (_, a), (_, b), (_, c), (_, d) = (layout.place[v] for v in "abcd")
    assert (a < b) == (d < c)


def test_an_empty_graph_has_an_empty_layout():
    assert layered_layout([], []).layers == 0
