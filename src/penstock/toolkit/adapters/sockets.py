"""Connections over TCP, one at a time, in the role of a client or of a server; what TCPSource and TCPSink share."""

from __future__ import annotations

import fcntl
import socket
import ssl
import struct
import time
from collections.abc import Iterator

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.ir.graph import Operator
from penstock.ir.types import FLOAT64, INT32, RSTRING, UINT32
from penstock.toolkit.adapters.server_names import ServerName, check_name
from penstock.toolkit.adapters.tls import Security, check_security
from penstock.toolkit.adapters.wire_format import WireFormat, WireFormatsDiffer, confirm
from penstock.toolkit.core.definition import ParamKind, ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.formats.file_chunks import COMPRESSIONS
from penstock.toolkit.formats.format_params import constant, word

POLL_SECONDS = 0.1
"""How long to wait for another program before the other sources have a turn."""

CONNECT_SECONDS = 10.0

START = "start the server before the application"

_SIOCGIFADDR = 0x8915

ROLE = ParamSpec(
    name="role",
    kind=ParamKind.SYMBOLS,
    symbols=("client", "server"),
    required=True,
    doc="Whether it connects to a server, or waits for a client to connect.",
)
PORT_TYPES = (UINT32, INT32, RSTRING)
COMPRESSION = word("compression", "How what is sent is compressed; not at all without it.", *COMPRESSIONS)
INTERFACE = constant(
    "interface", "The network interface, or its address, that a server listens on; all without it.", RSTRING
)


def reconnection_params(otherwise: str) -> tuple[ParamSpec, ...]:
    """The parameters that say what to do when a connection has come to its end.

    Args:
        otherwise: The policy where none is given.
    """
    return (
        word(
            "reconnectionPolicy",
            f"What to do when the other side has closed the connection; {otherwise} without it.",
            "NoRetry",
            "InfiniteRetry",
            "BoundedRetry",
        ),
        constant("reconnectionBound", "How often to connect again with BoundedRetry; once without it.", UINT32),
        constant("reconnectionDelay", "Seconds before a client connects again; 1 without it.", FLOAT64),
    )


