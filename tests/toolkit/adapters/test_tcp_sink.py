"""TCPSink writes to a client or a server."""

from __future__ import annotations

import bz2
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.core.program import Program


@contextmanager
def receiver(connections: int = 1, bytes_each: int | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A server that reads each connection to its end, or so many bytes of it; gives the port and what came."""
    came: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(connections):
                client, _ = listening.accept()
                with client:
                    came.append(client.recv(bytes_each) if bytes_each else client.makefile("rb").read())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1], came
        thread.join(10)
        assert not thread.is_alive()


def program(params: str, tuples: int = 3) -> Program:
    return compile_text(
        f"""composite Main {{ graph
        stream<int32 n, rstring s> A = Custom() {{ logic onProcess:
          for (int32 i in range({tuples})) submit({{n = i, s = "x"}}, A); }}
        () as Sink = TCPSink(A) {{ param {params} }} }}"""
    )


@pytest.mark.parametrize(
    ("compression", "expand"),
    [("zlib", zlib.decompress), ("gzip", gzip.decompress), ("bzip2", bz2.decompress)],
)
def test_what_is_sent_compressed_is_one_whole_stream(compression: str, expand: Callable[[bytes], bytes]):
    with receiver() as (port, came):
        run(program(f'role: client; address: "127.0.0.1"; port: {port}u; compression: {compression};'))
    assert [expand(data) for data in came] == [b'0,"x"\n1,"x"\n2,"x"\n']


@pytest.mark.parametrize(
    ("params", "data"),
    [
        ("", b'0,"x"\n1,"x"\n2,"x"\n'),
        ("quoteStrings: false; suppress: n;", b"x\nx\nx\n"),
        (
            "format: txt; writePunctuations: true;",
            b'{n=0,s="x"}\n{n=1,s="x"}\n{n=2,s="x"}\nPunctuation received: FinalMarker\n',
        ),
        ("format: line; suppress: n; eolMarker: '|';", b"x|x|x|"),
    ],
)
def test_a_client_sends_to_a_server_in_any_format(params, data):
    with receiver() as (port, came):
        run(program(f'role: client; address: "127.0.0.1"; port: {port}u; {params}'))
    assert came == [data]


def test_a_server_waits_for_its_client():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    came: list[bytes] = []

    def read() -> None:
        for _ in range(200):
            try:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                    came.append(b"".join(iter(lambda: connection.recv(99), b"")))
                return
            except ConnectionRefusedError:
                time.sleep(0.02)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    run(program(f"role: server; port: {port}u;"))
    thread.join(10)
    assert came == [b'0,"x"\n1,"x"\n2,"x"\n']


def test_tuples_tell_where_they_go():
    with receiver(2) as (left, came_left), receiver() as (right, came_right):
        run(
            program(
                f'role: client; closeMode: dynamic; address: "127.0.0.1"; suppress: s; '
                f"port: n == 1 ? {right}u : {left}u; reconnectionDelay: 0.0;"
            )
        )
    assert (came_left, came_right) == ([b"0\n", b"2\n"], [b"1\n"])


def test_a_connection_that_was_closed_is_made_again_and_nothing_is_lost():
    def send_slowly(listening: socket.socket) -> None:
        client, _ = listening.accept()
        with client:
            for n in range(3):
                client.sendall(f"{n}\n".encode())
                time.sleep(0.15)

    with socket.create_server(("127.0.0.1", 0)) as listening, receiver(3, bytes_each=2) as (port, came):
        sending = threading.Thread(target=send_slowly, args=(listening,), daemon=True)
        sending.start()
        run(
            compile_text(
                f"""composite Main {{ graph
                stream<int32 n> A = TCPSource() {{
                  param role: client; address: "127.0.0.1"; port: {listening.getsockname()[1]}u; }}
                () as Sink = TCPSink(A) {{ param role: client; address: "127.0.0.1"; port: {port}u;
                  detectDisconnectsBeforeSends: true; retryFailedSends: true; reconnectionDelay: 0.01; }} }}"""
            )
        )
        sending.join(10)
    assert came == [b"0\n", b"1\n", b"2\n"]


def test_without_another_connection_the_next_tuple_is_an_error():
    no_retry = "suppress: s; reconnectionPolicy: NoRetry; detectDisconnectsBeforeSends: true;"
    with receiver(bytes_each=2) as (port, _):
        made = program(f'role: client; address: "127.0.0.1"; port: {port}u; {no_retry}', tuples=500_000)
        with pytest.raises(UserError, match="the other side has closed the connection"):
            run(made)


def test_a_server_that_is_not_there_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    message = rf"TCPSink `Sink` cannot connect to 127\.0\.0\.1:{port}: Connection refused"
    with pytest.raises(UserError, match=message):
        run(program(f'role: client; address: "127.0.0.1"; port: {port}u; reconnectionPolicy: NoRetry;'))


def test_an_address_that_depends_on_the_tuple_asks_for_a_dynamic_connection():
    with pytest.raises(UserError, match="`address` of a TCPSink depends on the tuple only with `closeMode: dynamic`"):
        program("role: client; address: s; port: 1u;")
