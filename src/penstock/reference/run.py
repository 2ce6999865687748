"""`run`: the entry to the reference interpreter.

Introduction:
    The interpreter is the meaning of every program: one tuple at a time, one operator at a time, in one fixed order.
    Everything that is compiled is compared with it. It is written to be read; it is as fast as that allows.

Semantics:
    Submitting is a call: depth first, subscribers in order of declaration. Sources take turns, and nothing sleeps
    (`virtual_time`). Feedback edges and imported streams are queues that are drained after each source item, before the
    next one. A port ends when all its streams but the feedback ones have ended; an operator finishes when all its
    ports have; then its streams end. `docs/semantics.md` says all of this for users.

Example:
    >>> from penstock.toolkit.core.operator_registry import standard
    >>> from penstock.ir.graph import Application
    >>> run(Program(application=Application(name="Empty"), registry=standard())).stopped.value
    'done'

When it does not apply:
    It knows nothing of parallel channels, PEs or hosts: they must not change what a program means.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from penstock.base.diagnostics import Diagnostics, did_you_mean
from penstock.expr.environment import Environment
from penstock.reference.engine import Engine, Limits
from penstock.reference.exchange import Exchange
from penstock.reference.interrupt import on_interrupt
from penstock.reference.node import Node
from penstock.reference.result import ReferenceResult, StopReason
from penstock.reference.streams import Item
from penstock.reference.wiring import Tap, depth, wire
from penstock.toolkit.core.program import Program

OnTuple = Callable[[str, Item], None]
"""Called with a stream's id and a tuple or punctuation that it carries."""


def run(
    programs: Program | Sequence[Program],
    *,
    environment: Environment | None = None,
    on_tuple: OnTuple | None = None,
    collect: Iterable[str] = (),
    max_time_ns: int | None = None,
    max_tuples: int | None = None,
    watch: Callable[[Engine], None] | None = None,
) -> ReferenceResult:
    """Run programs to their end, or to a limit.

    Several programs run together in one process: what one exports, the others import. Stopping at a limit, or by
    Ctrl-C, ends the sources; what they have sent is processed to the end.

    Args:
        programs: What to run.
        environment: Files, settings and the clock; by default relative file names mean the first program's `data`
            folder.
        on_tuple: Called for every item of every stream.
        collect: The ids of streams whose items the result holds.
        max_time_ns: Stop when this much virtual time has passed.
        max_tuples: Stop when the sources have sent this many tuples.
        watch: Called with the engine before it starts, for whoever wants to show how far it is.

    Raises:
        OperatorFailed: An operator could not process a tuple, and its policy is to fail.
        UserError: A program cannot start.
    """
    together = [programs] if isinstance(programs, Program) else list(programs)
    environment = environment or default_environment(together)
    start_ns = environment.clock.now_ns
    limit_ns = None if max_time_ns is None else start_ns + max_time_ns
    engine = Engine(environment, Limits(time_ns=limit_ns, tuples=max_tuples))
    collected: dict[str, list[Item]] = {id_: [] for id_ in collect}
    if watch is not None:
        watch(engine)

    def work() -> list[Node]:
        nodes = _wire_all(together, engine, _taps(on_tuple, collected))
        _check_streams(collected, nodes)
        engine.exchange = Exchange(nodes, engine.feedback, engine.end_node)
        try:
            engine.run(nodes)
        finally:
            for node in nodes:
                node.runtime.close()
        return nodes

    with on_interrupt(lambda: engine.stop(StopReason.INTERRUPTED)):
        nodes = with_room_for(max((depth(p.application) for p in together), default=0), work)
    return _result(engine, nodes, collected, start_ns)


def default_environment(programs: Sequence[Program]) -> Environment:
    """The environment where none is given: files lie in the `data` folder beside the first program, or beside it."""
    if not programs:
        return Environment()
    directory = programs[0].directory
    data = directory / "data" if (directory / "data").is_dir() else directory
    return Environment(data_directory=data, output_directory=data, application_directory=directory)


