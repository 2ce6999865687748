"""One self-contained HTML page that draws the graph of an application. No network, no scripts from elsewhere."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from penstock.draw.layout import Layout, layered_layout
from penstock.ir.graph import Application, Operator
from penstock.ir.models import State
from penstock.ir.pretty import operator_text

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 210, 64, 156, 40, 28
_MOST_GROUPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Operators that are drawn on one ground, such as a parallel region.

    Attributes:
        label: What is shown of the group.
        operators: Their ids.
    """

    label: str
    operators: tuple[str, ...]


Notes = Mapping[str, Sequence[tuple[str, str]]]
"""From operator id to more (label, text) pairs for the panel."""


def graph_page(application: Application, *, groups: Sequence[Group] = (), notes: Notes | None = None) -> str:
    """The page as HTML text.

    Args:
        application: What to draw.
        groups: Operators that belong together.
        notes: What else the panel says of operators.

    Example:
        >>> page = graph_page(Application(name="Main", operators=(Operator(id="A", kind="Beacon"),)))
        >>> page.startswith("<!doctype html>") and "Beacon" in page
        True
    """
    template = files("penstock.draw").joinpath("page.html").read_text(encoding="utf-8")
    labels = {id_: group.label for group in groups for id_ in group.operators}
    details = {o.id: _details(o, labels.get(o.id), (notes or {}).get(o.id, ())) for o in application.operators}
    return (
        template.replace("@TITLE@", html.escape(application.name))
        .replace("@SUMMARY@", html.escape(_summary(application)))
        .replace("@SVG@", graph_svg(application, groups))
        .replace("@GROUPS@", _group_list(groups))
        # A closing tag inside the JSON would end the script element.
        .replace("@DETAILS@", json.dumps(details, ensure_ascii=False).replace("</", "<\\/"))
    )


def graph_svg(application: Application, groups: Sequence[Group] = ()) -> str:
    """The drawing alone: operators as boxes, streams as curves from left to right, feedback dashed."""
    connections = list(application.edges())
    layout = layered_layout([o.id for o in application.operators], [(a, b) for a, b, _, _ in connections])
    width = layout.layers * COLUMN - (COLUMN - WIDTH) + 2 * MARGIN
    height = layout.rows * ROW - (ROW - HEIGHT) + 2 * MARGIN
    curves = [
        _curve(path, stream, feedback) for path, (_, _, stream, feedback) in zip(layout.paths, connections, strict=True)
    ]
    boxes = [_box(o, layout) for o in application.operators]
    grounds = [_ground(i, group, layout, connections) for i, group in enumerate(groups)]
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img">'
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
        f"<g class='groups'>{''.join(grounds)}</g>"
        f"<g class='streams'>{''.join(curves)}</g><g class='operators'>{''.join(boxes)}</g></svg>"
    )


def _group_list(groups: Sequence[Group]) -> str:
    shown = enumerate(groups[:_MOST_GROUPS])
    items = [f'<li><i class="{_colour(i)}"></i>{html.escape(group.label)}</li>' for i, group in shown]
    more = [f"<li>and {len(groups) - _MOST_GROUPS} more</li>"] if len(groups) > _MOST_GROUPS else []
    return f"<ul>{''.join([*items, *more])}</ul>" if groups else ""


def _colour(number: int) -> str:
    return f"g{number % 5}"


def _summary(application: Application) -> str:
    streams = sum(1 for _ in application.edges())
    return f"{len(application.operators)} operators, {len(application.streams)} streams, {streams} connections"


def _x(layer: int) -> float:
    return MARGIN + layer * COLUMN


def _y(row: float) -> float:
    return MARGIN + row * ROW + HEIGHT / 2


def _curve(path: tuple[tuple[int, float], ...], stream: str, feedback: bool) -> str:
    kind = "feedback" if feedback else "stream"
    title = html.escape(stream)
    return f'<path class="{kind}" d="{_path(path)}" marker-end="url(#arrow)"><title>{title}</title></path>'


