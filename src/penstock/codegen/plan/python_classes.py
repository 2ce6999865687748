"""Operators that are classes of the user's: which of them run in a loop of generated code, and how it is written."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from penstock.api.keyed.keyed_runtime import KeyedRuntime
from penstock.api.keyed.operator import KeyedOperator, key_expressions
from penstock.api.operators import Operator as OperatorClass
from penstock.codegen.functions.class_calls import ClassCalls
from penstock.codegen.functions.class_columns import CompiledClass, compile_class
from penstock.codegen.functions.instance_table import Attributes, InstanceTable, can_hold
from penstock.codegen.functions.keyed_calls import KeyedCalls
from penstock.codegen.functions.lone_calls import LoneCalls
from penstock.codegen.functions.nodes import Kind, Node
from penstock.codegen.functions.scan_kinds import scan_kinds
from penstock.codegen.functions.writing import ColumnWriter
from penstock.codegen.plan.python_functions import RuntimeContext, constants_given
from penstock.codegen.write.body import Body
from penstock.codegen.write.builder import Builder, Given, branch
from penstock.expr.environment import Clock, Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.expressions import Attribute
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.toolkit.core.definition import ParamKind
from penstock.toolkit.core.program import Program

CLASS = "class"
"""Stands for the text that makes a fresh state: the loader makes it."""

_HOOKS = {
    "on_wake": "acts by time",
    "on_expire": "acts by time",
    "on_punctuation": "acts on window markers",
    "finish": "acts at the end",
}

PythonClass = type[OperatorClass] | type[KeyedOperator]


def python_class(program: Program, operator: Operator) -> PythonClass | None:
    """The class of the user's that an operator is made of; None if it is not made of one."""
    made_by = program.registry.get(operator.kind).runtime
    made_by = getattr(made_by, "original", made_by)
    held = inspect.getclosurevars(made_by).nonlocals if inspect.isfunction(made_by) else {}
    owner = held.get("owner")
    is_class = isinstance(owner, type) and issubclass(owner, OperatorClass | KeyedOperator)
    return owner if is_class else None


def why_no_loop(operator: Operator, owner: PythonClass) -> str | None:
    """Why a class has no generated form, or None if it has one."""
    base = KeyedOperator if issubclass(owner, KeyedOperator) else OperatorClass
    for hook, what in _HOOKS.items():
        if getattr(owner, hook, None) is not getattr(base, hook, None):
            return f"is a class that {what} (`{hook}`)"
    if not operator.outputs:
        return "gives nothing"
    if operator.model.side_effects or "environment" in inspect.signature(owner).parameters:
        return "is a class that may act outside"
    return None


def is_private(operator: Operator) -> bool:
    """Whether the state of a class is known to be its own: of each key, or none."""
    return operator.model.state is not State.UNKNOWN


def compile_python_class(program: Program, operator: Operator, owner: PythonClass) -> CompiledClass | str:
    """A class as columns, or why it is called row by row."""
    if len(operator.inputs) != 1 or len(operator.outputs) != 1:
        return "it has several ports"
    if operator.param("ttl") or getattr(owner, "ttl", None) is not None:
        return "it forgets keys (`ttl`)"
    params = program.registry.get(operator.kind).params
    given = constants_given(operator, [spec for spec in params if spec.kind is ParamKind.CONSTANT])
    if isinstance(given, str):
        return given
    key: tuple[str, ...] = ()
    if issubclass(owner, KeyedOperator):
        key = tuple(key.name for key in key_expressions(owner, operator)[0] if isinstance(key, Attribute))
    found: CompiledClass | str = compile_class(
        owner,  # type: ignore[arg-type] # classes can be hashed
        key,
        operator.inputs[0].schema,
        operator.outputs[0].schema,
        given,
    )
    if not issubclass(owner, KeyedOperator) and not isinstance(found, str) and scan_kinds(found) is None:
        return "it has one instance, and keeps more than sums, extremes and last values"
    return found


