"""Aggregate over windows of a number of tuples."""

from __future__ import annotations

from penstock.codegen.builder import Builder, key_names, listed
from penstock.codegen.count_windows import FUNCTIONS, LONGEST
from penstock.codegen.vector_text import Sight, fold, sight
from penstock.expr.vector_frame import dtype_of
from penstock.ir.expressions import Expression, Literal, OutputCall
from penstock.ir.graph import Operator, Policy, PolicyKind, WindowKind
from penstock.ir.types import is_decimal
from penstock.toolkit.aggregates_output import OutputPlan, plan_outputs


def can_write_aggregate(operator: Operator) -> bool:
    """Whether the windows count tuples, and all output functions have a kernel."""
    window = operator.inputs[0].window
    if window is None or operator.param("groupBy") or _size(window.eviction) is None:
        return False
    if window.trigger is not None and _size(window.trigger) is None:
        return False
    incomplete = operator.param("aggregateIncompleteWindows")
    if incomplete and not isinstance(fold(incomplete[0]), Literal):
        return False
    return all(map(_has_kernel, _plan(operator).calls))


def _size(policy: Policy) -> int | None:
    """The size of a count policy that is known before the program runs."""
    if policy.kind is not PolicyKind.COUNT or policy.size is None:
        return None
    size = fold(policy.size)
    known = isinstance(size, Literal) and isinstance(size.value, int) and 0 < size.value <= LONGEST
    return int(size.value) if known and isinstance(size, Literal) and isinstance(size.value, int) else None


def _has_kernel(call: OutputCall) -> bool:
    if call.function not in FUNCTIONS:
        return False
    types = [a.type for a in call.arguments]
    return call.function in ("Count", "First", "Last", "Any") or all(
        dtype_of(t) is not None and not is_decimal(t) for t in types
    )


def _plan(operator: Operator) -> OutputPlan:
    return plan_outputs([a.value for a in operator.outputs[0].assignments], operator.inputs[0].schema)


def write_aggregate(builder: Builder, operator: Operator) -> None:
    """The firings of a batch, then the output clause over them."""
    given, plan = builder.input(operator, 0), _plan(operator)
    where = sight(given.schema, given.frame)
    arguments = list(dict.fromkeys(a for call in plan.calls for a in call.arguments))
    columns = [builder.vectors.column(a, where).text for a in arguments]
    keys = [builder.vectors.column(k, where).text for k in operator.param("partitionBy")]
    calls = [(c.function, arguments.index(c.arguments[0]) if c.arguments else 0) for c in plan.calls]
    builder.states[operator.id] = _state_text(operator, arguments, calls)
    fired = builder.body.name(f"{operator.id}_fired")
    builder.body.add(
        f'{fired} = pe.states["{operator.id}"].fire({given.frame}, [{", ".join(keys)}], [{", ".join(columns)}])'
    )
    after = Sight((), (fired,), {v.name: f'{fired}["{v.name}"]' for v in plan.variables})
    outputs = zip(operator.outputs[0].schema.names, plan.rest, strict=True)
    made = ", ".join(f'"{name}": {builder.vectors.column(x, after).text}' for name, x in outputs)
    builder.put_marked(operator, f"{fired}.to([], {{{made}}})", fired, given.levels)
    builder.count(operator, given.frame)


def _state_text(operator: Operator, arguments: list[Expression], calls: list[tuple[str, int]]) -> str:
    window = operator.inputs[0].window
    assert window is not None
    size = _size(window.eviction)
    slides = window.kind is WindowKind.SLIDING
    step = (1 if window.trigger is None else _size(window.trigger)) if slides else size
    incomplete = operator.param("aggregateIncompleteWindows")
    is_incomplete = bool(incomplete) and getattr(fold(incomplete[0]), "value", False)
    keys = [str(k.type) for k in operator.param("partitionBy")]
    columns = [str(a.type) for a in arguments]
    parts = {"keys": keys, "columns": columns, "calls": calls}
    lists = ", ".join(f"{name}={listed(part)}" for name, part in parts.items())
    names = listed(key_names(operator.param("partitionBy")))
    return f"CountWindows(size={size}, step={step}, {lists}, incomplete={is_incomplete}, names={names})"