def _path(path: tuple[tuple[int, float], ...]) -> str:
    (first_layer, first_row), (last_layer, last_row) = path[0], path[-1]
    x, y = _x(first_layer) + WIDTH, _y(first_row)
    text = f"M{x:.1f} {y:.1f}"
    bend = (COLUMN - WIDTH) * 0.6
    if last_layer <= first_layer:
        # A stream that runs back leaves below its operator and returns below the other.
        below, end_x, end_y = max(y, _y(last_row)) + ROW * 0.8, _x(last_layer), _y(last_row)
        text += f" C{x + bend:.1f} {below:.1f} {end_x - bend:.1f} {below:.1f} {end_x:.1f} {end_y:.1f}"
    else:
        for layer, row in path[1:]:
            next_x, next_y = _x(layer), _y(row)
            text += f" C{x + bend:.1f} {y:.1f} {next_x - bend:.1f} {next_y:.1f} {next_x:.1f} {next_y:.1f}"
            x, y = next_x, next_y
            if layer != last_layer:
                text += f" L{x + WIDTH:.1f} {y:.1f}"
                x += WIDTH
    return text


def _ground(number: int, group: Group, layout: Layout, connections: Sequence[tuple[str, str, str, bool]]) -> str:
    """A ground under the boxes of a group and along the streams between them; it covers no other operator."""
    members, padding = set(group.operators), 9
    inside = [i for i, (a, b, _, _) in enumerate(connections) if a in members and b in members]
    paths = [_path(layout.paths[i]) for i in inside]
    corners = [(_x(layout.place[o][0]) - padding, _y(layout.place[o][1]) - HEIGHT / 2 - padding) for o in members]
    size = f'width="{WIDTH + 2 * padding}" height="{HEIGHT + 2 * padding}" rx="12"'
    boxes = [f'<rect x="{x:.1f}" y="{y:.1f}" {size}/>' for x, y in sorted(corners)]
    lines = [f'<path d="{path}"/>' for path in paths]
    label = html.escape(group.label)
    return f'<g class="group {_colour(number)}"><title>{label}</title>{"".join(boxes)}{"".join(lines)}</g>'


def _box(operator: Operator, layout: Layout) -> str:
    layer, row = layout.place[operator.id]
    x, y = _x(layer), _y(row) - HEIGHT / 2
    identifier = html.escape(operator.id, quote=True)
    return (
        f'<g class="operator {_role(operator)}" data-id="{identifier}" tabindex="0"'
        f' transform="translate({x:.1f} {y:.1f})">'
        f'<title>{identifier}</title><rect width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<text class="name" x="10" y="17">{html.escape(_short(operator.id))}</text>'
        f'<text class="kind" x="10" y="32">{html.escape(_short(operator.kind))}</text></g>'
    )


def _role(operator: Operator) -> str:
    if not operator.inputs:
        return "source"
    if not operator.outputs:
        return "sink"
    return {State.STATELESS: "stateless", State.PARTITIONED: "partitioned", State.UNKNOWN: "unknown"}[
        operator.model.state
    ]


def _short(text: str) -> str:
    return text if len(text) <= 22 else f"{text[:9]}…{text[-12:]}"


def _details(operator: Operator, group: str | None, notes: Sequence[tuple[str, str]]) -> dict[str, object]:
    """The content of the panel for an operator: (label, text) pairs, and the streams to highlight."""
    model = operator.model
    key = ", ".join(sorted(model.partition_by[0])) if model.partition_by else ""
    rows = [
        *([("group", group)] if group is not None else []),
        *notes,
        ("invocation", operator_text(operator)),
        *((f"schema of {port.stream}", str(port.schema)) for port in operator.outputs),
        ("state", model.state.value + (f" by {key}" if key else "")),
        ("selectivity", model.selectivity.value),
        ("forwards", ", ".join(sorted(model.forwards)) or "nothing known"),
        *(("why", str(reason)) for reason in model.why),
    ]
    streams = [*(s for port in operator.inputs for s in port.streams), *(port.stream for port in operator.outputs)]
    return {"rows": rows, "streams": streams}
