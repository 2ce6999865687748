"""TCPSink: writes tuples to a connection to another program.

As a client it connects to `address` and `port`, or to the server of a `name`, when the first tuple comes; as a server
it listens on `port` from the start, and the first tuple waits for a client. It writes any format of FileSink. When the
other side has closed the connection, the next one is made as `reconnectionPolicy` says, by default again and again; a
tuple whose sending fails is lost, unless `retryFailedSends` is true. When no more connections may be made, the next
tuple is an error. With `closeMode: dynamic` each tuple tells by `address` and `port` where it goes, and the connection
is changed when these change.

A connection cannot be cut back: what was sent of a batch that comes again on Spark after a crash is sent again.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any

from penstock.base.diagnostics import Diagnostics
from penstock.expr.environment import Tuple
from penstock.ir.expressions import Attribute, InputTuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, RSTRING, UINT32
from penstock.toolkit.adapters import tls
from penstock.toolkit.adapters.server_names import NAME
from penstock.toolkit.adapters.sockets import (
    COMPRESSION,
    INTERFACE,
    PORT_TYPES,
    ROLE,
    Connections,
    check_role,
    reconnection_params,
)
from penstock.toolkit.adapters.wire_format import CONFIRM, wire_format
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, FatalUserError, Punctuation, Submit
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.file_chunks import CompressedStream
from penstock.toolkit.formats.format_params import (
    WRITE_PARAMS,
    check_format,
    constant,
    word,
    write_settings,
    written_schema,
)

SEND_SECONDS = 60.0
"""How long the other side may take to read what is sent before the connection counts as lost."""


class TCPSinkRuntime(LogicRuntime):
    """Writes to one connection after the other."""

    remembers = ("_last_ns",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = written_schema(operator)
        self._settings = write_settings(self)
        self._writer = writer(schema, self._settings)
        self._select = projection(operator.inputs[0].schema, schema.names)
        wire = wire_format(self, schema, "writePunctuations")
        self._connections = Connections(self, "InfiniteRetry", wire)
        self._connection: socket.socket | None = None
        self._compression = self.symbol("compression")
        self._stream: CompressedStream | None = None
        self._retries = self.constant("retryFailedSends", False)
        self._detects = self.constant("detectDisconnectsBeforeSends", False)
        self._where = self.row([*operator.param("address"), *operator.param("port")])
        self._place: Tuple = ()
        self._last_ns = context.environment.clock.now_ns

    def taker(self, port: int) -> Submit:
        """A function that sends a tuple; a server listens from now on."""
        self._connections.listen(self.constant("port", 0) if self._connections.is_server else 0)
        return self._take

    def take_window_marker(self, port: int) -> None:
        """Send the marker if that is asked for."""
        self._mark(Punctuation.WINDOW)

    def take_final_marker(self, port: int) -> None:
        """Send the marker if that is asked for."""
        self._mark(Punctuation.FINAL)

    def finish(self) -> None:
        """Let the other side know that this is all."""
        self.close()

    def close(self) -> None:
        """Close the connection, and let no more clients connect."""
        self._end()
        self._connections.close()

    def _take(self, tuple_: Tuple) -> None:
        if not self._connections.is_server:
            self._turn_to(self._where(tuple_))
        self._send(self._delay() + self._writer.tuple(self._select(tuple_)))

    def _mark(self, punctuation: Punctuation) -> None:
        if self._settings.has_punctuations and (self._connections.is_server or self._place or self._connections.name):
            self._send(self._delay() + self._writer.marker(punctuation))

    def _turn_to(self, place: Tuple) -> None:
        """Close a connection that leads elsewhere."""
        if place != self._place:
            self._end()
            self._place, self._connections.made = place, 0

    def _send(self, data: bytes) -> None:
        while True:
            if self._detects and self._connection is not None and _has_gone(self._connection):
                self._drop()
            connection = self._connection or self._connect()
            try:
                connection.sendall(data if self._stream is None else self._stream.compress(data))
                return
            except OSError:
                self._drop()
            if not self._retries:
                return

    def _connect(self) -> socket.socket:
        if self._connections.made and not self._connections.may_follow:
            message = f"TCPSink `{self.operator.id}` cannot send: the other side has closed the connection"
            raise FatalUserError(message, hint="allow another one with `reconnectionPolicy: InfiniteRetry`")
        address, port = self._place if self._place else ("", self.constant("port", 0))
        found = next(c for c in self._connections.wait(str(address), port) if c is not None)
        found.settimeout(SEND_SECONDS)
        self._connection = found
        self._stream = CompressedStream(self._compression) if self._compression else None
        return found

    def _end(self) -> None:
        """Close the connection, with the end of what is compressed."""
        if self._connection is not None and self._stream is not None:
            with suppress(OSError):
                self._connection.sendall(self._stream.end())
        if self._connection is not None:
            tls.say_goodbye(self._connection)
        self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._stream = None

    def _delay(self) -> bytes:
        if not self._settings.has_delay_field:
            return b""
        now_ns = self.context.environment.clock.now_ns
        seconds, self._last_ns = (now_ns - self._last_ns) / 1e9, now_ns
        return self._writer.delay(seconds)


def _has_gone(connection: socket.socket) -> bool:
    """Whether the other side has closed the connection."""
    if isinstance(connection, ssl.SSLSocket):
        return _has_said_goodbye(connection)
    try:
        return connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def _has_said_goodbye(connection: ssl.SSLSocket) -> bool:
    """Whether the other side has closed a connection by TLS; what it sends is of no interest."""
    before = connection.gettimeout()
    connection.settimeout(0)
    try:
        return connection.recv(1) == b""
    except ssl.SSLWantReadError:
        return False
    except OSError:
        return True
    finally:
        connection.settimeout(before)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_role(operator, found)
    check_format(operator, written_schema(operator), found)
    is_dynamic = symbol(operator, "closeMode", "never") == "dynamic"
    if is_dynamic and symbol(operator, "role") != "client":
        found.error("`closeMode: dynamic` goes with the role of a client", operator.span)
    for name in ("address", "port"):
        for value in operator.param(name):
            if not is_dynamic and any(isinstance(part, Attribute | InputTuple) for part in value.walk()):
                message = f"`{name}` of a TCPSink depends on the tuple only with `closeMode: dynamic`"
                found.error(message, value.span or operator.span)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a sink", side_effects=True)


def _expression(name: str, doc: str, *types: Any) -> ParamSpec:
    return ParamSpec(name=name, types=types, doc=doc)


DEFINITION = OperatorDefinition(
    name="TCPSink",
    doc="Writes tuples to a connection to another program.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        ROLE,
        _expression("address", "The name or address of the server, for a client.", RSTRING),
        _expression("port", "The port of the server; any that is free for a server without it.", *PORT_TYPES),
        NAME,
        INTERFACE,
        *WRITE_PARAMS,
        COMPRESSION,
        CONFIRM,
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        constant("flush", "Accepted; every tuple is sent at once.", UINT32),
        constant("flushOnPunctuation", "Accepted; every tuple is sent at once.", BOOLEAN),
        constant("retryFailedSends", "Whether a tuple whose sending fails is sent by the next connection.", BOOLEAN),
        constant(
            "detectDisconnectsBeforeSends", "Whether to look before each tuple if the other side is there.", BOOLEAN
        ),
        constant("sendBufferSize", "Accepted; the system chooses how much it holds.", UINT32),
        word("closeMode", "Whether tuples tell where they go; never without it.", "dynamic", "never"),
        *reconnection_params("InfiniteRetry"),
        *tls.PARAMS,
    ),
    facts=Facts(waits_for_time_with=("hasDelayField",), reaches_out=True),
    model=_model,
    check=_check,
    runtime=TCPSinkRuntime,
)
