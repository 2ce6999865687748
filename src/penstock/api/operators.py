"""Operators written in Python: a function, or a class with state and ports.

    @map_                         one tuple in, one out
    @filter_                      keeps the tuples for which it is true
    @flat_map                     one tuple in, any number out: yield them or return a list
    @source                       a generator of tuples
    @sink                         takes tuples, gives none
    class Mine(Operator): ...     several ports, state, punctuation
    class Mine(KeyedOperator)     state by key, see `keyed`

Each works from SPL, by its name, and from Python. Tuples arrive as rows with attribute access; keyword parameters of a
function, or of a class's constructor, are the operator's parameters. One named `environment` receives the environment
of the running application instead: its data folder, its clock, its random numbers. With `batch=True` a function takes
and gives `pyarrow.RecordBatch`es. A declared `model` is believed; without one it is inferred from the source.

Example:
    >>> @flat_map
    ... def words(line, *, least: int = 1):
    ...     for word in line.text.split():
    ...         if len(word) >= least:
    ...             yield {"word": word}
    >>> definition = definition_of(words)
    >>> definition.name, definition.params[0].name, str(definition.params[0].types[0])
    ('words', 'least', 'int64')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, overload

from penstock.api.batch_forms import BatchForm, check_form
from penstock.api.inference import Role
from penstock.api.operator_models import model_of
from penstock.api.parameters import parameters_of
from penstock.api.runtimes import ROLE_RUNTIMES, ClassRuntime, parameter_values
from penstock.api.state.upgrades import upgrade_of
from penstock.base.diagnostics import UserError
from penstock.ir.facts import Facts
from penstock.ir.models import OperatorModel
from penstock.toolkit.core.definition import OperatorDefinition

F = TypeVar("F", bound=Callable[..., Any])
Key = str | Sequence[str]
Batch = bool | BatchForm


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The settings that a decorator notes on a function.

    Attributes:
        role: `map`, `filter`, `flat map`, `source` or `sink`.
        namespace: Of the operator, as SPL's `use` names it.
        model: As declared, or None to infer it.
        batch: The form in which the function takes and gives batches of rows, None for single tuples.
        partition_by: The attributes by which its state is partitioned, a name or several.
    """

    role: str
    namespace: str = ""
    model: OperatorModel | None = None
    batch: BatchForm | None = None
    partition_by: Key = ()


class Operator:
    """The base of operators written as classes.

    Override `process`, and if needed the other hooks; give tuples by yielding them (they leave by output 0) or by
    `self.submit(tuple, port)`. Class attributes declare what differs from one input and one output.

    Attributes:
        inputs: Number of input ports.
        outputs: Number of output ports.
        namespace: As SPL's `use` names it.
        model: Declared, or None to infer it from the source.
        partition_by: The attributes by which its state is partitioned, a name or several; an invocation's
            `partition_by` comes first.
        version: A number that you change when the state of an older version needs your class method `upgrade(old)`,
            which returns the attributes of today for the old ones.

    Example:
        >>> class Changes(Operator):
        ...     '''Passes a tuple on when its price differs from the last one of its symbol.'''
        ...     def __init__(self):
        ...         self.last = {}
        ...     def process(self, t):
        ...         if self.last.get(t.sym) != t.price:
        ...             self.last[t.sym] = t.price
        ...             yield t
        >>> definition_of(Changes).doc
        'Passes a tuple on when its price differs from the last one of its symbol.'
    """

    inputs: ClassVar[int] = 1
    outputs: ClassVar[int] = 1
    namespace: ClassVar[str] = ""
    model: ClassVar[OperatorModel | None] = None
    partition_by: ClassVar[str | Sequence[str]] = ()
    version: ClassVar[int] = 1

    submit: Callable[..., None]
    """`self.submit(tuple, port=0)` sends a tuple; the engine sets it before the first tuple comes."""

    def process(self, tuple_: Any) -> Iterable[Any] | None:
        """Take one tuple of input 0.

        Example:
            >>> from penstock.testing import apply
            >>> class Twice(Operator):
            ...     def process(self, t):
            ...         yield t
            ...         yield t
            >>> apply(Twice, [(1,)], schema="int32 x")
            [(1,), (1,)]
        """
        raise NotImplementedError

    def process_port(self, tuple_: Any, port: int) -> Iterable[Any] | None:
        """Take one tuple of any input; by default those of input 0 go to `process`.

        Example:
            >>> class Either(Operator):
            ...     inputs = 2
            ...     def process_port(self, t, port):
            ...         yield {"x": t.x, "port": port}
            >>> definition_of(Either).inputs
            (2, 2)
        """
        if port == 0:
            return self.process(tuple_)
        raise NotImplementedError(f"{type(self).__name__} has {self.inputs} inputs but no process_port")

    def on_punctuation(self, port: int) -> Iterable[Any] | None:
        """Take a window marker; it is passed on afterwards.

        Example:
            >>> class Marked(Operator):
            ...     def __init__(self):
            ...         self.count = 0
            ...     def process(self, t):
            ...         self.count += 1
            ...     def on_punctuation(self, port):
            ...         yield {"n": self.count}
            >>> definition_of(Marked).name
            'Marked'
        """
        return None

    def finish(self) -> Iterable[Any] | None:
        """All inputs have ended; last tuples may be given.

        Example:
            >>> from penstock.testing import apply
            >>> class Counted(Operator):
            ...     def __init__(self):
            ...         self.count = 0
            ...     def process(self, t):
            ...         self.count += 1
            ...     def finish(self):
            ...         yield {"x": self.count}
            >>> apply(Counted, [(7,), (8,)], schema="int32 x")
            [(2,)]
        """
        return None


