"""Python operators at work in the reference interpreter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from penstock.api.batch_forms import BatchForm, take_form
from penstock.api.instances import dump_state, given_by, load_state
from penstock.api.rows import conformed, conformer, row_maker
from penstock.api.sources.timed_items import after, at
from penstock.api.state.upgrades import INSTANCE, Stamp, refuse_other_form, stamp_of
from penstock.expr.environment import Tuple
from penstock.expr.errors import EvaluationError
from penstock.expr.values import batch_from_rows, rows_from_batch
from penstock.ir.graph import Operator as OperatorNode
from penstock.ir.types import Schema
from penstock.toolkit.core.column_source import ColumnSource
from penstock.toolkit.core.definition import ParamKind, ParamSpec
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.runtime import Context, Punctuation, Runtime, Submit, Wait
from penstock.toolkit.formats import Malformed

if TYPE_CHECKING:
    from penstock.api.operators import Operator


class _FunctionRuntime(Runtime):
    """Calls a function with the operator's parameters bound.

    Attributes:
        role: How the function is used.
        batch: The form of its batches, None if it takes single tuples.
        function: The user's.
        call: It with its parameters; with `batch`, a function of record batches.
    """

    role: ClassVar[str]

    def __init__(
        self,
        function: Any,
        batch: BatchForm | None,
        operator: OperatorNode,
        context: Context,
        parameters: dict[str, Any],
    ) -> None:
        super().__init__(operator, context)
        self.batch = batch
        self.function = function
        self.call: Callable[..., Any] = _bind(function, parameters)
        if batch is not None:
            outputs = operator.outputs[0].schema if operator.outputs else None
            self.call = take_form(self.call, batch, self.role, operator.inputs[0].schema, outputs)


class MapRuntime(_FunctionRuntime):
    """One tuple in, one out."""

    role = "map"

    def receiver(self, port: int) -> Submit:
        """A closure over the function and the next operator."""
        call, submit = self.call, self.submit[0]
        make, conform = self._borders()
        return lambda tuple_: submit(conform(call(make(tuple_))))

    def _borders(self) -> tuple[Callable[[Tuple], Any], Callable[[Any], Tuple]]:
        """How a tuple goes in and comes out: as rows, or as batches of one row."""
        inputs, outputs = self.operator.inputs[0].schema, self.operator.outputs[0].schema
        if self.batch:
            return (lambda t: batch_from_rows([t], inputs)), (lambda b: _only_row(b, outputs))
        return row_maker(inputs), conformer(outputs)


class FilterRuntime(_FunctionRuntime):
    """Keeps the tuples for which the function is true."""

    role = "filter"

    def receiver(self, port: int) -> Submit:
        """A closure over the predicate and the next operator."""
        call, submit = self.call, self.submit[0]
        inputs = self.operator.inputs[0].schema
        make = row_maker(inputs)

        def receive(tuple_: Tuple) -> None:
            if call(make(tuple_)):
                submit(tuple_)

        def receive_batch(tuple_: Tuple) -> None:
            if call(batch_from_rows([tuple_], inputs))[0]:
                submit(tuple_)

        return receive_batch if self.batch else receive


class FlatMapRuntime(_FunctionRuntime):
    """One tuple in, any number out."""

    role = "flat map"

    def receiver(self, port: int) -> Submit:
        """A closure that submits each tuple as it is yielded."""
        call, submit = self.call, self.submit[0]
        inputs, outputs = self.operator.inputs[0].schema, self.operator.outputs[0].schema
        make, conform = row_maker(inputs), conformer(outputs)

        def receive(tuple_: Tuple) -> None:
            for value in call(make(tuple_)) or ():
                submit(conform(value))

        def receive_batch(tuple_: Tuple) -> None:
            for row in rows_from_batch(call(batch_from_rows([tuple_], inputs)), outputs):
                submit(row)

        return receive_batch if self.batch else receive


class SinkRuntime(_FunctionRuntime):
    """Takes tuples, gives none."""

    role = "sink"

    def batch_taker(self) -> Callable[[pa.RecordBatch], None] | None:
        """The function itself, if it takes many rows at once."""
        return self.call if self.batch else None

    def receiver(self, port: int) -> Submit:
        """A closure over the function."""
        call, inputs = self.call, self.operator.inputs[0].schema
        make = row_maker(inputs)
        if self.batch:
            return lambda tuple_: call(batch_from_rows([tuple_], inputs))
        return lambda tuple_: call(make(tuple_))


class SourceRuntime(_FunctionRuntime):
    """Draws tuples from a generator.

    It remembers how many values it has drawn. A fresh instance runs the generator again and drops as many, so one that
    is resumed must give the same values again.

    Attributes:
        drawn: How many values it has drawn.
        time_ns: How much time it has let pass.
    """

    role = "source"
    remembers = ("drawn", "time_ns")
    drawn = 0
    time_ns = 0

    def columns(self, *, follows: bool = False) -> ColumnSource | None:
        """The tuples by columns, if the source has a method that gives them so."""
        if not hasattr(self.function, "by_columns"):
            return None
        found: ColumnSource = self.call().by_columns(self.operator.outputs[0].schema, follows=follows)
        return found

    def produce(self) -> Iterator[Tuple | Wait | Punctuation | None]:
        """The generator's tuples, conformed, with its waits; what is malformed follows the operator's policy."""
        conform = conformer(self.operator.outputs[0].schema)
        for value in islice(self.call(), self.drawn, None):
            self.drawn += 1
            if isinstance(value, after | at):
                yield from self._wait(value)
            elif isinstance(value, Punctuation):
                yield value
            else:
                made = value if isinstance(value, Malformed) else conformed(conform, value)
                if isinstance(made, Malformed):
                    self.context.reject(made.record, made.reason)
                else:
                    yield made

    def _wait(self, value: after | at) -> Iterator[Wait]:
        wait_ns = round(value.seconds * 1e9) - (self.time_ns if isinstance(value, at) else 0)
        self.time_ns += max(0, wait_ns)
        if wait_ns > 0 or isinstance(value, after):
            yield Wait(wait_ns)


class ClassRuntime(Runtime):
    """Runs an instance of a user's subclass of `Operator`; its attributes are its memory."""

    def __init__(
        self, owner: type[Operator], operator: OperatorNode, context: Context, parameters: dict[str, Any]
    ) -> None:
        super().__init__(operator, context)
        self.instance = owner(**parameters)
        self.instance.submit = self._submit
        self.has_environment = "environment" in parameters
        self.conforms = [conformer(port.schema) for port in operator.outputs]
        self.makers = [row_maker(port.schema) for port in operator.inputs]

    def process(self, port: int, tuple_: Tuple) -> None:
        """Hand the tuple to the user's method and submit what it yields."""
        row = self.makers[port](tuple_)
        given = self.instance.process(row) if len(self.makers) == 1 else self.instance.process_port(row, port)
        self._submit_all(given)

    def on_window_punctuation(self, port: int) -> None:
        """Let the operator act, then pass the marker on."""
        self._submit_all(self.instance.on_punctuation(port))
        super().on_window_punctuation(port)

    def finish(self) -> None:
        """Submit the operator's last tuples."""
        self._submit_all(self.instance.finish())

    def snapshot_into(self, whole: Whole, parts: Parts) -> None:
        """Add the user's attributes, pickled, with the stamp of the class."""
        stamp = tuple(stamp_of(type(self.instance)))
        whole[INSTANCE] = stamp, dump_state(self.instance, self._given(), self.operator)

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Set the user's attributes."""
        refuse_other_form(INSTANCE in whole, self.operator)
        stored = whole[INSTANCE]
        # The first releases wrote no stamp.
        stamp, data = (None, stored) if isinstance(stored, bytes) else (Stamp(*stored[0]), stored[1])
        load_state(self.instance, data, self._given(), self.operator, stamp)

    def _given(self) -> dict[str, Any]:
        """The objects that the engine gives the instance; they are never part of its state."""
        given = {"submit": self.instance.submit}
        return {**given, **given_by(self.context.environment)} if self.has_environment else given

    def _submit(self, value: Any, port: int = 0) -> None:
        self.submit[port](self.conforms[port](value))

    def _submit_all(self, values: Iterable[Any] | None) -> None:
        for value in values or ():
            self._submit(value)


ROLE_RUNTIMES: dict[str, type[_FunctionRuntime]] = {
    runtime.role: runtime for runtime in (MapRuntime, FilterRuntime, FlatMapRuntime, SourceRuntime, SinkRuntime)
}


def parameter_values(
    called: Any, specs: tuple[ParamSpec, ...], operator: OperatorNode, context: Context
) -> dict[str, Any]:
    """The arguments that an invocation gives a function or constructor; a parameter of several values is a list."""
    found: dict[str, Any] = {}
    for spec in specs:
        values = operator.param(spec.name)
        if values and spec.kind is ParamKind.CONSTANT:
            constants = [context.evaluator.constant(value) for value in values]
            found[spec.name] = constants if spec.many else constants[0]
    if "environment" in inspect.signature(called).parameters:
        found["environment"] = context.environment
    return found


def _bind(function: Callable[..., Any], parameters: dict[str, Any]) -> Callable[..., Any]:
    if not parameters:
        return function
    return partial(function, **parameters)


def _only_row(batch: Any, schema: Schema) -> Tuple:
    rows = rows_from_batch(batch, schema)
    if len(rows) != 1:
        raise EvaluationError(f"a map gives one row for each row, got {len(rows)} for 1")
    return rows[0]
