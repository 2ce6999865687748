"""The analysis of each operator instance: state, selectivity, forwarding, and why it may or may not be parallel.

Introduction:
    The first step of parallelization. The model of an instance says what its definition and its code guarantee; the
    graph around it and the instance's settings withdraw some of that. What is left decides whether the operator may be
    replicated at all, before any thought of regions.

Formulation:
    An operator may be parallel if it is stateless or its state is partitioned by attributes of its input (`_state`);
    it makes at most one tuple of one (`_selectivity`); it has at most one predecessor and one successor
    (`_neighbours`); and nobody behind it waits for its window markers (`markers`). Sources have no input to choose from
    and sinks no output, so selectivity is not asked of them; a source that is stateless or partitioned is a
    parallel source, such a sink a parallel sink.

    The selectivity of an instance is less than its model's in two cases. A tuple that fails may be skipped (`@catch`),
    so exactly one becomes at most one. An operator with several output ports sends a tuple to one of them, so each of
    them carries at most one.

Example:
    >>> from penstock.ir.graph import Operator
    >>> application = Application(name="Main", operators=(Operator(id="A", kind="Mystery"),))
    >>> [str(reason) for reason in operator_analyses(application)["A"].reasons]
    ['state: nothing is known of its parts; a source that reads several says so with `partitionBy`']

When it does not apply:
    What is unknown is never parallelized; no key is sought under which an unknown state would be partitioned.

Algorithm:
    One pass over operators and streams; linear.

Preserves:
    The application; this is an analysis.

Reference:
    Auto-parallelization paper, sections 3.1 (conditions on an individual operator instance) and 3.2 (flags).
    Departures: skipped tuples, several output ports and window markers, of which the paper does not speak; `extensions`
    relaxes selectivity and fan-out where its own conditions hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.ir.graph import Application, ErrorPolicy, Operator
from penstock.ir.models import Flag, Selectivity, State
from penstock.parallel.extensions import PAPER, Extensions
from penstock.parallel.markers import operators_before_waiting
from penstock.parallel.reasons import Condition, Reason, key_text, listing


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """The analysis of one operator instance in its graph.

    Attributes:
        operator: Its id.
        state: Stateless, partitioned or unknown.
        key: The attributes that partition its state; those of its output for a source.
        selectivity: How many tuples leave by one stream for one that comes in; exactly one for sources and sinks.
        forwards: The attributes that every output tuple has unchanged from the tuple that came in.
        spontaneous: Whether it may submit a tuple while none comes in.
        reasons: Why it must not be parallel; none if it may be.
    """

    operator: str
    state: State
    key: frozenset[str]
    selectivity: Selectivity
    forwards: frozenset[str]
    spontaneous: bool
    reasons: tuple[Reason, ...]

    @property
    def is_parallelizable(self) -> bool:
        """Whether the conditions on an individual operator hold."""
        return not self.reasons


def operator_analyses(application: Application, extensions: Extensions = PAPER) -> dict[str, Analysis]:
    """The analysis of every operator, by id, in order of declaration."""
    waiting = operators_before_waiting(application)
    found = {}
    for operator in application.operators:
        model = operator.model
        reasons = [
            *_state(operator),
            *_selectivity(operator, extensions),
            *_neighbours(application, operator, extensions),
        ]
        if operator.id in waiting:
            text = f"`{waiting[operator.id]}`, which waits for its window markers, would stand behind the region"
            reasons.append(Reason(condition=Condition.MARKERS, text=text))
        found[operator.id] = Analysis(
            operator=operator.id,
            state=model.state,
            key=_key(operator),
            selectivity=instance_selectivity(operator),
            forwards=model.forwards,
            spontaneous=model.spontaneous,
            reasons=tuple(reasons),
        )
    return found


def instance_selectivity(operator: Operator) -> Selectivity:
    """How many tuples leave by each output port for one that comes in.

    Example:
        >>> from penstock.ir.graph import InputPort, OutputPort
        >>> from penstock.ir.models import OperatorModel
        >>> from penstock.ir.types import parse_schema
        >>> x = parse_schema("int32 x")
        >>> once = OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE)
        >>> ports = {"inputs": (InputPort(streams=("A",), schema=x),), "outputs": (OutputPort(stream="B", schema=x),)}
        >>> instance_selectivity(Operator(id="B", kind="Map", model=once, **ports)).value
        'exactly one'
        >>> instance_selectivity(Operator(id="B", kind="Map", model=once, on_error=ErrorPolicy.SKIP, **ports)).value
        'at most one'
    """
    if not operator.inputs or not operator.outputs:
        return Selectivity.EXACTLY_ONE
    selectivity = operator.model.selectivity
    if selectivity is Selectivity.NO_PARAM_FILTER:
        selectivity = Selectivity.AT_MOST_ONE if operator.param("filter") else Selectivity.EXACTLY_ONE
    loses = operator.on_error is ErrorPolicy.SKIP or len(operator.outputs) > 1
    return Selectivity.AT_MOST_ONE if loses and selectivity is Selectivity.EXACTLY_ONE else selectivity


def _key(operator: Operator) -> frozenset[str]:
    is_partitioned = operator.model.state is State.PARTITIONED and operator.model.partition_by
    return operator.model.partition_by[0] if is_partitioned else frozenset()


def _state(operator: Operator) -> Iterator[Reason]:
    if operator.model.state is State.UNKNOWN:
        texts = operator.model.reasons(Flag.STATE) or (_nothing_known(operator),)
        yield from (Reason(condition=Condition.STATE, text=text) for text in texts)
    elif operator.model.state is State.PARTITIONED:
        key, ports = _key(operator), operator.inputs or operator.outputs
        missing = key.difference(ports[0].schema.names if ports else ())
        if not key:
            text = "its state is declared to be partitioned, but by no attribute; give it a `partitionBy`"
            yield Reason(condition=Condition.STATE, text=text)
        elif missing:
            text = f"its key {key_text(key)} has no attribute {listing(sorted(missing))} in {ports[0].schema}"
            yield Reason(condition=Condition.STATE, text=text)


def _nothing_known(operator: Operator) -> str:
    if not operator.inputs:
        return "nothing is known of its parts; a source that reads several says so with `partitionBy`"
    return "nothing is known of its state; declare a model for it"


def _selectivity(operator: Operator, extensions: Extensions) -> Iterator[Reason]:
    if instance_selectivity(operator) is not Selectivity.UNKNOWN:
        return
    if extensions.prolific and (extensions.by_time or not operator.model.spontaneous):
        return
    texts = operator.model.reasons(Flag.SELECTIVITY)
    if not texts and operator.model.state is State.UNKNOWN:
        return
    for text in texts or ("it may make more than one tuple of one",):
        yield Reason(condition=Condition.SELECTIVITY, text=text)


def _neighbours(application: Application, operator: Operator, extensions: Extensions) -> Iterator[Reason]:
    streams = [s for port in operator.inputs for s in port.streams]
    if len(streams) > 1:
        text = f"it receives {len(streams)} streams, {listing(streams)}; a region has one entry"
        yield Reason(condition=Condition.FAN_IN, text=text)
    receivers = [to for port in operator.outputs for to, _ in application.subscribers[port.stream]]
    if len(receivers) > 1 and not extensions.fan_out:
        text = f"its output goes to {len(receivers)} places, {listing(receivers)}; a region has one exit"
        yield Reason(condition=Condition.FAN_OUT, text=text)
