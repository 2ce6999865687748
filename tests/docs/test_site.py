"""The site builds without a warning, and every page of `docs/` is in it."""

from __future__ import annotations

import os
import subprocess
import sys

from markdown_blocks import ROOT


def test_the_site_builds_with_every_page(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    home = (tmp_path / "site/index.html").read_text(encoding="utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    assert [str(page) for page in pages if not (tmp_path / "site" / page).exists()] == []
    assert [str(page) for page in pages if f'href="{page}"' not in home and page.name != "index.html"] == []
