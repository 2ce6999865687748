"""XMLParse: makes tuples of the elements of XML documents.

`trigger` names the elements, one path for each output port: a tuple for each of them, when it is complete. The output
clause reads it by paths: `title = XPath("title/text()")`, `id = XPath("@id")`, `names = XPathList("author/text()")`,
and, within each of several elements, `XPathList("author", {name = XPath("@name")})`. An attribute that the clause does
not assign is read by its name: a child element, whose type tells what is read of it (its text, a tuple of its own
parts, a list of all the children of that name), or with `flatten: attributes` an attribute of the element; `_attrs` is
the map of its attributes and `_text` its text. A document may go over several tuples; a window marker ends it.

What it remembers is the part of a document that has come.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.analysis import transform
from penstock.expr.environment import Tuple
from penstock.expr.values.default import default_value
from penstock.expr.values.parsing import parse_form
from penstock.expr.xml_tree import Element, Path, XMLReader, parse_path
from penstock.ir.expressions import Expression, Literal, OutputCall, Variable
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator, OutputPort
from penstock.ir.types import (
    BLOB,
    BOOLEAN,
    RSTRING,
    USTRING,
    XML,
    ListType,
    MapType,
    OptionalType,
    TupleType,
    Type,
    is_string,
)
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.memory import Parts, Whole
from penstock.toolkit.core.record_output import is_read
from penstock.toolkit.core.runtime import Context

Read = Callable[[Element, Tuple], Any]
"""Reads a value from an element, with the input tuple at hand."""


class XMLParseRuntime(LogicRuntime):
    """Feeds a reader with pieces of documents, and makes tuples of the elements that it hands over."""

    remembers = ("_pieces",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        self._ignores_case = self.constant("ignorecase", False)
        values = operator.param("xmlInput")
        self._piece = self.scalar(values[0]) if values else itemgetter(0)
        self._reader = XMLReader([self._path(text) for text in self.constants("trigger")], self._name)
        self._make = [self._maker(port) for port in operator.outputs]
        self._pieces: list[str | bytes] = []

    def process(self, port: int, tuple_: Tuple) -> None:
        """Submit what the piece completes."""
        piece = self._piece(tuple_)
        self._pieces.append(piece)
        try:
            for number, element in self._reader.read(piece):
                self._submit(number, element, tuple_)
        except ValueError as error:
            self.context.reject(str(piece)[:80], str(error))
        if not self._reader.is_open:
            self._pieces = []

    def _submit(self, port: int, element: Element, tuple_: Tuple) -> None:
        try:
            made = tuple(read(element, tuple_) for read in self._make[port])
        except ValueError as error:
            self.context.reject(f"<{element.name}>", str(error))
        else:
            self.submit[port](made)

    def take_window_marker(self, port: int) -> None:
        """End the document, and pass the marker on."""
        self._pieces = []
        self._reader.reset()
        super().take_window_marker(port)

    def restore_from(self, whole: Whole, parts: Parts) -> None:
        """Read the part of a document again that another instance had read."""
        super().restore_from(whole, parts)
        for piece in self._pieces:
            list(self._reader.read(piece))

    def _name(self, name: str) -> str:
        """A name as paths have it."""
        prefix: str | None = self.constant("ignorePrefix")
        if prefix is not None and name.startswith(f"{prefix}:"):
            name = name.removeprefix(f"{prefix}:")
        if self.constant("ignoreNamespaces", False) and not name.startswith("xmlns"):
            name = name.rpartition(":")[2]
        return name.lower() if self._ignores_case else name

    def _path(self, text: str) -> Path:
        return parse_path(text.lower() if self._ignores_case else text)

    def _maker(self, port: OutputPort) -> list[Read]:
        """The functions that read the attributes of a port."""
        if not port.assignments:
            return [self._by_name(a.name, a.type) for a in port.schema.attributes]
        return [
            self._by_name(a.attribute, a.value.type) if is_read(a.value) else self._assigned(a.value)
            for a in port.assignments
        ]

    def _assigned(self, value: Expression) -> Read:
        """An expression over output functions."""
        reads: list[Read] = []
        variables: list[Variable] = []

        def bind(call: OutputCall) -> Expression:
            if call.function == "AsIs":
                return call.arguments[0]
            reads.append(self._call(call))
            variables.append(Variable(type=call.type, name=f"read_{len(variables)}"))
            return variables[-1]

        compiled = self.scalar(_with_outer_calls(value, bind), variables=variables)
        return lambda element, tuple_: compiled(tuple_, *(read(element, tuple_) for read in reads))

    def _call(self, call: OutputCall) -> Read:
        path = self._path(str(_literal(call)))
        if len(call.arguments) == 2:
            inner = self._assigned(call.arguments[1])
            if call.function == "XPathList":
                return lambda element, tuple_: [inner(e, tuple_) for e in path.elements(element)]
            empty = call.type
            return lambda element, tuple_: next(
                (inner(e, tuple_) for e in path.elements(element)), default_value(empty)
            )
        if call.function == "XPathMap":
            return lambda element, tuple_: _attributes(path, element)
        if call.function == "XPathList":
            return lambda element, tuple_: path.texts(element)
        return lambda element, tuple_: next(iter(path.texts(element)), "")

    def _by_name(self, name: str, type_: Type) -> Read:
        """What stands under a name in an element."""
        own = name.lower() if self._ignores_case else name
        if name == self.constant("attributesName", "_attrs") and isinstance(type_, MapType):
            return lambda element, tuple_: self._shown(element.attributes)
        if name == self.constant("textName", "_text"):
            return lambda element, tuple_: _value(type_, element.text)
        flattens = self.symbol("flatten", "none") == "attributes"
        read = self._content(type_.element if isinstance(type_, ListType) else type_)

        def find(element: Element, tuple_: Tuple) -> Any:
            children = [child for child in element.children if child.name == own]
            if isinstance(type_, ListType):
                return [read(child) for child in children]
            if children:
                return read(children[0])
            is_there = flattens and own in element.attributes
            return _value(type_, element.attributes[own]) if is_there else default_value(type_)

        return find

    def _content(self, type_: Type) -> Callable[[Element], Any]:
        """What a type makes of an element: its text, or a tuple of its parts."""
        inner = type_.inner if isinstance(type_, OptionalType) else type_
        if not isinstance(inner, TupleType):
            return lambda element: _value(type_, element.text)
        parts = [self._by_name(a.name, a.type) for a in inner.attributes]
        return lambda element: tuple(part(element, ()) for part in parts)

    def _shown(self, attributes: dict[str, str]) -> dict[str, str]:
        hides = self.constant("ignoreNamespaces", False)
        return {n: v for n, v in attributes.items() if not (hides and n.startswith("xmlns"))}


def _attributes(path: Path, element: Element) -> dict[str, str]:
    """All attributes of the first element that a path leads to, or the one that it names."""
    for found in path.elements(element):
        if path.attribute in (None, "*"):
            return dict(found.attributes)
        return {n: v for n, v in found.attributes.items() if n == path.attribute}
    return {}


def _value(type_: Type, text: str) -> Any:
    """A text as a value; the default, or null, if there is none."""
    inner = type_.inner if isinstance(type_, OptionalType) else type_
    if is_string(inner):
        return text
    return parse_form(inner)(text.strip()) if text.strip() else default_value(type_)


def _with_outer_calls(value: Expression, bind: Callable[[OutputCall], Expression]) -> Expression:
    """An expression with each output call that is not inside another replaced."""
    if isinstance(value, OutputCall):
        return bind(value)
    parts = iter([_with_outer_calls(child, bind) for child in value.children()])
    children = {id(child) for child in value.children()}
    return transform(value, lambda node: next(parts) if id(node) in children else node)


def _literal(call: OutputCall) -> object:
    path = call.arguments[0]
    return path.value if isinstance(path, Literal) else ""


def _check(operator: Operator, found: Diagnostics) -> None:
    (port,) = operator.inputs
    texts = (RSTRING, USTRING, BLOB, XML)
    if not operator.param("xmlInput") and [a.type in texts for a in port.schema.attributes] != [True]:
        message = f"an XMLParse without `xmlInput` has one input attribute, a string or a blob, found {port.schema}"
        found.error(message, operator.span)
    triggers = operator.param("trigger")
    if len(triggers) != len(operator.outputs):
        message = f"`trigger` has a path for each output port, found {len(triggers)} for {len(operator.outputs)}"
        found.error(message, operator.span)
    calls = [e for p in operator.outputs for a in p.assignments for e in a.value.walk() if isinstance(e, OutputCall)]
    for path in (*triggers, *(c.arguments[0] for c in calls if c.function.startswith("XPath"))):
        _check_path(path, operator, found)
    for trigger in triggers:
        if isinstance(trigger, Literal) and not (text := str(trigger.value)).startswith("/"):
            found.error(f"a trigger begins at the root, found `{text}`", trigger.span or operator.span)


def _check_path(path: Expression, operator: Operator, found: Diagnostics) -> None:
    if not isinstance(path, Literal):
        found.error("a path is a literal", path.span or operator.span)
        return
    try:
        parse_path(str(path.value))
    except ValueError as error:
        found.error(str(error), path.span or operator.span)


_constant = partial(ParamSpec, kind=ParamKind.CONSTANT)
DEFINITION = OperatorDefinition(
    name="XMLParse",
    doc="Makes tuples of the elements of XML documents.",
    inputs=(1, 1),
    outputs=(1, None),
    params=(
        ParamSpec(name="xmlInput", types=(RSTRING, USTRING, BLOB, XML), doc="The text of an input tuple."),
        _constant(
            name="trigger", types=(RSTRING,), required=True, many=True, doc="The path of the elements, for each port."
        ),
        ParamSpec(
            name="parsing",
            kind=ParamKind.SYMBOLS,
            symbols=("strict", "permissive"),
            doc="Whether text that is no XML fails or is set aside; `strict` without it.",
        ),
        ParamSpec(
            name="flatten",
            kind=ParamKind.SYMBOLS,
            symbols=("none", "attributes", "elements"),
            doc="Whether attributes of elements are read by their names; `none` without it.",
        ),
        _constant(name="attributesName", types=(RSTRING,), doc="Of the map of attributes; `_attrs` without it."),
        _constant(name="textName", types=(RSTRING,), doc="Of an element's text; `_text` without it."),
        _constant(name="nullify", types=(BOOLEAN,), doc="Accepted; what is missing is null if the type is optional."),
        _constant(name="ignorecase", types=(BOOLEAN,), doc="Whether names are equal in upper and lower case."),
        _constant(name="ignoreNamespaces", types=(BOOLEAN,), doc="Whether prefixes of names do not count."),
        _constant(name="ignorePrefix", types=(RSTRING,), doc="A prefix of names that does not count."),
        _constant(name="xmlParseHuge", types=(BOOLEAN,), doc="Accepted; there is no limit."),
    ),
    output=OutputClause.READ,
    assigned_outputs=1_000,
    output_functions=(
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
        OutputFunction(prototype="rstring XPath(rstring path)", doc="The first text or attribute; empty without one."),
        OutputFunction(prototype="<tuple T> T XPath(rstring path, T value)", doc="A tuple read in the first element."),
        OutputFunction(prototype="list<rstring> XPathList(rstring path)", doc="All texts or attributes."),
        OutputFunction(
            prototype="<any T> list<T> XPathList(rstring path, T value)", doc="A value read within each element."
        ),
        OutputFunction(prototype="map<rstring, rstring> XPathMap(rstring path)", doc="The attributes of an element."),
    ),
    facts=Facts(is_repeatable=True),
    model=lambda operator: not_parallel(operator, "a document may begin in one tuple and end in another"),
    check=_check,
    runtime=XMLParseRuntime,
)
