"""TLS for connections over TCP: the parameters of TCPSource and TCPSink, and what they ask of a socket.

A server shows the certificate in `sslCertificateFile`; a client believes it if an authority in
`sslCertificateAuthorityFile`, or else one that the system trusts, has signed it for the address that the client has
connected to. With `sslAuthenticateClient: require` a client shows its own.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from penstock.base.diagnostics import Diagnostics, UserError
from penstock.base.redaction import protect
from penstock.base.secret_references import reveal
from penstock.ir.graph import Operator
from penstock.ir.types import RSTRING
from penstock.toolkit.core.definition import ParamSpec
from penstock.toolkit.core.logic_runtime import LogicRuntime, symbol
from penstock.toolkit.formats.format_params import constant, word

GOODBYE_SECONDS = 5.0
"""How long the other side may take to say goodbye."""

PARAMS: tuple[ParamSpec, ...] = (
    constant("sslProtocol", "TLSv1.2, TLSv1.3, or TLS for the best that both sides know; none without it.", RSTRING),
    constant("sslCertificateFile", "A file with the own certificate and its private key (PEM).", RSTRING),
    constant("password", "Of the private key.", RSTRING),
    constant(
        "sslCertificateAuthorityFile",
        "A file with the certificates of those who are believed (PEM); those of the system without it.",
        RSTRING,
    ),
    word(
        "sslAuthenticateClient",
        "Whether a server asks clients for a certificate, or insists; none without it.",
        "none",
        "request",
        "require",
    ),
    constant("sslCipherSuites", "The ciphers up to TLSv1.2, as OpenSSL names them; its own without it.", RSTRING),
)

_VERSIONS = {
    "tls": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.MAXIMUM_SUPPORTED),
    "tlsv1.2": (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2),
    "tlsv1.3": (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_3),
}
_OLD = frozenset({"sslv2", "sslv3", "tlsv1", "tlsv1.0", "tlsv1.1"})
_ASKING = {"none": ssl.CERT_NONE, "request": ssl.CERT_OPTIONAL, "require": ssl.CERT_REQUIRED}


class Security:
    """The TLS of an operator's connections.

    Args:
        runtime: The operator.
        is_server: Whether it is the server.

    Raises:
        UserError: A file is not there or is no such file, or the protocol or a cipher is not known.
    """

    def __init__(self, runtime: LogicRuntime, is_server: bool) -> None:
        self._is_server = is_server
        self._what = f"{runtime.operator.kind} `{runtime.operator.id}`"
        self._context = self._make(runtime)

    def wrap(self, connection: socket.socket, address: str) -> socket.socket:
        """The connection, made secure; it is closed if that fails.

        Raises:
            OSError: The other side does not speak TLS, or is not believed.
        """
        if self._context is None:
            return connection
        try:
            return self._context.wrap_socket(
                connection, server_side=self._is_server, server_hostname=None if self._is_server else address
            )
        except OSError:
            connection.close()
            raise

    def _make(self, runtime: LogicRuntime) -> ssl.SSLContext | None:
        protocol = str(runtime.constant("sslProtocol", "none")).lower()
        if protocol == "none":
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if self._is_server else ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version, context.maximum_version = self._versions(protocol)
        try:
            self._load(context, runtime)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
            file = getattr(error, "filename", None)
            message = f"{self._what} cannot use TLS: {reason}" + (f": `{file}`" if file else "")
            raise UserError(message, hint="see its parameters that begin with `ssl`, and `password`") from None
        return context

    def _load(self, context: ssl.SSLContext, runtime: LogicRuntime) -> None:
        paths = runtime.context.environment.input_path
        authority = runtime.constant("sslCertificateAuthorityFile")
        if authority is not None:
            context.load_verify_locations(cafile=_existing(paths(authority)))
        elif not self._is_server:
            context.load_default_certs()
        certificate = runtime.constant("sslCertificateFile")
        if certificate is not None:
            password = reveal(str(runtime.constant("password", "")))
            protect(password)
            context.load_cert_chain(_existing(paths(certificate)), password=lambda: password)
        if self._is_server:
            context.verify_mode = _ASKING[runtime.symbol("sslAuthenticateClient", "none")]
        ciphers = runtime.constant("sslCipherSuites")
        if ciphers is not None:
            context.set_ciphers(ciphers)

    def _versions(self, protocol: str) -> tuple[ssl.TLSVersion, ssl.TLSVersion]:
        if protocol in _VERSIONS:
            return _VERSIONS[protocol]
        is_old = protocol in _OLD
        found = "is not safe any more" if is_old else "is not known"
        raise UserError(f"{self._what}: the protocol `{protocol}` {found}", hint="say TLS, TLSv1.2 or TLSv1.3")


def say_goodbye(connection: socket.socket) -> None:
    """End a connection in order, so that the other side knows that this is all; one that is not secure needs none.

    What the other side has sent by itself (tickets to resume with) is read on the way: closing before that would reset
    the connection, and the other side could lose what it has not read.
    """
    if isinstance(connection, ssl.SSLSocket):
        connection.settimeout(GOODBYE_SECONDS)
        with suppress(OSError, ValueError):
            connection.unwrap()


def _existing(path: object) -> str:
    """The path of a file that can be read; OpenSSL's own message does not name it."""
    with open(str(path), "rb"):
        return str(path)


def check_security(operator: Operator, found: Diagnostics) -> None:
    """Report parameters that have no effect without others."""
    given = [spec.name for spec in PARAMS[1:] if operator.param(spec.name)]
    if given and not operator.param("sslProtocol"):
        found.error(f"`{given[0]}` goes with `sslProtocol`", operator.span, hint='add `sslProtocol: "TLS"`')
    is_server = symbol(operator, "role") == "server"
    if operator.param("sslAuthenticateClient") and not is_server:
        found.error("`sslAuthenticateClient` goes with the role of a server", operator.span)
    if is_server and operator.param("sslProtocol") and not operator.param("sslCertificateFile"):
        found.error("a server with `sslProtocol` needs `sslCertificateFile`", operator.span)
