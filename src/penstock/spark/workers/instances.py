"""The PEs in Spark's Python workers: an instance of a PE processes one batch."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark import TaskContext

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.batches import ARROW_SCHEMA, REPORT, values_as_rows
from penstock.codegen.transport.routes import Router, Routing, routing_of
from penstock.runtime.pes.container_instance import Left, Values
from penstock.runtime.pes.group_traffic import GroupMeter
from penstock.runtime.pes.held_state import too_large
from penstock.runtime.pes.instances import run_in_container
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.pe_module import PEModule, load_module
from penstock.runtime.pes.reports import Report
from penstock.runtime.pes.traffic import TrafficMeter
from penstock.spark.job.program_file import program_path
from penstock.spark.sinks.large_results import spill_large
from penstock.spark.sources.data_source import load, load_pieces, load_plan
from penstock.spark.workers.channel_state import ChannelState, files_folder
from penstock.spark.workers.executor_identity import executor_of
from penstock.spark.workers.initial_state import read_initial

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState

Row = tuple[int, int, Any]
"""Edge, channel and IPC stream, or a frame of this process in its place."""

Rows: TypeAlias = "pa.RecordBatch | Row"
"""What comes to a PE: rows from Spark, or one of this process."""


def stateless_pe(
    program: str, plan: PhysicalPlan, pe: int, *, metered: bool = False
) -> Callable[[Iterator[Rows]], Iterator[pa.RecordBatch]]:
    """The function of a stateless PE for `mapInArrow`.

    Where tuples come by one edge and in order, they are processed as they come, so that the PEs before and behind work
    at the same time; elsewhere a batch is put in order first.

    Args:
        program: The path of the pickled program.
        plan: Of the job.
        pe: The PE's index.
        metered: Whether each task tells what it has sent.
    """
    mine = [edge.index for edge in plan.into(pe)]
    in_pieces = len(mine) == 1 and plan.into(pe)[0].senders == 1
    routing = routing_of(plan, pe)

    def process(batches: Iterator[Rows]) -> Iterator[pa.RecordBatch]:
        if not metered:
            yield from work(batches, [], None)
            return
        groups = GroupMeter(plan, pe) if plan.meters_groups else None
        meter, channels = TrafficMeter(routing, groups), list[int]()
        yield from meter.metered(work(batches, channels, groups))
        if channels:
            executor, host = executor_of(os.getpid())
            yield meter.row(pe, channels[0], executor=executor, host=host)

    def work(batches: Iterator[Rows], channels: list[int], groups: GroupMeter | None) -> Iterator[pa.RecordBatch]:
        identity = _identity(program, pe)
        instance: PEInstance | None = None
        waiting: list[Row] = []
        for batch in batches:
            found, others = told_apart(batch, mine) if isinstance(batch, pa.RecordBatch) else ([batch], [])
            yield from others
            waiting += found
            if groups is not None:
                groups.take_all(found)
            channels += [channel for _, channel, _ in found[:1]]
            if waiting and in_pieces:
                instance = instance or load_instance(identity)
                yield from _processed(instance, waiting, routing)
                waiting = []
        if waiting:
            instance = load_instance(identity)
            yield from _processed(instance, waiting, routing)
        if instance is not None:
            _keep(instance, identity)

    return process


def whole_pe(
    program: str, plan: PhysicalPlan, pe: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a PE for `mapInArrow` where all its input comes at once: it begins without state, and ends."""
    mine = [edge.index for edge in plan.into(pe)]
    routing = routing_of(plan, pe)

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: dict[int, list[Row]] = {}
        for batch in batches:
            found, others = told_apart(batch, mine)
            yield from others
            for row in found:
                waiting.setdefault(row[1], []).append(row)
        for rows in waiting.values():
            instance = load_instance(_identity(program, pe))
            yield from _processed(instance, rows, routing)

    return process


def told_apart(batch: pa.RecordBatch, mine: Sequence[int]) -> tuple[list[Row], list[pa.RecordBatch]]:
    """The rows of some edges, and the others as they are."""
    is_mine = np.isin(batch.column(0).to_numpy(), mine)
    others = [] if is_mine.all() else [batch.filter(pa.array(~is_mine))]
    chosen = batch if is_mine.all() else batch.filter(pa.array(is_mine))
    return list(zip(*(column.to_pylist() for column in chosen.columns), strict=True)), others


def _processed(instance: PEInstance, rows: Sequence[Row], routing: Routing) -> Iterator[pa.RecordBatch]:
    """The routed output of an instance for rows, which are all for one channel."""
    left = instance.process_batch([(edge, value) for edge, _, value in rows])
    return Router(routing, rows[0][1]).rows(left)


