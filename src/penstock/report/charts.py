"""Charts of bars with their values. They are laid out by the page, so that text has its size on a phone, too."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass


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
        >>> drawn = bars("Speed", [Bar(label="a", value=1.0, text="1"), Bar(label="b", value=4.0, text="4")])
        >>> drawn.count('class="bar"'), "width:25.0%" in drawn, 'aria-label="Speed"' in drawn
        (2, True, True)
    """
    longest = max((bar.value for bar in values), default=0.0) or 1.0
    rows = "".join(_row(bar, bar.value / longest) for bar in values)
    return f'<div class="chart" role="group" aria-label="{html.escape(title)}">{rows}</div>'


def _row(bar: Bar, share: float) -> str:
    kind = "bar strong" if bar.strong else "bar"
    return (
        f'<span class="label">{html.escape(bar.label)}</span>'
        f'<span class="track"><i class="{kind}" style="width:{share:.1%}"></i><b>{html.escape(bar.text)}</b></span>'
    )
