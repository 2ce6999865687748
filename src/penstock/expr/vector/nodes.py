"""The nodes of an expression as functions over columns: which have a vector form, and which are lazy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.expr.analysis import own_function
from penstock.expr.emit.parts import no_value
from penstock.expr.evaluate import Evaluator
from penstock.expr.functions.registry import resolve
from penstock.expr.values import to_arrow_array
from penstock.expr.vector.frame import (
    Column,
    Frame,
    compress,
    constant,
    dtype_of,
    is_scalar,
    merge,
    to_array,
    to_column,
)
from penstock.expr.vector.operators import (
    binary_operation,
    can_cast_fail,
    cast_operation,
    shift_operation,
    unary_operation,
)
from penstock.expr.vector.rows import row_loop
from penstock.ir.expressions import (
    Attribute,
    Binary,
    Call,
    Cast,
    Conditional,
    Expression,
    ListLiteral,
    Literal,
    SetLiteral,
    Slice,
    Unary,
)
from penstock.ir.types import BOOLEAN, TIMESTAMP, OptionalType, Schema, is_float, is_integer, is_string


@dataclass(frozen=True, slots=True)
class Node:
    """A compiled node.

    Attributes:
        run: From rows to a column.
        eager: Whether it is cheap and never fails, so that it may be evaluated on rows that do not need it.
    """

    run: Callable[[Frame], Column]
    eager: bool = True


class NodeCompiler:
    """Compiles the nodes of an expression, each to the best form there is.

    Args:
        schemas: Of the input ports.
        evaluator: Compiles what is evaluated row by row.
    """

    def __init__(self, schemas: tuple[Schema, ...], evaluator: Evaluator) -> None:
        self.schemas = schemas
        self.evaluator = evaluator

    def node(self, x: Expression) -> Node:
        """A compiled node."""
        return self._vectorised(x) or Node(row_loop(x, self.schemas, self.evaluator), eager=False)

    def _vectorised(self, x: Expression) -> Node | None:
        match x:
            case Literal():
                value = constant(x.value, x.type)
                return Node(lambda frame: value)
            case Attribute():
                return self._attribute(x)
            case Unary(operator="unwrap"):
                return self._unwrap(x)
            case Unary():
                return self._apply(unary_operation(x.operator, x.type), x.operand)
            case Binary():
                return self._binary(x)
            case Conditional():
                return self._conditional(x)
            case Cast():
                return self._cast(x)
            case Slice():
                return self._slice(x)
            case Call():
                return self._call(x)
        return None

    def _attribute(self, x: Attribute) -> Node:
        port, position, type_ = x.port, self.schemas[x.port].position[x.name], x.type
        return Node(lambda frame: frame.column(port, position, type_))

    def _apply(
        self, operation: Callable[..., Column] | None, *operands: Expression, fails: bool = False
    ) -> Node | None:
        """An operation over columns on the values of operands."""
        if operation is None:
            return None
        nodes = [self.node(operand) for operand in operands]
        eager = not fails and all(node.eager for node in nodes)
        if len(nodes) == 1:
            only = nodes[0].run
            return Node(lambda frame: operation(only(frame)), eager)
        left, right = nodes[0].run, nodes[1].run
        return Node(lambda frame: operation(left(frame), right(frame)), eager)

    def _binary(self, x: Binary) -> Node | None:
        if x.operator in ("&&", "||"):
            return self._logical(x)
        if x.operator == "?:":
            return self._or_else(x)
        if x.operator == "in":
            return self._membership(x)
        if x.operator in ("<<", ">>"):
            return self._apply(shift_operation(x.operator, x.type), x.left, x.right)
        if isinstance(x.left.type, OptionalType):
            return self._null_test(x)
        fails = x.type == TIMESTAMP or (
            x.operator in ("/", "%") and is_integer(x.type) and not isinstance(x.right, Literal)
        )
        return self._apply(binary_operation(x.operator, x.left.type), x.left, x.right, fails=fails or _is_zero(x.right))

    def _logical(self, x: Binary) -> Node:
        left, right = self.node(x.left), self.node(x.right)
        combine = np.logical_and if x.operator == "&&" else np.logical_or
        if right.eager:
            return Node(lambda frame: combine(left.run(frame), right.run(frame)), left.eager)
        decided = x.operator == "||"

        def run(frame: Frame) -> Column:
            first = left.run(frame)
            if is_scalar(first):
                return first if bool(first) is decided else right.run(frame)
            needed = ~first if decided else first
            return _merged(needed, lambda: right.run(frame.where(needed)), lambda: np.bool_(decided), x)

        return Node(run, eager=False)

    def _conditional(self, x: Conditional) -> Node:
        test, then, otherwise = self.node(x.test), self.node(x.then), self.node(x.otherwise)

        def run(frame: Frame) -> Column:
            mask = test.run(frame)
            if is_scalar(mask):
                return (then if mask else otherwise).run(frame)
            return _merged(
                mask,
                lambda: _on(frame, mask, then),
                lambda: _on(frame, ~mask, otherwise),
                x,
            )

        return Node(run, test.eager and then.eager and otherwise.eager)

    def _or_else(self, x: Binary) -> Node:
        left, right = self.node(x.left), self.node(x.right)

        def run(frame: Frame) -> Column:
            values = to_array(left.run(frame), x.left.type, frame.rows)
            if not values.null_count:
                return to_column(values, x.type)
            mask = values.is_valid().to_numpy(zero_copy_only=False)
            present = to_column(values.drop_null(), x.type)
            return _merged(mask, lambda: present, lambda: _on(frame, ~mask, right), x)

        return Node(run, left.eager and right.eager)

    def _unwrap(self, x: Unary) -> Node:
        operand = self.node(x.operand)

        def run(frame: Frame) -> Column:
            values = to_array(operand.run(frame), x.operand.type, frame.rows)
            if values.null_count:
                no_value()
            return to_column(values, x.type)

        return Node(run, eager=False)

    def _null_test(self, x: Binary) -> Node | None:
        if not isinstance(x.right, Literal) or x.right.value is not None:
            return None
        operand = self.node(x.left)
        test = pc.is_null if x.operator == "==" else pc.is_valid
        return Node(
            lambda frame: to_column(test(to_array(operand.run(frame), x.left.type, frame.rows)), BOOLEAN),
            operand.eager,
        )

    def _membership(self, x: Binary) -> Node | None:
        if not isinstance(x.right, ListLiteral | SetLiteral) or is_float(x.left.type):
            return None
        known = [e.value for e in x.right.elements if isinstance(e, Literal)]
        simple = dtype_of(x.left.type) is not None or is_string(x.left.type)
        if not simple or not known or len(known) < len(x.right.elements):
            return None
        operand, value_set = self.node(x.left), to_arrow_array(known, x.left.type)
        return Node(
            lambda frame: to_column(
                pc.is_in(to_array(operand.run(frame), x.left.type, frame.rows), value_set=value_set), BOOLEAN
            ),
            operand.eager,
        )

    def _cast(self, x: Cast) -> Node | None:
        source, target = x.operand.type, x.type
        if isinstance(target, OptionalType) and target.inner == source:
            operand = self.node(x.operand)
            return Node(lambda frame: to_array(operand.run(frame), source, frame.rows), operand.eager)
        return self._apply(cast_operation(source, target), x.operand, fails=can_cast_fail(source, target))

    def _slice(self, x: Slice) -> Node | None:
        bounds = [0 if x.lower is None else _position(x.lower), None if x.upper is None else _position(x.upper)]
        if not is_string(x.base.type) or -1 in bounds:
            return None
        start, stop = bounds
        return self._apply(lambda column: pc.utf8_slice_codeunits(column, start, stop), x.base)

    def _call(self, x: Call) -> Node | None:
        if own_function(x, self.evaluator.functions) is not None:
            return None
        vector = resolve(x.function, [a.type for a in x.arguments]).bind_vector()
        if vector is None:
            return None
        arguments = [self.node(a) for a in x.arguments]
        types = [a.type for a in x.arguments]
        by_rows = row_loop(x, self.schemas, self.evaluator)

        def run(frame: Frame) -> Column:
            columns = [_to_arrow(a.run(frame), type_) for a, type_ in zip(arguments, types, strict=True)]
            found = vector(*columns) if any(isinstance(c, pa.Array) for c in columns) else NotImplemented
            return by_rows(frame) if found is NotImplemented else to_column(found, x.type)

        return Node(run, eager=False)


def _is_zero(x: Expression) -> bool:
    return isinstance(x, Literal) and is_integer(x.type) and x.value == 0


def _position(x: Expression) -> int:
    """The value of a literal position; -1 if it is not a literal."""
    return max(x.value, 0) if isinstance(x, Literal) and isinstance(x.value, int) else -1


def _to_arrow(column: Column, type_: Any) -> Any:
    if isinstance(column, np.generic):
        return to_arrow_array([column.item()], type_)[0]
    return to_array(column, type_, len(column)) if isinstance(column, np.ndarray) else column


def _on(frame: Frame, mask: Any, node: Node) -> Column:
    """The column of a node on the rows of a mask; an eager node is evaluated on all rows, which is faster."""
    return compress(node.run(frame), mask) if node.eager else node.run(frame.where(mask))


def _merged(mask: Any, then: Callable[[], Column], otherwise: Callable[[], Column], x: Expression) -> Column:
    """Two partial columns merged; a side that no row needs is not evaluated."""
    if mask.all():
        return then()
    if not mask.any():
        return otherwise()
    return merge(mask, then(), otherwise(), x.type)
