"""The graph partitioner: split a PE in two where it is thin.

Introduction:
    The central component of COLA. A split should cut little and not be lopsided: a minimum-ratio cut.

Formulation:
    Minimize w(delta(S_1)) / min{w(S_1), w(S_2)} (2) over the legal cuts of a `cut_graph.CutGraph`.

Example:
    A chain with streams of 9, 1 and 9 is split in the middle.

When it does not apply:
    A PE of one super operator cannot be split.

Algorithm:
    A graph in several pieces is split between pieces, at no cost. Otherwise, by size: Leighton and Rao (`leighton_rao`)
    up to `FLOW_VERTICES` vertices, and the spectral method (`spectral`) from `SPECTRAL_VERTICES` up; where both run,
    the better cut counts. Then `improvement`.

Preserves:
    Never worse than the better of the methods that ran.

Reference:
    Khandekar et al., Middleware 2009, section 2.2, graph partitioner.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from penstock.base.deadline import Deadline
from penstock.fusion.cuts.cut_graph import CutGraph
from penstock.fusion.cuts.improvement import improve_cut
from penstock.fusion.cuts.leighton_rao import cut_by_flow
from penstock.fusion.cuts.spectral import cut_by_spectrum
from penstock.fusion.problem.fusion_problem import Flags, Ints

FLOW_VERTICES = 60
SPECTRAL_VERTICES = 24


def minimum_ratio_cut(graph: CutGraph, seed: int = 1, deadline: Deadline | None = None) -> Flags:
    """A legal cut with a small ratio; `True` marks the first side.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> minimum_ratio_cut(cut_graph([1, 1, 1, 1], [(0, 1, 9), (1, 2, 1), (2, 3, 9)])).sum()
        np.int64(2)
    """
    pieces = _pieces(graph)
    if pieces.max() > 0 and not len(graph.apart):
        return _between_pieces(graph, pieces)
    in_time = deadline or Deadline.after(None)
    found = [graph.sweep(graph.ordered(np.arange(graph.vertices, dtype=np.float64)))]
    if graph.vertices <= FLOW_VERTICES and pieces.max() == 0:
        found.append(cut_by_flow(graph))
    if (graph.vertices >= SPECTRAL_VERTICES or pieces.max() > 0) and not in_time.has_passed():
        found.append(cut_by_spectrum(graph, seed))
    _, side = min(found, key=lambda candidate: candidate[0])
    return improve_cut(graph, side, in_time)[1]


def _pieces(graph: CutGraph) -> Ints:
    """The connected piece of each vertex."""
    return np.asarray(connected_components(graph.matrix(), directed=False)[1], np.int64)


def _between_pieces(graph: CutGraph, pieces: Ints) -> Flags:
    """Pieces dealt out to two sides of similar weight; no stream is cut."""
    mass = np.bincount(pieces, weights=graph.weights)
    side = np.zeros(len(mass), np.bool_)
    first = second = 0.0
    for piece in np.argsort(-mass, kind="stable").tolist():
        side[piece] = first <= second
        first, second = (first + mass[piece], second) if side[piece] else (first, second + mass[piece])
    return np.asarray(side[pieces], np.bool_)
