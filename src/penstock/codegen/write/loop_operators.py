"""The code of operators that are worked tuple by tuple, written one inside the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from penstock.codegen.plan.python_functions import PythonFunction
from penstock.codegen.write.builder import Builder
from penstock.expr.analysis import changed_roots, ports_changed_in_place
from penstock.expr.emit.expression_text import emit, owned
from penstock.expr.emit.scope import INDENT, Scope, Storage, state_text
from penstock.expr.emit.statement_text import emit_body, indent
from penstock.ir.expressions import Attribute, Expression
from penstock.ir.graph import Operator
from penstock.ir.statements import Block, Return
from penstock.ir.types import ListType, Schema, has_collection

if TYPE_CHECKING:
    from penstock.codegen.write.forms import LoopForm

Lines = list[str]
Deliver = Callable[[Operator, int, "Row"], Lines]

_SUBMIT = re.compile(r"(\s*)submit\[(\d+)\]\((.*)\)")


@dataclass(frozen=True, slots=True)
class Row:
    """The current tuple in the text of a loop: as one variable, or as its attributes.

    Attributes:
        attributes: The text of each attribute.
        tuple: The text of the tuple, if there is one.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    tuple: str | None = None

    def tuple_of(self, schema: Schema) -> str:
        """The text of the tuple as a whole."""
        if self.tuple is not None:
            return self.tuple
        inside = ", ".join(self.attributes[name] for name in schema.names)
        return f"({inside},)" if len(schema.names) == 1 else f"({inside})"

    def text(self, schema: Schema, name: str) -> str:
        """The text of an attribute."""
        return self.attributes[name] if self.tuple is None else f"{self.tuple}[{schema.position[name]}]"


