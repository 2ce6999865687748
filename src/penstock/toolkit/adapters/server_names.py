"""Names of servers: `name: "prices"` instead of an address and a port.

A server (or a UDPSource) writes its address and port to a file of that name, and takes it away when it ends; a client
(or a UDPSink) reads it. The files lie in the folder that the environment variable `PENSTOCK_NAMES` says, or in `names`
of the cache folder. Where two servers have the same name, that of the later one holds.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from penstock.base.cache_folder import cache_folder
from penstock.base.diagnostics import Diagnostics
from penstock.ir.graph import Operator
from penstock.ir.types import RSTRING
from penstock.toolkit.formats.format_params import constant

NAME = constant("name", "The name under which a server is found, instead of its address and port.", RSTRING)


class ServerName:
    """A name, and what is known under it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     name = ServerName("prices", Path(folder))
        ...     before = name.find()
        ...     name.register("127.0.0.1", 4000)
        ...     print(before, ServerName("prices", Path(folder)).find())
        ...     name.withdraw()
        ...     print(name.find())
        None ('127.0.0.1', 4000)
        None
    """

    def __init__(self, name: str, folder: Path | None = None) -> None:
        self.name = name
        self._path = (folder or _folder()) / quote(name, safe=" ")
        self._text = ""

    def register(self, address: str, port: int) -> None:
        """Let clients find a server; one that listens everywhere is found by the name of its host."""
        self._text = f"{address or _own_host()} {port}\n"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}~")
        fresh.write_text(self._text, encoding="utf-8")
        fresh.replace(self._path)

    def withdraw(self) -> None:
        """Let nobody find it any more, unless another server has the name by now."""
        with suppress(FileNotFoundError):
            if self._text and self._path.read_text(encoding="utf-8") == self._text:
                self._path.unlink()
        self._text = ""

    def find(self) -> tuple[str, int] | None:
        """The address and the port of the server that has the name; none if there is none."""
        try:
            address, port = self._path.read_text(encoding="utf-8").split()
        except FileNotFoundError:
            return None
        return address, int(port)


def check_name(operator: Operator, found: Diagnostics, *needed: str) -> None:
    """Report an operator that is told neither the name of a server nor where it is, or both."""
    named = bool(operator.param("name"))
    for param in needed:
        if named and operator.param(param):
            found.error(f"a server is found by `name` or by `{param}`, not by both", operator.span, hint="remove one")
        if not named and not operator.param(param):
            role = " in the role of a client" if operator.param("role") else ""
            found.error(f"a {operator.kind}{role} needs `{param}`, or the `name` of a server", operator.span)


def _folder() -> Path:
    given = os.environ.get("PENSTOCK_NAMES")
    return Path(given) if given else cache_folder() / "names"


def _own_host() -> str:
    host = socket.gethostname()
    try:
        socket.gethostbyname(host)
    except OSError:
        return "127.0.0.1"
    return host
