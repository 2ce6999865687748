"""Checks one invocation of a primitive operator and makes the operator.

Each clause is checked by itself, so a mistake in one does not hide those in the others. What a clause cannot know of
the operator (required parameters, numbers of ports, types of values) is checked by `toolkit.invoke`, for SPL and Python
alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from penstock.diagnostics import Diagnostics, UserError, did_you_mean
from penstock.expr.typing import convert
from penstock.ir.expressions import Attribute, Expression, Literal, Symbol
from penstock.ir.graph import Annotation, Assignment, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Declare, Handler, Logic
from penstock.ir.types import RSTRING, VOID, TupleType
from penstock.lang import ast
from penstock.lang import ast_code as code
from penstock.lang.composites import Instance, Node, find_stream
from penstock.lang.expressions import check_expression
from penstock.lang.literals import string
from penstock.lang.names import Names, PortName
from penstock.lang.scope import error
from penstock.lang.settings import check_annotation, check_setting
from penstock.lang.statements import Around, check_block, check_declaration
from penstock.lang.windows import check_window
from penstock.toolkit.check_params import check_params
from penstock.toolkit.definition import OperatorDefinition, ParamKind, ParamSpec
from penstock.toolkit.invoke import invoke

T = TypeVar("T")

_PREDICATES = frozenset({("Import", "subscription"), ("Import", "filter")})
"""Parameters that are predicates over the properties or attributes of streams of other applications."""

_WITH_FUNCTIONS = frozenset({("Match", "predicates")})
"""Parameters that may call the operator's output functions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """What composites around an operator say for all operators inside: annotations, and settings with their scopes."""

    annotations: tuple[Annotation, ...] = ()
    config: tuple[tuple[ast.Setting, Instance], ...] = ()


def check_invocation(node: Node, instance: Instance, inherited: Inherited) -> Operator | None:
    """The operator of an invocation, or none after reporting what is wrong with it."""
    assert isinstance(node.target, OperatorDefinition)
    return _Checker(node, node.target, instance, inherited).operator()


