"""The ends of streams inside a PE.

A port ends when all its streams have; an operator when all its ports have; then its streams end. Ends spread depth
first, as in the reference engine: what ends through a stream's first subscriber ends before the second learns of it.

Example:
    >>> endings = Endings({"feed 0": ["A:0"], "feed 1": ["A:1"], "A": ["exit 2"]}, {"A": ["A"]})
    >>> endings.end("feed 0"), endings.end("feed 1")
    ([], ['exit 2'])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence


class Endings:
    """The streams that have not ended yet, counted for each port.

    Args:
        subscribers: For each stream those who take it, in order: `operator:port`, or `exit edge`.
        streams: For each operator the streams that it makes.

    Attributes:
        open: The number of streams of each port that have not ended.
    """

    def __init__(self, subscribers: Mapping[str, Sequence[str]], streams: Mapping[str, Sequence[str]]) -> None:
        self._subscribers = subscribers
        self._streams = streams
        self.open: dict[str, int] = Counter(s for found in subscribers.values() for s in found if not is_exit(s))
        self._ports: dict[str, list[str]] = {}
        for port in self.open:
            self._ports.setdefault(port.rpartition(":")[0], []).append(port)

    def end(self, feed: str) -> list[str]:
        """A stream from outside ends; returns the exits that learn of an end, in order."""
        exits: list[str] = []
        waiting = [*reversed(self._subscribers[feed])]
        while waiting:
            subscriber = waiting.pop()
            if is_exit(subscriber):
                exits.append(subscriber)
            else:
                ended = self._end_of_port(subscriber)
                waiting.extend(reversed([taker for stream in ended for taker in self._subscribers[stream]]))
        return exits

    def has_ended(self, operator: str) -> bool:
        """Whether all streams have ended that an operator takes."""
        return not any(self.open[port] for port in self._ports.get(operator, ()))

    def _end_of_port(self, port: str) -> Sequence[str]:
        self.open[port] -= 1
        operator = port.rpartition(":")[0]
        return () if any(self.open[other] for other in self._ports[operator]) else self._streams[operator]


def is_exit(subscriber: str) -> bool:
    """Whether a subscriber is an edge that leaves the PE."""
    return ":" not in subscriber and subscriber.startswith("exit ")


def exit_edge(subscriber: str) -> int:
    """The number of the edge that an exit stands for."""
    return int(subscriber.removeprefix("exit "))
