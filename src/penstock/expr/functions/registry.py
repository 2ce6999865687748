"""The standard functions, found by name and argument types.

A family's module declares each function with its SPL prototypes::

    @function("<string T> T lower(T str)", vector=...)
    def lower(text: str) -> str:
        \"\"\"The string in lower case (ASCII letters only).\"\"\"

How an implementation is called:

- It takes the argument values in order, after the `Environment` if `needs_environment`.
- A collection passed to a `mutable` parameter is changed in place. A value that Python cannot change in place (a
  number, a string, a tuple, a blob) is given back: where `Resolved.rebinds` is not empty, the call returns
  `(result, *new values)`, one new value for each position in `rebinds`, and the caller stores them.
- With `needs_types` the declared object is a factory: given the parameter types, it returns the implementation.
- With `needs_span` it takes the `Span` of the call alone, and the call is folded to a literal when it is typed.
- It raises `EvaluationError` for a value it has no answer for.

A `vector` implementation takes Arrow arrays (a scalar for a constant argument), with nulls only where the parameter is
optional, and returns the array of the results, or `NotImplemented` where it has no exact answer for these arguments. It
never fails and never has effects; it is a factory too if `needs_types`.

Example:
    >>> from penstock.ir.types import RSTRING
    >>> found = resolve("lower", [RSTRING])
    >>> str(found.return_type), found.bind()("ABC")
    ('rstring', 'abc')
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import chain, islice
from typing import Any, TypeVar

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.sandbox import check_function
from penstock.expr.functions.overloads import Converts, choose_overload
from penstock.expr.functions.prototypes import Prototype, parse_prototype
from penstock.expr.values.default import copier
from penstock.ir.types import Type, has_collection, is_collection

Implementation = Callable[..., Any]

FAMILIES = (
    "strings",
    "regexes",
    "conversions",
    "numbers",
    "maths",
    "statistics",
    "collections",
    "lists",
    "blobs",
    "xml",
    "times",
    "calendar",
    "system",
    "submission",
    "job",
    "exchange",
    "metrics",
    "files",
    "file_errors",
)
"""The modules of this package that declare functions, in the order of the reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDefinition:
    """One overload of a standard function.

    Attributes:
        prototype: What a call looks like.
        implementation: As the module's docstring says.
        family: The module that declares it.
        doc: One sentence.
        needs_environment: Whether the environment is its first argument.
        needs_types: Whether `implementation` and `vector` are factories over the parameter types.
        needs_span: Whether a call is folded to `implementation(span)` when it is typed.
        vector: The same function over Arrow arrays, if there is an exact one.
        internal: Whether only the compiler writes calls of it.
    """

    prototype: Prototype
    implementation: Implementation
    family: str
    doc: str
    needs_environment: bool = False
    needs_types: bool = False
    needs_span: bool = False
    vector: Implementation | None = None
    internal: bool = False

    @property
    def name(self) -> str:
        """As a call writes it."""
        return self.prototype.name

    @property
    def stateful(self) -> bool:
        """Whether a call has an effect or may give another value the next time."""
        return self.prototype.stateful

    @property
    def mutable_positions(self) -> tuple[int, ...]:
        """The positions of the mutable parameters."""
        return tuple(i for i, p in enumerate(self.prototype.parameters) if p.mutable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A function chosen for a call.

    Attributes:
        definition: The overload.
        parameter_types: What each argument is converted to.
        return_type: Of the call.
    """

    definition: FunctionDefinition
    parameter_types: tuple[Type, ...]
    return_type: Type

    @property
    def rebinds(self) -> tuple[int, ...]:
        """The positions of mutable arguments whose new values the call returns after its result."""
        return tuple(i for i in self.definition.mutable_positions if not is_collection(self.parameter_types[i]))

    def bind(self) -> Implementation:
        """The implementation for these types; the environment is still its first argument if it needs one."""
        made = self.definition.implementation
        bound = made(*self.parameter_types) if self.definition.needs_types else made
        return self._copying(bound) if self._may_share() else bound

    def _may_share(self) -> bool:
        """Whether the result, or a changed argument, may hold a collection that an argument holds too."""
        changed = (self.parameter_types[i] for i in self.definition.mutable_positions)
        inner = chain.from_iterable(islice(whole.walk(), 1, None) for whole in (self.return_type, *changed))
        return any(has_collection(part) for part in inner)

    def _copying(self, bound: Implementation) -> Implementation:
        """The implementation with copies of what it only reads, so that values stay values."""
        kept = (*(() if not self.definition.needs_environment else (None,)), *map(copier, self.parameter_types))
        mutable = {i + self.definition.needs_environment for i in self.definition.mutable_positions}
        copies = [None if i in mutable else copy for i, copy in enumerate(kept)]

        def call(*arguments: Any) -> Any:
            return bound(*(a if copy is None else copy(a) for a, copy in zip(arguments, copies, strict=True)))

        return call

    def bind_vector(self) -> Implementation | None:
        """The implementation over Arrow arrays for these types, if there is one."""
        made = self.definition.vector
        return made(*self.parameter_types) if made is not None and self.definition.needs_types else made


_DEFINITIONS: dict[str, list[FunctionDefinition]] = {}

F = TypeVar("F", bound=Implementation)


def function(
    *prototypes: str,
    needs_environment: bool = False,
    needs_types: bool = False,
    needs_span: bool = False,
    vector: Implementation | None = None,
    internal: bool = False,
) -> Callable[[F], F]:
    """Declare the decorated object as the implementation of standard functions.

    Args:
        prototypes: As SPL writes them; several if one implementation serves them all.
        needs_environment: The environment is its first argument.
        needs_types: It is a factory over the parameter types.
        needs_span: It takes the call's span alone.
        vector: The same function over Arrow arrays.
        internal: Only the compiler writes calls of it.
    """

    def declare(implementation: F) -> F:
        for text in prototypes:
            prototype = parse_prototype(text)
            definition = FunctionDefinition(
                prototype=prototype,
                implementation=implementation,
                family=implementation.__module__.rpartition(".")[2],
                doc=(inspect.getdoc(implementation) or "").partition("\n")[0],
                needs_environment=needs_environment,
                needs_types=needs_types,
                needs_span=needs_span,
                vector=vector,
                internal=internal,
            )
            _DEFINITIONS.setdefault(prototype.name, []).append(definition)
        return implementation

    return declare


def _definitions() -> dict[str, list[FunctionDefinition]]:
    """All definitions by name; the families are imported on first use because they import this module."""
    for family in FAMILIES:
        import_module(f"penstock.expr.functions.{family}")
    return _DEFINITIONS


def names() -> tuple[str, ...]:
    """The names of all standard functions, in alphabetical order.

    Example:
        >>> "tokenize" in names()
        True
    """
    return tuple(sorted(_definitions()))


def overloads(name: str) -> tuple[FunctionDefinition, ...]:
    """The overloads of a name, the preferred first; none if there is no such function.

    Example:
        >>> [str(d.prototype) for d in overloads("length")]
        ['<string T> int32 length(T str)']
    """
    return tuple(_definitions().get(name, ()))


def resolve(name: str, argument_types: Sequence[Type], converts: Converts | None = None) -> Resolved:
    """Find the function that a call means.

    Args:
        name: As the call writes it.
        argument_types: In order.
        converts: Tells whether the argument of a position may be converted implicitly to a type; by default none may.

    Raises:
        UserError: There is no such function, or none for these arguments.

    Example:
        >>> from penstock.ir.types import INT32
        >>> resolve("lenght", [INT32])
        Traceback (most recent call last):
        penstock.UserError: error: there is no function `lenght`; did you mean `length`?
    """
    found = overloads(name)
    if not found:
        raise UserError(f"there is no function `{name}`", hint=did_you_mean(name, names()))
    choice = choose_overload([d.prototype for d in found], argument_types, converts)
    if choice is None:
        given = ", ".join(map(str, argument_types))
        candidates = "; ".join(f"`{d.prototype}`" for d in found)
        raise UserError(f"no function `{name}` takes ({given})", hint=f"there is {candidates}")
    check_function(name, found[choice.index].family)
    return Resolved(
        definition=found[choice.index], parameter_types=choice.parameter_types, return_type=choice.return_type
    )
