"""Connections over TCP are encrypted, and only those who are believed connect."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.core.program import Program

FILES = Path(__file__).parents[2] / "fixtures" / "tls"
SERVER = 'sslProtocol: "TLS"; sslCertificateFile: "server.pem";'
CLIENT = 'sslProtocol: "TLS"; sslCertificateAuthorityFile: "authority.pem";'
OWN = 'sslCertificateFile: "client.pem"; password: "sesame";'
INSISTS = 'sslAuthenticateClient: require; sslCertificateAuthorityFile: "authority.pem";'


def source(params: str) -> Program:
    return compile_text(
        f"""composite Main {{ graph
        stream<int32 n> A = TCPSource() {{ param format: csv; {params} }}
        () as Out = Custom(A) {{ logic onTuple A: println(n); }} }}"""
    )


def sink(params: str, tuples: int = 3) -> Program:
    return compile_text(
        f"""composite Main {{ graph
        stream<int32 n> A = Beacon() {{ param iterations: {tuples}u; output A: n = (int32) IterationCount(); }}
        () as Sink = TCPSink(A) {{ param reconnectionPolicy: NoRetry; {params} }} }}"""
    )


def run_here(program: Program) -> None:
    run(program, environment=Environment(data_directory=FILES))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@contextmanager
def serving(context: ssl.SSLContext, send: bytes = b"", host: str = "127.0.0.1") -> Iterator[tuple[int, list[bytes]]]:
    """A server that speaks TLS with one client: it sends, then reads to the end."""
    came: list[bytes] = []
    with socket.create_server((host, 0)) as listening:

        def serve() -> None:
            raw, _ = listening.accept()
            with raw:
                try:
                    with context.wrap_socket(raw, server_side=True) as client:
                        if send:
                            client.sendall(send)
                            client.unwrap()
                        # Somebody slow: what was sent must wait for it, though the sender has closed.
                        time.sleep(0 if send else 0.3)
                        came.append(client.makefile("rb").read() if not send else b"")
                except OSError:
                    came.append(b"refused")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], came
        thread.join(10)


def server_context(*, insists: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(FILES / "server.pem")
    if insists:
        context.load_verify_locations(FILES / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize(("own", "insists"), [("", False), (OWN, True)])
def test_a_client_reads_and_writes(own: str, insists: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(server_context(insists=insists), send=b"1\n2\n") as (port, _):
        run_here(source(f'role: client; address: "127.0.0.1"; port: {port}u; {CLIENT} {own}'))
    assert capsys.readouterr().out == "1\n2\n"
    with serving(server_context(insists=insists)) as (port, came):
        run_here(sink(f'role: client; address: "localhost"; port: {port}u; {CLIENT} {own}'))
    assert came == [b"0\n1\n2\n"]


def test_what_was_sent_waits_for_somebody_slow() -> None:
    """A server sends tickets by itself; a client that closes without reading them would reset the connection."""
    with serving(server_context()) as (port, came):
        run_here(sink(f'role: client; address: "localhost"; port: {port}u; {CLIENT}', tuples=5000))
    assert came == ["".join(f"{n}\n" for n in range(5000)).encode()]


def test_a_client_does_not_believe_everybody() -> None:
    for host, params, message in (
        ("127.0.0.1", 'sslProtocol: "TLS";', r"its certificate is not believed: .*issuer"),
        ("127.0.0.2", CLIENT, r"its certificate is not believed: .*127\.0\.0\.2"),
    ):
        with serving(server_context(), send=b"1\n", host=host) as (port, came), pytest.raises(UserError, match=message):
            run_here(source(f'role: client; address: "{host}"; port: {port}u; {params}'))
        assert came == [b"refused"]


def client_context(*, has_own: bool) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(FILES / "authority.pem"))
    if has_own:
        context.load_cert_chain(FILES / "client.pem", password="sesame")
    return context


def connect(port: int) -> socket.socket:
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=10)
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError("nobody listens")


def test_a_server_waits_for_a_client_that_it_believes(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()

    def call() -> None:
        with connect(port) as plain:
            plain.sendall(b"7\n")
        with (
            connect(port) as raw,
            suppress(OSError),
            client_context(has_own=False).wrap_socket(raw, server_hostname="localhost") as unknown,
        ):
            unknown.sendall(b"8\n")
            unknown.recv(1)
        with connect(port) as raw, client_context(has_own=True).wrap_socket(raw, server_hostname="localhost") as known:
            known.sendall(b"9\n")
            with suppress(OSError):
                known.unwrap()

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    run_here(source(f"role: server; port: {port}u; {SERVER} {INSISTS}"))
    caller.join(10)
    assert capsys.readouterr().out == "9\n"


def test_two_of_ours_speak_with_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    params = (
        f'role: server; port: {port}u; {SERVER} sslCipherSuites: "ECDHE+AESGCM"; detectDisconnectsBeforeSends: true;'
    )
    sender = threading.Thread(target=run_here, args=(sink(params.replace('"TLS"', '"TLSv1.2"')),), daemon=True)
    sender.start()
    with connect(port):
        pass
    run_here(source(f'role: client; address: "localhost"; port: {port}u; {CLIENT}'))
    sender.join(10)
    assert capsys.readouterr().out == "0\n1\n2\n"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            'sslProtocol: "TLS"; sslCertificateFile: "none.pem";',
            "cannot use TLS: No such file or directory: .*none.pem",
        ),
        ('sslProtocol: "TLS"; sslCertificateFile: "authority.pem";', "cannot use TLS"),
        ('sslProtocol: "TLS"; sslCertificateFile: "client.pem"; password: "simsim";', "cannot use TLS"),
        ('sslProtocol: "TLS"; sslCertificateFile: "client.pem";', "cannot use TLS"),
        (f'{SERVER} sslCipherSuites: "rot13";', "cannot use TLS: .*cipher"),
        ('sslProtocol: "SSLv3"; sslCertificateFile: "server.pem";', "`sslv3` is not safe any more"),
        ('sslProtocol: "QUIC"; sslCertificateFile: "server.pem";', "`quic` is not known"),
    ],
)
def test_what_cannot_be_used_is_named_before_anybody_connects(params: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        run_here(source(f"role: server; port: 0u; {params}"))
    assert "open" not in str(error.value).replace("OpenSSL", "")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ('role: client; address: "a"; port: 1u; sslCertificateFile: "x";', "goes with `sslProtocol`"),
        (f'role: client; address: "a"; port: 1u; {CLIENT} sslAuthenticateClient: require;', "role of a server"),
        ('role: server; port: 1u; sslProtocol: "TLS";', "needs `sslCertificateFile`"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(params: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        source(params)
