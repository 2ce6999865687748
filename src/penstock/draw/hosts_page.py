"""One self-contained HTML page that shows what runs where, and what channels send each other.

Each host is a band. PEs stand from left to right, as they do in the query; each channel is a box in the band of its
host. A curve is as thick as what it carries, and coloured where it crosses hosts. Two drawings, if channels have moved:
before, and now.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from penstock.base.figures import figure

Task = tuple[int, int]
"""A PE and one of its channels."""

_LEFT, _COLUMN, _WIDTH, _ROW, _HEIGHT, _GAP, _TOP = 120, 190, 116, 30, 22, 14, 10
_THICKEST = 14.0
_NAME = 13
"""So many letters fit a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A placement.

    Attributes:
        title: What is shown.
        host_of: The host of each channel.
    """

    title: str
    host_of: Mapping[Task, str]


def hosts_page(
    name: str, labels: Mapping[int, str], flows: Mapping[tuple[Task, Task], float], pictures: Sequence[Picture]
) -> str:
    """The page as HTML text.

    Args:
        name: Of the application.
        labels: By PE, its operators, in the order of the line.
        flows: What channels send each other, in bytes a batch.
        pictures: The placements, one below the other.

    Example:
        >>> now = Picture(title="now", host_of={(1, 0): "a", (2, 0): "b"})
        >>> page = hosts_page("Main", {1: "A", 2: "B"}, {((1, 0), (2, 0)): 300.0}, [now])
        >>> page.count('class="flow across"'), "300 of 300 bytes a batch between hosts" in page
        (1, True)
    """
    drawings = [_drawing(picture, labels, flows, sorted(set(picture.host_of.values()))) for picture in pictures]
    template = files("penstock.draw").joinpath("hosts.html").read_text(encoding="utf-8")
    return template.replace("@TITLE@", html.escape(name)).replace("@DRAWINGS@", "\n".join(drawings))


def _drawing(
    picture: Picture, labels: Mapping[int, str], flows: Mapping[tuple[Task, Task], float], hosts: Sequence[str]
) -> str:
    known = {ways: size for ways, size in flows.items() if all(end in picture.host_of for end in ways)}
    across = sum(size for (a, b), size in known.items() if picture.host_of[a] != picture.host_of[b])
    place, bands, height = _laid_out(picture, labels, hosts)
    width = _LEFT + len(labels) * _COLUMN
    most = max(known.values(), default=1.0) or 1.0
    curves = [_curve(ways, size / most, picture, place) for ways, size in sorted(known.items(), key=lambda i: i[1])]
    boxes = [_box(task, place[task], labels[task[0]]) for task in place]
    told = f"{figure(across)} of {figure(sum(known.values()))} bytes a batch between hosts"
    return (
        f"<h2>{html.escape(picture.title)}</h2><p>{told}</p>"
        f'<div class="wide"><svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"{''.join(_band(host, *bands[host], width) for host in hosts)}{''.join(curves)}{''.join(boxes)}</svg></div>"
    )


def _laid_out(
    picture: Picture, labels: Mapping[int, str], hosts: Sequence[str]
) -> tuple[dict[Task, tuple[int, int]], dict[str, tuple[int, int]], int]:
    """Where each box lies, where each band begins and ends, and how high all is."""
    column = {pe: number for number, pe in enumerate(labels)}
    place: dict[Task, tuple[int, int]] = {}
    bands: dict[str, tuple[int, int]] = {}
    top = _TOP
    for host in hosts:
        rows: dict[int, int] = {}
        for task in sorted(task for task, home in picture.host_of.items() if home == host and task[0] in column):
            row = rows.get(task[0], 0)
            rows[task[0]] = row + 1
            place[task] = _LEFT + column[task[0]] * _COLUMN, top + _GAP // 2 + row * _ROW
        below = top + max(rows.values(), default=1) * _ROW + _GAP // 2
        bands[host] = top, below
        top = below + _GAP
    return place, bands, top


def _band(host: str, top: int, below: int, width: int) -> str:
    return (
        f'<g class="host"><rect x="4" y="{top}" width="{width - 8}" height="{below - top}" rx="6"/>'
        f'<text x="14" y="{top + 20}">{html.escape(host)}</text></g>'
    )


def _box(task: Task, at: tuple[int, int], label: str) -> str:
    (pe, channel), (x, y) = task, at
    shown = label if len(label) <= _NAME else f"{label[: _NAME - 1]}…"
    return (
        f'<g class="task"><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4"/>'
        f'<text x="{x + 6}" y="{y + 15}">{html.escape(shown)} {channel}</text>'
        f"<title>PE {pe}, channel {channel}: {html.escape(label)}</title></g>"
    )


def _curve(ways: tuple[Task, Task], share: float, picture: Picture, place: Mapping[Task, tuple[int, int]]) -> str:
    (x, y), (end_x, end_y) = place[ways[0]], place[ways[1]]
    x, y, end_y = x + _WIDTH, y + _HEIGHT // 2, end_y + _HEIGHT // 2
    kind = "inside" if picture.host_of[ways[0]] == picture.host_of[ways[1]] else "across"
    middle = (x + end_x) / 2
    return (
        f'<path class="flow {kind}" stroke-width="{max(0.5, _THICKEST * share):.1f}" '
        f'd="M{x} {y} C{middle:.0f} {y} {middle:.0f} {end_y} {end_x} {end_y}"/>'
    )
