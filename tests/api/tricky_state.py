"""Another module, with a memory."""

from __future__ import annotations

from typing import Any

SEEN_ELSEWHERE: list[int] = []
seen_there = 0
_only: Any = None


class Single:
    def __init__(self):
        self.n = 0

    def next(self):
        self.n += 1
        return self.n


def singleton():
    global _only
    if _only is None:
        _only = Single()
    return _only


def count_up():
    SEEN_ELSEWHERE.append(1)
    return len(SEEN_ELSEWHERE)
