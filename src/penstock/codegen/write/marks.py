"""Where window markers matter: they are made, and sent, only where somebody waits for them.

A marker matters on a stream if some operator that waits for markers can be reached from it through operators that pass
them on (`ir.models`); a FileSink that only flushes on markers writes the same file without them.
"""

from __future__ import annotations

from penstock.codegen.plan.part import Part
from penstock.ir.graph import Operator
from penstock.ir.models import Markers


def streams_with_marks(part: Part) -> frozenset[str]:
    """The streams of a PE, `feed N` included, on which markers matter."""
    waiting = _Waiting(part)
    return frozenset(stream for stream in part.targets if waiting.for_stream(stream))


class _Waiting:
    """Follows streams to operators that wait for markers; each stream once."""

    def __init__(self, part: Part) -> None:
        self._part = part
        self._application = part.plan.application
        self._known: dict[str, bool] = {}
        for operator in reversed(part.operators):
            for port in operator.outputs:
                self.for_stream(port.stream)

    def for_stream(self, stream: str) -> bool:
        """Whether a marker on a stream matters to anybody."""
        if stream not in self._known:
            self._known[stream] = self._is_found(stream)
        return self._known[stream]

    def _is_found(self, stream: str) -> bool:
        brought = {f"feed {e.index}": e.stream for e in self._part.entering}
        waiting, seen = [brought.get(stream, stream)], set()
        while waiting:
            for operator in self._subscribers(waiting.pop()):
                if operator.model.waits_for_markers:
                    return True
                if operator.model.markers is Markers.PASSED_ON and operator.id not in seen:
                    seen.add(operator.id)
                    streams = [port.stream for port in operator.outputs]
                    if any(self._known.get(s) for s in streams):
                        return True
                    waiting += [s for s in streams if s not in self._known]
        return False

    def _subscribers(self, stream: str) -> list[Operator]:
        found = self._application.subscribers[stream]
        return [self._application.operator[id_] for id_, _ in found]
