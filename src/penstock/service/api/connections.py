"""Connections: a client that takes too long to ask, or to take its answer, loses its own, so that others get in."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

ASKING_SECONDS = 15.0
"""How long a client may take for the head of a request, counted from the connection or from the answer before."""

ANSWERING_SECONDS = 300.0
"""How long a request may take in all, with its body and its answer."""

_LOOK_SECONDS = 5.0


class PatientProtocol(H11Protocol):
    """HTTP, with a limit to patience.

    uvicorn has none for a client that sends half a request: some hundred of these would keep everybody else out.
    """

    _since = 0.0
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a client in."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let a client go."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Count anew: the client may ask again."""
        self._since = self.loop.time()
        super().on_response_complete()

    def _look(self) -> None:
        is_asking = self.cycle is None or self.cycle.response_complete
        if self.loop.time() - self._since > (ASKING_SECONDS if is_asking else ANSWERING_SECONDS):
            self.transport.abort()
            return
        self._timer = self.loop.call_later(min(_LOOK_SECONDS, ASKING_SECONDS), self._look)