class Inliner:
    """Writes the code of operators for one tuple.

    Attributes:
        before: Lines that stand before the loop: the states of operators become variables.
        after: Lines that stand after it: the variables go back.
        functions: The lines of functions that the loop calls, for code that returns or that submits in several places.
    """

    def __init__(
        self,
        builder: Builder,
        functions: Mapping[str, PythonFunction | None],
        forms: Mapping[str, LoopForm],
        deliver: Deliver,
    ) -> None:
        self.builder = builder
        self.deliver = deliver
        self.before: Lines = []
        self.after: Lines = []
        self.functions: Lines = []
        self._python = functions
        self._forms = forms
        self._states: list[str] = []

    def inline(self, operator: Operator, row: Row) -> Lines:
        """The lines of an operator and of all that follows it inside the segment."""
        function = self._python[operator.id]
        if function is not None:
            return self._call(operator, function, row)
        return self._forms[operator.kind].write(self, operator, row)

    def _after_logic(self, operator: Operator, row: Row) -> tuple[Lines, Row, Scope]:
        """The lines of an operator's logic clause, the tuple after it, and what its expressions see."""
        lines, changed, variables = self._logic(operator, row)
        return lines, changed, self._scope(operator, changed, variables)

    def _scope(self, operator: Operator, row: Row, variables: dict[str, Storage]) -> Scope:
        schema = operator.inputs[0].schema
        return Scope(
            module=self.builder.module,
            locals=self.builder.body.locals,
            ports=(schema,),
            tuples=() if row.tuple is None else (row.tuple,),
            attributes={(0, name): text for name, text in row.attributes.items()} if row.tuple is None else {},
            variables=variables,
        )

    def write_filter(self, operator: Operator, row: Row) -> Lines:
        """The lines of a Filter."""
        before, row, scope = self._after_logic(operator, row)
        passed = self.deliver(operator, 0, row)
        condition = operator.param("filter")
        if not condition:
            return [*before, *passed]
        lines = [*before, f"if {emit(condition[0], scope)}:", *indent(passed or ["pass"])]
        if len(operator.outputs) == 2:
            lines += ["else:", *indent(self.deliver(operator, 1, row) or ["pass"])]
        return lines

    def write_functor(self, operator: Operator, row: Row) -> Lines:
        """The lines of a Functor."""
        before, row, scope = self._after_logic(operator, row)
        lines: Lines = []
        for port, output in enumerate(operator.outputs):
            made = {}
            for assignment in output.assignments:
                made[assignment.attribute], computed = self._assigned(assignment.attribute, assignment.value, scope)
                lines += computed
            lines += self.deliver(operator, port, Row(made))
        condition = operator.param("filter")
        return [*before, *([f"if {emit(condition[0], scope)}:", *indent(lines)] if condition else lines)]

    def _assigned(self, name: str, value: Expression, scope: Scope) -> tuple[str, Lines]:
        """The text of an output attribute, and the lines that compute it."""
        text = owned(value, scope).text
        if isinstance(value, Attribute) and text.isidentifier():
            return text, []
        made = self.builder.body.name(name)
        return made, [f"{made} = {text}"]

    def write_split(self, operator: Operator, row: Row) -> Lines:
        """The lines of a Split."""
        before, row, scope = self._after_logic(operator, row)
        (index,) = operator.param("index")
        port = self.builder.body.name(f"{operator.id}_port")
        count = len(operator.outputs)
        ways: Lines = []
        for i in range(count):
            ways += [f"if {port} % {count} == {i}:", *indent(self.deliver(operator, i, row) or ["pass"])]
        chosen = [f"if {port} >= 0:", *indent(ways)]
        if isinstance(index.type, ListType):
            return [*before, f"for {port} in {emit(index, scope)}:", *indent(chosen)]
        return [*before, f"{port} = {emit(index, scope)}", *chosen]

    def _call(self, operator: Operator, function: PythonFunction, row: Row) -> Lines:
        """A function of the user's, called with a row."""
        schema = operator.inputs[0].schema
        call, make, conform = (self.builder.provided(operator, what) for what in ("call", "row", "conform"))
        called = f"{call}({make}({row.tuple_of(schema)}))"
        out = self.builder.body.name("out")
        if function.batch:
            rows = self.builder.provided(operator, "rows")
            return [f"for {out} in {rows}({row.tuple_of(schema)}):", *indent(self.deliver(operator, 0, Row(tuple=out)))]
        if function.role == "filter":
            return [f"if {called}:", *indent(self.deliver(operator, 0, row) or ["pass"])]
        if function.role == "map":
            return [f"{out} = {conform}({called})", *self.deliver(operator, 0, Row(tuple=out))]
        value = self.builder.body.name("value")
        inside = [f"{out} = {conform}({value})", *self.deliver(operator, 0, Row(tuple=out))]
        return [f"for {value} in {called} or ():", *indent(inside)]

    def write_custom(self, operator: Operator, row: Row) -> Lines:
        """The code of a Custom's logic clause; if it returns, it is a function that the loop calls."""
        assert operator.logic is not None
        handler = next((h for h in operator.logic.on_tuple if h.port == 0), None)
        if handler is None:
            return []
        if not _returns(handler.body):
            return self._submitting(operator, self._logic(operator, row)[0])
        schema = operator.inputs[0].schema
        name = self.builder.body.name(f"{operator.id}_on_tuple")
        inner = {a: self.builder.body.name(a) for a in schema.names}
        lines = self._submitting(operator, self._logic(operator, Row(inner))[0])
        self._define(name, list(inner.values()), lines)
        return [f"{name}({', '.join(row.text(schema, a) for a in schema.names)})"]

    def _define(self, name: str, parameters: Sequence[str], lines: Lines) -> None:
        changed = [f"nonlocal {', '.join(self._states)}"] if self._states else []
        self.functions += [f"def {name}({', '.join(parameters)}):", *indent([*changed, *lines] or ["pass"])]

    def _logic(self, operator: Operator, row: Row) -> tuple[Lines, Row, dict[str, Storage]]:
        """The code that an operator's logic clause has for a tuple, the tuple after it, and the state variables."""
        logic = operator.logic
        if logic is None:
            return [], row, {}
        variables = self._state_variables(operator)
        handler = next((h for h in logic.on_tuple if h.port == 0), None)
        if handler is None:
            return [], row, variables
        lines: Lines = []
        functions = self.builder.module.functions
        schema = operator.inputs[0].schema
        in_place = ports_changed_in_place(handler.body, functions) if has_collection(schema) else frozenset()
        if ("port", 0) in changed_roots(handler.body, functions):
            name = self.builder.body.name("t")
            value = row.tuple_of(schema)
            copier = self.builder.module.define("copy", f'copier(parse_type("{schema}"))') if in_place else ""
            lines.append(f"{name} = {copier}({value})" if copier else f"{name} = {value}")
            row = Row(tuple=name)
        scope = self._scope(operator, row, dict(variables))
        code = emit_body(handler.body, replace(scope, owned_ports=in_place))
        return [*lines, *(line.removeprefix(INDENT) for line in code)], row, variables

    def _state_variables(self, operator: Operator) -> dict[str, Storage]:
        """The state variables of an operator as variables of the function around the loop."""
        assert operator.logic is not None
        if not operator.logic.state:
            return {}
        state = self.builder.body.name(f"{operator.id}_state")
        self.builder.states[operator.id] = "logic"
        self.before.append(f'{state} = pe.states["{operator.id}"].variables')
        storages = {}
        for declare in operator.logic.state:
            name = self.builder.body.name(declare.name)
            held = state_text(declare.name).removeprefix("state.")
            self.before.append(f"{name} = {state}.{held}")
            if declare.mutable:
                self.after.append(f"{state}.{held} = {name}")
                self._states.append(name)
            storages[declare.name] = Storage(name, owned=declare.mutable)
        return storages

    def _submitting(self, operator: Operator, lines: Lines) -> Lines:
        """The lines with every `submit` replaced by what follows; what follows several is a function."""
        sites: dict[int, int] = {}
        for line in lines:
            if found := _SUBMIT.fullmatch(line):
                sites[int(found[2])] = sites.get(int(found[2]), 0) + 1
        names = {port: self._receiver(operator, port) for port, count in sites.items() if count > 1}
        written: Lines = []
        for line in lines:
            found = _SUBMIT.fullmatch(line)
            if found is None:
                written.append(line)
            elif int(found[2]) in names:
                written.append(f"{found[1]}{names[int(found[2])]}({found[3]})")
            else:
                out = self.builder.body.name("out")
                after = [f"{out} = {found[3]}", *self.deliver(operator, int(found[2]), Row(tuple=out))]
                written += [found[1] + text for text in after]
        return written

    def _receiver(self, operator: Operator, port: int) -> str:
        name = self.builder.body.name(f"{operator.outputs[port].stream}_submit")
        out = self.builder.body.name("out")
        self._define(name, [out], self.deliver(operator, port, Row(tuple=out)))
        return name


def _returns(body: Block) -> bool:
    return any(isinstance(s, Return) for s in body.walk())
