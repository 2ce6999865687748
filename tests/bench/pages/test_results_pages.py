"""The pages of results say what was measured, and so do the pages that quote them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.bench import EXPERIMENTS
from penstock.bench.pages.results import pages, read_results, refresh

ROOT = Path(__file__).parents[3]
RESULTS = read_results(ROOT / "docs/results")
QUOTING = sorted({ROOT / "README.md", *ROOT.glob("docs/**/*.md")})


@pytest.mark.parametrize("name", pages(RESULTS))
def test_a_page_of_results_is_what_the_figures_say(name):
    written = (ROOT / "docs/results" / name).read_text()
    assert written == pages(RESULTS)[name], "run `python -m penstock.bench.pages.results docs/results`"


def test_results_are_those_of_full_runs():
    assert [name for name, result in RESULTS.items() if result["quick"]] == []


def test_every_plot_of_a_result_is_there():
    for result in RESULTS.values():
        for plot in result["plots"]:
            assert (ROOT / "docs/results" / plot["file"]).exists()


@pytest.mark.parametrize("page", QUOTING, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_figure_that_a_page_quotes_is_as_measured(page):
    text = page.read_text()
    assert refresh(text, RESULTS) == text, f"run `python -m penstock.bench.pages.results docs/results {page.name}`"


def test_a_page_quotes_only_experiments_that_there_are():
    for page in QUOTING:
        text = page.read_text()
        for names in re.findall(r"<!-- figures of ([\w -]+?) -->", text):
            assert set(names.split()) <= set(EXPERIMENTS), page
        for lines in re.findall(r"<!-- ratios\n(.*?)-->", text, re.DOTALL):
            assert {line.split(" |")[0] for line in lines.splitlines()} <= set(EXPERIMENTS), page


def test_the_readme_quotes_a_figure_for_each_ratio_that_has_been_measured():
    text = (ROOT / "README.md").read_text()
    (lines,) = re.findall(r"<!-- ratios\n(.*?)-->", text, re.DOTALL)
    asked = [line.split(" |")[0] for line in lines.splitlines()]
    assert len(asked) >= 3
    measured = [name for name in asked if name in RESULTS]
    assert re.findall(r"\*\*[\d.]+\*\* \| `penstock bench ([\w-]+)` \|$", text, re.MULTILINE) == measured
