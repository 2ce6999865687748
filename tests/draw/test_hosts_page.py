"""The page of what runs where: every channel in the band of its host, what crosses hosts in a colour of its own."""

from __future__ import annotations

import re
from typing import Any

from penstock.cli.status import by_host

STATUS: dict[str, Any] = {
    "application": "Main",
    "pes": [["In"], ["A"], ["B", "<script>"]],
    "executors": [{"id": "0", "host": "one"}, {"id": "1", "host": "two"}],
    "tasks": [{"pe": pe, "channel": channel, "executor": str(channel)} for pe in (1, 2) for channel in (0, 1)],
    "flows": [
        {"from": [1, 0], "to": [2, 0], "bytes": 900.0},
        {"from": [1, 1], "to": [2, 0], "bytes": 100.0},
    ],
    "moves": [],
}


def paths(page: str) -> list[tuple[str, float]]:
    return [(kind, float(width)) for kind, width in re.findall(r'class="flow (\w+)" stroke-width="([\d.]+)"', page)]


def test_what_crosses_is_coloured_and_as_thick_as_what_it_carries() -> None:
    page = by_host(STATUS)
    assert page.count("<h2>") == 1
    assert page.count('class="task"') == 4
    (across, thin), (inside, thick) = paths(page)
    assert (across, inside) == ("across", "inside")
    assert thick > 5 * thin
    assert "100 of 1,000 bytes a batch between hosts" in page
    assert "<script>" not in page


def test_moves_are_shown_before_and_after() -> None:
    # Channel 0 of B was on an executor that is gone, before that beside channel 1.
    first = {"tasks": [{"pe": 2, "channel": 0, "from": "1", "to": "7"}]}
    second = {"tasks": [{"pe": 2, "channel": 0, "from": "7", "to": "0"}]}
    page = by_host({**STATUS, "moves": [first, second]})
    before, now = page.split("<h2>")[1:]
    assert before.startswith("before 2 moves")
    assert now.startswith("now")
    assert sorted(kind for kind, _ in paths(before)) == ["across", "inside"]
    assert "900 of 1,000" in before
    assert "100 of 1,000" in now


def test_a_job_that_has_told_of_nothing_has_an_empty_page() -> None:
    page = by_host({**STATUS, "tasks": [], "flows": []})
    assert "0 of 0 bytes" in page