def stateful_pe(
    entries: MapState,
    rows: Iterator[pd.DataFrame],
    program: str,
    pe: int,
    mine: frozenset[int],
    routing: bytes,
    initial: str | None = None,
    large: str | None = None,
    limit: int | None = None,
    mark: bytes | None = None,
    metered: bool = False,
    by_group: bool = False,
) -> Iterator[pd.DataFrame]:
    """Process a batch of one channel of a stateful PE: recall, feed, remember.

    Args:
        entries: Holds the entries of the state by name, its head among them.
        rows: Of the channel; those of other PEs' edges are passed on.
        program: The address of the pickled program.
        pe: The PE's index.
        mine: The edges that lead to the PE.
        routing: Of the PE, pickled.
        initial: The folder with the state that channels begin with, where it is not an empty one.
        mark: What the state must have been written under, pickled.
        large: Where rows go that are too many to be sent to the driver, if they are for it.
        limit: How many bytes of state a channel may hold.
        metered: Whether the task tells what it has sent.
        by_group: Whether it tells that by key group, too.

    Raises:
        UserError: It holds more, or there is not enough memory.
    """
    arriving: list[Row] = []
    routed: Routing = pickle.loads(routing)
    groups = GroupMeter(load_plan(program), pe) if metered and by_group else None
    meter = TrafficMeter(routed, groups) if metered else None
    for frame in rows:
        is_mine = frame["edge"].isin(mine)
        if not is_mine.all():
            others = frame.loc[~is_mine, ["edge", "channel", "tuples"]]
            if meter is not None:
                meter.count(pa.RecordBatch.from_pandas(others, schema=ARROW_SCHEMA, preserve_index=False))
            yield others
        arriving += [(int(e), int(c), v) for e, c, v in _triples(frame[is_mine])]
    if not arriving:
        task = TaskContext.get()
        if meter is not None and meter.passed and task is not None:
            executor, host = executor_of(os.getpid())
            yield meter.row(pe, task.partitionId(), executor=executor, host=host).to_pandas()
        return
    if groups is not None:
        groups.take_all(arriving)
    identity, channel = _identity(program, pe), arriving[0][1]
    instance = load_instance(identity)
    marked = None if mark is None else pickle.loads(mark)
    with ChannelState(entries, instance, files_folder(identity, channel), marked) as state:
        try:
            if not state.resume() and initial is not None:
                instance.restore(read_initial(Path(initial), pe, channel))
            left = _processed(instance, arriving, routed)
            left = left if meter is None else meter.metered(left)
            for batch in left if large is None else spill_large(left, large):
                yield batch.to_pandas()
            held, size = state.store(pe, channel, limit), state.size
        except MemoryError:
            raise too_large(state.held, channel, "more than there is memory for") from None
    if meter is not None:
        executor, host = executor_of(os.getpid())
        yield meter.row(pe, channel, state_bytes=size, executor=executor, host=host).to_pandas()
    if held:
        yield values_as_rows(REPORT, Report(pe=pe, held=held).encode()).to_pandas()


def _triples(frame: pd.DataFrame) -> Iterable[tuple[Any, Any, bytes]]:
    return zip(frame["edge"], frame["channel"], frame["tuples"], strict=True)


_Identity = tuple[str, int, int]
"""The path of a program, when it was written, and a PE: a worker may have seen another program in the same place."""

KEPT_PROGRAMS = 4
"""Of how many programs a worker keeps code: several queries of a session take turns in it."""

_programs: dict[str, int] = {}
"""When each program was written, by its path; the one that was loaded last is the last."""

_modules: dict[_Identity, PEModule] = {}
"""Modules with the containers of operators without state: what an operator has loaded once serves all batches."""


def load_instance(identity: _Identity) -> PEInstance:
    """An instance of a PE of a pickled program: a fresh one, or one without state that has served a batch."""
    path, _, pe = identity
    module = _modules.get(identity)
    if module is None:
        _make_room(identity)
        (program, _, environment), pieces = load_pieces(path, pe)
        module = load_module(program, pieces, environment)
        if module.may_be_kept:
            _modules[identity] = module
            _settle()
    elif not module.modules:
        # Nothing but its containers serves again, and not if this batch fails.
        del _modules[identity]
    return PEInstance(module, lambda values: _by_container(path, pe, values))


def _keep(instance: PEInstance, identity: _Identity) -> None:
    """Let an instance without state, which has done its work, serve another batch."""
    instance.keep_operators()
    if instance.module.kept and not instance.module.modules:
        _modules[identity] = instance.module


def _settle() -> None:
    """Leave what has been loaded out of the walk over all objects that Spark has a worker make after each task."""
    gc.collect()
    gc.freeze()


def _make_room(identity: _Identity) -> None:
    """Let go of what stood in a program's place before, and of the program that was loaded longest ago."""
    path, written_ns, _ = identity
    _programs.pop(path, None)
    _programs[path] = written_ns
    while len(_programs) > KEPT_PROGRAMS:
        del _programs[next(iter(_programs))]
    for other in [key for key in _modules if _programs.get(key[0]) != key[1]]:
        del _modules[other]
        # What was frozen with it has to be found again, to be freed.
        gc.unfreeze()


def _identity(path: str, pe: int) -> _Identity:
    path = program_path(path)
    return path, os.stat(path).st_mtime_ns, pe


def _by_container(path: str, pe: int, values: Values) -> Left:
    """The output of a container for a batch on which generated code failed; the program is loaded again for it."""
    program, plan, environment = load(path)
    return run_in_container(program, plan, pe, environment, values)
