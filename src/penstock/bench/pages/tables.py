"""The rows of an experiment as tables: those of one part together, numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.base.figures import figure

Row = dict[str, object]

_DIGITS = 4


def parts(name: str, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of one `part` and the same keys, together with their title; `part` itself is taken out.

    Example:
        >>> list(parts("trial", [{"part": "a", "x": 1}, {"part": "b", "y": 2}, {"part": "a", "x": 3}]))
        [('a', [{'x': 1}, {'x': 3}]), ('b', [{'y': 2}])]
    """
    found: dict[tuple[str, tuple[str, ...]], list[Row]] = {}
    for row in rows:
        keys = tuple(key for key in row if key != "part")
        found.setdefault((str(row.get("part", name)), keys), []).append({key: row[key] for key in keys})
    return ((title, rows) for (title, _), rows in found.items())


def cell(value: object) -> str:
    """A value of a row as it stands in a table.

    Example:
        >>> cell(1234567.0), cell(1234567), cell(0.123456), cell("cola"), cell(True)
        ('1,234,567', '1,234,567', '0.1235', 'cola', 'yes')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return figure(value, digits=_DIGITS) if isinstance(value, float) else str(value)


def is_text(rows: Sequence[Row], column: str) -> bool:
    """Whether a column holds words, and so stands at the left."""
    return any(isinstance(row[column], str) for row in rows)
