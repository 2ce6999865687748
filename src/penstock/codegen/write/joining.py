"""Join of sides that remember one tuple of each key, or none."""

from __future__ import annotations

from penstock.codegen.write.builder import Builder, branch, key_names, listed
from penstock.codegen.write.folding import conjuncts, fold
from penstock.codegen.write.vector_text import Sight
from penstock.expr.analysis import attributes_of
from penstock.ir.expressions import Expression, Literal
from penstock.ir.graph import Operator, PolicyKind, Window
from penstock.toolkit.core.logic_runtime import symbol
from penstock.toolkit.relational.join import SIDES


def why_no_join(operator: Operator) -> str | None:
    """Why a tuple may meet others than the last with its key, or None if it does not."""
    if symbol(operator, "algorithm", "inner") != "inner":
        return "is an outer join"
    if any(port.window is not None and port.window.partition_age is not None for port in operator.inputs):
        return "forgets idle partitions"
    sizes = [_size(port.window) for port in operator.inputs]
    if any(size not in (0, 1) for size in sizes) or not any(sizes):
        return "joins with more than the last tuple"
    by_key = all(
        not size or operator.param(f"partitionBy{side}") == operator.param(f"equality{side}")
        for side, size in zip(SIDES, sizes, strict=True)
    )
    return None if by_key else "has partitions that are not those of its keys"


def _size(window: Window | None) -> int | None:
    if window is None or window.eviction.kind is not PolicyKind.COUNT or window.eviction.size is None:
        return None
    size = fold(window.eviction.size)
    return size.value if isinstance(size, Literal) and isinstance(size.value, int) else None


def write_join(builder: Builder, operator: Operator) -> None:
    """The pairs of a batch, those that match, then the output clause over them."""
    given = [builder.input(operator, port) for port in (0, 1)]
    schemas = tuple(port.schema for port in operator.inputs)
    frames = Sight(schemas, tuple(g.frame for g in given), {})
    keys = [[builder.vectors.column(k, frames).text for k in operator.param(f"equality{side}")] for side in SIDES]
    names = _needed(operator)
    builder.states[operator.id] = _state_text(operator, names)
    pairs = builder.body.name(f"{operator.id}_pairs")
    columns = ", ".join(f"[{', '.join(side)}]" for side in keys)
    arrived = ", ".join(f"{g.frame}{branch(g.levels)}" for g in given)
    builder.body.add(f'{pairs} = pe.states["{operator.id}"].pairs([{arrived}], [{columns}], {listed(names)})')
    left, right = builder.body.name(f"{operator.id}_left"), builder.body.name(f"{operator.id}_right")
    builder.body.add(f"{left}, {right} = {pairs}.left, {pairs}.right")
    both = _matching(builder, operator, Sight(schemas, (left, right), {}))
    rows = builder.assigned(operator.outputs[0].assignments, both)
    builder.put_marked(operator, rows, f"{both.frames[0]}.places", ())
    builder.count(operator, *(g.frame for g in given))


def _matching(builder: Builder, operator: Operator, both: Sight) -> Sight:
    """The pairs that satisfy the condition, part by part."""
    for part in (c for whole in operator.param("match") for c in conjuncts(fold(whole))):
        mask = builder.body.name("match")
        builder.body.add(f"{mask} = {builder.vectors.column(part, both).text}")
        names = tuple(builder.body.name(f"{operator.id}_{side}") for side in ("left", "right"))
        builder.body.add(f"{', '.join(names)} = {', '.join(f'{frame}.where({mask})' for frame in both.frames)}")
        both = Sight(both.schemas, names, {})
    return both


def _needed(operator: Operator) -> list[list[str]]:
    """The attributes of each side that the condition or the output clause reads."""
    schemas = [port.schema for port in operator.inputs]
    expressions: list[Expression] = [*operator.param("match"), *(a.value for a in operator.outputs[0].assignments)]
    used = attributes_of(*expressions, schemas=schemas)
    return [[name for port, name in used if port == side] for side in (0, 1)]


def _state_text(operator: Operator, needed_names: list[list[str]]) -> str:
    sides = []
    for port, needed in zip(operator.inputs, needed_names, strict=True):
        types = {name: str(port.schema.attribute(name).type) for name in needed}
        sides.append(types if _size(port.window) else None)
    keys = [str(k.type) for k in operator.param("equalityLHS")]
    names = [key_names(operator.param(f"equality{side}")) for side in SIDES]
    return f"LastTuples(keys={listed(keys)}, sides={listed(sides)}, names={listed(names)})"
