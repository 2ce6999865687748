"""TCPSource: reads tuples from a connection to a server.

It connects to `address` and `port` as a client, and reads what the server sends in any format of FileSource. When the
server closes the connection, what is left is the last record. Then a window marker follows and the stream ends, or with
`reconnectionPolicy: InfiniteRetry` or `BoundedRetry` it connects again, after `reconnectionDelay` seconds. A malformed
record follows `parsing`.

What was sent while nobody was connected is lost. On Spark what has been read is kept until every sink has it, so
nothing that was read is lost or comes twice if the job is restarted; it then connects anew.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.models import OperatorModel
from penstock.ir.types import BOOLEAN, FLOAT64, INT32, RSTRING, UINT32
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction, ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Punctuation, Wait
from penstock.toolkit.formats import Malformed, Pause, reader
from penstock.toolkit.formats.format_params import READ_PARAMS, check_format, constant, read_settings, word

Produced = Iterator[Tuple | Wait | Punctuation | None]

POLL_SECONDS = 0.1
"""How long to wait for bytes before the other sources have a turn."""

CONNECT_SECONDS = 10.0
_CHUNK = 1 << 16


class TCPSourceRuntime(LogicRuntime):
    """Reads from one connection after the other.

    Attributes:
        is_live: A turn without a tuple means that there is nothing for now.
        _is_done: Whether the stream has come to its end.
        _has_waited: Whether the first delay is over.
    """

    remembers = ("_is_done", "_has_waited", "_connections")
    is_live = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = read_schema(operator)
        self._settings = read_settings(self, schema)
        self._read = reader(schema, self._settings)
        self._make = record_output(self)
        self._is_done = False
        self._has_waited = False
        self._connections = 0

    def produce(self) -> Produced:
        """The tuples of all connections."""
        delay_ns = self.duration_ns("initDelay")
        if delay_ns and not self._has_waited:
            self._has_waited = True
            yield Wait(delay_ns)
        while not self._is_done:
            with self._connected() as connection:
                self._connections += 1
                yield from self._records(connection)
            self._is_done = not self._connects_again()
            if not self._is_done:
                yield from self._rest()
        yield Punctuation.WINDOW

    def _records(self, connection: socket.socket) -> Produced:
        make = self._make
        for item in self._read(_chunks(connection)):
            if isinstance(item, Malformed):
                self.context.reject(item.record, item.reason)
            elif isinstance(item, tuple):
                yield item if make is None else make(item, (), {})
            else:
                yield None if isinstance(item, Pause) else item

    def _rest(self) -> Produced:
        """Let others have turns while it waits on the wall clock to connect again."""
        until = time.monotonic() + self.duration_ns("reconnectionDelay", 1.0) / 1e9
        while time.monotonic() < until:
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
            yield None

    def _connects_again(self) -> bool:
        match self.symbol("reconnectionPolicy", "NoRetry"):
            case "InfiniteRetry":
                return True
            case "BoundedRetry":
                return self._connections <= int(self.constant("reconnectionBound", 1))
        return False

    def _connected(self) -> socket.socket:
        address, port = self.constant("address"), int(self.constant("port"))
        try:
            connection = socket.create_connection((address, port), timeout=CONNECT_SECONDS)
        except OSError as error:
            message = f"TCPSource `{self.operator.id}` cannot connect to {address}:{port}: {error.strerror or error}"
            raise UserError(message, hint="start the server before the application") from error
        connection.settimeout(POLL_SECONDS)
        return connection


def _chunks(connection: socket.socket) -> Iterator[bytes | None]:
    """The bytes that come in; None where none have come for a while."""
    while True:
        try:
            chunk = connection.recv(_CHUNK)
        except TimeoutError:
            yield None
            continue
        except ConnectionError:
            return
        if not chunk:
            return
        yield chunk


def _check(operator: Operator, found: Diagnostics) -> None:
    check_format(operator, read_schema(operator), found)


def _model(operator: Operator) -> OperatorModel:
    return not_parallel(operator, "it is a source")


DEFINITION = OperatorDefinition(
    name="TCPSource",
    doc="Reads tuples from a connection to a server.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        word("role", "What it is in the connection; only client.", "client"),
        ParamSpec(
            name="address",
            kind=ParamKind.CONSTANT,
            types=(RSTRING,),
            required=True,
            doc="The server's name or address.",
        ),
        ParamSpec(
            name="port",
            kind=ParamKind.CONSTANT,
            types=(UINT32, INT32, RSTRING),
            required=True,
            doc="The server's port.",
        ),
        *READ_PARAMS,
        constant("hasDelayField", "Whether each tuple has its delay in seconds before it; false without it.", BOOLEAN),
        constant("initDelay", "Seconds before it connects.", FLOAT64),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        word(
            "reconnectionPolicy",
            "What to do when the server has closed the connection; NoRetry, which ends the stream, without it.",
            "NoRetry",
            "InfiniteRetry",
            "BoundedRetry",
        ),
        constant("reconnectionBound", "How often to connect again with BoundedRetry; once without it.", UINT32),
        constant("reconnectionDelay", "Seconds before it connects again; 1 without it.", FLOAT64),
    ),
    output=OutputClause.READ,
    output_functions=(OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),),
    facts=Facts(never_ends=True),
    model=_model,
    check=_check,
    runtime=TCPSourceRuntime,
)