class _Checker:
    """The checks of one invocation; they share its names and its mistakes."""

    def __init__(self, node: Node, definition: OperatorDefinition, instance: Instance, inherited: Inherited) -> None:
        self.node = node
        self.syntax = node.invocation
        self.definition = definition
        self.instance = instance
        self.inherited = inherited
        self.all_found = instance.compilation.found
        self.found = Diagnostics()
        self.failed = False

    def operator(self) -> Operator | None:
        inputs, outputs = self._inputs(), self._outputs()
        if inputs is None or outputs is None:
            self._hand_over()
            return None
        names = self._names(inputs, outputs)
        state, names = self._state(names)
        inputs = self._windows(inputs, names)
        outputs = self._assignments(outputs, names)
        params, params_are_sound = self._params(names)
        logic = self._logic(state, names)
        annotations = self._each(check_annotation, self.syntax.annotations) + self.inherited.annotations
        config = list(self._config())
        if self.found or self.failed:
            if params_are_sound:
                check_params(self.definition, params, self.syntax.operator.span, self.found)
            self._hand_over()
            return None
        operator = invoke(
            self.definition,
            id=f"{self.instance.path}{self.syntax.name}",
            inputs=inputs,
            outputs=outputs,
            params=params,
            logic=logic,
            config=config,
            annotations=annotations,
            functions=self.instance.compilation.functions.needed(called(params, outputs, logic)),
            span=self.syntax.operator.span,
            found=self.found,
        )
        self._hand_over()
        return operator

    def _hand_over(self) -> None:
        if self.found:
            self.all_found.extend(UserError(tuple(self.found)))

    def _try(self, check: Callable[[], T]) -> T | None:
        try:
            return check()
        except UserError as problem:
            self.found.extend(problem)
            self.failed = True
            return None

    def _each(self, check: Callable[..., T], parts: Iterable[object]) -> tuple[T, ...]:
        checked = (self._try(lambda part=part: check(part, self.instance)) for part in parts)  # type: ignore[misc]
        return tuple(c for c in checked if c is not None)

    # ---- ports

    def _inputs(self) -> list[InputPort] | None:
        ports = [self._input(port) for port in self.syntax.inputs]
        known = [port for port in ports if port is not None]
        return known if len(known) == len(ports) else None

    def _input(self, syntax: ast.InputSyntax) -> InputPort | None:
        refs = [(s, find_stream(self.instance, s.name, self.found)) for s in syntax.streams]
        schemas = [(s, ref.schema) for s, ref in refs if ref is not None and ref.schema is not None]
        if len(schemas) < len(refs):
            return None
        first = schemas[0][1]
        for stream, schema in schemas[1:]:
            if schema != first:
                message = f"`{stream.name}` carries {schema}, but `{syntax.streams[0].name}` before it {first}"
                self.found.error(message, stream.name.span, hint="the streams of one port have one schema")
                return None
        ids = tuple(id_ for _, ref in refs if ref is not None for id_ in ref.ids)
        return InputPort(streams=ids, schema=first, alias=syntax.alias.text if syntax.alias else None)

    def _outputs(self) -> list[OutputPort] | None:
        outputs = []
        for stream in self.syntax.outputs:
            known = self.instance.stream(stream.name.text)
            if known is None or known.schema is None:
                return None
            outputs.append(OutputPort(stream=f"{self.instance.path}{stream.name}", schema=known.schema))
        return outputs

    def _names(self, inputs: list[InputPort], outputs: list[OutputPort]) -> Names:
        ports = tuple(
            PortName(index=i, names=_port_names(syntax), streams=port.streams, schema=port.schema)
            for i, (syntax, port) in enumerate(zip(self.syntax.inputs, inputs, strict=True))
        )
        return Names(
            scope=self.instance,
            home=self.instance,
            ports=ports,
            outputs={name.text: i for i, stream in enumerate(self.syntax.outputs) for name in _output_names(stream)},
            output_schemas=tuple(port.schema for port in outputs),
        )

    def _port(self, word: code.Word, names: Names) -> int:
        for port in names.ports:
            if word.text in port.names:
                return port.index
        known = [name for port in names.ports for name in port.names]
        listing = ", ".join(f"`{name}`" for name in known) or "none"
        raise error(f"`{word}` is not an input port; there are: {listing}", word.span, did_you_mean(word.text, known))

    # ---- clauses

    def _windows(self, inputs: list[InputPort], names: Names) -> list[InputPort]:
        for setting in self.syntax.windows:
            port = self._try(lambda setting=setting: self._port(setting.name, names))  # type: ignore[misc]
            if port is None:
                continue
            if inputs[port].window is not None:
                self.found.error(f"`{setting.name}` is given two windows", setting.name.span)
                continue
            window = self._try(lambda s=setting, p=port: check_window(s, names.on_ports((p,))))  # type: ignore[misc]
            inputs = [replace(inp, window=window) if i == port else inp for i, inp in enumerate(inputs)]
        return inputs

    def _state(self, names: Names) -> tuple[tuple[Declare, ...], Names]:
        state: list[Declare] = []
        for syntax in self.syntax.state:
            for declarator in syntax.declarators:
                if declarator.name.text in names.locals:
                    self.found.error(f"the state has two variables `{declarator.name}`", declarator.name.span)
            without_ports = replace(names, ports=())
            declared, with_state = check_declaration(syntax, without_ports, self.found)
            names = replace(names, locals=with_state.locals)
            state.extend(declared)
        return tuple(state), names

    def _logic(self, state: tuple[Declare, ...], names: Names) -> Logic | None:
        if not self.syntax.handlers and not self.syntax.state:
            return None
        tuples = self._handlers("onTuple", names)
        punctuations = self._handlers("onPunct", replace(names, on_punctuation=True))
        around = Around(found=self.found)
        processes = [check_block(h.body, names, around) for h in self.syntax.handlers if h.port is None]
        if processes and self.syntax.inputs:
            span = next(h.span for h in self.syntax.handlers if h.port is None)
            self.found.error("onProcess is for operators without input ports", span, hint="use onTuple")
        process = processes[0] if processes else None
        return Logic(state=state, on_tuple=tuples, on_punctuation=punctuations, on_process=process)

    def _handlers(self, kind: str, names: Names) -> tuple[Handler, ...]:
        handlers: list[Handler] = []
        for syntax in self.syntax.handlers:
            if syntax.kind != kind or syntax.port is None:
                continue
            word = syntax.port
            port = self._try(lambda word=word: self._port(word, names))  # type: ignore[misc]
            if port is None:
                continue
            if any(h.port == port for h in handlers):
                self.found.error(f"`{word}` has two {kind} clauses", word.span)
            body = check_block(syntax.body, names.on_ports((port,)), Around(found=self.found))
            handlers.append(Handler(port=port, body=body))
        return tuple(handlers)

    def _assignments(self, outputs: list[OutputPort], names: Names) -> list[OutputPort]:
        with_functions = replace(names, aggregates=self.definition)
        given: dict[int, list[Assignment]] = {}
        for clause in self.syntax.assignments:
            port = names.outputs.get(clause.port.text)
            if port is None:
                known = ", ".join(f"`{name}`" for name in names.outputs) or "none"
                hint = did_you_mean(clause.port.text, names.outputs)
                message = f"`{clause.port}` is not an output port; there are: {known}"
                self.found.error(message, clause.port.span, hint=hint)
                continue
            for syntax in clause.assignments:
                assignment = self._assignment(syntax, outputs[port].schema, with_functions)
                earlier = given.setdefault(port, [])
                if assignment is not None and any(a.attribute == assignment.attribute for a in earlier):
                    self.found.error(f"`{syntax.name}` is assigned twice", syntax.name.span)
                elif assignment is not None:
                    earlier.append(assignment)
        return [replace(port, assignments=tuple(given.get(i, ()))) for i, port in enumerate(outputs)]

    def _assignment(self, syntax: ast.NamedArgument, schema: TupleType, names: Names) -> Assignment | None:
        word = self._try(lambda: _attribute_name(syntax.name, names))
        if word is None:
            return None
        if word.text not in schema.position:
            listing = f"its schema is {{{', '.join(schema.names)}}}"
            message = f"there is no output attribute `{word}`; {listing}"
            self.found.error(message, word.span, hint=did_you_mean(word.text, schema.names))
            return None
        expected = schema.attribute(word.text).type
        value = self._try(lambda: check_expression(syntax.value, names, expected))
        if value is None or self._try(lambda: convert(value, expected, syntax.value.span)) is None:
            return None
        return Assignment(attribute=word.text, value=value)

    def _config(self) -> Iterator[Param]:
        own = ((setting, self.instance) for setting in self.syntax.config)
        for setting, scope in (*own, *self.inherited.config):
            if setting.name.text not in ("placement", "hostPool"):
                checked = self._try(lambda s=setting, i=scope: check_setting(s, i))  # type: ignore[misc]
                if checked is not None:
                    yield checked

    # ---- parameters

    def _params(self, names: Names) -> tuple[list[Param], bool]:
        """The parameters, and whether nothing is wrong with them so far."""
        params: list[Param] = []
        before, failed = len(tuple(self.found)), self.failed
        self.failed = False
        for setting in self.syntax.params:
            spec = self.definition.param(setting.name.text)
            if spec is None and not self.definition.any_params:
                self._report_unknown(setting.name)
                continue
            if any(p.name == setting.name.text for p in params):
                self.found.error(f"the parameter `{setting.name}` is given twice", setting.name.span)
                continue
            params.append(Param(name=setting.name.text, values=self._values(setting, spec, names)))
        is_sound = len(tuple(self.found)) == before and not self.failed
        self.failed = self.failed or failed
        return params, is_sound

    def _report_unknown(self, word: code.Word) -> None:
        known = [p.name for p in self.definition.params]
        listing = f"it takes {{{', '.join(known)}}}" if known else "it takes none"
        message = f"`{self.definition.name}` has no parameter `{word}`; {listing}"
        self.found.error(message, word.span, hint=did_you_mean(word.text, known))

    def _values(self, setting: ast.Setting, spec: ParamSpec | None, names: Names) -> tuple[Expression, ...]:
        values: list[Expression] = []
        if (self.definition.kind, setting.name.text) in _PREDICATES:
            return (_as_text(setting),)
        if (self.definition.kind, setting.name.text) in _WITH_FUNCTIONS:
            names = replace(names, aggregates=self.definition)
        for actual, inside in self._try(lambda: list(_spread(setting, spec, names))) or ():
            value = self._try(lambda a=actual, n=inside: self._value(a, spec, n))  # type: ignore[misc]
            values.extend(() if value is None else (value,))
        return tuple(values)

    def _value(self, value: ast.Actual, spec: ParamSpec | None, names: Names) -> Expression:
        if isinstance(value, code.TypeSyntax):
            raise error("expected a value, found a type", value.span)
        if spec is not None and spec.ports:
            names = names.on_ports(spec.ports)
        word = value.name if isinstance(value, code.NameSyntax) else None
        if word is not None and spec is not None and spec.kind is ParamKind.SYMBOLS:
            return Symbol(type=VOID, name=word.text, span=word.span)
        if word is not None and (spec is None or spec.kind is ParamKind.ATTRIBUTES) and not names.ports:
            found = _source_attribute(word, names)
            if found is not None:
                return found
        if word is not None and spec is None and names.value(word) is None:
            return Symbol(type=VOID, name=word.text, span=word.span)
        if word is not None and spec is not None and spec.many and not spec.ports:
            names = _on_first_port(word, names)
        expected = spec.types[0] if spec is not None and spec.types else None
        return check_expression(value, names, expected)


