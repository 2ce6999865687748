"""Functions of the application and logic clauses as Python functions."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.expr.analysis import functions_used, ports_changed_in_place
from penstock.expr.emit.calls import rebound_parameters
from penstock.expr.emit.scope import INDENT, Locals, Module, Scope, Storage, state_text
from penstock.expr.emit.statement_text import emit_body, indent, initial_value
from penstock.ir.statements import Block, Declare, Function, Handler, Logic
from penstock.ir.types import Schema, has_collection, is_collection


def emit_functions(module: Module, functions: Sequence[Function]) -> None:
    """Add functions to a module; they may call each other."""
    for function in functions:
        key = function.name, tuple(p.type for p in function.parameters)
        module.emitted[key] = module.fresh("_" + function.name.rpartition("::")[2])
    for function in functions:
        module.add(_function(module, function))


def _function(module: Module, function: Function) -> list[str]:
    scope = Scope(module=module)
    names = [
        scope.declare(p.name, owned=p.mutable, by_reference=p.mutable and is_collection(p.type))
        for p in function.parameters
    ]
    rebound = tuple(names[i] for i in rebound_parameters(function))
    bare = ", ".join(("None", *rebound)) if rebound else ""
    inside = Scope(module=module, locals=scope.locals, variables=scope.variables, rebound=rebound, return_text=bare)
    name = module.emitted[function.name, tuple(p.type for p in function.parameters)]
    body = emit_body(function.body, inside) + ([f"{INDENT}return {bare}"] if rebound else [])
    if function in functions_used([function.body], module.functions):
        body = indent(["try:", *body, "except RecursionError:", f"{INDENT}too_deep({function.name!r})"])
    return [f"def {name}({', '.join(names)}):", *body]


def tuple_names(ports: Sequence[Schema]) -> tuple[str, ...]:
    """The names that emitted functions give the current tuples."""
    return tuple(f"t{i}" for i in range(len(ports)))


def emit_logic(module: Module, logic: Logic, ports: Sequence[Schema]) -> None:
    """Add a logic clause to a module: `initial_state`, `on_tuple_0`, `on_punctuation_0`, `on_process`."""
    state: dict[str, Storage] = {}
    module.add(_initial_state(module, logic.state, state))
    for handler in logic.on_tuple:
        module.add(_on_tuple(module, handler, ports, state))
    for handler in logic.on_punctuation:
        module.add(_on_punctuation(module, handler, ports, state))
    if logic.on_process is not None:
        module.add(_on_process(module, logic.on_process, state))


def _initial_state(module: Module, declared: Sequence[Declare], state: dict[str, Storage]) -> list[str]:
    scope = Scope(module=module, variables=state)
    lines = ["def initial_state():", f"{INDENT}state = LogicState()"]
    for declare in declared:
        value = initial_value(declare, scope)
        state[declare.name] = Storage(state_text(declare.name), owned=declare.mutable)
        lines.append(f"{INDENT}{state_text(declare.name)} = {value}")
    return [*lines, f"{INDENT}return state"]


def _on_tuple(module: Module, handler: Handler, ports: Sequence[Schema], state: dict[str, Storage]) -> list[str]:
    port, schema = handler.port, ports[handler.port]
    name = tuple_names(ports)[port]
    in_place = ports_changed_in_place(handler.body, module.functions) if has_collection(schema) else frozenset()
    scope = Scope(
        module=module,
        locals=Locals(taken=tuple_names(ports)),
        ports=tuple(ports),
        tuples=tuple_names(ports),
        variables=dict(state),
        owned_ports=in_place,
        return_text=name,
    )
    lines = [f"def on_tuple_{port}({name}):"]
    if in_place:
        # Others may have received the same tuple.
        copier = module.define("copy", f'copier(parse_type("{schema}"))')
        lines.append(f"{INDENT}{name} = {copier}({name})")
    return [*lines, *emit_body(handler.body, scope), f"{INDENT}return {name}"]


def _on_punctuation(module: Module, handler: Handler, ports: Sequence[Schema], state: dict[str, Storage]) -> list[str]:
    scope = Scope(module=module, variables=dict(state))
    return [f"def on_punctuation_{handler.port}(punctuation):", *emit_body(handler.body, scope)]


def _on_process(module: Module, body: Block, state: dict[str, Storage]) -> list[str]:
    scope = Scope(module=module, variables=dict(state), in_generator=True)
    # The last yield makes it a generator even if nothing is submitted.
    return ["def on_process():", *emit_body(body, scope), f"{INDENT}yield None"]