def write_class(builder: Builder, operator: Operator, form: CompiledClass | str) -> None:
    """A class of the user's, by columns or in a loop over the rows of all its ports."""
    given = [builder.input(operator, port) for port in range(len(operator.inputs))]
    arrived = ", ".join(f"{g.frame}{branch(g.levels)}" for g in given)
    builder.states[operator.id] = CLASS
    if not isinstance(form, str):
        scans = scan_kinds(form)
        few = "" if scans is None else ", or where there are few keys all tuples of a key"
        way = f"a tuple of each key at a time{few}" if form.has_keys else "all tuples at once"
        builder.body.add(f"# class by columns, {way}")
        step, builder.attributes[operator.id] = write_step(builder, operator, form)
        how = "" if scans is None else f", {scans!r}".replace("'", '"')
        method = "process_by_key" if form.has_keys else "process_at_once"
        builder.put(operator, 0, f'pe.states["{operator.id}"].{method}(pe.times, {arrived}, {step}{how})')
        builder.count(operator, given[0].frame)
        return
    builder.body.add(f"# class row by row: {form}")
    text = f'pe.states["{operator.id}"].process(pe.times, [{arrived}])'
    if len(operator.outputs) == 1:
        builder.put(operator, 0, f"{text}[0]")
    else:
        made = builder.body.name(f"{operator.id}_made")
        builder.body.add(f"{made} = {text}")
        for port in range(len(operator.outputs)):
            builder.put(operator, port, f"{made}[{port}]")
    builder.count(operator, *(g.frame for g in given))


def class_calls(
    program: Program, operator: Operator, environment: Environment, attributes: Attributes | None = None
) -> ClassCalls:
    """The fresh state of an operator that is a class, with a clock of its own.

    Args:
        program: The program.
        operator: The operator.
        environment: That it sees.
        attributes: Of its instances, if the class has become columns.
    """
    own = replace(environment, clock=Clock())
    context = RuntimeContext(own, Evaluator(functions=program.application.functions, environment=own))
    runtime = program.registry.get(operator.kind).runtime(operator, context)  # type: ignore[arg-type] # all it asks for
    inner: Any = getattr(runtime, "inner", runtime)
    if isinstance(inner, KeyedRuntime) and can_hold(inner):
        return KeyedCalls(runtime, own.clock, InstanceTable(inner, attributes))
    if attributes is not None and not isinstance(inner, KeyedRuntime):
        return LoneCalls(runtime, own.clock, attributes)
    return ClassCalls(runtime, own.clock)


ROWS = "rows"
"""The variable of the rows of a round."""


def write_step(builder: Builder, operator: Operator, compiled: CompiledClass) -> tuple[str, str]:
    """Write the function of a round; returns its name, and that of what says which attributes it takes."""
    outer, builder.body = builder.body, Body(builder.module)
    builder.body.name(ROWS)
    writer = ColumnWriter(builder, operator, Given(ROWS, (), operator.inputs[0].schema))
    given = [node for _, columns in compiled.gives for node in columns.values()]
    writer.begin(compiled.forced, *compiled.state.values(), *given)
    state = [_held(writer, node, compiled.kinds[name]) for name, node in compiled.state.items()]
    sites = [
        f"({'None' if where is None else writer.mask(where)}, [{', '.join(map(writer.given, columns.values()))}])"
        for where, columns in compiled.gives
    ]
    left = f"{writer.left}.rows" if writer.has_left() else "None"
    builder.body.add(*writer.lines(), f"return {left}, [{', '.join(state)}], [{', '.join(sites)}]")
    name = builder.module.fresh(f"{compiled.name.lower()}_step")
    builder.module.add([f"def {name}({ROWS}):", *builder.body.lines])
    lines, builder.body = len(builder.body.lines), outer
    return name, _attributes(builder, compiled, lines)


def kind_text(kind: Kind) -> str:
    """A kind as columns name it: `?` behind it if it may be None."""
    return f"{kind.name}?" if kind.optional else kind.name


def _held(writer: ColumnWriter, node: Node, kind: Kind) -> str:
    """The text of the column of an attribute after a tuple."""
    text = writer.column(node)
    is_plain = not kind.optional and kind.name != "str"
    if node.is_constant or (not is_plain and not (node.kind.optional or node.kind.name == "str")):
        return f'held({text}, len({ROWS}), "{kind_text(kind)}")'
    return text


def _attributes(builder: Builder, compiled: CompiledClass, lines: int) -> str:
    kinds = ", ".join(f'"{name}": "{kind_text(kind)}"' for name, kind in compiled.kinds.items())
    text = f"Attributes({compiled.names!r}, {compiled.made!r}, {compiled.first!r}, {{{kinds}}}, {lines})"
    return builder.module.define("attributes", text.replace("'", '"') if "\\" not in text else text)
