"""The pages of results say what was measured, and so do the pages that quote them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.bench.results import pages, read_results, refresh

ROOT = Path(__file__).parents[2]
RESULTS = read_results(ROOT / "docs/results")
QUOTING = sorted({ROOT / "README.md", *ROOT.glob("docs/**/*.md")})


@pytest.mark.parametrize("name", pages(RESULTS))
def test_a_page_of_results_is_what_the_figures_say(name):
    written = (ROOT / "docs/results" / name).read_text()
    assert written == pages(RESULTS)[name], "run `python -m penstock.bench.results docs/results`"


def test_results_are_those_of_full_runs():
    assert [name for name, result in RESULTS.items() if result["quick"]] == []


def test_every_plot_of_a_result_is_there():
    for result in RESULTS.values():
        for plot in result["plots"]:
            assert (ROOT / "docs/results" / plot["file"]).exists()


@pytest.mark.parametrize("page", QUOTING, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_figure_that_a_page_quotes_is_as_measured(page):
    text = page.read_text()
    assert refresh(text, RESULTS) == text, f"run `python -m penstock.bench.results docs/results {page.name}`"


def test_a_quoted_check_that_was_not_measured_is_an_error():
    with pytest.raises(KeyError):
        refresh("| no such check | 1 | `penstock bench soda` |", {"soda": {"checks": []}})


def test_the_readme_quotes_figures():
    assert len(re.findall(r"\| `penstock bench [\w-]+` \|$", (ROOT / "README.md").read_text(), re.MULTILINE)) >= 3