@overload
def map_(function: F, /) -> F: ...
@overload
def map_(
    *, namespace: str = "", model: OperatorModel | None = None, batch: Batch = False, partition_by: Key = ()
) -> Callable[[F], F]: ...
def map_(function: Any = None, /, **options: Any) -> Any:
    """Make an operator of a function that gives one tuple for each tuple.

    With `batch="arrow"` (or True), `"pandas"`, `"polars"` or `"numpy"` it takes and gives many rows at once, in that
    form; what it gives for a row must not depend on the others.

    Example:
        >>> from penstock.testing import apply
        >>> @map_
        ... def doubled(t):
        ...     return {"x": 2 * t.x}
        >>> apply(doubled, [(1,), (2,)], schema="int32 x")
        [(2,), (4,)]
    """
    return _mark("map", function, options)


@overload
def filter_(function: F, /) -> F: ...
@overload
def filter_(
    *, namespace: str = "", model: OperatorModel | None = None, batch: Batch = False, partition_by: Key = ()
) -> Callable[[F], F]: ...
def filter_(function: Any = None, /, **options: Any) -> Any:
    """Make an operator of a predicate: it keeps the tuples for which the function is true.

    Example:
        >>> from penstock.testing import apply
        >>> @filter_
        ... def even(t):
        ...     return t.x % 2 == 0
        >>> apply(even, [(1,), (2,)], schema="int32 x")
        [(2,)]
    """
    return _mark("filter", function, options)


@overload
def flat_map(function: F, /) -> F: ...
@overload
def flat_map(
    *, namespace: str = "", model: OperatorModel | None = None, batch: Batch = False, partition_by: Key = ()
) -> Callable[[F], F]: ...
def flat_map(function: Any = None, /, **options: Any) -> Any:
    """Make an operator of a function that yields, or returns a list of, any number of tuples for each tuple.

    Example:
        >>> from penstock.testing import apply
        >>> @flat_map
        ... def counted(t):
        ...     for i in range(t.x):
        ...         yield i
        >>> apply(counted, [(1,), (2,)], schema="int32 x")
        [(0,), (0,), (1,)]
    """
    return _mark("flat map", function, options)


@overload
def source(function: F, /) -> F: ...
@overload
def source(*, namespace: str = "", model: OperatorModel | None = None, partition_by: Key = ()) -> Callable[[F], F]: ...
def source(function: Any = None, /, **options: Any) -> Any:
    """Make a source of a generator function; `yield after(seconds)` lets time pass.

    Example:
        >>> from penstock import App
        >>> @source
        ... def countdown(*, start: int):
        ...     yield from range(start, 0, -1)
        >>> App().source(countdown, "int32 n", start=2).collect()
        [Row(n=2), Row(n=1)]
    """
    return _mark("source", function, options)


@overload
def sink(function: F, /) -> F: ...
@overload
def sink(*, namespace: str = "", batch: Batch = False, partition_by: Key = ()) -> Callable[[F], F]: ...
def sink(function: Any = None, /, **options: Any) -> Any:
    """Make a sink of a function that takes tuples.

    Example:
        >>> from penstock import App
        >>> from penstock.testing import run
        >>> @sink
        ... def shown(t, *, mark: str):
        ...     print(mark, t.x)
        >>> app = App()
        >>> app.from_rows([(1,)], "int32 x").for_each(shown, mark=">")
        >>> _ = run(app)
        > 1
    """
    return _mark("sink", function, options)