def _as_text(setting: ast.Setting) -> Expression:
    """A predicate over names that only exist when applications meet, kept as the text that was written."""
    first = setting.values[0]
    if len(setting.values) == 1 and isinstance(first, code.StringSyntax):
        return string(first.text, first.span)
    written = setting.span.source.text[setting.span.start : setting.span.end]
    text = written.partition(":")[2].rpartition(";")[0].strip()
    return Literal(type=RSTRING, value=text, span=first.span)


def called(params: Iterable[Param], outputs: Iterable[OutputPort], logic: Logic | None) -> Iterator[Expression]:
    """Every expression of an operator that may call a function."""
    for param in params:
        yield from param.values
    for output in outputs:
        yield from (assignment.value for assignment in output.assignments)
    if logic is not None:
        for statement in logic.statements():
            yield from statement.expressions()


def _on_first_port(word: code.Word, names: Names) -> Names:
    """A key such as `partitionBy: k` may speak of the first input port for all of them."""
    first = names.on_ports((0,))
    return first if first.ports and word.text in first.ports[0].schema.position else names


def _source_attribute(word: code.Word, names: Names) -> Expression | None:
    """An attribute of an operator without inputs: that of the tuples it makes."""
    for schema in names.output_schemas:
        if word.text in schema.position:
            return Attribute(type=schema.attribute(word.text).type, name=word.text, span=word.span)
    return None


