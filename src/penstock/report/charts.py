"""Charts as SVG: bars with their values, readable on a phone."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH, _ROW, _BAR, _LABEL, _VALUE = 640, 30, 18, 170, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Attributes:
        label: What it is.
        value: How long it is.
        text: How the value reads.
        strong: Whether it is the one that matters.
    """

    label: str
    value: float
    text: str
    strong: bool = False


def bars(title: str, values: Sequence[Bar]) -> str:
    """Bars below each other, the longest across the chart.

    Example:
        >>> drawn = bars("Speed", [Bar(label="a", value=1.0, text="1"), Bar(label="b", value=2.0, text="2")])
        >>> drawn.count("<rect"), "<title>Speed</title>" in drawn
        (2, True)
    """
    longest = max((bar.value for bar in values), default=0.0) or 1.0
    rows = "".join(_row(i, bar, longest) for i, bar in enumerate(values))
    height = len(values) * _ROW
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img"><title>{html.escape(title)}</title>{rows}</svg>'
    )


def _row(index: int, bar: Bar, longest: float) -> str:
    y = index * _ROW
    top = y + (_ROW - _BAR) / 2
    length = max(1.0, (_WIDTH - _LABEL - _VALUE) * bar.value / longest)
    middle = y + _ROW / 2 + 5
    kind = "bar strong" if bar.strong else "bar"
    return (
        f'<text class="label" x="{_LABEL - 10}" y="{middle:.0f}">{html.escape(bar.label)}</text>'
        f'<rect class="{kind}" x="{_LABEL}" y="{top:.0f}" width="{length:.1f}" height="{_BAR}" rx="3"/>'
        f'<text class="value" x="{_LABEL + length + 8:.1f}" y="{middle:.0f}">{html.escape(bar.text)}</text>'
    )
