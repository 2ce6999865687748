"""Which attributes of a stream somebody reads: only those travel between PEs.

Introduction:
    A stream has the attributes that its program gives it, and those who take it may read but a few of them. Inside a PE
    the others cost nothing, because columns are made when they are asked for. Between PEs they would be copied, sent
    and, on channels, taken apart.

Formulation:
    An attribute is live if an operator behind it reads it, or passes it on to where it is live. Definitions say what
    operators read (`facts.Reads`): a Filter passes all its attributes on, a Functor reads those that its output clause
    copies or computes with, an Aggregate what its windows keep. Every other operator reads all, and so does one that
    may fail, or sets tuples aside: its message shows the whole tuple.

Example:
    >>> from penstock.lang import compile_text
    >>> application = compile_text('''composite Main { graph
    ...     stream<rstring text, int32 user> Lines = Beacon() {}
    ...     stream<int32 user, int32 lines> Counts = Aggregate(Lines) {
    ...         window Lines: tumbling, count(3); output Counts: user = Any(user), lines = Count(); }
    ...     () as Sink = FileSink(Counts) { param file: "counts"; } }''').application
    >>> sorted(dead_attributes(application)["Lines"])
    ['text']

When it does not apply:
    Streams of a loop of the graph are live as a whole.

Algorithm:
    One pass from the ends of the graph to its beginnings, linear in its size. A column of dead attributes travels as
    Arrow's null array, which has no bytes, and arrives as default values (`transport.placed_frames`).

Preserves:
    What every operator computes, what sinks receive, and what messages say.

Reference:
    Live variables, as any compiler has them; a column store would call it projection pushdown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.base.topological_order import sort_topologically
from penstock.expr.analysis import attributes_of
from penstock.expr.vector.operators import can_cast_fail
from penstock.ir.expressions import Attribute, Binary, Cast, Conditional, Expression, Literal, OutputCall, Symbol, Unary
from penstock.ir.facts import Reads
from penstock.ir.graph import Application, ErrorPolicy, Operator, OutputPort
from penstock.ir.types import Primitive, Type, is_decimal, is_float, is_integer

_CANNOT_FAIL = (Attribute, Literal, Symbol, Conditional, OutputCall)
_MAY_FAIL = ("/", "%")


def dead_attributes(application: Application) -> dict[str, frozenset[str]]:
    """For each stream the attributes that nobody reads."""
    live: dict[str, frozenset[str]] = {}
    for operator in reversed(_in_order(application)):
        for port in operator.outputs:
            live[port.stream] = _read(application, port, live)
    return {stream.id: frozenset(stream.schema.names) - live[stream.id] for stream in application.streams.values()}


def _in_order(application: Application) -> list[Operator]:
    """The operators, every producer before its consumers; those of loops anyhow."""
    after: dict[str, list[str]] = {o.id: [] for o in application.operators}
    for producer, consumer, _, _ in application.edges():
        after[producer].append(consumer)
    order = sort_topologically(after)
    return [application.operator[id_] for id_ in order] if len(order) == len(after) else list(application.operators)


def _read(application: Application, port: OutputPort, live: dict[str, frozenset[str]]) -> frozenset[str]:
    """The attributes of a stream that those who take it read."""
    found: set[str] = set()
    for id_, index in application.subscribers[port.stream]:
        operator = application.operator[id_]
        known = all(output.stream in live for output in operator.outputs)
        found |= _needed(operator, index, live) if known else {*port.schema.names}
    return frozenset(found)


def _needed(operator: Operator, port: int, live: dict[str, frozenset[str]]) -> set[str]:
    """The attributes that an operator reads of the tuples of an input port."""
    schema = operator.inputs[port].schema
    reads = [*_expressions(operator, live)]
    if operator.facts.reads is Reads.WHOLE_TUPLES or not is_plain(operator, reads):
        return {*schema.names}
    passes_on = operator.facts.reads is Reads.AND_PASSES_ON
    passed_on = [live[output.stream] for output in operator.outputs] if passes_on else []
    return {name for _, name in attributes_of(*reads)}.union(*passed_on)


def _expressions(operator: Operator, live: dict[str, frozenset[str]]) -> Iterator[Expression]:
    """The expressions whose values count."""
    for param in operator.params:
        yield from param.values
    for output in operator.outputs:
        yield from (a.value for a in output.assignments if a.attribute in live[output.stream])
    for port in operator.inputs:
        for policy in () if port.window is None else (port.window.eviction, port.window.trigger):
            yield from () if policy is None else filter(None, (policy.size, policy.attribute))


def is_plain(operator: Operator, reads: Iterable[Expression]) -> bool:
    """Whether an operator only computes these values of its tuples, and cannot fail on any of them."""
    if operator.logic is not None or operator.on_error is ErrorPolicy.SKIP:
        return False
    return all(_cannot_fail(node) for x in reads for node in x.walk())


def _cannot_fail(x: Expression) -> bool:
    match x:
        case Binary(operator=operator, left=left):
            return operator not in _MAY_FAIL and isinstance(left.type, Primitive) and not is_decimal(left.type)
        case Unary(operator=operator):
            return operator != "unwrap"
        case Cast(operand=operand):
            are_numbers = _is_number(x.type) and _is_number(operand.type)
            return are_numbers and not can_cast_fail(operand.type, x.type)
    return isinstance(x, _CANNOT_FAIL)


def _is_number(type_: Type) -> bool:
    """Whether the machine computes with a type."""
    return is_integer(type_) or is_float(type_)
