"""METIS, without what it prints: it complains on standard output of parts that end up without vertices."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pymetis
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]

_LEAST_SHARE = 1e-6
"""METIS divides by the shares, and a part may have none."""


def part_graph(
    parts: int,
    starts: Ints,
    adjacent: Ints,
    *,
    edge_weights: Ints | None = None,
    vertex_weights: Ints | None = None,
    shares: Sequence[float] | None = None,
    options: pymetis.Options | None = None,
    recursive: bool | None = None,
) -> NDArray[np.int64]:
    """The part of each vertex.

    Args:
        parts: How many there are; some may end up empty.
        starts: Where the neighbours of each vertex begin.
        adjacent: The neighbours.
        edge_weights: In the order of the neighbours; whole numbers from 1 up.
        vertex_weights: Whole numbers.
        shares: The part of the whole weight that each part should have.
        options: Seeds, limits and objectives.
        recursive: Whether to bisect again and again.

    Example:
        >>> path = np.array([0, 1, 3, 5, 6]), np.array([1, 0, 2, 1, 3, 2])
        >>> part_graph(2, *path).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
        True
    """
    with drop_output():
        _, found = pymetis.part_graph(
            parts,
            pymetis.CSRAdjacency(starts, adjacent),
            eweights=edge_weights,
            vweights=vertex_weights,
            tpwgts=None if shares is None else _targets(shares),
            options=options,
            recursive=recursive,
        )
    return np.array(found, np.int64)


def _targets(shares: Sequence[float]) -> list[float]:
    targets = np.maximum(shares, _LEAST_SHARE)
    return [float(target) for target in targets / targets.sum()]


_LOCK = threading.RLock()
_LIBRARY = ctypes.CDLL(None)


@contextmanager
def drop_output() -> Iterator[None]:
    """Drop what is written to file descriptor 1 meanwhile, by whatever means.

    C's own buffer is flushed on both sides: text that a library has only buffered would otherwise appear at the end of
    the program, behind or before the answer.
    """
    with _LOCK:
        try:
            kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        except OSError:
            yield
            return
        _flush()
        os.dup2(nowhere, 1)
        try:
            yield
        finally:
            _flush()
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()
    _LIBRARY.fflush(None)
