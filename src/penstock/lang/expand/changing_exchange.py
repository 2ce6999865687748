"""Lets the code of an operator change what it exports and imports.

Introduction:
    `setOutputPortExportProperties`, `setInputPortImportSubscription` and their kin change, in the middle of a stream,
    who receives it or what comes in. They become plain variables of the Custom that calls them, so that every engine
    does the same: what is exported says with each tuple which properties it has, what is imported which it had.

Formulation:
    For a Custom that asks for its output port p, whose stream goes to an Export by properties: a state variable holds
    the properties as JSON. What the code submits to p it submits to a new port as well, with the properties as one more
    attribute, and the Export takes that stream. For its input port q, fed by an Import: state variables hold the
    subscription and the filter; the Import takes every stream of its schema and adds the offer as one more attribute,
    and the code of q runs for the tuples that are subscribed to. A call's port is replaced by the variables.

Example:
    `setInputPortImportSubscription(text, 1u)` -> `setInputPortImportSubscription(text, subscription_1, filter_1)`.

When it does not apply:
    A port that is neither exported by properties nor imported is left, and the call answers 1, as in SPL. Calls in
    other operators than Custom, in functions, or with a port that is not a literal, and Exports and Imports that share
    a port with others, are errors. A window marker that is imported goes where the tuple before it went.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from penstock.base.diagnostics import Diagnostic, UserError
from penstock.expr import typing
from penstock.ir.expressions import Attribute, Call, Cast, Expression, Field, InputTuple, Literal, Variable
from penstock.ir.graph import Operator, OutputPort
from penstock.ir.statements import (
    Assign,
    Block,
    Declare,
    Function,
    Handler,
    If,
    Logic,
    Statement,
    Submit,
    SubmitPunctuation,
)
from penstock.ir.types import BOOLEAN, RSTRING, Schema, TypedName
from penstock.lang.check.names import PUNCTUATION
from penstock.toolkit.adapters.import_ import OFFER, with_offer
from penstock.toolkit.analysis.logic_analysis import operator_model
from penstock.toolkit.core.operator_registry import Registry

_EXPORT = {
    "setOutputPortExportProperties": -1,
    "getOutputPortExportProperties": -1,
    "addOutputPortExportProperty": -1,
    "setOutputPortExportProperty": -1,
    "removeOutputPortExportProperty": -1,
}
_SUBSCRIPTION = {"setInputPortImportSubscription": -1, "getInputPortImportSubscription": 0}
_FILTER = {"setInputPortImportFilterExpression": -1, "getInputPortImportFilterExpression": 0}
_PORT = {**_EXPORT, **_SUBSCRIPTION, **_FILTER}
"""From function to the position of the port among the arguments."""

_FIXED = frozenset({"type", "span", "schema", "model"})
Change = Callable[[Any], Any]


def follow_changes(operators: Sequence[Operator], functions: Sequence[Function], registry: Registry) -> list[Operator]:
    """The operators, with variables in place of what their code changes while it runs.

    Raises:
        UserError: A call is where it cannot be followed.
    """
    for function in functions:
        for call in _calls(function.body.walk()):
            raise _refused(f"`{call.function}` is called in the function `{function.name}`", call)
    graph = _Graph(operators)
    for operator in operators:
        if operator.logic is not None:
            _follow(operator, graph)
    return [
        o if o is graph.original.get(o.id) else _with_model(o, functions, registry) for o in graph.operators.values()
    ]


def _with_model(operator: Operator, functions: Sequence[Function], registry: Registry) -> Operator:
    return replace(operator, model=operator_model(registry.get(operator.kind), operator, functions))


def _refused(message: str, call: Call) -> UserError:
    hint = "call it in the logic clause of a Custom, with the number of a port"
    return UserError(Diagnostic(message=message, span=call.span, hint=hint))


class _Graph:
    """The operators by id, some of them changed by now."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.original = {o.id: o for o in operators}
        self.operators = dict(self.original)

    def producer(self, stream: str) -> Operator | None:
        return next((o for o in self.operators.values() for p in o.outputs if p.stream == stream), None)

    def subscribers(self, stream: str) -> list[Operator]:
        return [o for o in self.operators.values() for p in o.inputs if stream in p.streams]

    def put_behind(self, other: Operator, operator: Operator) -> None:
        """Add an operator, declared next to another and to those that were put behind it before."""
        ids = list(self.operators)
        place = ids.index(other.id) + 1
        while place < len(ids) and ids[place] not in self.original:
            place += 1
        ids.insert(place, operator.id)
        self.operators[operator.id] = operator
        self.operators = {id_: self.operators[id_] for id_ in ids}


