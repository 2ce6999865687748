"""Names in `snake_case` for what SPL calls in camelCase: `has_header_line` is the parameter `hasHeaderLine`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def snake_case(name: str) -> str:
    """A name of SPL as Python spells it.

    Example:
        >>> snake_case("ignoreExtraCSVValues"), snake_case("partitionByLHS"), snake_case("file")
        ('ignore_extra_csv_values', 'partition_by_lhs', 'file')
    """
    return _BORDER.sub("_", name).lower()


def find_name(given: str, known: Iterable[str]) -> str:
    """The known name that is meant, in either spelling; what is not known stays as it is.

    Example:
        >>> find_name("stream_id", ["streamId"]), find_name("streamId", ["streamId"]), find_name("id", ["streamId"])
        ('streamId', 'streamId', 'id')
    """
    names = list(known)
    if given in names:
        return given
    return next((name for name in names if snake_case(name) == given), given)