def _spread(setting: ast.Setting, spec: ParamSpec | None, names: Names) -> Iterator[tuple[ast.Actual, Names]]:
    """The values of a parameter with the names they may use; `$name` stands for all the values given for it."""
    for value in setting.values:
        assert not isinstance(value, ast.NamedArgument)
        current, inside = value, names
        while isinstance(current, code.NameSyntax) and current.name.text.startswith("$"):
            binding = inside.scope.binding(current.name)
            is_symbol = spec is not None and spec.kind is ParamKind.SYMBOLS
            if binding.formal.type is not None and len(binding.actuals) == 1 and not is_symbol:
                break
            inside = inside.inside(binding.scope)
            *first, current = binding.actuals
            yield from ((actual, inside) for actual in first)
        yield current, inside


def _attribute_name(word: code.Word, names: Names) -> code.Word:
    """The attribute that the left side of an assignment names; `$name` is one of mode attribute."""
    if not word.text.startswith("$"):
        return word
    binding = names.scope.binding(word)
    actual = binding.actuals[0]
    if binding.formal.mode != "attribute" or not isinstance(actual, code.NameSyntax | code.FieldSyntax):
        raise error(f"`{word}` is not the name of an attribute", word.span)
    return actual.name


def _port_names(syntax: ast.InputSyntax) -> tuple[str, ...]:
    streams = tuple(s.name.text for s in syntax.streams)
    return (syntax.alias.text, *streams) if syntax.alias else streams


def _output_names(stream: ast.StreamSyntax) -> Iterator[code.Word]:
    yield stream.name
    if stream.alias is not None:
        yield stream.alias