def _follow(operator: Operator, graph: _Graph) -> None:
    assert operator.logic is not None
    calls = [(call, _port_of(call)) for call in _calls(operator.logic.statements())]
    if calls and operator.kind != "Custom":
        raise _refused(f"`{calls[0][0].function}` is called in a {operator.kind}", calls[0][0])
    for port in sorted({p for call, p in calls if call.function in _EXPORT}):
        _follow_export(operator.id, port, graph)
    for port in sorted({p for call, p in calls if call.function not in _EXPORT}):
        _follow_import(operator.id, port, graph)


def _calls(statements: Iterator[Statement]) -> list[Call]:
    parts = (e for s in statements for root in s.expressions() for e in root.walk())
    return [e for e in parts if isinstance(e, Call) and e.function in _PORT]


def _port_of(call: Call) -> int:
    port = call.arguments[_PORT[call.function]]
    while isinstance(port, Cast):
        port = port.operand
    if not isinstance(port, Literal) or not isinstance(port.value, int):
        raise _refused(f"the port of `{call.function}` is not a literal", call)
    return port.value


def _follow_export(id_: str, port: int, graph: _Graph) -> None:
    operator = graph.operators[id_]
    if port >= len(operator.outputs):
        return
    stream = operator.outputs[port]
    exports = [o for o in graph.subscribers(stream.stream) if o.kind == "Export" and not o.param("streamId")]
    if not exports:
        return
    if len(exports) > 1 or exports[0].inputs[0].streams != (stream.stream,):
        _refuse_shared("Export", exports[0])
    (export,) = exports
    variable = Variable(type=RSTRING, name=f"penstock_properties_{port}")
    first = typing.call("describeProperties", export.param("properties") or (typing.tuple_literal([], []),))
    made = OutputPort(stream=f"{stream.stream}.exported", schema=with_offer(stream.schema))
    logic = _with_calls(operator, _EXPORT, port, (variable,))
    logic = _rewrite(logic, _also_submit(port, len(operator.outputs), stream.schema, variable))
    logic = replace(logic, state=(*logic.state, _state(variable, first)))
    graph.operators[id_] = replace(operator, logic=logic, outputs=(*operator.outputs, made))
    taken = replace(export.inputs[0], streams=(made.stream,), schema=made.schema)
    graph.operators[export.id] = replace(export, inputs=(taken,))


def _refuse_shared(kind: str, operator: Operator) -> None:
    message = f"a port whose {'properties' if kind == 'Export' else 'subscription'} code changes has one {kind} alone"
    raise UserError(Diagnostic(message=message, span=operator.span, hint="split the streams up with a Functor"))


def _state(variable: Variable, value: Expression) -> Declare:
    return Declare(name=variable.name, type=variable.type, value=value, mutable=True)


def _also_submit(port: int, exported: int, schema: Schema, properties: Variable) -> Change:
    """Submit what is submitted to a port to the one that is exported, too."""
    sent = Variable(type=schema, name="penstock_sent")

    def change(part: Any) -> Any:
        if isinstance(part, SubmitPunctuation) and part.port == port:
            return Block(body=(part, replace(part, port=exported)))
        if not isinstance(part, Submit) or part.port != port:
            return part
        values = (*(_field(sent, a) for a in schema.attributes), properties)
        again = typing.tuple_literal([*schema.names, OFFER], values)
        held = Declare(name=sent.name, type=schema, value=part.value)
        return Block(body=(held, replace(part, value=sent), Submit(value=again, port=exported)))

    return change


def _field(base: Expression, attribute: TypedName) -> Expression:
    return Field(type=attribute.type, base=base, name=attribute.name)


