"""The text of functions over columns, and of functions that are called row by row."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from penstock.codegen.functions.compiled import Columns, Compiled
from penstock.codegen.functions.nodes import Node, Path, Where
from penstock.codegen.write.builder import Builder, Given, branch, to_text
from penstock.expr.values import integer_range
from penstock.expr.vector.frame import dtype_of
from penstock.ir.graph import Operator
from penstock.ir.types import OptionalType, Primitive, Schema, Type, is_integer

_TEXTS: dict[str, str] = {
    "int of bool": "{0}.astype(np.int64)",
    "float": "{0}.astype(np.float64)",
    "concatenate": "join_text({all})",
    "is null": "is_null({0})",
    "is valid": "~is_null({0})",
    "length": "length({0})",
    "digits": "digits({0})",
    "contains": "has_text({1}, {0})",
    "startswith": "begins({0}, {1})",
    "endswith": "ends({0}, {1})",
    "np abs": "np.abs({0})",
    "fabs": "np.abs({0})",
    "isnan": "np.isnan({0})",
    "isinf": "np.isinf({0})",
    "isfinite": "np.isfinite({0})",
    "min": "least({all})",
    "max": "greatest({all})",
}
"""The texts of the operations that never make rows leave."""

_LEAVING = frozenset(
    "add subtract multiply negate absolute divide floor_divide modulo truncate floor ceil round_even sqrt".split()
)


def write_columns(builder: Builder, operator: Operator, compiled: Compiled, *, is_declared: bool) -> None:
    """Write an operator that is a function over columns; a model that is declared is checked by calls."""
    given = builder.input(operator, 0)
    writer = ColumnWriter(builder, operator, given)
    if is_declared:
        writer.leave_first()
    text = _WRITERS[compiled.role](writer, compiled)
    builder.body.add(*writer.lines())
    builder.put(operator, 0, text)
    builder.count(operator, given.frame)


def write_row_calls(builder: Builder, operator: Operator, role: str) -> None:
    """Write an operator whose function is called row by row."""
    given = builder.input(operator, 0)
    call = builder.provided(operator, "call")
    schemas = [builder.body.type(given.schema)]
    if role != "filter":
        schemas.append(builder.body.type(operator.outputs[0].schema))
    name = {"map": "map_rows", "filter": "filter_rows", "flat map": "flat_map_rows"}[role]
    # The way of the rows comes before their turns on it.
    builder.put(operator, 0, f"{name}({given.frame}{branch(given.levels)}, {call}, {', '.join(schemas)})")
    builder.count(operator, given.frame)


class ColumnWriter:
    """Writes the nodes of a function as lines over columns."""

    def __init__(self, builder: Builder, operator: Operator, given: Given) -> None:
        self.builder = builder
        self.operator = operator
        self.frame = given.frame
        self.schema = given.schema
        self.way = branch(given.levels)
        self._lines: list[str] = []
        self._texts: dict[int, str] = {}
        self._masks: dict[int, str] = {}
        self._left = ""
        self._uses: Counter[int] = Counter()
        # Nodes are told apart by identity: none may go away while its number is in use.
        self._kept: list[object] = []

    def lines(self) -> Iterator[str]:
        """All that has to stand before the frame of what is given."""
        if self._left:
            yield f"{self._left} = Left(len({self.frame}))"
        yield from self._lines

    def leave_first(self) -> None:
        """Let the function itself take the rows on which its model is checked."""
        self._lines.append(f"{self.left}.leave_first({self.builder.provided(self.operator, 'call')})")

    def begin(self, forced: Sequence[Node | Path | None], *results: Node) -> None:
        """Write what is evaluated on the way."""
        self._kept += [*forced, *results]
        self._count([n for n in forced if isinstance(n, Node)] + list(results))
        for item in forced:
            if isinstance(item, Node):
                self._force(item)
            else:
                self._lines.append(f"{self.left}.leave({'' if item is None else self.mask(item)})")

    @property
    def left(self) -> str:
        """The variable of the rows that leave."""
        if not self._left:
            self._left = self.builder.body.name(f"{self.operator.id}_left")
        return self._left

    def has_left(self) -> bool:
        """Whether any row can leave."""
        return bool(self._left)

    def _count(self, nodes: list[Node]) -> None:
        """How often each node is used; what is used once needs no variable."""
        seen: set[int] = set()
        ready = list(nodes)
        while ready:
            node = ready.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            inside = [*node.args, *_tests((node.path, *node.choices), seen)]
            self._uses.update(id(a) for a in inside)
            ready += inside

    def _force(self, node: Node) -> None:
        """Write what may let rows leave; an attribute is just there."""
        if node.vector == "attribute":
            return
        if node.kind.is_column:
            self.column(node)
        else:
            for arg in node.args:
                self._force(arg)

    def mask(self, path: Path) -> str:
        """The variable of the rows of a path."""
        if id(path) not in self._masks:
            self._kept.append(path)
            name = self.builder.body.name("rows" if path.either else "then" if path.holds else "otherwise")
            text = self._mask_text(path)
            self._lines.append(f"{name} = {text}")
            self._masks[id(path)] = name
        return self._masks[id(path)]

    def _mask_text(self, path: Path) -> str:
        if path.either:
            return " | ".join(map(self.mask, path.either))
        assert path.test is not None
        test = self.column(path.test)
        test = test if path.holds else f"~{test}"
        return test if path.parent is None else f"{self.mask(path.parent)} & {test}"

    def _where(self, node: Node) -> str:
        return "" if node.path is None else f", {self.mask(node.path)}"

    def column(self, node: Node) -> str:
        """The text of a node's column; of a constant, that of its value."""
        if node.is_constant:
            return repr(node.value)
        if id(node) not in self._texts:
            self._kept.append(node)
            text, is_short = self._text(node)
            if not is_short or self._uses[id(node)] > 1 or node.hints:
                name = self.builder.body.name(node.hints[0] if node.hints else node.name or "value")
                self._lines.append(f"{name} = {text}")
                text = name
            self._texts[id(node)] = text
        return self._texts[id(node)]

    def _text(self, node: Node) -> tuple[str, bool]:
        """The text of a node, and whether it may stand inside another."""
        vector = node.vector
        if vector == "attribute":
            return self._attribute(node)
        if not vector or not all(a.kind.is_column or a.vector in ("held", "constant") for a in node.args):
            return self._each(node), False
        if vector == "choose":
            return self._choose(node), False
        if vector == "fit":
            return self._fit(node.args[0], node.type), True  # type: ignore[arg-type] # a node that fits has a type
        if vector == "in":
            table = self.builder.module.define("table", repr(node.value))
            return f"is_in({self.column(node.args[0])}, {table})", True
        if vector == "truth":
            return self._truth(node.args[0]), True
        args = [self.column(a) for a in node.args]
        if vector.startswith("plain "):
            symbol = vector.removeprefix("plain ")
            return (f"({symbol}{args[0]})" if len(args) == 1 else f"({args[0]} {symbol} {args[1]})"), True
        if vector.startswith("text "):
            return f'compare_text("{vector.removeprefix("text ")}", {", ".join(args)})', True
        if vector in _TEXTS:
            return _TEXTS[vector].format(*args, all=", ".join(args)), True
        if vector == "present":
            return f'{self.left}.present({args[0]}, "{node.kind.name}"{self._where(node)})', False
        method = "exact" if vector == "exact float" else vector
        assert method == "exact" or method in _LEAVING, vector
        return f"{self.left}.{method}({', '.join(args)}{self._where(node)})", False

    def _attribute(self, node: Node) -> tuple[str, bool]:
        raw = self.raw(node)
        if node.kind.optional:
            return f'optional({raw}, "{node.kind.name}")', False
        if node.type == Primitive("uint64"):
            return f"{self.left}.integers({raw})", False
        dtype = None if node.type is None else dtype_of(node.type)
        if dtype is None or dtype in ("int64", "float64", "bool"):
            return raw, True
        return f"{raw}.astype(np.{'int64' if node.kind.name == 'int' else 'float64'})", False

    def raw(self, node: Node) -> str:
        """The text of an attribute as it came."""
        return f'{self.frame}["{node.name}"]'

    def _truth(self, node: Node) -> str:
        column = self.column(node)
        if node.kind.optional or node.kind.name == "str":
            return f'is_true({column}, "{node.kind.name}")'
        return column if node.kind.name == "bool" else f"({column} != 0)"

    def _choose(self, node: Node) -> str:
        """A value by path; the last needs no test."""
        *others, last = zip(node.choices, node.args, strict=True)
        text = self.column(last[1])
        is_plain = not node.kind.optional and node.kind.name != "str"
        for where, arg in reversed(others):
            # All rows that are on none of these paths have left, or do not need the value.
            assert where is not None
            parts = f"{self.mask(where)}, {self.column(arg)}, {text}"
            text = f"np.where({parts})" if is_plain else f'pick({parts}, "{node.kind.name}")'
        return text

    def _each(self, node: Node) -> str:
        """An expression that Python evaluates row by row."""
        columns: dict[str, str] = {}
        body = self._row(node, columns)
        kind = f"{node.kind.name}?" if node.kind.optional else node.kind.name
        where = "None" if node.path is None else self.mask(node.path)
        names = ", ".join(columns.values())
        return f'{self.left}.each(lambda {names}: {body}, "{kind}", {where}, {", ".join(columns)})'

    def _row(self, node: Node, columns: dict[str, str], *, is_outer: bool = True) -> str:
        """The Python text of a node, with a parameter for each column that is at hand."""
        if node.is_constant:
            return node.row
        if node.vector == "held":
            return self.builder.module.define(node.name, node.row)
        if not is_outer and node.kind.is_column and (node.vector or id(node) in self._texts):
            text = self.column(node)
            if text not in columns:
                columns[text] = text if text.isidentifier() else self.builder.body.name(node.name or "v")
            return columns[text]
        return node.row.format(*(self._row(a, columns, is_outer=False) for a in node.args))

    def _fit(self, node: Node, type_: Type) -> str:
        """A column of a type."""
        column, kind, named = self.column(node), node.kind, self.builder.body.type
        if node.is_constant:
            return f"full(len({self.frame}), {column}, {named(type_)})"
        if isinstance(type_, OptionalType):
            return f'{self.left}.nullable({column}, "{kind.name}", {named(type_)})'
        assert isinstance(type_, Primitive)
        if is_integer(type_) and type_.name != "int64":
            low, high = integer_range(type_)
            fits = low <= kind.low and kind.high <= high
            return f"{column}.astype(np.{type_.name})" if fits else f"{self.left}.fit({column}, {named(type_)})"
        if type_.name == "float32":
            return f"{self.left}.single({column})"
        return column if type_.bound is None else f"{self.left}.bounded({column}, {type_.bound})"

    def made(self, columns: Columns, outputs: Schema) -> str:
        """The text of the frame with the columns of tuples that leave."""
        copied = [n for n, node in columns.items() if node.vector == "attribute" and node.name == n]
        made = {n: self.given(node) for n, node in columns.items() if n not in copied}
        if not made and tuple(copied) != outputs.names:
            return f"{self.frame}.to({json.dumps(copied)})"
        return to_text(self.frame, copied, made, self.schema)

    def given(self, node: Node) -> str:
        """The text of a column that leaves."""
        return self.raw(node) if node.vector == "attribute" else self.column(node)

    def redone(self) -> str:
        """The arguments to call the function itself: the rows that left, the frame, the function and its schemas."""
        call = self.builder.provided(self.operator, "call")
        return f"{self.left}.rows, {self.frame}{self.way}, {call}, {self.builder.body.type(self.schema)}"


