"""PEs that stand in one line, as the Spark back end has them.

Introduction:
    On Spark a job's PEs stand one behind the other, in an order in which every stream leads forward, and a PE passes on
    what is not for it. So a stream is carried through all PEs between its two ends, and it is carried once for each PE
    that takes it. That makes fine fusions dearer than the graph alone would tell.

Formulation:
    Let PEs be numbered along the line. A stream from PE p to PE q > p

    - is sent by p and received by q, once for each such q: python_send, python_receive;
    - is fed by the JVM to p + 1 .. q and drained from p .. q - 1: jvm_feed, jvm_drain, and python_pass of each;
    - goes through every exchange between p and q: exchange_write, exchange_read.

    The line is cut where an exchange stands (`is_exchanged`): before a PE that is keyed, and before one with another
    place than the PE before it. A PE that gathers its input is cut off on both sides: it overlaps with nothing. Between
    two cuts PEs overlap, a piece of the batch behind each other. Each part starts when the one before it has finished.

Example:
    a -> b, a -> c in three PEs: the stream to c is fed to b and drained from it, too.

When it does not apply:
    Plans of the papers, whose PEs are free processes with streams of their own: `Plan.is_line` is false.

Algorithm:
    Linear in the number of streams times the length of the line. Nothing is kept between what-ifs: moving an operator
    may change what every PE passes on.

Preserves:
    Every operator's work is counted once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from penstock.model.demand import Demand
from penstock.model.plan import PlacedPE
from penstock.model.stages import Chain, PeLoad, pe_load
from penstock.model.transfer import Transfer


def line_loads(demand: Demand, members: Sequence[frozenset[int]], pe_of: Sequence[int]) -> list[PeLoad]:
    """The demands of each PE of a line."""
    loads = [pe_load(demand, group) for group in members]
    entering: list[list[int]] = [[] for _ in members]
    leaving: list[list[int]] = [[] for _ in members]
    received: list[list[int]] = [[] for _ in members]
    sent: list[list[int]] = [[] for _ in members]
    for stream, producer, consumer in carried(demand, pe_of):
        sent[producer].append(stream)
        received[consumer].append(stream)
        for pe in range(producer + 1, consumer + 1):
            entering[pe].append(stream)
        for pe in range(producer, consumer):
            leaving[pe].append(stream)
    part = demand.part_mips
    return [
        replace(
            load,
            receive=_total(part["python_receive"], received[pe]) + _total(part["python_pass"], entering[pe]),
            feed=_total(part["jvm_feed"], entering[pe]),
            read=_total(part["exchange_read"], entering[pe]),
            send=_total(part["python_send"], sent[pe]) + _total(part["python_pass"], leaving[pe]),
            drain=_total(part["jvm_drain"], leaving[pe]),
            write=_total(part["exchange_write"], leaving[pe]),
            entering=tuple((stream, False) for stream in entering[pe]),
        )
        for pe, load in enumerate(loads)
    ]


def carried(demand: Demand, pe_of: Sequence[int]) -> list[tuple[int, int, int]]:
    """Each stream between PEs, once for each PE that takes it: (stream, from, to); loops stay inside PEs."""
    found = []
    for stream, ends in enumerate(demand.subscribers):
        producer = pe_of[demand.producer[stream]]
        takers = {pe_of[operator] for operator, feedback in ends if not feedback}
        found += [(stream, producer, taker) for taker in sorted(takers - {producer})]
    return found


def is_forward(demand: Demand, pe_of: Sequence[int]) -> bool:
    """Whether every stream leads along the line."""
    return all(producer < consumer for _, producer, consumer in carried(demand, pe_of))


def line_stages(pes: Sequence[PlacedPE], members: Sequence[frozenset[int]]) -> list[Chain]:
    """The parts of a line that come one after the other; PEs without operators are not there.

    Example:
        >>> pes = [PlacedPE(operators=(), hosts=("h",), keyed=keyed) for keyed in (False, False, True)]
        >>> line_stages(pes, [frozenset({i}) for i in range(3)])
        [(0, 1), (2,)]
    """
    stages: list[list[int]] = []
    for pe, placed in enumerate(pes):
        if not members[pe]:
            continue
        before = pes[stages[-1][-1]] if stages else None
        if before is None or is_exchanged(before, placed) or before.gathers or placed.gathers:
            stages.append([pe])
        else:
            stages[-1].append(pe)
    return [tuple(stage) for stage in stages]


def is_exchanged(before: PlacedPE, behind: PlacedPE) -> bool:
    """Whether an exchange stands between two neighbours of a line."""
    return behind.keyed or before.place != behind.place


def fixed_seconds(pes: Sequence[PlacedPE], transfer: Transfer) -> float:
    """The fixed time of a micro-batch, given the PEs of a line that are neither sources nor in the driver.

    Every micro-batch has a source and sinks, so they are part of `batch_seconds`. Spark keeps the state of all PEs in
    as many partitions as the widest has channels.

    Example:
        >>> pes = [PlacedPE(operators=(), hosts=("h",), keyed=keyed) for keyed in (False, False, True)]
        >>> round(fixed_seconds(pes, Transfer(mips=1.0, batch_seconds=1.0, stage_seconds=0.1, pe_seconds=0.01)), 6)
        1.13
    """
    widest = max((pe.channels for pe in pes), default=1)
    before = [PlacedPE(operators=(), hosts=pe.hosts[:1]) for pe in pes[:1]]
    stages = sum(is_exchanged(one, pe) for one, pe in pairwise([*before, *pes]))
    stateful = sum(pe.stateful for pe in pes)
    return (
        transfer.batch_seconds
        + transfer.pe_seconds * len(pes)
        + transfer.stage_seconds * stages
        + (transfer.state_seconds + transfer.task_seconds * (widest - 1)) * stateful
    )


def _total(mips: tuple[float, ...], streams: Sequence[int]) -> float:
    return sum(mips[stream] for stream in streams)
