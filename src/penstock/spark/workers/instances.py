"""The PEs in Spark's Python workers: an instance of a PE processes one batch."""

from __future__ import annotations

import gc
import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.transport.routes import Router, Routing, routing_of
from penstock.runtime.pes.container_instance import Left, Values
from penstock.runtime.pes.instances import run_in_container
from penstock.runtime.pes.pe_instance import PEInstance
from penstock.runtime.pes.pe_module import PEModule, load_module
from penstock.spark.sources.data_source import load, load_pieces
from penstock.spark.workers.channel_state import ChannelState, files_folder
from penstock.spark.workers.initial_state import read_initial

if TYPE_CHECKING:
    from pyspark.sql.streaming.stateful_processor import MapState

Row = tuple[int, int, bytes]
"""Edge, channel and IPC stream."""


def stateless_pe(
    program: str, plan: PhysicalPlan, pe: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function of a stateless PE for `mapInArrow`.

    Where tuples come by one edge and in order, they are processed as they come, so that the PEs before and behind work
    at the same time; elsewhere a batch is put in order first.
    """
    mine = [edge.index for edge in plan.into(pe)]
    in_pieces = len(mine) == 1 and plan.into(pe)[0].senders == 1
    routing = routing_of(plan, pe)

    def process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        identity = _identity(program, pe)
        instance: PEInstance | None = None
        waiting: list[Row] = []
        for batch in batches:
            found, others = told_apart(batch, mine)
            yield from others
            waiting += found
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
) -> Iterator[pd.DataFrame]:
    """Process a batch of one channel of a stateful PE: recall, feed, remember.

    Args:
        entries: Holds the entries of the state by name, its head among them.
        rows: Of the channel; those of other PEs' edges are passed on.
        program: The path of the pickled program.
        pe: The PE's index.
        mine: The edges that lead to the PE.
        routing: Of the PE, pickled.
        initial: The folder with the state that channels begin with, where it is not an empty one.
    """
    arriving: list[Row] = []
    for frame in rows:
        is_mine = frame["edge"].isin(mine)
        if not is_mine.all():
            yield frame.loc[~is_mine, ["edge", "channel", "tuples"]]
        arriving += [(int(e), int(c), v) for e, c, v in _triples(frame[is_mine])]
    if not arriving:
        return
    identity, channel = _identity(program, pe), arriving[0][1]
    instance = load_instance(identity)
    with ChannelState(entries, instance, files_folder(identity, channel)) as state:
        if not state.resume() and initial is not None:
            instance.restore(read_initial(Path(initial), pe, channel))
        for batch in _processed(instance, arriving, pickle.loads(routing)):
            yield batch.to_pandas()
        state.store(pe, channel)


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
    return path, os.stat(path).st_mtime_ns, pe


def _by_container(path: str, pe: int, values: Values) -> Left:
    """The output of a container for a batch on which generated code failed; the program is loaded again for it."""
    program, plan, environment = load(path)
    return run_in_container(program, plan, pe, environment, values)
