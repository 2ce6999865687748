"""Servers that are found by a name."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.base.diagnostics import UserError
from penstock.lang import compile_text
from penstock.reference import run
from penstock.toolkit.adapters.server_names import ServerName


@pytest.fixture(autouse=True)
def names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PENSTOCK_NAMES", str(tmp_path / "names"))
    return tmp_path / "names"


def sink(operator: str, params: str, count: int = 5) -> str:
    return f"""composite Main {{ graph
        stream<int32 n> A = Beacon() {{ param iterations: {count}u; output A: n = (int32) IterationCount(); }}
        () as Sink = {operator}(A) {{ param {params} }} }}"""


def source(operator: str, params: str) -> str:
    return f"composite Main {{ graph stream<int32 n> A = {operator}() {{ param {params} }} }}"


@pytest.mark.parametrize("server", ["source", "sink"])
def test_a_client_finds_a_server_by_its_name(names: Path, server: str) -> None:
    roles = {role: f'role: {"server" if role == server else "client"}; name: "a/b c";' for role in ("source", "sink")}
    sending = threading.Thread(target=run, args=[compile_text(sink("TCPSink", roles["sink"]))], daemon=True)
    sending.start()
    reading = compile_text(source("TCPSource", roles["source"] + " reconnectionPolicy: InfiniteRetry;"))
    found = run(reading, collect=["A"], max_tuples=5)
    sending.join(20)
    assert found.tuples_of("A") == [(n,) for n in range(5)]
    assert list(names.iterdir()) == []


def test_packets_go_to_the_source_of_a_name(names: Path) -> None:
    done = threading.Event()

    def send() -> None:
        while not done.wait(0.01):
            if ServerName("packets").find() is not None:
                run(compile_text(sink("UDPSink", 'name: "packets";', 1)))

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    found = run(compile_text(source("UDPSource", 'name: "packets";')), collect=["A"], max_tuples=2)
    done.set()
    sending.join(20)
    assert found.tuples_of("A") == [(0,), (0,)]
    assert list(names.iterdir()) == []


def test_the_later_server_keeps_the_name() -> None:
    first, second = ServerName("x"), ServerName("x")
    first.register("127.0.0.1", 1)
    second.register("127.0.0.1", 2)
    first.withdraw()
    assert ServerName("x").find() == ("127.0.0.1", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            source("TCPSource", 'role: client; name: "x";'),
            "`A` cannot connect to the server `x`: no server has that name",
        ),
        (sink("UDPSink", 'name: "x";'), "UDPSink `Sink` finds no UDPSource of the name `x`"),
        (sink("UDPSink", 'name: "x"; port: 4u;'), "a server is found by `name` or by `port`, not by both"),
        (sink("UDPSink", 'address: "localhost";'), "a UDPSink needs `port`, or the `name` of a server"),
        (source("UDPSource", "format: csv;"), "a UDPSource needs `port`, or the `name` of a server"),
    ],
)
def test_a_server_that_is_not_told_is_an_error(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        run(compile_text(text))
