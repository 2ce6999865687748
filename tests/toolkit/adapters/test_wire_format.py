"""Both ends of a connection say what they send and read before the first tuple."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from penstock.base.diagnostics import UserError
from penstock.ir.types import parse_schema
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.adapters.wire_format import (
    MAGIC,
    WireFormat,
    WireFormatsDiffer,
    _shape,
    confirm,
    describe,
    difference,
    read_description,
)

NESTED = "int32 a, tuple<rstring[9] x, list<list<int64>> l> t, map<rstring, list<tuple<int8 b>>>[5] m, enum{p, q} e"


def made(schema: str = "int32 a", **words: object) -> WireFormat:
    plain = {"format": "csv", "compression": "", "encoding": "", "includesPunctuations": False, "hasDelay": False}
    return WireFormat(**{**plain, **words}, schema=_shape(parse_schema(schema)))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def test_a_description_tells_everything():
    own = made(NESTED, format="bin", compression="gzip", includesPunctuations=True, encoding='a"<')
    assert read_description(describe(own)) == own


def test_the_description_of_spl_itself_is_read():
    theirs = (
        '<?xml version="1.0"?>\n<wireformat xmlns="http://www.ibm.com/xmlns/prod/streams/spl/wireFormatType" '
        'xmlns:tt="http://www.ibm.com/xmlns/prod/streams/spl/tupleType" format="csv" hasDelay="false">\n <schema>\n'
        '  <tt:attr name="a" type="int32"/>\n  <tt:attr name="l"><tt:list elementType="rstring"/></tt:attr>\n'
        " </schema>\n</wireformat>"
    )
    assert difference(made("int32 a, list<rstring> l"), read_description(theirs)) == ""


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (made("int64 a"), "the schemas of both sides differ"),
        (made("int32 b"), "the schemas of both sides differ"),
        (replace(made(), format="txt"), "`format` is csv here and txt there"),
        (replace(made(), compression="gzip"), "`compression` is not given here and gzip there"),
        (replace(made(), hasDelay=True), "`hasDelay` is false here and true there"),
    ],
)
def test_both_ends_learn_what_differs(other, message):
    client, server = socket.socketpair()
    with client, server, ThreadPoolExecutor() as threads:
        asked = threads.submit(confirm, server, other, is_server=True)
        with pytest.raises(WireFormatsDiffer, match=message):
            confirm(client, made(), is_server=False)
        with pytest.raises(WireFormatsDiffer, match=message):
            asked.result(10)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.0\r\n\r\n",
        MAGIC + struct.pack(">I", 2**31),
        MAGIC + struct.pack(">I", 3) + b"<a ",
        MAGIC + struct.pack(">I", 40) + b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        MAGIC[:3],
    ],
)
def test_who_sends_something_else_is_refused(sent):
    client, server = socket.socketpair()
    with client, server:
        server.sendall(sent)
        server.shutdown(socket.SHUT_WR)
        with pytest.raises(WireFormatsDiffer):
            confirm(client, made(), is_server=False)


def wait_for_server(port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as first:
            first.sendall(b"nothing")
            return
        time.sleep(0.05)


def exchange(source_params: str, sink_params: str) -> list[tuple[object, ...]]:
    """What a TCPSource gets that is a server, of a TCPSink that is a client."""
    port = free_port()
    reading = compile_text(
        f"""composite In {{ graph stream<rstring s, int32 n> A = TCPSource() {{
          param role: server; port: {port}u; interface: "127.0.0.1"; confirmWireFormat: true; {source_params} }}
        () as Sink = Custom(A) {{ logic onTuple A: {{ }} }} }}"""
    )
    writing = compile_text(
        f"""composite Out {{ graph
        stream<rstring s, int32 n> A = Beacon() {{
          param iterations: 2; output A: s = "x", n = (int32) IterationCount(); }}
        () as Sink = TCPSink(A) {{
          param role: client; address: "127.0.0.1"; port: {port}u; confirmWireFormat: true; {sink_params} }} }}"""
    )
    found: list[tuple[object, ...]] = []
    thread = threading.Thread(target=lambda: found.extend(run(reading, collect=["A"]).tuples_of("A")), daemon=True)
    thread.start()
    wait_for_server(port)
    problem = None
    try:
        run(writing)
    except UserError as error:
        problem = error
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as last:
            # Who does not confirm either is no client of this server, which waits for one that does.
            last.sendall(b"nothing")
    if problem is not None:
        raise problem
    thread.join(20)
    assert not thread.is_alive()
    return found


def test_tuples_go_through_when_both_sides_agree():
    assert exchange("format: bin;", "format: bin;") == [("x", 0), ("x", 1)]


def test_a_client_whose_format_is_another_sends_nothing():
    with pytest.raises(UserError, match="`format` is bin here and csv there"):
        exchange("", "format: bin; reconnectionPolicy: NoRetry;")
