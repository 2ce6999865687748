"""UDPSink: sends tuples as packets, one in each.

Each tuple, in any format of FileSink, is a packet for `address` and `port`; with `writePunctuations` markers are
packets too, and with `compression` each packet is compressed by itself. Nobody knows whether a packet arrives, and what
was sent of a batch that comes again on Spark after a crash is sent again. A tuple that is too large for a packet is an
error.
"""

from __future__ import annotations

import socket

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.expr.environment import Tuple
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.types import RSTRING, UINT8, UINT32
from penstock.toolkit.adapters.server_names import NAME, ServerName, check_name
from penstock.toolkit.adapters.sockets import COMPRESSION, PORT_TYPES, port_number
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.projection import projection
from penstock.toolkit.core.runtime import Context, Punctuation
from penstock.toolkit.formats import writer
from penstock.toolkit.formats.file_chunks import CompressedStream
from penstock.toolkit.formats.format_params import WRITE_PARAMS, check_format, constant, write_settings, written_schema


class UDPSinkRuntime(LogicRuntime):
    """Sends packets."""

    remembers = ("_last_ns",)

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = written_schema(operator)
        self._settings = write_settings(self)
        self._writer = writer(schema, self._settings)
        self._select = projection(operator.inputs[0].schema, schema.names)
        self._where = self._find()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, self.constant("timeToLive", 1))
        self._compression = self.symbol("compression")
        self._last_ns = context.environment.clock.now_ns

    def process(self, port: int, tuple_: Tuple) -> None:
        """Send a tuple."""
        self._send(self._writer.tuple(self._select(tuple_)))

    def take_window_marker(self, port: int) -> None:
        """Send the marker if that is asked for."""
        if self._settings.has_punctuations:
            self._send(self._writer.marker(Punctuation.WINDOW))

    def take_final_marker(self, port: int) -> None:
        """Send the marker if that is asked for."""
        if self._settings.has_punctuations:
            self._send(self._writer.marker(Punctuation.FINAL))

    def close(self) -> None:
        """Send no more."""
        self._socket.close()

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendto(self._packet(self._delay() + data), self._where)
        except OSError as error:
            address, port = self._where
            message = f"UDPSink `{self.operator.id}` cannot send to {address}:{port}: {error.strerror or error}"
            raise UserError(message) from error

    def _find(self) -> tuple[str, int]:
        name = self.constant("name")
        found = None if name is None else ServerName(name).find()
        if name is not None and found is None:
            message = f"UDPSink `{self.operator.id}` finds no UDPSource of the name `{name}`"
            raise UserError(message, hint="start the receiver before the application")
        return found or (self.constant("address"), port_number(self.constant("port")))

    def _packet(self, data: bytes) -> bytes:
        if not self._compression:
            return data
        stream = CompressedStream(self._compression)
        return stream.compress(data) + stream.end()

    def _delay(self) -> bytes:
        if not self._settings.has_delay_field:
            return b""
        now_ns = self.context.environment.clock.now_ns
        seconds, self._last_ns = (now_ns - self._last_ns) / 1e9, now_ns
        return self._writer.delay(seconds)


def _check(operator: Operator, found: Diagnostics) -> None:
    check_name(operator, found, "address", "port")
    check_format(operator, written_schema(operator), found)


DEFINITION = OperatorDefinition(
    name="UDPSink",
    doc="Sends tuples as packets, one in each.",
    inputs=(1, 1),
    outputs=(0, 0),
    params=(
        NAME,
        constant("address", "The name or address of the receiver, or a multicast group.", RSTRING),
        constant("port", "The receiver's port.", *PORT_TYPES),
        *WRITE_PARAMS,
        COMPRESSION,
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        constant("sendBufferSize", "Accepted; the system chooses how much it holds.", UINT32),
        constant("timeToLive", "How many networks a multicast packet may pass; 1 without it.", UINT8),
    ),
    facts=Facts(waits_for_time_with=("hasDelayField",), reaches_out=True),
    model=lambda operator: not_parallel(operator, "it is a sink", side_effects=True),
    check=_check,
    runtime=UDPSinkRuntime,
)
