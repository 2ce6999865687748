"""The confirmation of the wire format: both ends of a connection say what they send and read before the first tuple.

As soon as a client has connected, the server sends a magic number, the length of a text in four bytes, and the text: a
description of its format and schema in XML. The client compares it with its own and answers with the magic number, a
byte that is 0 if they agree, and the length and the text of a message that says what differs. Numbers have the most
significant byte first. It is the protocol of SPL's own operators, so either end may be one of theirs.

    server -> client   6d 6b 6f 72 61 6e 64 61   length   <wireformat format="csv" ...>...</wireformat>
    client -> server   6d 6b 6f 72 61 6e 64 61   0 or 1   length   message
"""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, fields
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from penstock.ir.types import BOOLEAN, ListType, MapType, Schema, SetType, TupleType, Type
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.formats.format_params import constant

MAGIC = bytes.fromhex("6d6b6f72616e6461")
LONGEST = 1_000_000
"""A description that is longer than so many bytes is none."""

ANSWER_SECONDS = 60.0

CONFIRM = constant(
    "confirmWireFormat",
    "Whether both sides say format and schema before the first tuple, and only go on if they agree.",
    BOOLEAN,
)

_NAMESPACES = (
    'xmlns="http://www.ibm.com/xmlns/prod/streams/spl/wireFormatType" '
    'xmlns:tt="http://www.ibm.com/xmlns/prod/streams/spl/tupleType"'
)

Shape = tuple[Any, ...]
"""A type, or an element of a description, as nested tuples that can be compared."""


