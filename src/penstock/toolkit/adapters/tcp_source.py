"""TCPSource: reads tuples from a connection to another program.

As a client it connects to `address` and `port`, or to the server of a `name`; as a server it waits on `port` for a
client to connect, one at a time. It reads what the other side sends in any format of FileSource. When the other side
closes the connection, what is left is the last record, and a window marker follows. Then the stream ends, or with
`reconnectionPolicy: InfiniteRetry` or `BoundedRetry` the next connection is made: a client connects again after
`reconnectionDelay` seconds. A client whose server is not there fails, or with InfiniteRetry tries until it is. A
malformed record follows `parsing`.

What was sent while nobody was connected is lost. On Spark what has been read is kept until every sink has it, so
nothing that was read is lost or comes twice if the job is restarted; it then connects anew.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import FLOAT64, RSTRING, UINT32, parse_type
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
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.formats import Malformed, Pause, reader
from penstock.toolkit.formats.file_chunks import decompress
from penstock.toolkit.formats.format_params import READ_PARAMS, check_format, constant, read_settings

Produced = Iterator[Tuple | Wait | Punctuation | None]

_CHUNK = 1 << 16

KEEP_ALIVE = parse_type("tuple<int32 time, int32 probes, int32 interval>")
KEEP_ALIVE_DOC = (
    "Of a server: the idle seconds before it asks whether the client is there, how often it asks, and the seconds in "
    "between; 0 for what the system does."
)


class TCPSourceRuntime(LogicRuntime):
    """Reads from one connection after the other.

    Attributes:
        is_live: A turn without a tuple means that there is nothing for now.
        _is_done: Whether the stream has come to its end.
        _has_waited: Whether the first delay is over.
        _made: How many connections there were.
    """

    remembers = ("_is_done", "_has_waited", "_made")
    is_live = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = read_schema(operator)
        self._read = reader(schema, read_settings(self, schema))
        self._make = record_output(self)
        wire = wire_format(self, schema, "readPunctuations")
        self._connections = Connections(self, "NoRetry", wire)
        self._compression = self.symbol("compression")
        self._is_done = False
        self._has_waited = False
        self._made = 0

    def produce(self) -> Produced:
        """The tuples of all connections."""
        delay_ns = self.duration_ns("initDelay")
        if delay_ns and not self._has_waited:
            self._has_waited = True
            yield Wait(delay_ns)
        self._connections.made = self._made
        while not self._is_done:
            yield from self._next_connection()
            self._is_done = not self._connections.may_follow
            yield Punctuation.WINDOW
        self.close()

    def close(self) -> None:
        """Let no more clients connect."""
        self._connections.close()

    def _next_connection(self) -> Produced:
        for connection in self._connections.wait(self.constant("address", ""), self.constant("port", 0)):
            if connection is None:
                yield None
                continue
            self._made = self._connections.made
            with connection:
                self._keep_alive(connection)
                yield from self._records(connection)

    def _records(self, connection: socket.socket) -> Produced:
        make, number = self._make, 0
        told = self._describe(connection) if make is not None else {}
        chunks = _chunks(connection)
        for item in self._read(self._decompress(chunks) if self._compression else chunks):
            if isinstance(item, Malformed):
                self.context.reject(item.record, item.reason)
            elif isinstance(item, tuple):
                yield item if make is None else make(item, (), {**told, "TupleNumber": number})
                number += 1
            else:
                yield None if isinstance(item, Pause) else item

    def _keep_alive(self, connection: socket.socket) -> None:
        """Let the system ask, while nothing comes, whether the other side is still there."""
        given = self.constant("keepAlive")
        if given is None:
            return
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in zip((socket.TCP_KEEPIDLE, socket.TCP_KEEPCNT, socket.TCP_KEEPINTVL), given, strict=True):
            if value > 0:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)

    def _decompress(self, chunks: Iterator[bytes | None]) -> Iterator[bytes | None]:
        try:
            yield from decompress(chunks, self._compression, may_break_off=True)
        except OSError as error:
            message = f"TCPSource `{self.operator.id}` cannot read what comes as {self._compression}: {error}"
            raise UserError(message, hint="give both sides the same `compression`") from error

    def _describe(self, connection: socket.socket) -> dict[str, object]:
        """The values of the output functions that describe a connection, by name."""
        (remote, remote_port), local_port = connection.getpeername()[:2], connection.getsockname()[1]
        return {
            "RemoteIP": remote,
            "RemotePort": remote_port,
            "LocalPort": local_port,
            "ServerPort": self._connections.server_port,
        }


def _chunks(connection: socket.socket) -> Iterator[bytes | None]:
    """The bytes that come in; None where none have come for a while."""
    while True:
        try:
            chunk = connection.recv(_CHUNK)
        except TimeoutError:
            yield None
            continue
        except (ConnectionError, ssl.SSLError):
            return
        if not chunk:
            return
        yield chunk


def _check(operator: Operator, found: Diagnostics) -> None:
    check_role(operator, found)
    if operator.param("keepAlive") and symbol(operator, "role") != "server":
        found.error("`keepAlive` goes with the role of a server", operator.span, hint="remove it")
    check_format(operator, read_schema(operator), found)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


REMOTE_FUNCTIONS = (
    OutputFunction(prototype="rstring RemoteIP()", doc="The address of the other side."),
    OutputFunction(prototype="uint32 RemotePort()", doc="The port of the other side."),
    OutputFunction(prototype="uint32 ServerPort()", doc="The port that it listens on."),
)

DEFINITION = OperatorDefinition(
    name="TCPSource",
    doc="Reads tuples from a connection to another program.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        ROLE,
        constant("address", "The name or address of the server, for a client.", RSTRING),
        constant("port", "The port of the server; any that is free for a server without it.", *PORT_TYPES),
        NAME,
        INTERFACE,
        *READ_PARAMS,
        COMPRESSION,
        CONFIRM,
        constant("keepAlive", KEEP_ALIVE_DOC, KEEP_ALIVE),
        constant("initDelay", "Seconds before the first connection.", FLOAT64),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        constant("receiveBufferSize", "Accepted; the system chooses how much it holds.", UINT32),
        *reconnection_params("NoRetry, which ends the stream,"),
        *tls.PARAMS,
    ),
    output=OutputClause.READ,
    output_functions=(
        *REMOTE_FUNCTIONS,
        OutputFunction(prototype="uint32 LocalPort()", doc="The port of this side."),
        OutputFunction(prototype="int64 TupleNumber()", doc="The number of tuples of the connection before this one."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(never_ends=True, reaches_out=True),
    model=_model,
    check=_check,
    runtime=TCPSourceRuntime,
)