def _mark(role: str, function: Any, options: dict[str, Any]) -> Any:
    marks = Marks(role=role, **{**options, "batch": check_form(options.get("batch", False))})

    def decorate(decorated: Any) -> Any:
        try:
            decorated.__penstock__ = marks
        except AttributeError:
            message = f"`{name_of(decorated)}` is a {type(decorated).__name__}, which cannot be decorated"
            raise UserError(message, hint="decorate a function that calls it") from None
        return decorated

    return decorate if function is None else decorate(function)


def is_operator(value: Any) -> bool:
    """Whether an object is an operator written in Python."""
    if inspect.isclass(value) and issubclass(value, Operator):
        return value is not Operator
    if hasattr(value, "__penstock_definition__"):
        return bool(value.__module__ != "penstock.api.keyed.operator")
    return isinstance(getattr(value, "__penstock__", None), Marks)


def definition_of(value: Any, *, role: str | None = None, name: str | None = None) -> OperatorDefinition:
    """The definition of an operator written in Python.

    Args:
        value: A decorated function, a subclass of `Operator` or `KeyedOperator`, or with `role` any function.
        role: How an undecorated function is used.
        name: Its name, if not that of the function.

    Raises:
        UserError: The object is no operator, or a parameter's annotation is not understood.
    """
    if inspect.isclass(value) and issubclass(value, Operator):
        return _class_definition(value, name or value.__name__)
    if hasattr(value, "__penstock_definition__"):
        defined: OperatorDefinition = value.__penstock_definition__(name or value.__name__)
        return defined
    marks: Marks | None = getattr(value, "__penstock__", None)
    if marks is None and role is not None and callable(value):
        marks = Marks(role=role)
    if marks is None:
        raise UserError(
            f"`{getattr(value, '__name__', value)!s}` is not an operator",
            hint="decorate a function with map_, filter_, flat_map, source or sink, or derive a class from Operator",
        )
    return _function_definition(value, marks, name or name_of(value))


def name_of(function: Any) -> str:
    """What a function is called; of an object that is called like one, its class; of a partial one, the function."""
    own = getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", None)
    return str(own or type(function).__name__)


def _function_definition(function: Any, marks: Marks, name: str) -> OperatorDefinition:
    runtime = ROLE_RUNTIMES[marks.role]
    params = parameters_of(function, skip=0 if marks.role == "source" else 1)
    return OperatorDefinition(
        name=name,
        namespace=marks.namespace,
        doc=_doc(function),
        inputs=(0, 0) if marks.role == "source" else (1, 1),
        outputs=(0, 0) if marks.role == "sink" else (1, 1),
        params=params,
        facts=Facts(has_inferred_model=marks.model is None),
        model=lambda operator: model_of(
            function, marks.role, marks.model, operator, batch=marks.batch is not None, partition_by=marks.partition_by
        ),
        runtime=lambda operator, context: runtime(
            function, marks.batch, operator, context, parameter_values(function, params, operator, context)
        ),
    )


def _class_definition(owner: type[Operator], name: str) -> OperatorDefinition:
    params = parameters_of(owner)
    hooks = tuple(
        n for n in ("process_port", "on_punctuation", "finish") if getattr(owner, n) is not getattr(Operator, n)
    )
    return OperatorDefinition(
        name=name,
        namespace=owner.namespace,
        doc=_doc(owner),
        inputs=(owner.inputs, owner.inputs),
        outputs=(owner.outputs, owner.outputs),
        params=params,
        facts=Facts(has_inferred_model=owner.model is None),
        model=lambda operator: model_of(
            owner.process,
            Role.PROCESS.value,
            owner.model,
            operator,
            owner=owner,
            hooks=hooks,
            partition_by=owner.partition_by,
        ),
        runtime=lambda operator, context: ClassRuntime(
            owner, operator, context, parameter_values(owner, params, operator, context)
        ),
        upgrades=upgrade_of(owner) is not None,
    )


def _doc(value: Any) -> str:
    return inspect.getdoc(value) or ""


def operators_in(namespace: dict[str, Any]) -> Iterator[Any]:
    """The operators among the values of a module, those that it defines itself."""
    own = (v for v in list(namespace.values()) if is_operator(v) and v.__module__ == namespace["__name__"])
    # One operator may have several names in its module.
    yield from {id(value): value for value in own}.values()
