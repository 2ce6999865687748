"""Room for deep graphs: submits nest as deep as the longest path of the graph.

A path of 10,000 operators nests tens of thousands of calls. Python's own frames live on its heap, but a call that goes
through C, such as that of a `partial`, also takes some of the thread's stack, so a deep graph runs on a thread with a
large one. Shallow graphs run where they are.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CALLS_PER_OPERATOR = 12
"""More than any operator of ours nests between receiving and submitting: tap, receive, logic, window, fire, submit."""

BYTES_PER_OPERATOR = 16 * 1024
_SLACK = 2_000


def with_room_for(depth: int, action: Callable[[], T]) -> T:
    """Call an action with room for submits nested over `depth` operators, and return what it returns.

    Example:
        >>> def nest(n): return 0 if n == 0 else 1 + nest(n - 1)
        >>> with_room_for(5_000, lambda: nest(50_000))
        50000
    """
    needed = depth * CALLS_PER_OPERATOR + _SLACK
    before = sys.getrecursionlimit()
    if depth * CALLS_PER_OPERATOR < before // 2:
        return action()
    sys.setrecursionlimit(max(before, needed))
    try:
        return _on_large_stack(max(16 << 20, depth * BYTES_PER_OPERATOR), action)
    finally:
        sys.setrecursionlimit(before)


def _on_large_stack(size: int, action: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(action())
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=work, name="penstock-reference", daemon=True)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
