"""Opens the loop of an application, so that what goes round goes through the next micro-batch.

Introduction:
    Spark's plans have no cycles, so a loop of the graph stays inside one PE, and a parallel region on it stays on one
    channel. A loop that is opened leads out of the plan instead: what its last stream carries in one batch is what the
    next batch begins with. Then every operator on it can be a PE of its own, on channels too.

Formulation:
    The feedback edge from a stream S to an operator's port is replaced by two operators: `loop::End`, a sink of S, and
    `loop::Start`, a source whose stream the port takes in the place of S. The graph that is left has no loop.

Example:
    PageRank: a batch holds the tasks of one round, whose multiplications run on all channels; the vector that comes of
    them begins the next batch.

When it does not apply:
    One feedback edge can be opened, to a port that has another stream: a feedback edge alone never ends a port, and a
    source does. Applications stay as they are whose operators act when time passes, because time must not pass between
    two rounds; those with sources that Spark reads by itself, which nobody can hold back; and those in which code may
    end a stream, because what still goes round is then dropped, which only a queue can do.

Preserves:
    The results and their order. In the sequential program a feedback edge is a queue: an item of a source is processed,
    then all that it sent round, in order, then what that sent round, and so on until nothing is left; only then does
    the next item come. A batch is one such round, and the sources wait until a round sends nothing (`loop_planner`).

Reference:
    Schneider et al., PACT 2012, section 5.3: the PageRank kernel, whose loop leads over the network.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.base.diagnostics import UserError
from penstock.ir.graph import Application, InputPort, Operator, OutputPort
from penstock.ir.models import UNKNOWN_MODEL
from penstock.runtime.sources.rounds import END, START
from penstock.runtime.sources.waiting import waits_for_time
from penstock.toolkit.analysis.logic_analysis import ends_a_stream
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.program import Program
from penstock.toolkit.core.runtime import Runtime


def why_closed(application: Application) -> str | None:
    """Why the loops of an application must stay inside a PE; None if there is one, and it can be opened.

    Example:
        >>> why_closed(Application(name="Empty"))
        'it has no loop'
    """
    loops = _feedback(application)
    if not loops:
        return "it has no loop"
    if len(loops) > 1:
        return f"it has {len(loops)} feedback edges, and only one can lead through the next batch"
    outside = [o.id for o in application.operators if o.facts.is_read_by_engine]
    if outside:
        return f"its source `{outside[0]}` is read by Spark and would not wait for the loop"
    if waits_for_time(application):
        return "some of its operators act when time passes"
    ending = [o.id for o in application.operators if o.logic is not None and ends_a_stream(o.logic)]
    if ending:
        return f"the code of `{ending[0]}` may end a stream"
    ((stream, consumer, port),) = loops
    if application.operator[consumer].inputs[port].streams == (stream,):
        return f"`{consumer}` has a port for the feedback edge alone"
    return None


def with_open_loop(program: Program) -> Program:
    """The program with its loop opened.

    Raises:
        UserError: It cannot be.
    """
    application = program.application
    reason = why_closed(application)
    if reason is not None:
        raise UserError(f"no loop of `{application.name}` can lead through the next batch: {reason}")
    ((stream, consumer, port),) = _feedback(application)
    schema = application.streams[stream].schema
    start = Operator(
        id=f"{stream}.loop.start",
        kind=START,
        outputs=(OutputPort(stream=f"{stream}.loop", schema=schema),),
        model=UNKNOWN_MODEL,
    )
    end = Operator(
        id=f"{stream}.loop.end", kind=END, inputs=(InputPort(streams=(stream,), schema=schema),), model=UNKNOWN_MODEL
    )
    operators = tuple(_cut(o, port, stream, f"{stream}.loop") if o.id == consumer else o for o in application.operators)
    return replace(
        program,
        application=replace(application, operators=(*operators, start, end)),
        registry=program.registry.extended([_definition("Start"), _definition("End")]),
    )


def has_open_loop(application: Application) -> bool:
    """Whether a loop of an application has been opened.

    Example:
        >>> has_open_loop(Application(name="Empty"))
        False
    """
    return any(o.kind == START for o in application.operators)


def _feedback(application: Application) -> list[tuple[str, str, int]]:
    """The edges that close loops: stream, operator and input port."""
    return [
        (stream, operator.id, number)
        for operator in application.operators
        for number, port in enumerate(operator.inputs)
        for stream in port.streams
        if stream in port.feedback
    ]


def _cut(operator: Operator, number: int, stream: str, instead: str) -> Operator:
    """An operator that takes another stream in the place of one that closes a loop."""
    port = operator.inputs[number]
    streams = tuple(instead if s == stream else s for s in port.streams)
    ports = list(operator.inputs)
    ports[number] = replace(port, streams=streams, feedback=frozenset())
    return replace(operator, inputs=tuple(ports))


def _definition(name: str) -> OperatorDefinition:
    is_start = name == "Start"
    return OperatorDefinition(
        name=name,
        namespace="loop",
        doc="One end of a loop that leads through the next batch.",
        inputs=(0, 0) if is_start else (1, 1),
        outputs=(1, 1) if is_start else (0, 0),
        model=lambda operator: UNKNOWN_MODEL,
        runtime=Runtime,
    )
