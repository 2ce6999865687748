"""Functor, Filter, Split, Punctor and Union over whole frames."""

from __future__ import annotations

from penstock.codegen.write.builder import Builder, branch, to_text
from penstock.codegen.write.vector_text import sight
from penstock.ir.graph import Operator
from penstock.ir.types import ListType
from penstock.toolkit.core.logic_runtime import symbol


def write_functor(builder: Builder, operator: Operator) -> None:
    """One selection, then a frame for each output port."""
    given = builder.input(operator, 0)
    kept = builder.kept(given, operator.param("filter"))
    for port, output in enumerate(operator.outputs):
        levels = (*given.levels, port) if len(operator.outputs) > 1 else given.levels
        text = builder.assigned(output.assignments, sight(given.schema, kept))
        builder.put(operator, port, f"{text}{branch(levels)}")
    builder.count(operator, given.frame)


def write_filter(builder: Builder, operator: Operator) -> None:
    """A selection; with two output ports, the mask divides the rows."""
    given = builder.input(operator, 0)
    builder.count(operator, given.frame)
    if len(operator.outputs) == 1:
        kept = builder.kept(given, operator.param("filter"))
        builder.put(operator, 0, f"{kept}{branch(given.levels)}")
        return
    condition = operator.param("filter")
    if not condition:
        builder.put(operator, 0, f"{given.frame}{branch((*given.levels, 0))}")
        builder.put(operator, 1, f"{given.frame}.where(np.zeros(len({given.frame}), bool)){branch((*given.levels, 1))}")
        return
    mask = builder.body.name(f"{operator.id}_passes")
    builder.body.add(f"{mask} = {builder.vectors.column(condition[0], sight(given.schema, given.frame)).text}")
    for port, text in enumerate((mask, f"~{mask}")):
        builder.put(operator, port, f"{given.frame}.where({text}){branch((*given.levels, port))}")


def write_split(builder: Builder, operator: Operator) -> None:
    """A selection for each output port, by the index modulo their number."""
    given, ports = builder.input(operator, 0), len(operator.outputs)
    index = builder.body.name(f"{operator.id}_index")
    column = builder.vectors.column(operator.param("index")[0], sight(given.schema, given.frame)).text
    builder.body.add(f"{index} = {column}")
    for port in range(ports):
        levels = (*given.levels, port) if ports > 1 else given.levels
        builder.put(
            operator,
            port,
            f"{given.frame}.where(({index} >= 0) & ({index} % {ports} == {port})){branch(levels)}",
        )
    builder.count(operator, given.frame)


def why_no_split(operator: Operator) -> str | None:
    """Why a Split does not send each tuple to one port at most, or None if it does."""
    index = operator.param("index")
    if not index:
        return "reads its mapping from a file"
    return "sends tuples to lists of ports" if isinstance(index[0].type, ListType) else None


def write_punctor(builder: Builder, operator: Operator) -> None:
    """All rows, with a marker before or after those that satisfy the condition."""
    given, output = builder.input(operator, 0), operator.outputs[0]
    mask = builder.vectors.column(operator.param("punctuate")[0], sight(given.schema, given.frame)).text
    rows = builder.assigned(output.assignments, sight(given.schema, given.frame))
    mark, row = (0, 1) if symbol(operator, "position") == "before" else (1, 0)
    marks = f"{given.frame}.where({mask}).places.under({', '.join(map(str, (*given.levels, mark)))})"
    builder.put(operator, 0, f"{rows}.marked(None){branch((*given.levels, row))}.marked({marks})")
    builder.count(operator, given.frame)


def write_union(builder: Builder, operator: Operator) -> None:
    """All rows of all ports, in the sequential order, without their markers."""
    names = operator.outputs[0].schema.names
    parts, counts = [], []
    for port, streams in enumerate(builder.part.inputs[operator.id]):
        parts += builder.subscribed(operator, port)
        counts.append(" + ".join(f"len({builder.frames[stream]})" for stream in streams))
    merged = builder.merged(operator.id, parts, names)
    builder.put(operator, 0, f"{to_text(merged, names, {}, operator.outputs[0].schema)}.marked(None)")
    builder.received[operator.id] = counts


def write_discard(builder: Builder, operator: Operator) -> None:
    """Every column is made, and dropped."""
    given = builder.input(operator, 0)
    builder.body.add(*(f'{given.frame}["{name}"]' for name in given.schema.names))
    builder.count(operator, given.frame)
