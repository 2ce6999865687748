"""The demand of each operator and stream, in mips, at given rates of the sources.

Introduction:
    Rates follow from those of the sources by selectivity, costs from rates by the profile and the calibration. All of
    it is in mips, as in the COLA paper: the millions of instructions that a second of input takes. A core of m mips
    does them in (demand / m) seconds, whichever machine the costs were measured on.

Formulation:
    Flow is conserved: with n_o the tuples that operator o takes in a second, and r_e those on stream e,

        r_e = selectivity_e * n_producer(e)
        n_o = (rate of o if it is a source) + sum of r_e over the streams that it takes.

Example:
    >>> from penstock.model.profile import OperatorProfile, Profile, StreamProfile
    >>> profile = Profile(mips=100.0, operators=(
    ...     OperatorProfile(id="a", rate_tps=8.0, cpu_seconds=0.01, selectivity=(0.5,)),
    ...     OperatorProfile(id="b", rate_tps=4.0, cpu_seconds=0.1)),
    ...     streams=(StreamProfile(id="a", producer="a", consumers=("b",), rate_tps=4.0, tuple_bytes=10.0),))
    >>> demand(profile, Transfer(mips=100.0)).work_mips
    (8.0, 40.0)

When it does not apply:
    A loop that gives back at least as much as it takes has no steady state: `UserError`.

Algorithm:
    One sparse linear system for the flow; the rest is a product of columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, identity
from scipy.sparse.linalg import splu

from penstock.base.diagnostics import UserError
from penstock.model.hosts import Floats, Ints
from penstock.model.profile import Profile
from penstock.model.transfer import PARTS, Transfer

Ends = tuple[tuple[int, bool], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """The graph with its demands, by position; plain tuples, because what-ifs look at single entries.

    Attributes:
        ids: Of the operators.
        tuples_tps: What each operator takes in a second.
        work_mips: Of each operator.
        work_variance: Of the work of each operator in a second, in square millions of instructions.
        part_mips: For each part of a transfer, of each stream, if it goes that way.
        stream_tps: Tuples on each stream in a second.
        stream_bytes: Bytes on each stream in a second.
        producer: The operator that makes each stream.
        subscribers: Of each stream, the operators that take it, each with whether that closes a loop.
        inputs: Of each operator, the streams that it takes, each with whether that closes a loop.
        outputs: Of each operator, the streams that it makes.
    """

    ids: tuple[str, ...]
    tuples_tps: tuple[float, ...]
    work_mips: tuple[float, ...]
    work_variance: tuple[float, ...]
    part_mips: Mapping[str, tuple[float, ...]]
    stream_tps: tuple[float, ...]
    stream_bytes: tuple[float, ...]
    producer: tuple[int, ...]
    subscribers: tuple[Ends, ...]
    inputs: tuple[Ends, ...]
    outputs: tuple[tuple[int, ...], ...]


def demand(profile: Profile, transfer: Transfer, source_rates: Mapping[str, float] | None = None) -> Demand:
    """The demands of a profile's graph when the sources give `source_rates`, or what they gave when it was taken."""
    index = {o.id: i for i, o in enumerate(profile.operators)}
    producer = [index[s.producer] for s in profile.streams]
    taken, rates = flow(profile, source_rates)
    per_tuple = np.array([o.cpu_seconds for o in profile.operators])
    variance = np.array([o.cpu_variance for o in profile.operators])
    sizes = np.array([s.tuple_bytes for s in profile.streams])
    costs = {part: transfer.part(part) for part in PARTS}
    parts = {p: rates * (c.seconds_per_tuple + c.seconds_per_byte * sizes) * transfer.mips for p, c in costs.items()}
    subscribers = tuple(tuple((index[c], c in s.feedback) for c in s.consumers) for s in profile.streams)
    inputs: list[list[tuple[int, bool]]] = [[] for _ in index]
    outputs: list[list[int]] = [[] for _ in index]
    for stream, ends in enumerate(subscribers):
        outputs[producer[stream]].append(stream)
        for operator, feedback in ends:
            inputs[operator].append((stream, feedback))
    return Demand(
        ids=tuple(index),
        tuples_tps=tuple(taken.tolist()),
        work_mips=tuple((taken * per_tuple * profile.mips).tolist()),
        work_variance=tuple((taken * variance * profile.mips**2).tolist()),
        part_mips={part: tuple(mips.tolist()) for part, mips in parts.items()},
        stream_tps=tuple(rates.tolist()),
        stream_bytes=tuple((rates * sizes).tolist()),
        producer=tuple(producer),
        subscribers=subscribers,
        inputs=tuple(map(tuple, inputs)),
        outputs=tuple(map(tuple, outputs)),
    )


def flow(profile: Profile, source_rates: Mapping[str, float] | None = None) -> tuple[Floats, Floats]:
    """Tuples that each operator takes, and that flow on each stream, in a second.

    Raises:
        UserError: A loop gives back at least as much as it takes.
    """
    given = profile.source_rates if source_rates is None else source_rates
    index = {o.id: i for i, o in enumerate(profile.operators)}
    producer = np.array([index[s.producer] for s in profile.streams], np.int64)
    selectivity = np.array([profile.operator[s.producer].selectivity[s.port] for s in profile.streams])
    ends = [(index[c], i) for i, s in enumerate(profile.streams) for c in s.consumers]
    offered = np.array([given.get(id_, 0.0) if id_ in profile.sources else 0.0 for id_ in index])
    taken = _solve(offered, ends, producer, selectivity)
    if not np.isfinite(taken).all() or taken.min(initial=0.0) < -1e-9 * max(1.0, taken.max(initial=0.0)):
        loops = ", ".join(f"`{s.id}`" for s in profile.streams if s.feedback) or "the graph"
        raise UserError(
            f"a loop over {loops} gives back at least as many tuples as it takes",
            hint="the selectivities around a loop must multiply to less than 1",
        )
    taken = np.maximum(taken, 0.0)
    return taken, taken[producer] * selectivity if len(producer) else np.zeros(0)


def _solve(offered: Floats, ends: list[tuple[int, int]], producer: Ints, selectivity: Floats) -> Floats:
    if not ends:
        return offered
    consumers, streams = (np.array(column) for column in zip(*ends, strict=True))
    size = len(offered)
    passed = csc_array((selectivity[streams], (consumers, producer[streams])), shape=(size, size))
    try:
        return np.asarray(splu(csc_array(identity(size) - passed)).solve(offered))
    except RuntimeError:  # the matrix is singular: a loop that gives back exactly what it takes
        return np.full(size, np.nan)
