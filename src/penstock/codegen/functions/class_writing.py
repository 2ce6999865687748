"""The text of classes with state: as a function over the columns of a round, or called in a loop."""

from __future__ import annotations

from penstock.codegen.functions.class_columns import CompiledClass
from penstock.codegen.functions.nodes import Kind, Node
from penstock.codegen.functions.writing import ColumnWriter
from penstock.codegen.write.body import Body
from penstock.codegen.write.builder import Builder, Given
from penstock.ir.graph import Operator

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
