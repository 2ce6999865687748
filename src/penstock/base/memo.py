"""Results that are kept for as long as the object lives that they are about."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def keep_for_each(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function that is called once for each object, its first argument, and for each of the others.

    The object is known by its identity: whether two large ones are equal may take longer than the function itself.

    Example:
        >>> class Box: pass
        >>> made = []
        >>> fill = keep_for_each(lambda box, what=1: made.append(what) or len(made))
        >>> box = Box()
        >>> fill(box), fill(box), fill(box, 2), fill(Box())
        (1, 1, 2, 3)
    """
    known: dict[int, dict[Hashable, Result]] = {}

    @wraps(function)
    def kept(*given: Given.args, **named: Given.kwargs) -> Result:
        subject, further = given[0], (given[1:], tuple(sorted(named.items())))
        if id(subject) not in known:
            known[id(subject)] = {}
            weakref.finalize(subject, known.pop, id(subject)).atexit = False
        results = known[id(subject)]
        if further not in results:
            results[further] = function(*given, **named)
        return results[further]

    return kept
