"""UDPSource reads packets, which UDPSink sends."""

from __future__ import annotations

import socket
import threading
import zlib

import pytest

from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.reference import run


@pytest.mark.parametrize("compression", ["", "compression: gzip;", "compression: bzip2;"])
def test_packets_of_a_sink_are_the_tuples_of_a_source(compression: str):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    sink = compile_text(
        f"""composite Main {{ graph
        stream<int32 n, rstring s> A = Beacon() {{ param iterations: 20u; period: 0.01;
          output A: n = (int32) IterationCount(), s = "packet"; }}
        () as Sink = UDPSink(A) {{ param address: "127.0.0.1"; port: {port}u; format: csv; {compression} }} }}"""
    )
    source = compile_text(
        f"""composite Main {{ graph
        stream<int32 n, rstring s, rstring from, int64 number> A = UDPSource() {{
          param port: {port}u; address: "localhost"; interface: "127.0.0.1"; receiveBufferSize: 65536u; {compression}
          output A: from = RemoteIP(), number = TupleNumber(); }}
        () as Sink = Custom(A) {{ logic onTuple A: {{ }} }} }}"""
    )
    done = threading.Event()

    def send() -> None:
        while not done.is_set():
            run(sink)

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    try:
        found = run(source, collect=["A"], max_tuples=5)
    finally:
        done.set()
        sending.join(10)
    tuples = found.tuples_of("A")
    assert [number for *_, number in tuples] == [0, 1, 2, 3, 4]
    assert {(s, from_) for _, s, from_, _ in tuples} == {("packet", "127.0.0.1")}


def test_a_packet_that_is_not_compressed_as_it_should_be_is_set_aside():
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free,
    ):
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        done = threading.Event()

        def send() -> None:
            while not done.wait(0.01):
                sender.sendto(b"plain", ("127.0.0.1", port))
                sender.sendto(zlib.compress(b"ok\n"), ("127.0.0.1", port))

        sending = threading.Thread(target=send, daemon=True)
        sending.start()
        source = compile_text(
            f"""composite Main {{ graph stream<rstring s> A = UDPSource() {{
              param port: {port}u; format: line; compression: zlib; parsing: permissive; }} }}"""
        )
        found = run(source, collect=["A"], max_tuples=3)
        done.set()
        sending.join(10)
    assert found.tuples_of("A") == [("ok",)] * 3
    assert {letter.record for letter in found.dead_letters} == {b"plain".hex()}


def test_a_port_that_is_taken_is_named():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 0))
        port = taken.getsockname()[1]
        made = compile_text(
            f"composite Main {{ graph stream<rstring s> A = UDPSource() {{ param port: {port}u; format: line; }} }}"
        )
        with pytest.raises(UserError, match=rf"UDPSource `A` cannot listen on port {port}"):
            run(made)
