"""Logic clauses, once for all operators.

An operator with a logic clause runs its `onTuple` code before it takes the tuple, its `onPunct` code before it handles
the punctuation; parameters and output expressions may use the state variables. An operator that derives from
`LogicRuntime` gets all this without saying more: it implements `taker` (or `process`), and compiles its expressions
through `scalar` and `row`, which know the state.

    tuple -> onTuple of the port -> what `taker(port)` returned
    window marker -> onPunct of the port -> `take_window_marker(port)`
    final marker -> onPunct of the port -> `take_final_marker(port)`
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from penstock.expr.environment import Tuple
from penstock.expr.evaluate import LogicRuntime as Logic
from penstock.ir.expressions import Expression, Symbol, Variable
from penstock.ir.graph import Operator
from penstock.ir.models import State
from penstock.ir.statements import Function
from penstock.ir.types import Schema
from penstock.toolkit.analysis.keyed_state import Shape, state_shapes
from penstock.toolkit.core.memory import CONSTANTS, Memory, Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Submit

MARKERS = {"WindowMarker": Punctuation.WINDOW, "FinalMarker": Punctuation.FINAL}
"""The punctuations by the names that SPL gives them."""

VARIABLES = "variables"
"""Where a memory holds the state variables that belong to no key."""

VARIABLE = "state."
"""Stands before the name of a state variable that is remembered by key."""

_NAMES = {punctuation: name for name, punctuation in MARKERS.items()}


class LogicRuntime(Runtime):
    """The base of operators that may have a logic clause.

    Attributes:
        logic: The compiled logic clause, if there is one.
    """

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._constants: dict[str, list[Any]] = {}
        self.logic: Logic | None = None
        if operator.logic is not None:
            markers = [partial(self._punctuate_by_name, port) for port in range(len(operator.outputs))]
            self.logic = context.evaluator.logic(
                operator.logic, ports=self._schemas(), submit=self.submit, punctuate=markers
            )

    def taker(self, port: int) -> Submit:
        """The function that takes each tuple of a port, after the logic clause; a stateless operator compiles it."""
        return partial(self.process, port)

    def take_window_marker(self, port: int) -> None:
        """Take a window marker, after the logic clause; by default it is passed on to every output."""
        super().on_window_punctuation(port)

    def take_final_marker(self, port: int) -> None:
        """Take the end of a port, after the logic clause; by default nothing happens."""

    def receiver(self, port: int) -> Submit:
        """The function to call for each tuple of an input port: the logic clause, then the operator itself."""
        take = self.taker(port)
        before = self.logic.on_tuple.get(port) if self.logic is not None else None
        if before is None:
            return take
        run: Callable[[Tuple], Tuple] = before

        def take_after_logic(tuple_: Tuple) -> None:
            take(run(tuple_))

        return take_after_logic

    def on_window_punctuation(self, port: int) -> None:
        """Run `onPunct` and let the operator take the marker."""
        self._run_on_punctuation(port, Punctuation.WINDOW)
        self.take_window_marker(port)

    def on_final_punctuation(self, port: int) -> None:
        """Run `onPunct` and let the operator take the end of the port."""
        self._run_on_punctuation(port, Punctuation.FINAL)
        self.take_final_marker(port)

    def scalar(self, expression: Expression, *, variables: Sequence[Variable] = ()) -> Callable[..., Any]:
        """An expression as a function of the current tuples, one for each input port, and of variables."""
        names = [v.name for v in variables]
        return self.context.evaluator.scalar(expression, ports=self._schemas(), variables=names, state=self._state)

    def row(self, expressions: Sequence[Expression], *, variables: Sequence[Variable] = ()) -> Callable[..., Tuple]:
        """Several expressions as one function that makes a tuple of their values."""
        names = [v.name for v in variables]
        return self.context.evaluator.row(expressions, ports=self._schemas(), variables=names, state=self._state)

    def output_row(self, port: int = 0) -> Callable[..., Tuple]:
        """The output clause of a port as a function of the current tuples."""
        return self.row([a.value for a in self.operator.outputs[port].assignments])

    def constant(self, name: str, default: Any = None) -> Any:
        """The value of a constant parameter, or the default where it is not given."""
        values = self.constants(name)
        return values[0] if values else default

    def constants(self, name: str) -> list[Any]:
        """The values of a constant parameter that takes several."""
        if name not in self._constants:
            self._constants[name] = [self.context.evaluator.constant(v) for v in self.operator.param(name)]
        return self._constants[name]

    def duration_ns(self, name: str, default: float = 0.0) -> int:
        """The nanoseconds of a constant parameter that is given in seconds; never negative."""
        seconds: float = self.constant(name, default)
        return max(0, round(seconds * 1_000_000_000))

    def symbol(self, name: str, default: str = "") -> str:
        """The word that a parameter of the kind SYMBOLS gives."""
        return symbol(self.operator, name, default)

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add the state variables: maps that are keyed by attributes belong to their keys."""
        super().snapshot_into(whole, parts)
        if self.logic is not None:
            mine = memory_of_variables(self.operator, self.context.evaluator.functions, vars(self.logic.state))
            whole.update(mine[0])
            parts.update(mine[1])

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Set the state variables."""
        super().restore_from(whole, parts)
        if self.logic is not None:
            found = variables_of_memory(self.operator, self.context.evaluator.functions, (whole, parts))
            for name, value in found.items():
                setattr(self.logic.state, name, value)

    @property
    def _state(self) -> Any:
        return None if self.logic is None else self.logic.state

    def _schemas(self) -> list[Schema]:
        return [port.schema for port in self.operator.inputs]

    def _run_on_punctuation(self, port: int, punctuation: Punctuation) -> None:
        handler = self.logic.on_punctuation.get(port) if self.logic is not None else None
        if handler is not None:
            handler(_NAMES[punctuation])

    def _punctuate_by_name(self, port: int, name: str) -> None:
        self.punctuate[port](MARKERS[name])


def memory_of_variables(operator: Operator, functions: Sequence[Function], variables: Mapping[str, Any]) -> Memory:
    """The memory that the variables of a logic clause are."""
    rest = dict(variables)
    shapes = _shapes(operator, functions) if rest else None
    parts: Parts = {}
    for name, shape in (shapes or {}).items():
        entries = rest.pop(name)
        parts[VARIABLE + name] = shape.names, {shape.wrap(key): entry for key, entry in entries.items()}
    return ({VARIABLES if shapes is None else CONSTANTS: rest} if rest else {}), parts


def variables_of_memory(operator: Operator, functions: Sequence[Function], memory: Memory) -> dict[str, Any]:
    """The variables of a logic clause that a memory holds."""
    whole, parts = memory
    found = {**whole.get(VARIABLES, {}), **whole.get(CONSTANTS, {})}
    for name, (_, entries) in parts.items():
        if name.startswith(VARIABLE):
            shape = (_shapes(operator, functions) or {})[name.removeprefix(VARIABLE)]
            found[name.removeprefix(VARIABLE)] = {shape.unwrap(key): entry for key, entry in entries.items()}
    return found


def _shapes(operator: Operator, functions: Sequence[Function]) -> dict[str, Shape] | None:
    """How the keys of the variables that are kept by key are made; none if some variable cannot be."""
    match operator.model.state:
        case State.UNKNOWN:
            return None
        case State.STATELESS:
            return {}
    return state_shapes(operator, functions)


def symbol(operator: Operator, name: str, default: str = "") -> str:
    """The word that a parameter of the kind SYMBOLS gives, or the default where it is not given."""
    values = operator.param(name)
    return values[0].name if values and isinstance(values[0], Symbol) else default