def _wire_all(programs: Sequence[Program], engine: Engine, tap: Callable[[str], Tap | None]) -> list[Node]:
    nodes: list[Node] = []
    for program, prefix in zip(programs, _prefixes(programs), strict=True):
        # Of timers that are due at one time, those of the first application fire first.
        ranks = {id_: len(nodes) + rank for id_, rank in program.application.rank.items()}
        nodes.extend(wire(program, prefix, engine, engine.environment, tap, ranks))
    return nodes


def _prefixes(programs: Sequence[Program]) -> list[str]:
    """The prefix of the ids of each program: empty for one alone, distinct names otherwise."""
    if len(programs) == 1:
        return [""]
    names: list[str] = []
    for program in programs:
        name = program.application.name
        copies = sum(n == name or n.startswith(f"{name}#") for n in names)
        names.append(f"{name}#{copies + 1}" if copies else name)
    return [f"{name}." for name in names]


def _check_streams(wanted: Iterable[str], nodes: Iterable[Node]) -> None:
    known = {stream.id for node in nodes for stream in node.streams}
    found = Diagnostics()
    for id_ in wanted:
        if id_ not in known:
            found.error(f"there is no stream `{id_}`", hint=did_you_mean(id_, known))
    found.raise_if_any()


def _taps(on_tuple: OnTuple | None, collected: dict[str, list[Item]]) -> Callable[[str], Tap | None]:
    def tap(stream: str) -> Tap | None:
        if stream not in collected:
            return on_tuple
        append = collected[stream].append

        def keep(id_: str, item: Item) -> None:
            append(item)
            if on_tuple is not None:
                on_tuple(id_, item)

        return keep

    return tap


def _result(engine: Engine, nodes: list[Node], collected: dict[str, list[Item]], start_ns: int) -> ReferenceResult:
    dropped = {n.id: n.dropped for n in nodes}
    return ReferenceResult(
        stopped=engine.stopped or StopReason.DONE,
        received={n.id: tuple(sum(e.count for e in edges) for edges in n.edges) for n in nodes if n.edges},
        submitted={n.id: tuple(s.count for s in n.streams) for n in nodes if n.streams},
        dead_letters=tuple(engine.dead_letters),
        dropped={id_: count for id_, count in dropped.items() if count},
        expired={n.id: n.runtime.expired for n in nodes if n.runtime.expired},
        metrics=dict(engine.environment.metrics),
        start_time_ns=start_ns,
        end_time_ns=engine.clock.now_ns,
        collected=collected,
    )


T = TypeVar("T")

CALLS_PER_OPERATOR = 12
"""More than any operator of ours nests between receiving and submitting: tap, receive, logic, window, fire, submit."""

BYTES_PER_OPERATOR = 16 * 1024
_SLACK = 2_000


def with_room_for(depth: int, action: Callable[[], T]) -> T:
    """Call an action with room for submits nested over `depth` operators, and return what it returns.

    A path of 10,000 operators nests tens of thousands of calls. Python's own frames live on its heap, but a call that
    goes through C, such as that of a `partial`, also takes some of the thread's stack, so a deep graph runs on a thread
    with a large one. Shallow graphs run where they are.

    Example:
        >>> def nest(n): return 0 if n == 0 else 1 + nest(n - 1)
        >>> with_room_for(5_000, lambda: nest(50_000))
        50000
    """
    needed = depth * CALLS_PER_OPERATOR + _SLACK
    before = sys.getrecursionlimit()
    if depth * CALLS_PER_OPERATOR < before // 2:
        return action()
    sys.setrecursionlimit(max(before, needed))
    try:
        return _on_large_stack(max(16 << 20, depth * BYTES_PER_OPERATOR), action)
    finally:
        sys.setrecursionlimit(before)


def _on_large_stack(size: int, action: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(action())
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=work, name="penstock-reference", daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
