"""Where emitted code stands: the module it goes to, and the names it may use.

A `Module` collects what the code needs beside itself: definitions such as `_text_1 = text_form(parse_type("int32"))`,
and the application's functions. Its text is complete: what `PRELUDE` imports, then the definitions, then the functions.
So a module that is written to disk runs as well as one that the evaluator executes at once. The names `environment`,
and in logic clauses `state`, `submit` and `punctuate`, are globals that whoever loads the module provides.

A `Scope` tells the Python text of every tuple, attribute and variable that an expression may name.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from penstock.ir.statements import Function
from penstock.ir.types import Schema, Type

PRELUDE = """\
from decimal import Decimal
from math import inf, nan

from penstock.expr.emit.numbers import (
    checked, complex_of, decimal_to_integer, divide_by_zero, divide_complex, division_by_zero, out_of_range, remainder,
    seconds_to_timestamp, timestamp_to_seconds,
)
from penstock.expr.emit.parts import (
    MISSING, LogicState, bounded, cast_map, contains, each_left, each_left_value, each_right, each_right_value,
    equality, has_nan, map_lists, map_maps, membership, no_key, no_value, not_at, parser, put, put_at,
    replace_contents, standard, store, symbols, too_deep, with_byte,
)
from penstock.expr.values import (
    DECIMAL_CONTEXTS, ascending, copier, default_value, round_complex32, round_float32, text_form,
)
from penstock.ir.types import parse_type
"""

_GIVEN = ("environment", "state", "submit", "punctuate", "punctuation")
_IMPORTED = frozenset(
    alias.name for node in ast.parse(PRELUDE).body if isinstance(node, ast.ImportFrom) for alias in node.names
)
RESERVED = frozenset(keyword.kwlist) | frozenset(dir(builtins)) | _IMPORTED | frozenset(_GIVEN)
"""The names that no variable of the user's may have in emitted code."""

INDENT = "    "


class Module:
    """The text of a module in the making.

    Attributes:
        functions: The application's functions by name; one that is called is emitted into the module.
        emitted: The Python name of each function that has been emitted, by name and parameter types.
    """

    def __init__(self, functions: Sequence[Function] = ()) -> None:
        self.functions = tuple(functions)
        self.emitted: dict[tuple[str, tuple[Type, ...]], str] = {}
        self._definitions: dict[str, str] = {}
        self._blocks: list[str] = []
        self._taken: set[str] = set()

    def define(self, hint: str, source: str) -> str:
        """The name of a module-level constant; equal sources share one.

        Example:
            >>> module = Module()
            >>> module.define("text", 'text_form(parse_type("int32"))')
            '_text_1'
            >>> module.define("text", 'text_form(parse_type("int32"))')
            '_text_1'
        """
        if source not in self._definitions:
            self._definitions[source] = self.fresh(f"_{hint}")
        return self._definitions[source]

    def fresh(self, hint: str) -> str:
        """A module-level name that is not taken."""
        number = 1
        while f"{hint}_{number}" in self._taken:
            number += 1
        self._taken.add(f"{hint}_{number}")
        return f"{hint}_{number}"

    def add(self, lines: Sequence[str]) -> None:
        """Append a function to the module."""
        self._blocks.append("\n".join(lines))

    def body(self) -> str:
        """The module without what `PRELUDE` imports."""
        definitions = "\n".join(f"{name} = {source}" for source, name in self._definitions.items())
        return "\n\n\n".join(part for part in (definitions, *self._blocks) if part) + "\n"

    def text(self) -> str:
        """The whole module."""
        return f"{PRELUDE}\n{self.body()}"


def state_text(name: str) -> str:
    """The text of a state variable."""
    return f"state.{name}_" if keyword.iskeyword(name) else f"state.{name}"


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage of a variable: what it is called in the generated code, and whose it is.

    Attributes:
        text: Its Python text, a local name or `state.name`.
        owned: Whether it can change, so that its collections are its own.
        by_reference: Whether it is a collection that the caller of a function sees change.
    """

    text: str
    owned: bool = False
    by_reference: bool = False


class Locals:
    """The local names of one Python function."""

    def __init__(self, taken: Sequence[str] = ()) -> None:
        self._taken = set(taken)
        self._temporaries = 0

    def name(self, wanted: str) -> str:
        """A Python name for a variable of the user's, or for a column such as `IterationCount()`, near its own name.

        Example:
            >>> names = Locals(taken=("price",))
            >>> [names.name(wanted) for wanted in ("size", "price", "list", "IterationCount()", "2nd")]
            ['size', 'price_2', 'list_', 'IterationCount', 'v2nd']
        """
        stem = _identifier(wanted)
        plain = f"{stem}_" if wanted in RESERVED or wanted.startswith("_") else wanted if wanted.isascii() else stem
        plain = plain if plain.isidentifier() else stem
        # Only finitely many names are taken, so a number is found that makes a free one.
        candidates = chain([plain], (f"{stem}_{number}" for number in count(2)))
        name = next(c for c in candidates if c not in self._taken and c not in RESERVED)
        self._taken.add(name)
        return name

    def temporary(self) -> str:
        """A new name that no variable has."""
        self._temporaries += 1
        return f"_{self._temporaries}"


def _identifier(wanted: str) -> str:
    """A Python name out of any text."""
    # Beyond ASCII, Python takes several spellings for one name.
    stem = re.sub(r"[^0-9A-Za-z_]+", "_", wanted).strip("_")
    return stem if stem.isidentifier() else f"v{stem}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The names that an expression or statement can use, and how each is written in Python.

    Attributes:
        module: Where definitions go.
        locals: The names of the enclosing Python function.
        ports: The schema of each input port.
        tuples: The text of the current tuple of each port.
        attributes: The text of attributes that are at hand without their tuple, by port and name.
        variables: The storage of each variable in sight.
        owned_ports: The ports whose tuples this code changes in place, so that it works on a copy.
        in_generator: Whether submitting gives other sources a turn.
        return_text: The text after a `return` without value.
        rebound: The parameters of a function whose new values it returns after its result.
        continue_flag: The variable that makes the loop around a switch continue.
    """

    module: Module
    locals: Locals = field(default_factory=Locals)
    ports: tuple[Schema, ...] = ()
    tuples: tuple[str, ...] = ()
    attributes: Mapping[tuple[int, str], str] = field(default_factory=dict)
    variables: dict[str, Storage] = field(default_factory=dict)
    owned_ports: frozenset[int] = frozenset()
    in_generator: bool = False
    return_text: str = ""
    rebound: tuple[str, ...] = ()
    continue_flag: str | None = None

    def attribute(self, port: int, name: str) -> str:
        """The text of an attribute of the current tuple."""
        if (port, name) in self.attributes:
            return self.attributes[port, name]
        return f"{self.tuples[port]}[{self.ports[port].position[name]}]"

    def tuple(self, port: int) -> str:
        """The text of the current tuple of a port."""
        if port < len(self.tuples):
            return self.tuples[port]
        inside = "".join(f"{self.attribute(port, name)}, " for name in self.ports[port].names)
        return f"({inside.rstrip()})"

    def inner(self) -> Scope:
        """A scope for a block: what is declared in it is not seen outside."""
        return replace(self, variables=dict(self.variables))

    def declare(self, name: str, *, owned: bool = False, by_reference: bool = False) -> str:
        """Bring a local variable into sight; the text is its Python name."""
        text = self.locals.name(name)
        self.variables[name] = Storage(text, owned, by_reference)
        return text
