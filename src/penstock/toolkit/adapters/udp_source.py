"""UDPSource: reads tuples from packets, one from each.

It takes the packets that come to `port`, from anybody or from `address` alone; if that is a multicast address, those
that are sent to it. A packet holds one tuple in any format of FileSource, or a marker. It never ends by itself: a run
goes on until it is stopped. Packets may be lost, or come in another order, on their way; that is the way of UDP. On
Spark what has been read is kept until every sink has it.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.facts import Facts
from penstock.ir.graph import Operator
from penstock.ir.types import FLOAT64, RSTRING, UINT32
from penstock.toolkit.adapters.server_names import NAME, ServerName, check_name
from penstock.toolkit.adapters.sockets import COMPRESSION, POLL_SECONDS, PORT_TYPES, interface_address, port_number
from penstock.toolkit.adapters.tcp_source import REMOTE_FUNCTIONS, Produced
from penstock.toolkit.analysis.logic_analysis import not_parallel
from penstock.toolkit.core.definition import OperatorDefinition, OutputClause, OutputFunction
from penstock.toolkit.core.logic_runtime import LogicRuntime
from penstock.toolkit.core.record_output import read_schema, record_output
from penstock.toolkit.core.runtime import Context, Wait
from penstock.toolkit.formats import Malformed, Pause, reader
from penstock.toolkit.formats.file_chunks import decompress
from penstock.toolkit.formats.format_params import READ_PARAMS, check_format, constant, read_settings

_LARGEST = 1 << 16


class UDPSourceRuntime(LogicRuntime):
    """Reads packets.

    Attributes:
        is_live: A turn without a tuple means that there is nothing for now.
    """

    remembers = ("_has_waited", "_number")
    is_live = True

    def __init__(self, operator: Operator, context: Context) -> None:
        super().__init__(operator, context)
        schema = read_schema(operator)
        self._read = reader(schema, read_settings(self, schema))
        self._make = record_output(self)
        self._compression = self.symbol("compression")
        self._has_waited = False
        self._number = 0
        self._port = 0
        name = self.constant("name")
        self._name = None if name is None else ServerName(name)
        self._socket: socket.socket | None = None

    def produce(self) -> Produced:
        """The tuples of all packets."""
        delay_ns = self.duration_ns("initDelay")
        if delay_ns and not self._has_waited:
            self._has_waited = True
            yield Wait(delay_ns)
        self._socket = opened = self._open()
        wanted = self._wanted()
        while True:
            try:
                packet, (address, port, *_) = opened.recvfrom(_LARGEST)
            except TimeoutError:
                yield None
                continue
            if wanted is None or address in wanted:
                yield from self._records(packet, address, port)

    def close(self) -> None:
        """Take no more packets."""
        if self._socket is not None:
            self._socket.close()
            if self._name is not None:
                self._name.withdraw()

    def _records(self, packet: bytes, address: str, port: int) -> Produced:
        told = {"RemoteIP": address, "RemotePort": port, "ServerPort": self._port}
        for item in self._read(self._chunks(packet)):
            if isinstance(item, Malformed):
                self.context.reject(item.record, item.reason)
            elif isinstance(item, tuple):
                yield item if self._make is None else self._make(item, (), {**told, "TupleNumber": self._number})
                self._number += 1
            elif not isinstance(item, Pause):
                yield item

    def _chunks(self, packet: bytes) -> Iterator[bytes | None]:
        """The bytes of a packet; one that is not compressed as it should be is set aside whole."""
        if not self._compression:
            return iter([packet])
        try:
            return iter(list(decompress([packet], self._compression)))
        except OSError as error:
            self.context.reject(packet.hex(), str(error))
            return iter(())

    def _open(self) -> socket.socket:
        port = port_number(self.constant("port", 0))
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if (size := self.constant("receiveBufferSize")) is not None:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
            interface = interface_address(self.constant("interface", "0.0.0.0"))
            group = self.constant("address", "")
            if is_multicast(group):
                opened.bind(("", port))
                member = socket.inet_aton(group) + socket.inet_aton(interface)
                opened.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            else:
                opened.bind((interface, port))
        except OSError as error:
            opened.close()
            message = f"UDPSource `{self.operator.id}` cannot listen on port {port}: {error.strerror or error}"
            raise UserError(message, hint="end the program that has the port, or choose another") from error
        opened.settimeout(POLL_SECONDS)
        self._port = int(opened.getsockname()[1])
        if self._name is not None:
            self._name.register(group if is_multicast(group) else interface.replace("0.0.0.0", ""), self._port)
        return opened

    def _wanted(self) -> frozenset[str] | None:
        """The addresses of those whose packets are taken; anybody's if none."""
        address = self.constant("address", "")
        if not address or is_multicast(address):
            return None
        try:
            return frozenset(socket.gethostbyname_ex(address)[2])
        except OSError as error:
            raise UserError(f"UDPSource `{self.operator.id}` does not find `{address}`: {error}") from error


def is_multicast(address: str) -> bool:
    """Whether an address is that of a group.

    Example:
        >>> is_multicast("239.1.2.3"), is_multicast("localhost")
        (True, False)
    """
    try:
        return ipaddress.ip_address(address).is_multicast
    except ValueError:
        return False


def _check(operator: Operator, found: Diagnostics) -> None:
    if not operator.param("name"):
        check_name(operator, found, "port")
    check_format(operator, read_schema(operator), found)


DEFINITION = OperatorDefinition(
    name="UDPSource",
    doc="Reads tuples from packets, one from each.",
    inputs=(0, 0),
    outputs=(1, 1),
    params=(
        constant("address", "Whose packets to take, or the multicast group; anybody's without it.", RSTRING),
        constant("port", "Where the packets come to; any that is free without it.", *PORT_TYPES),
        NAME,
        constant("interface", "The network interface, or its address, to listen on; all without it.", RSTRING),
        *(param for param in READ_PARAMS if param.name not in ("hasHeaderLine", "blockSize", "eolMarker")),
        COMPRESSION,
        constant("initDelay", "Seconds before the first tuple.", FLOAT64),
        constant("encoding", "Of the text; UTF-8 without it.", RSTRING),
        constant("receiveBufferSize", "How many bytes the system holds for us; its own choice without it.", UINT32),
    ),
    output=OutputClause.READ,
    output_functions=(
        *REMOTE_FUNCTIONS,
        OutputFunction(prototype="int64 TupleNumber()", doc="The number of tuples read before this one."),
        OutputFunction(prototype="<any T> T AsIs(T value)", doc="The value itself."),
    ),
    facts=Facts(never_ends=True, reaches_out=True),
    model=lambda operator: not_parallel(operator, "it is a source"),
    check=_check,
    runtime=UDPSourceRuntime,
)
