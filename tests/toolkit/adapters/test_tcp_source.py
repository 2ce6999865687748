"""TCPSource reads what a server sends."""

from __future__ import annotations

import io
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.base.diagnostics import UserError
from penstock.expr.environment import Environment
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.core.program import Program
from spark_session import everything_fused, run_reference, run_spark


@contextmanager
def server(*connections: list[bytes]) -> Iterator[int]:
    """Sends some pieces to each client in turn, then closes the connection; gives the port."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for pieces in connections:
                client, _ = listening.accept()
                with client:
                    for piece in pieces:
                        client.sendall(piece)
                        time.sleep(0.02)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        thread.join(10)


def program(port: int, params: str = "") -> Program:
    return compile_text(
        f"""composite Main {{ graph
        stream<rstring s, int32 n> A = TCPSource() {{
          param role: client; address: "127.0.0.1"; port: {port}u; {params} }}
        () as Sink = Custom(A) {{ logic onTuple A: {{ }} }} }}"""
    )


def test_records_that_come_in_pieces_are_put_together() -> None:
    with server([b"a,1\nb", b",2\nc,", b"3"]) as port:
        found = run(program(port), collect=["A"])
    assert found.tuples_of("A") == [("a", 1), ("b", 2), ("c", 3)]


def test_it_connects_again_as_often_as_it_is_told() -> None:
    with server([b"a,1\n"], [b"b,2\n"], [b"c,3\n"]) as port:
        params = "reconnectionPolicy: BoundedRetry; reconnectionBound: 2u; reconnectionDelay: 0.01;"
        found = run(program(port, params), collect=["A"])
    assert found.tuples_of("A") == [("a", 1), ("b", 2), ("c", 3)]


@pytest.mark.parametrize(("compression", "wbits"), [("zlib", 15), ("gzip", 31)])
def test_what_comes_compressed_is_read_as_it_comes(compression: str, wbits: int) -> None:
    stream = zlib.compressobj(wbits=wbits)
    first = stream.compress(b"a,1\nb,") + stream.flush(zlib.Z_SYNC_FLUSH)
    # The second connection breaks off, and nothing at all comes over the third.
    connections = [first, stream.compress(b"2\n") + stream.flush()], [first[:10], first[10:]], [b""]
    params = (
        f"compression: {compression}; reconnectionPolicy: BoundedRetry; reconnectionBound: 2u; reconnectionDelay: 0.0;"
    )
    with server(*connections) as port:
        found = run(program(port, params), collect=["A"])
    assert found.tuples_of("A") == [("a", 1), ("b", 2), ("a", 1), ("b", 0)]


def test_what_is_not_compressed_as_it_should_be_is_an_error() -> None:
    with (
        server([b"a,1\n"]) as port,
        pytest.raises(UserError, match="TCPSource `A` cannot read what comes as gzip: not a gzip file"),
    ):
        run(program(port, "compression: gzip;"))


def test_keep_alive_is_for_servers() -> None:
    with pytest.raises(UserError, match="`keepAlive` goes with the role of a server"):
        program(1, "keepAlive: {time = 5, probes = 2, interval = 1};")


def test_a_malformed_record_is_set_aside() -> None:
    with server([b"a,x\nb,2\n"]) as port:
        found = run(program(port, "parsing: permissive;"), collect=["A"])
    assert found.tuples_of("A") == [("b", 2)]
    assert [letter.record for letter in found.dead_letters] == ["a,x"]


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UserError, match=rf"TCPSource `A` cannot connect to 127\.0\.0\.1:{port}: Connection refused"):
        run(program(port))


@pytest.mark.xdist_group("spark")
def test_what_a_server_sends_means_the_same_on_spark(tmp_path):
    pieces = [f"k{n % 5},{n}\n".encode() for n in range(40)]
    with server(pieces, pieces) as port:
        summed = compile_text(
            f"""composite Main {{ graph
            stream<rstring s, int32 n> A = TCPSource() {{ param role: client; address: "127.0.0.1"; port: {port}u; }}
            stream<rstring s, int32 n> B = Aggregate(A) {{
              window A: tumbling, count(3), partitioned; param partitionBy: s; output B: s = Any(s), n = Sum(n); }}
            () as Sink = FileSink(B) {{ param file: "out.csv"; }} }}"""
        )
        wanted = run_reference(summed, tmp_path)
        found, _ = run_spark(summed, tmp_path, everything_fused(summed.application), turns_per_batch=15, channels=3)
    assert found == wanted
    assert len(found["out.csv"].splitlines()) == 10


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def client_of(port: int, *connections: bytes) -> threading.Thread:
    """Connects once for each of some texts, as soon as the server is there, and sends it."""

    def send() -> None:
        for data in connections:
            for _ in range(200):
                try:
                    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
                    break
                except ConnectionRefusedError:
                    time.sleep(0.02)
            with connection:
                connection.sendall(data)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    return thread


def test_a_server_takes_one_client_after_the_other_and_tells_who_they_are() -> None:
    port = free_port()
    made = compile_text(
        f"""composite Main {{ graph
        stream<rstring s, int32 n, rstring from, uint32 server, int64 number> A = TCPSource() {{
          param role: server; port: {port}u; interface: "lo";
                reconnectionPolicy: BoundedRetry; reconnectionBound: 1u;
          output A: from = RemoteIP(), server = ServerPort(), number = TupleNumber(); }}
        () as Sink = Custom(A) {{ logic onTuple A: {{ }} }} }}"""
    )
    sending = client_of(port, b"a,1\nb,2\n", b"c,3\n")
    found = run(made, collect=["A"])
    sending.join(10)
    told = ("127.0.0.1", port)
    assert found.tuples_of("A") == [("a", 1, *told, 0), ("b", 2, *told, 1), ("c", 3, *told, 0)]


def test_every_connection_ends_with_a_window_marker() -> None:
    with server([b"a,1\n"], [b"b,2\n"]) as port:
        params = "reconnectionPolicy: BoundedRetry; reconnectionBound: 1u; reconnectionDelay: 0.01;"
        counted = compile_text(
            f"""composite Main {{ graph
            stream<rstring s, int32 n> A = TCPSource() {{
              param role: client; address: "localhost"; port: "{port}"; {params} }}
            stream<int32 n> B = Aggregate(A) {{ window A: tumbling, punct(); output B: n = Sum(n); }}
            () as Sink = Custom(B) {{ logic onTuple B: {{ }} }} }}"""
        )
        assert run(counted, collect=["B"]).tuples_of("B") == [(1,), (2,)]


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("", 0)) as taken:
        port = taken.getsockname()[1]
        made = compile_text(
            f"""composite Main {{ graph stream<rstring s> A = TCPSource() {{
            param role: server; port: {port}u; format: line; }} }}"""
        )
        with pytest.raises(UserError, match=rf"TCPSource `A` cannot listen on port {port}: Address already in use"):
            run(made)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ("role: client; port: 1u;", "a TCPSource in the role of a client needs `address`"),
        ('role: server; address: "here";', "`address` goes with the role of a client"),
        ('role: client; address: "a"; port: 1u; interface: "lo";', "`interface` goes with the role of a server"),
        ("role: server; reconnectionBound: 2u;", "`reconnectionBound` goes with the policy BoundedRetry"),
        ("port: 1u;", "role"),
    ],
)
def test_what_does_not_go_with_a_role_is_refused(params: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        compile_text(f"composite Main {{ graph stream<rstring s> A = TCPSource() {{ param {params} }} }}")


def test_time_goes_on_while_nobody_has_connected() -> None:
    """Both ends are in one program, and the client's side sends later."""
    text = """composite Main {{ graph
        stream<int32 x> In = TCPSource() {{ param role: server; port: {port}u; format: csv; }}
        () as P = Custom(In) {{ logic onTuple In: println(x); }}
        stream<int32 x> B = Beacon() {{
            param iterations: 2; initDelay: 1.0; period: 5.0; output B: x = (int32) IterationCount(); }}
        () as Out = TCPSink(B) {{ param role: client; address: "localhost"; port: {port}u; format: csv;
            reconnectionPolicy: BoundedRetry; reconnectionBound: 3u; }} }}"""
    printed = io.StringIO()
    run(compile_text(text.format(port=free_port())), environment=Environment(stdout=printed))
    assert printed.getvalue() == "0\n1\n"
