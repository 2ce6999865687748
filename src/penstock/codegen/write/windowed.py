"""Aggregate over windows that tuples or markers move on."""

from __future__ import annotations

from penstock.codegen.kernels.count_windows import LONGEST
from penstock.codegen.kernels.folds import FUNCTIONS
from penstock.codegen.write.builder import Builder, key_names, listed
from penstock.codegen.write.folding import fold
from penstock.codegen.write.vector_text import Sight, sight
from penstock.expr.vector.frame import dtype_of
from penstock.ir.expressions import Expression, Literal, OutputCall
from penstock.ir.graph import Operator, Policy, PolicyKind, Window, WindowKind
from penstock.ir.types import TIMESTAMP, Type, is_decimal
from penstock.toolkit.aggregates.output_expressions import OutputPlan, plan_outputs
from penstock.toolkit.windows.policy import NANOSECONDS


def why_no_aggregate(operator: Operator) -> str | None:
    """Why an Aggregate has no kernel, or None if it has one."""
    window = operator.inputs[0].window
    assert window is not None
    if operator.param("groupBy"):
        return "has groups"
    if window.partition_age is not None:
        return "forgets idle partitions"
    for call in _plan(operator).calls:
        if not _has_kernel(call):
            return f"calls `{call.function}`, which has no kernel for its type"
    if window.kind is WindowKind.SLIDING:
        return _why_no_sliding(operator, window)
    if window.eviction.kind is PolicyKind.PUNCTUATION:
        return "has windows between markers for each key" if operator.param("partitionBy") else None
    measured = window.eviction.attribute
    is_known = _literal(window.eviction.size) is not None and (measured is None or _can_measure(measured.type))
    return None if is_known else "has a window whose size is known only when it runs"


def _why_no_sliding(operator: Operator, window: Window) -> str | None:
    for policy in (window.eviction, window.trigger):
        if policy is not None and policy.kind is not PolicyKind.COUNT:
            return f"has a window that slides by {policy.kind.value}"
        if policy is not None and not 0 < (_size(policy) or 0) <= LONGEST:
            return f"has a window whose size is known only when it runs, or is above {LONGEST:,}"
    incomplete = operator.param("aggregateIncompleteWindows")
    is_known = not incomplete or isinstance(fold(incomplete[0]), Literal)
    return None if is_known else "has a parameter that is known only when it runs"


def moves_by_time(operator: Operator) -> bool:
    """Whether time moves the window of an Aggregate, so that it fires by itself."""
    window = operator.inputs[0].window
    return window is not None and window.eviction.kind is PolicyKind.TIME


def _size(policy: Policy) -> int | None:
    """The size of a count policy that is known before the program runs."""
    size = _literal(policy.size) if policy.kind is PolicyKind.COUNT else None
    return size if isinstance(size, int) and size > 0 else None


def _delta(policy: Policy) -> int | float | None:
    """The size of a delta policy that is known before the program runs, in the unit of what is measured."""
    size = _literal(policy.size)
    if size is None or policy.attribute is None or policy.size is None:
        return None
    if policy.attribute.type == TIMESTAMP and policy.size.type != TIMESTAMP:
        return round(float(size) * NANOSECONDS)
    return size


def _literal(x: Expression | None) -> int | float | None:
    value = None if x is None else getattr(fold(x), "value", None)
    return value if isinstance(value, int | float) else None


def _can_measure(type_: Type) -> bool:
    dtype = dtype_of(type_)
    return dtype is not None and dtype.kind in "iuf"


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
    builder.states[operator.id] = _state_text(builder, operator, arguments, calls)
    fired = builder.body.name(f"{operator.id}_fired")
    given_text = [given.frame, f"[{', '.join(keys)}]", f"[{', '.join(columns)}]"]
    window = operator.inputs[0].window
    assert window is not None
    if window.kind is WindowKind.TUMBLING and window.eviction.attribute is not None:
        given_text.append(builder.vectors.column(window.eviction.attribute, where).text)
    if moves_by_time(operator):
        builder.body.add(f'{fired} = pe.fire_by_time("{operator.id}", {", ".join(given_text)})')
    else:
        builder.body.add(f'{fired} = pe.states["{operator.id}"].fire({", ".join(given_text)})')
    after = Sight((), (fired,), {v.name: f'{fired}["{v.name}"]' for v in plan.variables})
    outputs = zip(operator.outputs[0].schema.names, plan.rest, strict=True)
    made = ", ".join(f'"{name}": {builder.vectors.column(x, after).text}' for name, x in outputs)
    may_be_empty = window.eviction.kind in (PolicyKind.PUNCTUATION, PolicyKind.TIME)
    marks = f"{fired}.marks" if may_be_empty else f"{fired}.places"
    levels = () if moves_by_time(operator) else given.levels
    builder.put_marked(operator, f"{fired}.to([], {{{made}}})", marks, levels)
    builder.count(operator, given.frame)


def _state_text(builder: Builder, operator: Operator, arguments: list[Expression], calls: list[tuple[str, int]]) -> str:
    window = operator.inputs[0].window
    assert window is not None
    keys = [str(k.type) for k in operator.param("partitionBy")]
    parts = {"keys": keys, "columns": [str(a.type) for a in arguments], "calls": calls}
    lists = ", ".join(f"{name}={listed(part)}" for name, part in parts.items())
    lists += f", names={listed(key_names(operator.param('partitionBy')))}"
    if window.kind is WindowKind.SLIDING:
        return f"CountWindows({_sliding_text(operator, window)}, {lists})"
    match window.eviction.kind:
        case PolicyKind.DELTA:
            return f"TumblingDeltas(size={_delta(window.eviction)!r}, {lists})"
        case PolicyKind.PUNCTUATION:
            return f"TumblingMarkers({lists})"
        case PolicyKind.TIME:
            size = round(float(_literal(window.eviction.size) or 0) * NANOSECONDS)
            marks = builder.wants_marks(operator.outputs[0].stream)
            rank = builder.part.plan.application.rank[operator.id]
            return f"TumblingTimes(size={size}, rank={rank}, marks={marks}, {lists})"
    return f"TumblingCounts(size={_size(window.eviction)}, {lists})"


def _sliding_text(operator: Operator, window: Window) -> str:
    step = 1 if window.trigger is None else _size(window.trigger)
    incomplete = operator.param("aggregateIncompleteWindows")
    is_incomplete = bool(incomplete) and getattr(fold(incomplete[0]), "value", False)
    return f"size={_size(window.eviction)}, step={step}, incomplete={is_incomplete}"
