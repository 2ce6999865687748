"""The README keeps its promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def test_the_program_prints_what_the_readme_says():
    program, output = re.search(r"```python\n(.*?)```\n\n((?:    [^\n]*\n)+)", README, re.DOTALL).groups()
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "".join(line.removeprefix("    ") for line in output.splitlines(keepends=True))


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_demo_runs_from_any_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/demo.py"), "--ticks", "3000", "--out", "results"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The first bargains" in done.stdout
    assert (tmp_path / "results/bargains.csv").stat().st_size > 0
    assert (tmp_path / "results/bargains.html").exists()