def _follow_import(id_: str, port: int, graph: _Graph) -> None:
    operator = graph.operators[id_]
    fed = operator.inputs[port] if port < len(operator.inputs) else None
    makers = {s: graph.producer(s) for s in fed.streams} if fed is not None else {}
    imports = [o for o in makers.values() if o is not None and o.kind == "Import"]
    if fed is None or not imports:
        return
    if len(makers) > 1:
        _refuse_shared("Import", imports[0])
    (importer,) = imports
    taken = _change_import(importer, operator, port, graph)
    by_name = bool(importer.param("streamId"))
    subscription, filter_ = (Variable(type=RSTRING, name=f"penstock_{n}_{port}") for n in ("subscription", "filter"))
    logic = operator.logic if by_name else _with_calls(operator, _SUBSCRIPTION, port, (subscription, filter_))
    logic = _with_calls(replace(operator, logic=logic), _FILTER, port, (filter_,))
    first = [importer.param(name) for name in ("subscription", "filter")]
    texts = [given[0] if given else typing.literal("") for given in first]
    texts[0] = typing.literal("true") if by_name else texts[0]
    passed = Variable(type=BOOLEAN, name=f"penstock_passed_{port}")
    logic = replace(
        logic,
        state=(
            *logic.state,
            _state(subscription, texts[0]),
            _state(filter_, texts[1]),
            _state(passed, typing.literal(True)),
        ),
        on_tuple=_only_subscribed(logic, port, fed.schema, (subscription, filter_, passed)),
        on_punctuation=tuple(_if_passed(h, passed) if h.port == port else h for h in logic.on_punctuation),
    )
    inputs = list(operator.inputs)
    inputs[port] = replace(fed, streams=(taken,), schema=with_offer(fed.schema))
    graph.operators[id_] = replace(operator, logic=logic, inputs=tuple(inputs))


def _change_import(importer: Operator, operator: Operator, port: int, graph: _Graph) -> str:
    """An Import of all that may be asked for; others that subscribe to the stream keep theirs. Gives its stream."""
    (made,) = importer.outputs
    params = tuple(p for p in importer.params if p.name not in ("subscription", "filter"))
    shared = [o for o in graph.subscribers(made.stream) if o.id != operator.id] or (
        sum(made.stream in p.streams for p in operator.inputs) > 1
    )
    name = f"{importer.id}.{operator.id.replace('.', '_')}_{port}" if shared else importer.id
    stream = name if shared else made.stream
    output = OutputPort(stream=stream, schema=with_offer(made.schema))
    changed = replace(importer, id=name, outputs=(output,), params=params)
    if shared:
        graph.put_behind(importer, changed)
    else:
        graph.operators[name] = changed
    return stream


def _only_subscribed(
    logic: Logic, port: int, schema: Schema, variables: tuple[Variable, Variable, Variable]
) -> tuple[Handler, ...]:
    """The handlers of tuples; that of the port runs if the tuple is subscribed to."""
    subscription, filter_, passed = variables
    tuple_ = Variable(type=schema, name="penstock_taken")
    values = [Attribute(type=a.type, name=a.name, port=port) for a in schema.attributes]
    held = Declare(name=tuple_.name, type=schema, value=typing.tuple_literal(schema.names, values), mutable=True)
    offer = Attribute(type=RSTRING, name=OFFER, port=port)

    def change(part: Any) -> Any:
        if isinstance(part, InputTuple) and part.port == port:
            return tuple_
        if isinstance(part, Attribute) and part.port == port:
            return _field(tuple_, schema.attribute(part.name))
        return part

    test = Assign(target=passed, value=typing.call("isImported", [subscription, filter_, offer, tuple_]))
    handlers = {h.port: h.body for h in logic.on_tuple}
    body = _rewrite(handlers.get(port, Block(body=())), change)
    handlers[port] = Block(body=(held, test, If(test=passed, then=body)))
    return tuple(Handler(port=p, body=b) for p, b in sorted(handlers.items()))


def _if_passed(handler: Handler, passed: Variable) -> Handler:
    mark = Call(type=PUNCTUATION, function="currentPunct", arguments=())
    is_final = typing.binary("==", mark, Literal(type=PUNCTUATION, value="FinalMarker"))
    return replace(handler, body=Block(body=(If(test=typing.binary("||", is_final, passed), then=handler.body),)))


def _with_calls(operator: Operator, functions: dict[str, int], port: int, variables: tuple[Variable, ...]) -> Logic:
    """The logic with calls that ask for a port; variables stand in its place."""

    def change(part: Any) -> Any:
        if not isinstance(part, Call) or part.function not in functions or _port_of(part) != port:
            return part
        arguments = list(part.arguments)
        place = functions[part.function] % len(arguments)
        given = variables if part.function.startswith("set") else variables[:1]
        return typing.call(part.function, [*arguments[:place], *given, *arguments[place + 1 :]], part.span)

    changed: Logic = _rewrite(operator.logic, change)
    return changed


def _rewrite(part: Any, change: Change) -> Any:
    """A part of an operator, with every node in it changed, inner ones first."""
    if isinstance(part, tuple):
        return tuple(_rewrite(p, change) for p in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    inner = {f.name: _rewrite(getattr(part, f.name), change) for f in fields(part) if f.name not in _FIXED}
    return change(replace(part, **inner))
