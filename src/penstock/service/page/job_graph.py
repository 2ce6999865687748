"""The graph of a job as SVG: which operators are at work, which wait, and what holds the job back."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any

from penstock.base.figures import figure
from penstock.draw.layout import layered_layout
from penstock.service.store.records import SampleRecord

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 210, 64, 156, 40, 12
MOST_OPERATORS = 300
"""More are not drawn: nobody could read them."""

_WAITS, _BUSY = 0.05, 0.9


def draw_graph(description: Mapping[str, Any], sample: SampleRecord | None) -> str:
    """The drawing: operators from left to right, the rate of each stream in words.

    Example:
        >>> graph = {"operators": [["A", "Beacon"], ["S", "FileSink"]], "sources": ["A"],
        ...          "streams": {"A": ["A", 0]}, "edges": [["A", "S", "A"]]}
        >>> drawn = draw_graph(graph, None)
        >>> drawn.count("<rect"), "A (Beacon): waiting" in drawn
        (2, True)
    """
    operators = description["operators"]
    if len(operators) > MOST_OPERATORS:
        return f"<p>{len(operators):,} operators: `penstock explain --html` draws them</p>"
    edges = [(one, other) for one, other, _ in description["edges"]]
    busiest = busiest_pe(sample)
    layout = layered_layout([id_ for id_, _ in operators], edges)
    boxes = []
    for id_, kind in operators:
        layer, row = layout.place[id_]
        state = state_of(id_, description, sample)
        if state == "busy" and busiest is not None and id_ in busiest.split(", "):
            state = "busiest"
        title = html.escape(f"{id_} ({kind}): {_WORDS[state]}")
        boxes.append(
            f'<g class="{state}" transform="translate({MARGIN + layer * COLUMN:.0f} {MARGIN + row * ROW:.0f})">'
            f'<title>{title}</title><rect width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
            f'<text x="8" y="17">{html.escape(_cut(id_))}</text>'
            f'<text x="8" y="32">{html.escape(_cut(f"{kind}, {_WORDS[state]}"))}</text></g>'
        )
    curves = []
    for path in layout.paths:
        points = [(MARGIN + layer * COLUMN, MARGIN + row * ROW + HEIGHT / 2) for layer, row in path]
        steps = [f"M{points[0][0] + WIDTH:.0f} {points[0][1]:.0f}"]
        steps += [f"L{x - 4:.0f} {y:.0f}" for x, y in points[1:]]
        curves.append(f'<path d="{" ".join(steps)}" marker-end="url(#arrow)"/>')
    width = layout.layers * COLUMN - (COLUMN - WIDTH) + 2 * MARGIN
    height = layout.rows * ROW - (ROW - HEIGHT) + 2 * MARGIN
    arrow = '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
    arrow += ' orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">'
    return f"{head}{arrow}{''.join(curves)}{''.join(boxes)}</svg>"


_WORDS = {"busy": "at work", "waiting": "waiting", "held": "held back", "busiest": "works most"}


def state_of(operator: str, description: Mapping[str, Any], sample: SampleRecord | None) -> str:
    """`busy`, `waiting`, or `held` for a source that could give more than it may."""
    if sample is None or not sample.ingest_tps:
        return "waiting"
    if operator in description["sources"] and sample.waited > _WAITS:
        return "held"
    near = {operator} | {one for one, other, _ in description["edges"] if other == operator}
    streams = (name for name, (producer, _) in description["streams"].items() if producer in near)
    return "busy" if any(sample.streams.get(name) for name in streams) else "waiting"


def busiest_pe(sample: SampleRecord | None) -> str | None:
    """The PE that uses most; None where no PE was measured.

    Example:
        >>> busiest_pe(None)
    """
    used = {} if sample is None else {pe: mips for pe, mips in sample.pes.items() if mips > 0}
    return max(used, key=used.__getitem__, default=None)


def name_bottleneck(sample: SampleRecord | None, cores: int, core_mips: float) -> str:
    """What holds the job back, in words, and the PE that uses most of what there is.

    Example:
        >>> name_bottleneck(None, 1, 1000.0)
        'It was not measured yet.'
    """
    if sample is None:
        return "It was not measured yet."
    busiest = busiest_pe(sample)
    most = "" if busiest is None else f" The PE of {_cut(busiest)} uses most: {figure(sample.pes[busiest], 3)} mips."
    return _held_by(sample, cores, core_mips) + most


def _held_by(sample: SampleRecord, cores: int, core_mips: float) -> str:
    if sample.waited > _WAITS:
        return f"Its limit holds it back: it waited {100 * sample.waited:.0f} % of the time."
    if sample.mips >= _BUSY * cores * core_mips:
        return f"Its cores hold it back: it uses {figure(sample.mips, 4)} of {figure(cores * core_mips, 4)} mips."
    return "Nothing holds it back: it takes all that its sources give."


def _cut(text: str) -> str:
    return text if len(text) <= 22 else f"{text[:21]}…"