class WireFormatsDiffer(ConnectionError):
    """The two ends of a connection do not agree on what is sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireFormat:
    """What an end of a connection sends or reads."""

    format: str
    compression: str
    encoding: str
    includesPunctuations: bool  # the name in the description
    hasDelay: bool  # the name in the description
    schema: Shape


def wire_format(runtime: LogicRuntime, schema: Schema, markers: str) -> WireFormat | None:
    """What an operator sends or reads, if it is to confirm that.

    Args:
        runtime: The operator.
        schema: Of what is sent or read.
        markers: The parameter that says whether punctuation is.
    """
    if not runtime.constant(CONFIRM.name, False):
        return None
    return WireFormat(
        format=runtime.symbol("format", "csv"),
        compression=runtime.symbol("compression"),
        encoding=str(runtime.constant("encoding", "")),
        includesPunctuations=bool(runtime.constant(markers, False)),
        hasDelay=bool(runtime.constant("hasDelayField", False)),
        schema=_shape(schema),
    )


def confirm(connection: socket.socket, own: WireFormat, *, is_server: bool) -> None:
    """Find out whether both ends of a connection agree.

    Raises:
        WireFormatsDiffer: They do not, or the other end does not confirm its format.
        OSError: The connection broke off.
    """
    before = connection.gettimeout()
    connection.settimeout(ANSWER_SECONDS)
    try:
        problem = _ask(connection, own) if is_server else _answer(connection, own)
    except TimeoutError:
        problem = "the other side does not confirm its wire format"
    finally:
        connection.settimeout(before)
    if problem:
        raise WireFormatsDiffer(problem)


def describe(own: WireFormat) -> str:
    """The description of a wire format.

    Example:
        >>> from penstock.ir.types import parse_schema
        >>> shape = _shape(parse_schema("int32 x, list<rstring> l"))
        >>> own = WireFormat(format="csv", compression="", encoding="", includesPunctuations=False, hasDelay=False,
        ...     schema=shape)
        >>> read_description(describe(own)) == own
        True
    """
    given = {"format": own.format, "compression": own.compression, "encoding": own.encoding}
    flags = {"includesPunctuations": own.includesPunctuations, "hasDelay": own.hasDelay}
    words = {**{k: v for k, v in given.items() if v}, **{k: "true" for k, v in flags.items() if v}}
    attributes = "".join(f" {name}={quoteattr(value)}" for name, value in words.items())
    parts = "".join(map(_written, own.schema[2]))
    return f"<wireformat {_NAMESPACES}{attributes}><schema>{parts}</schema></wireformat>"


def read_description(text: str) -> WireFormat:
    """The wire format that a description tells of.

    Raises:
        WireFormatsDiffer: It is none.
    """
    try:
        # Entities could make a short text very long.
        if "<!" in text:
            raise WireFormatsDiffer("the description of the wire format has declarations")
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise WireFormatsDiffer(f"the description of the wire format is not XML: {error}") from error
    schema = next((child for child in root if _bare(child.tag) == "schema"), None)
    return WireFormat(
        format=root.get("format", ""),
        compression=root.get("compression", ""),
        encoding=root.get("encoding", ""),
        includesPunctuations=root.get("includesPunctuations") in ("true", "1"),
        hasDelay=root.get("hasDelay") in ("true", "1"),
        schema=("tuple", (), tuple(map(_read, schema if schema is not None else ()))),
    )


def difference(own: WireFormat, other: WireFormat) -> str:
    """What two wire formats differ in; empty if they agree."""
    for field in fields(WireFormat):
        mine, theirs = getattr(own, field.name), getattr(other, field.name)
        if mine != theirs:
            if field.name == "schema":
                return "the schemas of both sides differ"
            here, there = (str(value).lower() or "not given" for value in (mine, theirs))
            return f"`{field.name}` is {here} here and {there} there"
    return ""


def _ask(connection: socket.socket, own: WireFormat) -> str:
    """The part of the server; gives what is wrong."""
    text = describe(own).encode()
    connection.sendall(MAGIC + struct.pack(">I", len(text)) + text)
    if _take(connection, len(MAGIC)) != MAGIC:
        return "the other side does not confirm its wire format"
    (refuses,) = _take(connection, 1)
    return _take_text(connection) or ("the other side refuses the wire format" if refuses else "")


def _answer(connection: socket.socket, own: WireFormat) -> str:
    """The part of the client; gives what is wrong."""
    if _take(connection, len(MAGIC)) != MAGIC:
        return "the other side does not confirm its wire format"
    try:
        problem = difference(own, read_description(_take_text(connection)))
    except WireFormatsDiffer as error:
        problem = str(error)
    message = problem.encode()
    connection.sendall(MAGIC + bytes([bool(problem)]) + struct.pack(">I", len(message)) + message)
    return problem


def _take(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        chunk = connection.recv(count - len(found))
        if not chunk:
            raise WireFormatsDiffer("the other side has closed the connection before its wire format was confirmed")
        found += chunk
    return found


def _take_text(connection: socket.socket) -> str:
    (length,) = struct.unpack(">I", _take(connection, 4))
    if length > LONGEST:
        raise WireFormatsDiffer(f"the other side describes its wire format in {length} bytes")
    return _take(connection, length).decode(errors="replace")


# ---- schemas


def _shape(type_: Type) -> Shape:
    """A type as the element that describes it: name, attributes, children."""
    match type_:
        case TupleType(attributes=attributes):
            return ("tuple", (), tuple(_entry("attr", "type", a.type, name=a.name) for a in attributes))
        case ListType(element=element, bound=bound) | SetType(element=element, bound=bound):
            word = "list" if isinstance(type_, ListType) else "set"
            return _entry(word, "elementType", element, **_bound(bound))
        case MapType(key=key, value=value, bound=bound):
            simple = {"keyType": key, "valueType": value}
            texts = {name: str(t) for name, t in simple.items() if not _is_complex(t)} | _bound(bound)
            parts = [(word, (), (_shape(t),)) for word, t in (("key", key), ("value", value)) if _is_complex(t)]
            return ("map", tuple(sorted(texts.items())), tuple(parts))
    return ("", (("type", str(type_)),), ())


def _entry(tag: str, word: str, type_: Type, **given: str) -> Shape:
    """An element for something of a type: simple types are an attribute, others a child."""
    texts = given if _is_complex(type_) else {**given, word: str(type_)}
    return (tag, tuple(sorted(texts.items())), (_shape(type_),) if _is_complex(type_) else ())


def _bound(bound: int | None) -> dict[str, str]:
    return {} if bound is None else {"bound": str(bound)}


def _is_complex(type_: Type) -> bool:
    return isinstance(type_, TupleType | ListType | SetType | MapType)


def _written(shape: Shape) -> str:
    name, texts, children = shape
    attributes = "".join(f" {word}={quoteattr(value)}" for word, value in texts)
    inside = "".join(map(_written, children))
    return f"<tt:{name}{attributes}>{inside}</tt:{name}>" if inside else f"<tt:{name}{attributes}/>"


def _read(element: ElementTree.Element) -> Shape:
    texts = tuple(sorted((word, value) for word, value in element.attrib.items() if value))
    return (_bare(element.tag), texts, tuple(map(_read, element)))


def _bare(tag: str) -> str:
    return tag.rpartition("}")[2]
