"""The scalar evaluator: expressions and logic clauses as Python functions over one tuple at a time.

Example:
    >>> from penstock.expr.typing import binary, literal
    >>> from penstock.ir.expressions import Attribute
    >>> from penstock.ir.types import INT32, parse_schema
    >>> schema = parse_schema("rstring symbol, int32 volume")
    >>> is_large = Evaluator().scalar(binary(">", Attribute(name="volume", type=INT32), literal(100)), ports=[schema])
    >>> is_large(("X", 250))
    True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.base.modules import load_text
from penstock.expr.analysis import functions_used, logic_parts, variables_of
from penstock.expr.emit.expression_text import owned
from penstock.expr.emit.functions import emit_functions, emit_logic, tuple_names
from penstock.expr.emit.parts import LogicState
from penstock.expr.emit.scope import INDENT, PRELUDE, Locals, Module, Scope, Storage, state_text
from penstock.expr.environment import Environment, Tuple
from penstock.ir.expressions import Expression
from penstock.ir.statements import Function, Logic, Statement
from penstock.ir.types import Schema


@dataclass(slots=True, kw_only=True)
class LogicRuntime:
    """A logic clause at work.

    Attributes:
        state: The state variables; it can be pickled.
        on_tuple: For each port with code, a function that runs it and returns the tuple, possibly changed.
        on_punctuation: For each port with code, a function of the punctuation: `WindowMarker` or `FinalMarker`.
        on_process: Makes an iterator that runs the code of a source. It pauses after each submission with None, and
            at `block(seconds)` with the nanoseconds to wait.
        source: The Python text that runs.
    """

    state: LogicState
    on_tuple: dict[int, Callable[[Tuple], Tuple]]
    on_punctuation: dict[int, Callable[[str], None]]
    on_process: Callable[[], Iterator[int | None]] | None
    source: str


class Evaluator:
    """Compiles expressions and logic clauses of one application.

    Args:
        functions: The application's functions.
        environment: What the code may ask of the world.
    """

    def __init__(self, functions: Sequence[Function] = (), environment: Environment | None = None) -> None:
        self.functions = tuple(functions)
        self.environment = environment or Environment()

    def scalar(
        self,
        expression: Expression,
        *,
        ports: Sequence[Schema] = (),
        variables: Sequence[str] = (),
        state: LogicState | None = None,
    ) -> Callable[..., Any]:
        """An expression as a function.

        Args:
            expression: Typed.
            ports: The schema of each input port.
            variables: The names of variables that are given as arguments.
            state: Where all other variables are found.

        Returns:
            f(t0, t1, ..., *variables), with one tuple for each port.
        """
        return self._compile([expression], ports, variables, state, as_tuple=False)

    def row(
        self,
        expressions: Sequence[Expression],
        *,
        ports: Sequence[Schema] = (),
        variables: Sequence[str] = (),
        state: LogicState | None = None,
    ) -> Callable[..., Tuple]:
        """Several expressions as one function that returns the tuple of their values; arguments as in `scalar`.

        Example:
            >>> from penstock.expr.typing import literal
            >>> Evaluator().row([literal(1), literal("x")])()
            (1, 'x')
        """
        return self._compile(expressions, ports, variables, state, as_tuple=True)

    def constant(self, expression: Expression) -> Any:
        """The value of an expression that reads no tuple and no variable.

        Example:
            >>> from penstock.expr.typing import binary, literal
            >>> Evaluator().constant(binary("*", literal(6), literal(7)))
            42
        """
        return self.scalar(expression)()

    def logic(
        self,
        logic: Logic,
        *,
        ports: Sequence[Schema],
        submit: Sequence[Callable[[Tuple], None]],
        punctuate: Sequence[Callable[[str], None]],
    ) -> LogicRuntime:
        """A logic clause, ready to run, its state initialised.

        Args:
            logic: Typed.
            ports: The schema of each input port.
            submit: A function for each output port; looked up at each call, so that it may be filled in later.
            punctuate: Likewise for punctuation, which is given by name: `WindowMarker`.
        """
        with nesting_reported():
            module = self._module(logic_parts(logic))
            emit_logic(module, logic, ports)
            names = self._load(module, submit=submit, punctuate=punctuate)
        names["state"] = names["initial_state"]()
        return LogicRuntime(
            state=names["state"],
            on_tuple={h.port: names[f"on_tuple_{h.port}"] for h in logic.on_tuple},
            on_punctuation={h.port: names[f"on_punctuation_{h.port}"] for h in logic.on_punctuation},
            on_process=names.get("on_process"),
            source=module.text(),
        )

    def source(self, expressions: Sequence[Expression], *, ports: Sequence[Schema] = ()) -> str:
        """The Python text that `row` would run, for people to read.

        Example:
            >>> from penstock.expr.typing import literal
            >>> print(Evaluator().source([literal(1)]).rpartition("\\n\\n")[2])
            def evaluate():
                return (1,)
        """
        module = self._module(expressions)
        _add_function(module, expressions, ports, (), as_tuple=True)
        return module.text()

    def _compile(
        self,
        expressions: Sequence[Expression],
        ports: Sequence[Schema],
        variables: Sequence[str],
        state: LogicState | None,
        *,
        as_tuple: bool,
    ) -> Callable[..., Any]:
        with nesting_reported():
            module = self._module(expressions)
            _add_function(module, expressions, ports, variables, as_tuple=as_tuple)
            return self._load(module, state=state)["evaluate"]  # type: ignore[no-any-return]

    def _module(self, parts: Iterable[Expression | Statement]) -> Module:
        module = Module(self.functions)
        emit_functions(module, functions_used(parts, self.functions))
        return module

    def _load(self, module: Module, **given: Any) -> dict[str, Any]:
        return load(module.body(), environment=self.environment, **given)


def _add_function(
    module: Module,
    expressions: Sequence[Expression],
    ports: Sequence[Schema],
    variables: Sequence[str],
    *,
    as_tuple: bool,
) -> None:
    tuples = tuple_names(ports)
    scope = Scope(module=module, locals=Locals(taken=tuples), ports=tuple(ports), tuples=tuples)
    names = [*tuples, *(scope.declare(name) for name in variables)]
    for name in sorted(variables_of(*expressions).difference(variables)):
        scope.variables[name] = Storage(state_text(name), owned=True)
    texts = [owned(x, scope).text for x in expressions]
    value = f"({', '.join(texts)}{',' if len(texts) == 1 else ''})" if as_tuple else texts[0]
    module.add([f"def evaluate({', '.join(names)}):", f"{INDENT}return {value}"])


@cache
def _prelude() -> dict[str, Any]:
    return load_text(PRELUDE, {})


def load(text: str, **given: Any) -> dict[str, Any]:
    """Execute the body of an emitted module and return its names.

    Example:
        >>> load("def double(x):\\n    return 2 * x")["double"](4)
        8
    """
    return load_text(text, {**_prelude(), **given})


@contextmanager
def nesting_reported() -> Iterator[None]:
    """Report code that is nested more deeply than Python can compile as the user's mistake.

    Example:
        >>> with nesting_reported():
        ...     raise RecursionError
        Traceback (most recent call last):
        penstock.UserError: error: the code is nested too deeply; split it up with variables
    """
    try:
        yield
    except (RecursionError, MemoryError, SyntaxError) as error:
        if isinstance(error, SyntaxError) and "too many" not in str(error):
            raise
        raise UserError("the code is nested too deeply", hint="split it up with variables") from None