def _tests(paths: Iterable[Where], seen: set[int]) -> list[Node]:
    """The tests of paths that have not been seen, and of those that they are parts of."""
    found: list[Node] = []
    ready = list(paths)
    while ready:
        path = ready.pop()
        if path is not None and id(path) not in seen:
            seen.add(id(path))
            found += [] if path.test is None else [path.test]
            ready += [path.parent, *path.either]
    return found


def _write_map(writer: ColumnWriter, compiled: Compiled) -> str:
    ((_, columns),) = compiled.gives
    outputs = writer.operator.outputs[0].schema
    writer.begin(compiled.forced, *columns.values())
    text = writer.made(columns, outputs)
    if not writer.has_left():
        return f"{text}{writer.way}"
    return f"mend_map({text}{writer.way}, {writer.redone()}, {writer.builder.body.type(outputs)})"


def _write_filter(writer: ColumnWriter, compiled: Compiled) -> str:
    assert compiled.keeps is not None
    writer.begin(compiled.forced, compiled.keeps)
    if compiled.keeps.is_constant:
        text = f"np.full(len({writer.frame}), {compiled.keeps.value!r})"
    else:
        text = writer.column(compiled.keeps)
    if writer.has_left():
        text = f"mend_filter({text}, {writer.redone()})"
    return f"{writer.frame}.where({text}){writer.way}"


def _write_flat_map(writer: ColumnWriter, compiled: Compiled) -> str:
    outputs = writer.operator.outputs[0].schema
    writer.begin(compiled.forced, *(node for _, columns in compiled.gives for node in columns.values()))
    sites = []
    for where, columns in compiled.gives:
        mask = "None" if where is None else writer.mask(where)
        sites.append(f"({mask}, {writer.made(columns, outputs)})")
    redone = writer.redone()
    return f"mend_flat_map([{', '.join(sites)}], {redone}, {writer.builder.body.type(outputs)})"


_WRITERS: dict[str, Callable[[ColumnWriter, Compiled], str]] = {
    "map": _write_map,
    "filter": _write_filter,
    "flat map": _write_flat_map,
}
