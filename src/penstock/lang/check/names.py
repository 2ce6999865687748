"""Names inside code: variables, attributes, ports, symbols, on top of a scope."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from penstock.base.diagnostics import Span, did_you_mean
from penstock.expr import typing
from penstock.expr.functions.symbols import SYSTEM_TYPES, symbol_type
from penstock.ir.expressions import Attribute, Expression, InputTuple, Variable
from penstock.ir.types import EnumType, Schema, Type
from penstock.lang.check.mistakes import error, silent
from penstock.lang.check.scope import Scope
from penstock.lang.syntax import ast_code as code
from penstock.toolkit.core.definition import OperatorDefinition

PUNCTUATION = SYSTEM_TYPES["Sys.Punctuation"]
"""The type of `Sys.WindowMarker` and `Sys.FinalMarker`."""

_SYSTEM_SCOPES = frozenset(name.partition(".")[0] for name in SYSTEM_TYPES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A variable in sight; without type if its declaration is wrong."""

    type: Type | None
    mutable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PortName:
    """An input port as code may refer to it.

    Attributes:
        index: Of the port.
        names: Its alias, or the names of its streams.
        streams: The ids of its streams.
        schema: Of its tuples.
    """

    index: int
    names: tuple[str, ...]
    streams: tuple[str, ...]
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names that an expression or a statement may use.

    Attributes:
        scope: Types, functions, parameters and streams.
        home: The scope of the invocation or function that the code belongs to; `scope` differs from it inside an
            actual parameter, whose names mean what they mean where it was written.
        ports: The input ports whose attributes are in sight.
        outputs: From name of output port to its index.
        output_schemas: Of the output ports.
        locals: Variables.
        types: Types of a block.
        aggregates: The operator whose output functions may be called here.
        on_punctuation: Whether there is a current punctuation.
        has_history: Whether the tuples that came before on a port may be asked for.
        operator: The name of the operator that the code belongs to, with those of the composites around it.
    """

    scope: Scope
    home: Scope
    ports: tuple[PortName, ...] = ()
    outputs: Mapping[str, int] = field(default_factory=dict)
    output_schemas: tuple[Schema, ...] = ()
    locals: Mapping[str, Local] = field(default_factory=dict)
    types: Mapping[str, Type] = field(default_factory=dict)
    aggregates: OperatorDefinition | None = None
    on_punctuation: bool = False
    has_history: bool = False
    operator: str = ""

    def inside(self, scope: Scope) -> Names:
        """The names of an actual parameter: another scope, no variables, the same ports."""
        return replace(self, scope=scope, locals={}, types={})

    def declared(self, name: str, local: Local) -> Names:
        """With one more variable."""
        return replace(self, locals={**self.locals, name: local})

    def with_type(self, name: str, type_: Type) -> Names:
        """With one more type."""
        return replace(self, types={**self.types, name: type_})

    def on_ports(self, indices: tuple[int, ...]) -> Names:
        """With the attributes of some input ports alone."""
        return replace(self, ports=tuple(p for p in self.ports if p.index in indices))

    def value(self, word: code.Word) -> Expression | None:
        """The variable, attribute or tuple that a name means; none if it means no value.

        Raises:
            UserError: It means several attributes, or a variable whose declaration is wrong.
        """
        name = word.text
        if name in self.locals:
            type_ = self.locals[name].type
            if type_ is None:
                raise silent()
            return Variable(type=type_, name=name, span=word.span)
        return self._attribute(name, word.span) or self.port(word)

    def _attribute(self, name: str, span: Span) -> Expression | None:
        having = [p for p in self.ports if name in p.schema.position]
        if len(having) > 1:
            choices = " or ".join(f"`{p.names[0]}.{name}`" for p in having)
            raise error(f"`{name}` is an attribute of several input ports", span, f"write {choices}")
        if not having:
            return None
        type_ = having[0].schema.attribute(name).type
        return Attribute(type=type_, name=name, port=having[0].index, span=span)

    def port(self, word: code.Word) -> InputTuple | None:
        """The tuple of the input port that a name means."""
        found = next((p for p in self.ports if self._means(word.text, p)), None)
        return None if found is None else InputTuple(type=found.schema, port=found.index, span=word.span)

    def _means(self, name: str, port: PortName) -> bool:
        if self.scope is self.home:
            return name in port.names
        stream = self.scope.stream(name)
        return stream is not None and not set(stream.ids).isdisjoint(port.streams)

    def enum_symbol(self, type_name: str, symbol: code.Word, span: Span) -> Expression | None:
        """The symbol of an enumeration: `Type.symbol`, `Sys.symbol`; none if the name is no enumeration."""
        if type_name in _SYSTEM_SCOPES:
            return _system_symbol(type_name, symbol, span)
        type_ = self.types.get(type_name) or self.scope.find_type(type_name)
        if not isinstance(type_, EnumType):
            return None
        return typing.literal(symbol.text, type_, symbol.span)

    def known(self) -> Iterator[str]:
        """Every name that means a value here, for suggestions."""
        yield from self.locals
        for port in self.ports:
            yield from port.names
            yield from port.schema.names

    def unknown(self, word: code.Word, what: str = "variable or attribute") -> Exception:
        """The mistake of a name that means nothing."""
        return error(f"there is no {what} `{word}` here", word.span, did_you_mean(word.text, set(self.known())))


def _system_symbol(scope: str, symbol: code.Word, span: Span) -> Expression:
    type_ = symbol_type(f"{scope}.{symbol}")
    if type_ is not None:
        return typing.literal(symbol.text, type_, span)
    known = [s for name, t in SYSTEM_TYPES.items() if name.startswith(f"{scope}.") for s in getattr(t, "symbols", ())]
    raise error(f"`{scope}` has no symbol `{symbol}`", symbol.span, did_you_mean(symbol.text, known))
