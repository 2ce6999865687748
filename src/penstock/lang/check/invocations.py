"""Checks one invocation of a primitive operator and makes the operator.

Each clause is checked by itself, so a mistake in one does not hide those in the others. What a clause cannot know of
the operator (required parameters, numbers of ports, types of values) is checked by `toolkit.core.invoke`, for SPL and
Python alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.expr.typing import convert
from penstock.ir.expressions import Expression
from penstock.ir.graph import Annotation, Assignment, InputPort, Operator, OutputPort, Param
from penstock.ir.statements import Declare, Handler, Logic
from penstock.ir.types import TupleType
from penstock.lang.check.annotations import check_annotation, check_setting
from penstock.lang.check.attempts import Attempts
from penstock.lang.check.expressions import check_expression
from penstock.lang.check.history import with_history
from penstock.lang.check.interval_clauses import check_interval, is_interval
from penstock.lang.check.mistakes import error
from penstock.lang.check.names import Names
from penstock.lang.check.params import check_param_clause
from penstock.lang.check.ports import input_index, input_ports, output_ports, port_names
from penstock.lang.check.statements import Around, check_block, check_declaration
from penstock.lang.check.window_clauses import check_window
from penstock.lang.expand.composites import Instance, Node
from penstock.lang.expand.replicate import ParallelRegion
from penstock.lang.syntax import ast
from penstock.lang.syntax import ast_code as code
from penstock.toolkit.core.check_params import check_params
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.invoke import invoke


@dataclass(frozen=True, slots=True, kw_only=True)
class Inherited:
    """The annotations, regions and settings that an operator inherits from the composites around it.

    Attributes:
        annotations: Of their invocations, the innermost first.
        config: Settings with their scopes.
        regions: Those that `@parallel` makes of their invocations, the innermost first.
    """

    annotations: tuple[Annotation, ...] = ()
    regions: tuple[ParallelRegion, ...] = ()
    config: tuple[tuple[ast.Setting, Instance], ...] = ()


def check_invocation(node: Node, instance: Instance, inherited: Inherited) -> Operator | None:
    """The operator of an invocation, or none after reporting what is wrong with it."""
    assert isinstance(node.target, OperatorDefinition)
    return _Checker(node, node.target, instance, inherited).operator()


class _Checker:
    """The checks of one invocation; they share its names and its mistakes."""

    def __init__(self, node: Node, definition: OperatorDefinition, instance: Instance, inherited: Inherited) -> None:
        self.syntax = node.invocation
        self.definition = definition
        self.instance = instance
        self.inherited = inherited
        self.attempts = Attempts()
        self.found = self.attempts.found
        self.intervals: list[Annotation] = []

    def operator(self) -> Operator | None:
        made = self._operator()
        if self.found:
            self.instance.compilation.found.extend(UserError(tuple(self.found)))
        return made

    def _operator(self) -> Operator | None:
        inputs = input_ports(self.syntax, self.instance, self.found)
        outputs = output_ports(self.syntax, self.instance)
        if inputs is None or outputs is None:
            return None
        names = port_names(self.syntax, self.instance, inputs, outputs)
        state, names = self._state(names)
        of_params = Attempts()
        with_past = replace(names, has_history=True)
        params = check_param_clause(self.syntax.params, self.definition, with_past, of_params)
        if of_params:
            check_params(self.definition, params, self.syntax.operator.span, of_params.found)
        self.found.extend(UserError(tuple(of_params.found)))
        inputs = self._windows(inputs, names)
        outputs = self._assignments(outputs, with_past)
        logic = with_history(self._logic(state, names), inputs, called(params, outputs, None))
        annotations = (*self._annotations(), *self.intervals)
        config = tuple(self._config())
        if not (of_params and self.attempts):
            return None
        return invoke(
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

    def _windows(self, inputs: list[InputPort], names: Names) -> list[InputPort]:
        for setting in self.syntax.windows:
            port = self.attempts.of(input_index, setting.name, names)
            if port is None:
                continue
            if inputs[port].window is not None:
                self.found.error(f"`{setting.name}` is given two windows", setting.name.span)
                continue
            of_port = names.on_ports((port,))
            if is_interval(setting):
                checked = self.attempts.of(check_interval, setting, self.definition, of_port)
                window, *self.intervals = checked or (None,)
            else:
                window = self.attempts.of(check_window, setting, of_port)
            inputs[port] = replace(inputs[port], window=window)
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
            port = self.attempts.of(input_index, syntax.port, names)
            if port is None:
                continue
            if any(h.port == port for h in handlers):
                self.found.error(f"`{syntax.port}` has two {kind} clauses", syntax.port.span)
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
        word = self.attempts.of(_attribute_name, syntax.name, names)
        if word is None:
            return None
        if word.text not in schema.position:
            listing = f"its schema is {{{', '.join(schema.names)}}}"
            message = f"there is no output attribute `{word}`; {listing}"
            self.found.error(message, word.span, hint=did_you_mean(word.text, schema.names))
            return None
        expected = schema.attribute(word.text).type
        value = self.attempts.of(check_expression, syntax.value, names, expected)
        if value is None or self.attempts.of(convert, value, expected, syntax.value.span) is None:
            return None
        return Assignment(attribute=word.text, value=value)

    def _annotations(self) -> Iterator[Annotation]:
        for syntax in self.syntax.annotations:
            checked = self.attempts.of(check_annotation, syntax, self.instance)
            yield from () if checked is None else (checked,)
        yield from self.inherited.annotations

    def _config(self) -> Iterator[Param]:
        own = ((setting, self.instance) for setting in self.syntax.config)
        for setting, scope in (*own, *self.inherited.config):
            if setting.name.text not in ("placement", "hostPool"):
                checked = self.attempts.of(check_setting, setting, scope)
                yield from () if checked is None else (checked,)


def called(params: Iterable[Param], outputs: Iterable[OutputPort], logic: Logic | None) -> Iterator[Expression]:
    """Every expression of an operator that may call a function."""
    for param in params:
        yield from param.values
    for output in outputs:
        yield from (assignment.value for assignment in output.assignments)
    if logic is not None:
        for statement in logic.statements():
            yield from statement.expressions()


def _attribute_name(word: code.Word, names: Names) -> code.Word:
    """The attribute that the left side of an assignment names; `$name` is one of mode attribute."""
    if not word.text.startswith("$"):
        return word
    binding = names.scope.binding(word)
    actual = binding.actuals[0]
    if binding.formal.mode != "attribute" or not isinstance(actual, code.NameSyntax | code.FieldSyntax):
        raise error(f"`{word}` is not the name of an attribute", word.span)
    return actual.name