class Connections:
    """The connections of an operator, one after the other.

    Args:
        runtime: The operator.
        otherwise: The reconnection policy where none is given.
        wire: What it sends or reads, if both sides are to confirm that.

    Attributes:
        made: How many there were.
        name: By which a server is found, if it has one.
    """

    def __init__(self, runtime: LogicRuntime, otherwise: str, wire: WireFormat | None = None) -> None:
        self._operator = runtime.operator
        self.is_server = runtime.symbol("role") == "server"
        self._policy = runtime.symbol("reconnectionPolicy", otherwise)
        self._bound = int(runtime.constant("reconnectionBound", 1))
        self._delay = runtime.duration_ns("reconnectionDelay", 1.0) / 1e9
        self._interface = runtime.constant("interface", "")
        name = runtime.constant("name")
        self.name = None if name is None else ServerName(name)
        self._listening: socket.socket | None = None
        self._security = Security(runtime, self.is_server)
        self._wire = wire
        self.made = 0

    @property
    def may_follow(self) -> bool:
        """Whether another connection may be made after those that there were."""
        return self._policy == "InfiniteRetry" or (self._policy == "BoundedRetry" and self.made <= self._bound)

    @property
    def server_port(self) -> int:
        """Where a server listens."""
        return 0 if self._listening is None else int(self._listening.getsockname()[1])

    def listen(self, port: object) -> None:
        """Let clients connect, if this is a server.

        Raises:
            UserError: The port cannot be had.
        """
        if not self.is_server or self._listening is not None:
            return
        number = port_number(port)
        try:
            address = interface_address(self._interface) if self._interface else ""
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            self._listening = socket.create_server((address, number), family=family, backlog=1)
        except OSError as error:
            message = f"{self._operator_text} cannot listen on port {number}: {error.strerror or error}"
            raise UserError(message, hint="end the program that has the port, or choose another") from error
        self._listening.settimeout(POLL_SECONDS)
        if self.name is not None:
            self.name.register(address, self.server_port)

    def wait(self, address: str, port: object) -> Iterator[socket.socket | None]:
        """Attempts to make the next connection: None for one that has failed, the connection at last.

        Raises:
            UserError: The server is not there, and the policy does not say to try again.
        """
        until = time.monotonic() + (self._delay if self.made and not self.is_server else 0.0)
        while time.monotonic() < until:
            time.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))
            yield None
        self.listen(port)
        while (connection := self._accept() if self.is_server else self._connect(address, port)) is None:
            yield None
        connection.settimeout(POLL_SECONDS)
        self.made += 1
        yield connection

    def close(self) -> None:
        """Let no more clients connect."""
        if self._listening is not None:
            self._listening.close()
            self._listening = None
            if self.name is not None:
                self.name.withdraw()

    def _accept(self) -> socket.socket | None:
        assert self._listening is not None
        try:
            connection, (address, *_) = self._listening.accept()
        except TimeoutError:
            return None
        connection.settimeout(CONNECT_SECONDS)
        try:
            return self._confirmed(self._security.wrap(connection, address))
        except OSError:
            # Whoever does not speak TLS, is not believed, or speaks of other data is no client; the next may be one.
            return None

    def _confirmed(self, connection: socket.socket) -> socket.socket:
        """A connection on which both sides agree what is sent, if that is to be confirmed."""
        if self._wire is not None:
            try:
                confirm(connection, self._wire, is_server=self.is_server)
            except OSError:
                connection.close()
                raise
        return connection

    def _connect(self, address: str, port: object) -> socket.socket | None:
        try:
            place = (address, port_number(port)) if self.name is None else self.name.find()
            if place is None:
                raise ConnectionError("no server has that name")
            found = self._security.wrap(socket.create_connection(place, timeout=CONNECT_SECONDS), place[0])
            return self._confirmed(found)
        except OSError as error:
            if self._policy == "InfiniteRetry":
                time.sleep(POLL_SECONDS)
                return None
            where = f"{address}:{port}" if self.name is None else f"the server `{self.name.name}`"
            message = f"{self._operator_text} cannot connect to {where}: {describe(error)}"
            hint = "give both sides the same format and schema" if isinstance(error, WireFormatsDiffer) else START
            raise UserError(message, hint=hint) from error

    @property
    def _operator_text(self) -> str:
        return f"{self._operator.kind} `{self._operator.id}`"


def describe(error: OSError) -> str:
    """What went wrong with a connection, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not believed: {error.verify_message}"
    return str(error.strerror or error)


def port_number(port: object) -> int:
    """The number of a port that is given as such, as its digits, or as the name of a service.

    Raises:
        UserError: There is no such port.

    Example:
        >>> port_number(8080), port_number("8080")
        (8080, 8080)
    """
    text = str(port)
    try:
        number = int(text) if text.isdecimal() else socket.getservbyname(text)
    except OSError:
        raise UserError(f"there is no port `{text}`", hint="give its number, or the name of a service") from None
    if number > 65535:
        raise UserError(f"there is no port {number}", hint="ports go up to 65535")
    return number


def interface_address(interface: str) -> str:
    """The address of a network interface; an address is its own.

    Raises:
        OSError: There is no such interface.

    Example:
        >>> interface_address("lo"), interface_address("127.0.0.1")
        ('127.0.0.1', '127.0.0.1')
    """
    if "." in interface or ":" in interface:
        return interface
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("256s", interface.encode()[:15])
        return socket.inet_ntoa(fcntl.ioctl(asking.fileno(), _SIOCGIFADDR, request)[20:24])


def check_role(operator: Operator, found: Diagnostics) -> None:
    """Report what does not go with the role in the connection."""
    check_security(operator, found)
    if symbol(operator, "role") == "client":
        check_name(operator, found, "address", "port")
        if operator.param("interface"):
            found.error("`interface` goes with the role of a server", operator.span)
    elif operator.param("address"):
        found.error("`address` goes with the role of a client; a server is told `interface`", operator.span)
    if operator.param("reconnectionBound") and symbol(operator, "reconnectionPolicy") != "BoundedRetry":
        found.error("`reconnectionBound` goes with the policy BoundedRetry", operator.span)
