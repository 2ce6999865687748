"""TCPSource reads what a server sends."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from penstock.base.diagnostics import UserError
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
