"""A fast sparsest cut for large PEs: sweeps over eigenvectors, and over a bisection of METIS.

Introduction:
    All-pairs distances are too much for thousands of super operators; a few eigenvectors are not.

Formulation:
    The ratio (2) relaxed: minimize the sum of w_e (x_u - x_v)^2 against the sum of w_v x_v^2, over x orthogonal to the
    constant vector. The minimizers are eigenvectors of the Laplacian against the diagonal of the weights.

Example:
    A ring of eight vertices with two thin edges: the second eigenvector is positive between the thin edges on one way
    round and negative on the other.

When it does not apply:
    Graphs with fewer than a handful of vertices are swept directly (`leighton_rao`).

Algorithm:
    The lowest few eigenvectors: of a dense matrix for up to `_DENSE_VERTICES` vertices, by the Lanczos method on the
    factored inverse up to `_FACTORED_VERTICES`, both in milliseconds, and else by block conjugate gradients (LOBPCG),
    started from a seeded random block: O(m) a step, tens of steps. Then a sweep over each eigenvector, its negation,
    and the two sides of a METIS bisection.

Preserves:
    By Cheeger's inequality the best sweep over the exact second eigenvector is at most about the square root of the
    least ratio (after scaling); in practice `improvement` then lowers it further.

Reference:
    Spielman and Teng 1996; Knyazev 2001. The COLA paper uses Leighton and Rao alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh, lobpcg

from penstock.base.metis import part_graph
from penstock.fusion.cuts.cut_graph import CutGraph, whole_numbers
from penstock.fusion.problem.fusion_problem import Flags, Floats

_VECTORS = 3
_STEPS = 40
_DENSE_VERTICES, _FACTORED_VERTICES = 100, 400
_SHIFT = 1e-3


def cut_by_spectrum(graph: CutGraph, seed: int = 1) -> tuple[float, Flags]:
    """The best cut found and its ratio.

    Example:
        >>> from penstock.fusion.cuts.cut_graph import cut_graph
        >>> ring = [(v, (v + 1) % 8, 1 if v in (2, 6) else 9) for v in range(8)]
        >>> ratio, side = cut_by_spectrum(cut_graph([1] * 8, ring))
        >>> ratio
        0.5
    """
    return min((graph.sweep(graph.ordered(keys)) for keys in _keys(graph, seed)), key=lambda found: found[0])


def _keys(graph: CutGraph, seed: int) -> Iterator[Floats]:
    for vector in _eigenvectors(graph, seed).T:
        yield vector
        yield -vector
    if len(graph.costs):
        halves = _bisection(graph)
        yield halves
        yield 1.0 - halves


def _eigenvectors(graph: CutGraph, seed: int) -> Floats:
    adjacency = graph.matrix()
    degrees = np.asarray(adjacency.sum(axis=1)).ravel()
    laplacian = sparse.csr_array(sparse.diags_array(degrees) - adjacency)
    weights = graph.weights / graph.weights.mean()
    if graph.vertices <= _FACTORED_VERTICES:
        return _exact_eigenvectors(laplacian, weights, seed)
    block = np.random.default_rng(seed).standard_normal((graph.vertices, _VECTORS))
    with warnings.catch_warnings():
        # Vectors that have not converged still give good sweeps.
        warnings.simplefilter("ignore")
        _, vectors = lobpcg(
            laplacian,
            block,
            B=sparse.diags_array(weights),
            M=sparse.diags_array(1.0 / np.maximum(degrees, 1e-12)),
            Y=np.ones((graph.vertices, 1)),
            largest=False,
            maxiter=_STEPS,
            tol=1e-4,
        )
    return np.asarray(vectors, np.float64)


def _exact_eigenvectors(laplacian: sparse.csr_array, weights: Floats, seed: int) -> Floats:
    """All but the first of the lowest eigenvectors, which is constant."""
    scale = 1.0 / np.sqrt(weights)
    scaled = sparse.csc_array(sparse.diags_array(scale) @ laplacian @ sparse.diags_array(scale))
    if len(scale) <= _DENSE_VERTICES:
        _, vectors = eigh(scaled.toarray(), subset_by_index=(1, min(_VECTORS, len(scale) - 1)))
    else:
        # The matrix is singular; shifted by a little it can be factored.
        shift = -_SHIFT * (float(scaled.diagonal().mean()) or 1.0)
        start = np.random.default_rng(seed).standard_normal(len(scale))
        vectors = eigsh(scaled, k=_VECTORS + 1, sigma=shift, v0=start, tol=1e-4)[1][:, 1:]
    return np.asarray(scale[:, None] * vectors, np.float64)


def _bisection(graph: CutGraph) -> Floats:
    """0 and 1 for the two halves that METIS finds."""
    matrix = graph.matrix()
    sides = part_graph(
        2,
        matrix.indptr,
        matrix.indices,
        edge_weights=whole_numbers(matrix.data),
        vertex_weights=whole_numbers(graph.weights),
    )
    return sides.astype(np.float64)
