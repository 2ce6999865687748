"""From PEs to the stages of a micro-batch, and the threads that work in each.

Introduction:
    Spark runs a micro-batch stage by stage. Within a stage, one task for each channel: a chain of PEs, each a Python
    process, and a thread of the JVM that feeds and drains them all. They work at the same time on different tuples. An
    exchange ends a stage: the next one starts when every task has finished.

Formulation:
    A stream between PEs p and q is narrow, and both are in one stage, if p sends to q alone, q receives from p alone,
    q is not keyed, the stream closes no loop, and both have the same channels on the same hosts. Else it takes an
    exchange: tuples change channels, or are merged (fan-in), or the exchange keeps p from running once for each of its
    consumers (fan-out). So stages are chains (`chain_up`).

    The threads of a chain (`stage_load`), for each channel's share of the tuples:

    - a process for each PE: its operators, python_receive of what enters, python_send of what leaves, and python_pass
      of both;
    - the task's thread in the JVM: exchange_read of what enters the chain, jvm_feed and jvm_drain of every PE, the
      operators of PEs that are in the JVM, exchange_write of what leaves the chain.

    With `spark.python.udf.pipelined.enabled` (off unless set) the task has a thread before each PE, which drains the PE
    before it and feeds this one, and one at the end.

    Tuples travel in pieces, and a PE works on one piece while the PE behind it works on the one before. Of m pieces the
    first has to come all the way before the last PE starts, so a chain takes (`Overlap`)

        busiest + (total - busiest) / m.

Example:
    a -> b -> c with a and b on one channel and c on four: stages (a, b) and (c,).

When it does not apply:
    Feedback between PEs waits for the next micro-batch; it costs an exchange but orders no stages.

Algorithm:
    Each PE is looked at a constant number of times for each of its streams.

Preserves:
    Every operator's work, and every end of a stream between PEs, is counted once.

Reference:
    Gedik et al., CIKM 2009, sections 3.4 and 4 (CompLoad); Khandekar et al., Middleware 2009, equation 1. The stages
    and the JVM's threads are Spark's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.model.demand import Demand

Chain = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PeLoad:
    """The demands of a PE in mips, wherever the others are.

    Attributes:
        work: Of its operators.
        receive: To take in what enters.
        feed: To hand it over, in the JVM.
        read: To fetch it, if it comes by an exchange.
        send: To hand back what leaves.
        drain: To take it, in the JVM.
        write: To leave it for the next stage, if it goes by an exchange.
        entering: The streams that enter, each with whether it only closes loops.
        leaving: The streams that leave.
        hottest: The operator that works most.
    """

    work: float
    receive: float
    feed: float
    read: float
    send: float
    drain: float
    write: float
    entering: tuple[tuple[int, bool], ...]
    leaving: tuple[int, ...]
    hottest: int

    @property
    def process(self) -> float:
        """Of its Python process: SIZE of equation 1, the Python side of it."""
        return self.work + self.receive + self.send


def pe_load(demand: Demand, members: frozenset[int]) -> PeLoad:
    """The demands of the PE of these operators."""
    entering: dict[int, bool] = {}
    leaving: list[int] = []
    ordered = sorted(members)
    for operator in ordered:
        for stream, feedback in demand.inputs[operator]:
            if demand.producer[stream] not in members:
                entering[stream] = feedback and entering.get(stream, True)
        for stream in demand.outputs[operator]:
            if any(taker not in members for taker, _ in demand.subscribers[stream]):
                leaving.append(stream)
    part = demand.part_mips
    return PeLoad(
        work=sum(demand.work_mips[o] for o in ordered),
        receive=_total(part["python_receive"], entering) + _total(part["python_pass"], entering),
        feed=_total(part["jvm_feed"], entering),
        read=_total(part["exchange_read"], entering),
        send=_total(part["python_send"], leaving) + _total(part["python_pass"], leaving),
        drain=_total(part["jvm_drain"], leaving),
        write=_total(part["exchange_write"], leaving),
        entering=tuple(entering.items()),
        leaving=tuple(leaving),
        hottest=max(ordered, key=demand.work_mips.__getitem__, default=-1),
    )


def _total(mips: tuple[float, ...], streams: Iterable[int]) -> float:
    return sum(mips[stream] for stream in streams)


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbours:
    """The PEs around a PE.

    Attributes:
        producers: Those it receives from, over feedback too.
        consumers: Those it sends to, over feedback too.
        loops: Those it receives from over feedback alone.
    """

    producers: frozenset[int]
    consumers: frozenset[int]
    loops: frozenset[int]


def neighbours(demand: Demand, load: PeLoad, pe: int, pe_of: Sequence[int]) -> Neighbours:
    """The PEs around a PE."""
    ends = [(pe_of[demand.producer[stream]], feedback) for stream, feedback in load.entering]
    forward = frozenset(p for p, feedback in ends if not feedback)
    takers = {pe_of[taker] for stream in load.leaving for taker, _ in demand.subscribers[stream]}
    return Neighbours(
        producers=frozenset(p for p, _ in ends),
        consumers=frozenset(takers - {pe}),
        loops=frozenset(p for p, feedback in ends if feedback) - forward,
    )


def chain_up(around: Sequence[Neighbours], alike: Sequence[object], keyed: Sequence[bool]) -> list[Chain]:
    """The stages: maximal chains of narrow streams, by their first PE.

    Args:
        around: The neighbours of each PE.
        alike: Of each PE, its place; equal places have the same channels on the same hosts.
        keyed: Whether a PE takes its tuples by an exchange in any case.
    """
    following: dict[int, int] = {}
    for pe, near in enumerate(around):
        if len(near.consumers) == 1:
            (taker,) = near.consumers
            other = around[taker]
            if len(other.producers) == 1 and not keyed[taker] and not other.loops and alike[pe] == alike[taker]:
                following[pe] = taker
    inner = set(following.values())
    chains = []
    for head in range(len(around)):
        if head not in inner:
            chain = [head]
            while chain[-1] in following:
                chain.append(following[chain[-1]])
            chains.append(tuple(chain))
    return chains


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageLoad:
    """The demands of a stage in mips.

    Attributes:
        busiest: Of the thread or process that works most, and of the others while it waits for its first piece.
        total: Of all threads and processes.
        thread: Which thread of the JVM is the busiest; None if it is a process.
        pe: The PE whose process is the busiest of the processes.
    """

    busiest: float
    total: float
    thread: int | None
    pe: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """How the threads of a task work together.

    Attributes:
        pipelined: Whether every PE has a thread of the JVM for itself.
        pieces: In how many pieces the tuples of a micro-batch travel.
        reads: Whether they come by an exchange.
        writes: Whether they leave by one.
    """

    pipelined: bool = False
    pieces: float = math.inf
    reads: bool = True
    writes: bool = True


def stage_load(chain: Chain, loads: Sequence[PeLoad], in_jvm: Sequence[bool], overlap: Overlap) -> StageLoad:
    """The demands of a chain."""
    threads = [sum(mips for mips, _, _ in parts) for parts in task_threads(chain, loads, in_jvm, overlap)]
    processes = [(loads[pe].process, pe) for pe in chain if not in_jvm[pe]] or [(0.0, chain[0])]
    most, pe = max(processes)
    busiest = max(threads)
    total = sum(threads) + sum([mips for mips, _ in processes])
    longest = max(busiest, most)
    return StageLoad(
        busiest=longest + (total - longest) / overlap.pieces,
        total=total,
        thread=threads.index(busiest) if busiest > most else None,
        pe=pe,
    )


def task_threads(
    chain: Chain, loads: Sequence[PeLoad], in_jvm: Sequence[bool], overlap: Overlap
) -> list[list[tuple[float, int, bool]]]:
    """The work of each thread of a task: mips, for which PE, and whether for its operators (else its crossings)."""
    head, last = chain[0], chain[-1]
    threads = [[(loads[head].read if overlap.reads else 0.0, head, False)]]
    for pe in chain:
        if in_jvm[pe]:
            threads[-1].append((loads[pe].work, pe, True))
            continue
        threads[-1].append((loads[pe].feed, pe, False))
        if overlap.pipelined:
            threads.append([])
        threads[-1].append((loads[pe].drain, pe, False))
    threads[-1].append((loads[last].write if overlap.writes else 0.0, last, False))
    return threads
