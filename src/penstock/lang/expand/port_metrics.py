"""Metrics of ports: `getInputPortMetricValue(0u, Sys.nTuplesProcessed, value)`.

Introduction:
    Who asks how many items a port has received or sent gets state that counts them. The tuple in hand counts as
    received, as in SPL. There are no queues and nothing is dropped, so all other metrics are 0.

Example:
    `onTuple S: getInputPortMetricValue(0u, Sys.nTuplesProcessed, n);` becomes
    `state: mutable int64 _in0_nTuplesProcessed = 0l; onTuple S: { _in0_nTuplesProcessed += 1l; n = ...; }`.

When it does not apply:
    The port and the metric are literals, and what is sent is known of a Custom alone: everything else is an error.
    A function does not know its operator's ports; a call there fails when it runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.base.diagnostics import Diagnostics, Span
from penstock.expr import typing
from penstock.expr.analysis import calls_of
from penstock.ir.expressions import Call, Literal, Variable
from penstock.ir.graph import Operator
from penstock.ir.statements import (
    Assign,
    Block,
    Declare,
    Evaluate,
    Function,
    Handler,
    If,
    Logic,
    Statement,
    Submit,
    SubmitPunctuation,
)
from penstock.ir.system_enumerations import SYSTEM_ENUMERATIONS
from penstock.ir.types import INT64
from penstock.lang.expand.change_calls import change_statements
from penstock.toolkit.analysis.effects import operator_parts
from penstock.toolkit.analysis.logic_analysis import operator_model
from penstock.toolkit.core.operator_registry import Registry

_INPUT, _OUTPUT = "getInputPortMetricValue", "getOutputPortMetricValue"
_MARKERS = {"nWindowPuncts": "WindowMarker", "nFinalPuncts": "FinalMarker"}
_COUNTED = ("nTuples", *_MARKERS)


def count_on_ports(
    operators: Sequence[Operator], functions: Sequence[Function], registry: Registry, found: Diagnostics
) -> list[Operator]:
    """The operators of an application; those that ask for metrics of their ports count, and have the model of that."""

    def count(operator: Operator) -> Operator:
        counting = _with_counts(operator, found)
        return replace(counting, model=operator_model(registry.get(counting.kind), counting, functions))

    return [count(o) if _asks(o) else o for o in operators]


def _asks(operator: Operator) -> bool:
    return any(call.function in (_INPUT, _OUTPUT) for call in calls_of(*operator_parts(operator)))


def _with_counts(operator: Operator, found: Diagnostics) -> Operator:
    calls = [call for call in calls_of(*operator_parts(operator)) if call.function in (_INPUT, _OUTPUT)]
    unknown = [call for call in calls if not _is_known(call, operator, found)]
    if unknown:
        return operator
    changed = change_statements(operator, _answer)
    for call in calls:
        changed = _counting(changed, call)
    return changed


def _is_known(call: Call, operator: Operator, found: Diagnostics) -> bool:
    port, metric, _ = call.arguments
    ports = operator.inputs if call.function == _INPUT else operator.outputs
    where: Span | None = call.span or operator.span
    if not isinstance(port, Literal) or not isinstance(metric, Literal):
        found.error(f"`{call.function}` takes the number of a port and a metric such as `Sys.nTuplesProcessed`", where)
    elif not isinstance(port.value, int) or port.value >= len(ports):
        found.error(f"`{call.function}` asks for port {port.value!r}, but there are {len(ports)}", where)
    elif call.function == _OUTPUT and operator.kind != "Custom":
        hint = "count what is received by the operator behind it"
        found.error(f"`{_OUTPUT}` is called in a Custom, found {operator.kind}", where, hint=hint)
    else:
        return True
    return False


def _answer(statement: Statement) -> Statement | None:
    """The assignment in the place of a call."""
    call = statement.value if isinstance(statement, Evaluate) else None
    if not isinstance(call, Call) or call.function not in (_INPUT, _OUTPUT):
        return None
    return Assign(target=call.arguments[2], value=_counter(call) or _number(0), span=statement.span)


def _number(value: int) -> Literal:
    return Literal(type=INT64, value=value)


def _asked(call: Call) -> tuple[int, str]:
    """The port and the metric that a call asks for."""
    port, metric = (getattr(argument, "value", None) for argument in call.arguments[:2])
    assert isinstance(port, int)
    return port, str(metric)


def _counter(call: Call) -> Variable | None:
    """The state variable that counts; None for a metric that is always 0."""
    port, metric = _asked(call)
    side = "in" if call.function == _INPUT else "out"
    return Variable(type=INT64, name=f"_{side}{port}_{metric}") if _counts(metric) else None


def _counts(metric: str) -> str | None:
    """What a metric counts, if it counts anything."""
    return next((c for c in _COUNTED if metric in (f"{c}Processed", f"{c}Submitted")), None)


def _counting(operator: Operator, call: Call) -> Operator:
    counter, logic, (port, metric) = _counter(call), operator.logic, _asked(call)
    assert logic is not None
    if counter is None or any(declared.name == counter.name for declared in logic.state):
        return operator
    what = str(_counts(metric))
    add = Assign(target=counter, value=_number(1), operator="+")
    declared = Declare(name=counter.name, type=INT64, value=_number(0), mutable=True)
    logic = replace(logic, state=(*logic.state, declared))
    if call.function == _INPUT:
        return replace(operator, logic=_count_received(logic, port, what, add))
    return change_statements(replace(operator, logic=logic), lambda s: _count_sent(s, port, what, add))


def _count_received(logic: Logic, port: int, what: str, add: Assign) -> Logic:
    if what not in _MARKERS:
        return replace(logic, on_tuple=_preceded(logic.on_tuple, port, add))
    marker = Call(type=SYSTEM_ENUMERATIONS["Sys.Punctuation"], function="currentPunct", arguments=())
    test = If(test=typing.binary("==", marker, _marker(what)), then=Block(body=(add,)))
    return replace(logic, on_punctuation=_preceded(logic.on_punctuation, port, test))


def _preceded(handlers: tuple[Handler, ...], port: int, statement: Statement) -> tuple[Handler, ...]:
    """The handlers of ports, with a statement before all others of one port."""
    if all(handler.port != port for handler in handlers):
        return (*handlers, Handler(port=port, body=Block(body=(statement,))))
    return tuple(
        replace(h, body=replace(h.body, body=(statement, *h.body.body))) if h.port == port else h for h in handlers
    )


def _count_sent(statement: Statement, port: int, what: str, add: Assign) -> Statement | None:
    match statement:
        case Submit(port=sent) if sent == port and what not in _MARKERS:
            return Block(body=(add, statement))
        case SubmitPunctuation(port=sent, value=value) if sent == port and what in _MARKERS:
            return Block(body=(If(test=typing.binary("==", value, _marker(what)), then=Block(body=(add,))), statement))
    return None


def _marker(what: str) -> Literal:
    return Literal(type=SYSTEM_ENUMERATIONS["Sys.Punctuation"], value=_MARKERS[what])
