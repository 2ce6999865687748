"""The page on the architecture names modules and packages that there are, and leaves no package out."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "penstock"
PAGE = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
MODULES = sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*\.py)`", PAGE)))
PACKAGES = set(re.findall(r"\b([a-z]+)/(?=\s)", PAGE.split("## A program")[0]))


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_the_page_names_exists(module: str) -> None:
    assert (PACKAGE / module).is_file()


def test_the_picture_has_every_package_and_no_other() -> None:
    assert len(MODULES) > 30
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == PACKAGES
