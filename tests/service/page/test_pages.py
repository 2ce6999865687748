"""The page as a browser gets it: whole, from the wheel, and safe whatever jobs are called and print."""

from __future__ import annotations

import re
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path

import pytest

from penstock.scheduler.problem.nodes import Node
from penstock.service.carry_out.settings import Settings
from penstock.service.page.charts import Line, draw_chart
from penstock.service.page.job_graph import busiest_pe, draw_graph, name_bottleneck
from penstock.service.page.pages import _by_pe, _Pages, _plain, _sums
from penstock.service.service import Service
from penstock.service.states.job_state import JobState
from penstock.service.store.records import SampleRecord
from service.api.test_app import until
from service.running_service import Api, running_service, submission

VOID = {"meta", "link", "input", "rect", "path", "line", "br", "polyline"}


class Outline(HTMLParser):
    """Whether elements are closed in order, and what a page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.refers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.refers += [value or "" for name, value in attrs if name in ("href", "src", "data-from", "action")]
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):  # type: ignore[union-attr]
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Service]]:
    with running_service(tmp_path_factory.mktemp("page") / "home") as (api, service):
        assert api.ask("POST", "/api/jobs", submission("first", rank=1, min_mips=600))[0] == 201
        assert api.ask("POST", "/api/jobs", submission("second", rank=2, min_mips=600))[0] == 201
        until(
            lambda: api.state("first") == "running" and "needs" in str(api.ask("GET", "/api/jobs/second")[1]["reason"])
        )
        until(lambda: bool(api.ask("GET", "/api/jobs/first")[1]["samples"]))
        yield api, service


def page(api: Api, path: str) -> str:
    status, text = api.ask("GET", path, Accept="text/html")
    assert status == 200, text
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    # Nothing from elsewhere: the page works offline.
    assert all(place.startswith(("/", "data:")) and not place.startswith("//") for place in outline.refers)
    for place in outline.refers:
        if place.startswith("/") and place != "/login":
            assert api.ask("GET", place)[0] == 200
    return str(text)


def test_the_overview_says_who_runs_who_waits_and_why(running: tuple[Api, Service]) -> None:
    text = page(running[0], "/")
    assert text.index("first") < text.index(">waterline<") < text.index('href="/jobs/second"')
    assert "rejected: rank 2, needs 200 mips more" in text
    assert text.count('<svg class="chart"') == 2
    assert 'data-node="local"' in text


def test_the_live_part_is_the_middle_of_the_page(running: tuple[Api, Service]) -> None:
    text = page(running[0], "/live/overview")
    assert "<html" not in text
    assert "Jobs by rank" in text


def test_a_job_has_its_graph_and_what_holds_it_back(running: tuple[Api, Service]) -> None:
    text = page(running[0], "/jobs/first")
    assert "A (Beacon)" in text
    assert "Nothing holds it back" in text
    assert running[0].ask("GET", "/jobs/nobody")[0] == 404
    assert running[0].ask("GET", "/live/jobs/nobody")[0] == 404


def test_decisions_are_explained(running: tuple[Api, Service]) -> None:
    text = page(running[0], "/decisions")
    assert "admitted: rank 1" in text
    assert "needs 200 mips more" in text


def test_what_jobs_print_is_text_and_nothing_else(running: tuple[Api, Service]) -> None:
    api, service = running
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    service.carrier.attempt(service.job("first")).log.write_text(nasty)
    service.store.note("error", nasty, "first")
    for path in ("/jobs/first", "/"):
        text = page(api, path)
        assert nasty not in text
        assert "&lt;script&gt;" in text


def test_files_come_from_the_wheel_alone(running: tuple[Api, Service]) -> None:
    api = running[0]
    for path in ("/static/nothing", "/static/..%2fpages.py", "/static/%2e%2e/pages.py"):
        assert api.ask("GET", path)[0] == 404
    with urllib.request.urlopen(api.url + "/", timeout=60) as answer:
        assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
    script = files("penstock.service.page").joinpath("static", "page.js").read_text()
    assert not re.search(r"https?://|innerHTML = (?!text;)", script)


def test_a_browser_shows_the_token_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    with running_service(tmp_path_factory.mktemp("token") / "home", token="open-sesame") as (known, _):
        api = Api(known.url, None)
        assert "A token is needed" in api.ask("GET", "/", Accept="text/html")[1]
        assert api.ask("GET", "/jobs/x")[0] == 401
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        assert api.ask("POST", "/login", b"token=wrong", **form)[0] == 401
        assert api.ask("POST", "/login", b"token=" + b"x" * 10_000, **form)[0] == 413
        assert api.ask("GET", "/", Cookie="penstock_token=open-sesame")[0] == 200
        assert api.ask("GET", "/", Cookie="penstock_token=open", Accept="application/json")[0] == 401


def test_the_waterline_is_behind_the_last_job_that_runs(tmp_path: Path) -> None:
    service = Service(Settings(home=tmp_path, nodes=(Node(id="local", mips=1000.0),)))
    for name, rank, mips in (("a", 1, 100.0), ("b", 2, 0.0), ("c", 2, 400.0), ("d", 3, 0.0), ("e", 1, 0.0)):
        service.store.add_job(name, {"name": name}, rank=rank, required=False, weight=1.0, templates=())
        if mips:
            service.store.move(name, JobState.QUEUED, JobState.ADMITTED, mips=mips)
    service.store.move("e", JobState.QUEUED, JobState.CANCELLED)
    rows = _Pages(service, None)._overview_values()["rows"]
    assert [row["job"].id for row in rows] == ["a", "c", "b", "d", "e"]
    assert [row["job"].id for row in rows if row["is_below"]] == ["b"]
    assert [row["allotted_percent"] for row in rows][:2] == [25.0, 100.0]
    service.close()


def sample(job: str, at: float, mips: float) -> SampleRecord:
    return SampleRecord(
        job=job, template="t", at=at, seconds=10.0, mips=mips, ingest_tps=1.0, waited=0.0, importance=1.0, streams={}
    )


def test_samples_of_one_look_are_one_point_though_a_second_begins_between_them() -> None:
    samples = {
        "a": [sample("a", 10.4, 1.0), sample("a", 20.49, 1.0)],
        "b": [sample("b", 10.45, 2.0), sample("b", 20.51, 2.0), sample("b", 30.5, 4.0)],
    }
    (line,) = _sums(samples, "mips", "used")
    assert line.points == [(10.4, 3.0), (20.49, 3.0), (30.5, 4.0)]


def test_the_pe_that_uses_most_is_named_and_drawn() -> None:
    graph = {
        "operators": [["A", "Beacon"], ["F", "Filter"], ["S", "FileSink"]],
        "sources": ["A"],
        "streams": {"A": ["A", 0], "F": ["F", 0]},
        "edges": [["A", "F", "A"], ["F", "S", "F"]],
    }
    seen = replace(sample("j", 1.0, 800.0), streams={"A": 100.0, "F": 10.0}, ingest_tps=100.0)
    measured = replace(seen, pes={"A": 50.0, "F": 600.0})
    assert busiest_pe(seen) is None
    assert busiest_pe(measured) == "F"
    assert "The PE of F uses most: 600 mips." in name_bottleneck(measured, 1, 1000.0)
    assert "uses most" not in name_bottleneck(seen, 1, 1000.0)
    assert (draw_graph(graph, measured).count("works most"), draw_graph(graph, seen).count("works most")) == (2, 0)
    assert [(name, round(mips), price) for name, mips, price in _by_pe(measured)] == [
        ("F", 600, "6"),
        ("A", 50, "0.5"),
        ("Spark, and the driver", 150, "1.5"),
    ]
    assert _by_pe(seen) == _by_pe(None) == []


def test_a_weight_is_shown_as_it_is() -> None:
    assert [_plain(value) for value in (1.0, 0.5, 123456.789, 2e6)] == ["1", "0.5", "123456.789", "2000000"]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no Chromium")
def test_a_browser_renews_the_page_and_runs_nothing_of_what_jobs_say(
    running: tuple[Api, Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, service = running
    drawn: list[str] = []

    def draw(title: str, lines: list[Line]) -> str:
        drawn.append(title)
        return draw_chart(title, lines)

    monkeypatch.setattr("penstock.service.page.pages.draw_chart", draw)
    service.store.note("error", "<img src=x onerror=\"document.title='owned'\">", "first")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--virtual-time-budget=7000", "--dump-dom", f"{api.url}/"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "<title>penstock serve</title>" in done.stdout
    assert drawn.count("importance") > 1
    assert "&lt;img src=x onerror" in done.stdout
