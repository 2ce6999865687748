"""Expressions as Python text over whole columns.

Introduction:
    `expr.emit.expression_text` writes an expression for one tuple; this module writes it for all rows of a frame:
    `price * volume > 100.0` becomes `t["price"] * t["volume"] > 100.0`, where `t["price"]` is a numpy array.

Formulation:
    A node has a vector form if numpy or Arrow compute it exactly; then its text is that operation. The smallest tree
    that contains a node without one becomes a loop over the rows of the columns that it reads, written in place as
    a list comprehension, or over the distinct values if it reads one column of strings. A text is eager if it cannot
    fail, so that it may be computed for rows that do not need it.

Example:
    `ttype == "Trade" && hashCode(sym) % 4 == 0` as a filter is two selections: a comparison in Arrow, then, among the
    rows that are left, one call of `hashCode` for each distinct symbol.

When it does not apply:
    Expressions with effects, or whose value is not determined by the tuple: they belong in a loop (`loops`).

Algorithm:
    One walk. What is costly is assigned to a variable of its own, once for each frame and expression, so operators
    that look at the same stream in the same way share the work.

Preserves:
    The values of the scalar evaluator, to the bit, and that an evaluation fails if and only if it would fail for some
    row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.codegen.write.body import Body
from penstock.codegen.write.folding import fold, is_fixed, is_nonzero, variables_of
from penstock.expr.analysis import attributes_of, own_function
from penstock.expr.emit.code import ADD, ATOM, BIT_AND, BIT_OR, COMPARE, MULTIPLY, SIGN, Code, operation
from penstock.expr.emit.expression_text import emit
from penstock.expr.emit.scope import Locals, Scope, Storage
from penstock.expr.functions.registry import resolve
from penstock.expr.vector.frame import dtype_of
from penstock.expr.vector.operators import binary_operation, can_cast_fail, cast_operation
from penstock.ir.expressions import (
    COMPARISON,
    Attribute,
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    Literal,
    Unary,
    Variable,
)
from penstock.ir.types import FLOAT32, TIMESTAMP, OptionalType, Schema, Type, is_float, is_integer, is_string

_LEVELS = {"+": ADD, "-": ADD, "*": MULTIPLY, "/": MULTIPLY, "&": BIT_AND, "|": BIT_OR, "^": BIT_AND - 1}


@dataclass(frozen=True, slots=True)
class Vector:
    """The text of a column.

    Attributes:
        code: The text.
        eager: Whether computing it cannot fail.
        rows: Whether some of it is computed row by row, not only once for each distinct string.
    """

    code: Code
    eager: bool = True
    rows: bool = False

    @property
    def text(self) -> str:
        """The text alone."""
        return self.code.text


@dataclass(frozen=True, slots=True)
class Sight:
    """The names that an expression over columns can use, with the text of each.

    Attributes:
        schemas: The schemas of the ports.
        frames: The text of the frame of each port; the rows of all frames lie side by side.
        variables: The text of the column of each variable.
    """

    schemas: tuple[Schema, ...]
    frames: tuple[str, ...]
    variables: Mapping[str, str]

    def column(self, x: Attribute | Variable) -> str:
        """The text of the column of an attribute or a variable."""
        return self.variables[x.name] if isinstance(x, Variable) else f'{self.frames[x.port]}["{x.name}"]'


def sight(schema: Schema, frame: str) -> Sight:
    """The sight of an operator with one input port."""
    return Sight((schema,), (frame,), {})


class VectorText:
    """Writes expressions over columns into a body."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def column(self, x: Expression, where: Sight) -> Vector:
        """The text of a column with a value for each row."""
        folded = fold(x)
        if isinstance(folded, Literal):
            rows = (*where.frames, *where.variables.values())[0]
            return Vector(Code(f"full(len({rows}), {folded.value!r}, {self.body.type(x.type)})"))
        return self.node(folded, where)

    def node(self, x: Expression, where: Sight) -> Vector:
        """The text of a node: a literal stays one value for all rows."""
        before = self.body.mark()
        found = self._vector(x, where)
        if found is not None:
            return found
        # What has been written on the way to find out that there is no vector form must not be computed.
        self.body.undo(before)
        return self._rows(x, where)

    def _vector(self, x: Expression, where: Sight) -> Vector | None:
        match x:
            case Literal(value=bool() | int() | str()):
                return Vector(Code(repr(x.value), SIGN if repr(x.value).startswith("-") else ATOM))
            case Literal(value=float(value)) if value - value == 0.0:
                return Vector(Code(repr(value), SIGN if repr(value).startswith("-") else ATOM))
            case Attribute() | Variable():
                return Vector(Code(where.column(x)))
            case Unary(operator="-" | "~" | "!") if dtype_of(x.type) is not None and not is_fixed(x.operand):
                operand = self.node(x.operand, where)
                sign = "-" if x.operator == "-" else "~"
                return Vector(Code(f"{sign}{operand.code.at(SIGN)}", SIGN), operand.eager, operand.rows)
            case Binary():
                return self._binary(x, where)
            case Conditional():
                return self._conditional(x, where)
            case Cast():
                return self._cast(x, where)
            case Call():
                return self._call(x, where)
        return None

    def _binary(self, x: Binary, where: Sight) -> Vector | None:
        if (is_fixed(x.left) and is_fixed(x.right)) or isinstance(x.left.type, OptionalType):
            return None
        if x.operator in ("&&", "||"):
            return self._logical(x, where)
        if x.operator in ("<<", ">>"):
            return self._named(x, where, f'shift("{x.operator}", "{x.type}")', x.left, x.right)
        type_ = x.left.type
        if dtype_of(type_) is not None and x.operator in _written(type_):
            return self._operator(x, where)
        if binary_operation(x.operator, type_) is None:
            return None
        fails = type_ == TIMESTAMP or (x.operator in ("/", "%") and is_integer(type_) and not is_nonzero(x.right))
        return self._named(x, where, f'operation("{x.operator}", "{type_}")', x.left, x.right, fails=fails)

    def _operator(self, x: Binary, where: Sight) -> Vector:
        left, right = self.node(x.left, where), self.node(x.right, where)
        level = _LEVELS.get(x.operator, COMPARE)
        made = (
            Code(f"{left.code.at(COMPARE + 1)} {x.operator} {right.code.at(COMPARE + 1)}", COMPARE)
            if level == COMPARE
            else operation(left.code, x.operator, right.code, level)
        )
        return Vector(made, left.eager and right.eager, left.rows or right.rows)

    def _logical(self, x: Binary, where: Sight) -> Vector | None:
        left, right = self.node(x.left, where), self.node(x.right, where)
        if not right.eager or isinstance(x.left, Literal) or isinstance(x.right, Literal):
            return None
        operator, level = ("&", BIT_AND) if x.operator == "&&" else ("|", BIT_OR)
        return Vector(operation(left.code, operator, right.code, level), left.eager, left.rows or right.rows)

    def _conditional(self, x: Conditional, where: Sight) -> Vector | None:
        if dtype_of(x.type) is None or is_fixed(x.test):
            return None
        test, then, otherwise = (self.node(part, where) for part in (x.test, x.then, x.otherwise))
        if not then.eager or not otherwise.eager:
            return None
        text = f"choose({test.text}, {then.text}, {otherwise.text}, {self.body.type(x.type)})"
        return Vector(Code(text), test.eager, test.rows or then.rows or otherwise.rows)

    def _cast(self, x: Cast, where: Sight) -> Vector | None:
        source, target = x.operand.type, x.type
        if is_fixed(x.operand) or cast_operation(source, target) is None:
            return None
        dtype = dtype_of(target)
        if dtype is None or target == FLOAT32 or (is_float(source) and is_integer(target)):
            fails = can_cast_fail(source, target)
            return self._named(x, where, f'cast("{source}", "{target}")', x.operand, fails=fails)
        operand = self.node(x.operand, where)
        return Vector(Code(f"{operand.code.at(ATOM)}.astype(np.{dtype.name})"), operand.eager, operand.rows)

    def _call(self, x: Call, where: Sight) -> Vector | None:
        types = [a.type for a in x.arguments]
        if own_function(x, self.body.module.functions) is not None or all(map(is_fixed, x.arguments)):
            return None
        if resolve(x.function, types).bind_vector() is None:
            return None
        if not all(isinstance(a, Literal) or not is_fixed(a) for a in x.arguments):
            return None
        listed = ", ".join(f'"{text}"' for text in (x.function, *map(str, types)))
        return self._named(x, where, f"function({listed})", *x.arguments, fails=True)

    def _named(self, x: Expression, where: Sight, made: str, *operands: Expression, fails: bool = False) -> Vector:
        """A call of an operation that the module defines; its result has a name of its own."""
        hint = _HINTS.get(getattr(x, "operator", ""), getattr(x, "function", "cast"))
        name = self.body.module.define(hint, made)
        parts = [self.node(operand, where) for operand in operands]
        text = f"{name}({', '.join(part.text for part in parts)})"
        eager = not fails and all(part.eager for part in parts)
        found = self.body.shared((where.frames, tuple(where.variables.values()), x), hint, text)
        return Vector(Code(found), eager, any(part.rows for part in parts))

    def _rows(self, x: Expression, where: Sight) -> Vector:
        """The loop over the rows of the columns that an expression reads."""
        used = attributes_of(x, schemas=where.schemas)
        variables = sorted(variables_of(x), key=lambda v: v.name)
        names = Locals()
        attributes = {(p, n): names.name(f"{n}_{p}" if p else n) for p, n in used}
        storages = {v.name: Storage(names.name(v.name)) for v in variables}
        scope = Scope(
            module=self.body.module, locals=names, ports=where.schemas, attributes=attributes, variables=storages
        )
        text = emit(x, scope)
        types = [where.schemas[p].attribute(n).type for p, n in used] + [v.type for v in variables]
        columns = [f'{where.frames[p]}["{n}"]' for p, n in used] + [where.column(v) for v in variables]
        loop = self._loop(x, text, [*attributes.values(), *(s.text for s in storages.values())], columns, types, where)
        found = self.body.shared((where.frames, tuple(where.variables.values()), x), "rows", loop)
        return Vector(Code(found), eager=False, rows=not loop.startswith("by_distinct"))

    def _loop(
        self, x: Expression, text: str, names: list[str], columns: list[str], types: list[Type], where: Sight
    ) -> str:
        made = self.body.type(x.type)
        if len(names) == 1 and is_string(types[0]):
            return f"by_distinct({columns[0]}, lambda {names[0]}: {text}, {made})"
        lists = [f"values({c}, {self.body.type(t)})" for c, t in zip(columns, types, strict=True)]
        if not names:
            rows = (*where.frames, *where.variables.values())[0]
            return f"typed([{text} for _ in range(len({rows}))], {made})"
        source = lists[0] if len(names) == 1 else f"zip({', '.join(lists)}, strict=True)"
        return f"typed([{text} for {', '.join(names)} in {source}], {made})"


_HINTS = {
    "/": "divide",
    "%": "remainder",
    "+": "join",
    "==": "same",
    "!=": "differ",
    "<": "before",
    "<=": "up_to",
    ">": "after",
    ">=": "from",
    "<<": "shift",
    ">>": "shift",
}


def _written(type_: Type) -> tuple[str, ...]:
    """The operators that numpy's arrays spell as SPL does, and that mean the same."""
    if type_ == TIMESTAMP:
        return COMPARISON
    return tuple(o for o in (*_LEVELS, *COMPARISON) if o != "/" or is_float(type_))
