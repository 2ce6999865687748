"""Charts over time, as SVG."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.base.figures import figure

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 160, 52, 20, 14

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of a chart.

    Attributes:
        name: What the legend calls it.
        points: Times and values, in the order of time.
        color: Of the line.
        dashes: Its pattern, so that it is told from others without colours.
    """

    name: str
    points: Points
    color: str
    dashes: str = ""


def draw_chart(title: str, lines: Sequence[Line]) -> str:
    """A chart of lines over the same time.

    Example:
        >>> drawn = draw_chart("mips", [Line(name="used", points=[(0, 1), (10, 5)], color="var(--blue)")])
        >>> drawn.startswith('<svg class="chart"') and 'aria-label="mips: used 5"' in drawn
        True
        >>> draw_chart("mips", [])
        '<p>not measured yet</p>'
    """
    shown = [line for line in lines if line.points]
    if not shown:
        return "<p>not measured yet</p>"
    times = [at for line in shown for at, _ in line.points]
    first, last = min(times), max(times)
    most = max([value for line in shown for _, value in line.points]) or 1.0
    told = ", ".join(f"{line.name} {figure(line.points[-1][1], 4)}" for line in shown)
    drawn = "".join(_polyline(line, first, last, most) for line in shown)
    legend = "".join(_legend(line, place) for place, line in enumerate(shown))
    axis = (
        f'<text x="4" y="{TOP + 8}">{html.escape(figure(most, 3))}</text>'
        f'<text x="4" y="{HEIGHT - BOTTOM}">0</text>'
        f'<text x="{LEFT}" y="{HEIGHT - 4}">{_ago(last - first)}</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 4}" text-anchor="end">now</text>'
    )
    label = html.escape(f"{title}: {told}", quote=True)
    head = f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">'
    return f"{head}{axis}{drawn}{legend}</svg>"


def _polyline(line: Line, first: float, last: float, most: float) -> str:
    span = (last - first) or 1.0
    points = " ".join(
        f"{LEFT + (at - first) / span * (WIDTH - LEFT - 8):.1f},"
        f"{HEIGHT - BOTTOM - value / most * (HEIGHT - BOTTOM - TOP):.1f}"
        for at, value in line.points
    )
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return f'<polyline points="{points}" fill="none" stroke="{line.color}" stroke-width="2"{dashes}/>'


def _legend(line: Line, place: int) -> str:
    x = LEFT + 8 + place * 130
    dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
    return (
        f'<line x1="{x}" y1="9" x2="{x + 22}" y2="9" stroke="{line.color}" stroke-width="2"{dashes}/>'
        f'<text x="{x + 27}" y="13">{html.escape(line.name[:20])}</text>'
    )


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s ago" if seconds < 120 else f"{seconds / 60:.0f} min ago"
