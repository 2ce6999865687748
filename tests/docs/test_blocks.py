"""Every code block and every command in README, docs and examples does what its page says.

A page is followed from its top to its end in an empty folder that has `examples/` in it. Blocks with a title are files
of that name. Python blocks run in one namespace, and a `text` block behind one is what it prints; SPL compiles; JSON
parses; console blocks run and print what they show. A block that cannot be run says why, in a comment before it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
from console import calls, run_call, shows
from markdown_blocks import ROOT, Block, blocks, pages

from penstock.lang import compile_text
from penstock.service.jobs.process import Attempt

LANGUAGES = {"python", "spl", "json", "console", "text", "indented"}
MOST_NOT_RUN = 6
_COMMAND = re.compile(r"^(\$ |penstock |make |python3? |pip |eval |\.venv/)", re.MULTILINE)
_SYNOPSIS = re.compile(r"^penstock (?P<command>[\w-]+) [^\n]*\[(?:[^\n]*\n[ \t]+)*", re.MULTILINE)
_ON_SPARK = re.compile(
    r"^\$ penstock (?:run|profile|optimize|calibrate|bench|demo|serve)\b(?!.*--engine reference)", re.MULTILINE
)


def follow(page: Path, folder: Path) -> None:
    """Do what a page tells its reader to do."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed: str | None = None
    for block in blocks(page):
        if block.reason is not None:
            continue
        if block.title is not None:
            (folder / block.title).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.title).write_text(block.text)
        if block.language == "text" and printed is not None:
            assert shows(block.text, printed), f"{block}: the program prints\n{printed}"
        printed = run_block(block, folder, namespace)


def run_block(block: Block, folder: Path, namespace: dict[str, object]) -> str | None:
    """Run one block; what a Python block prints is given back."""
    match block.language:
        case "python" if block.title is None:
            return run_python(block, folder, namespace)
        case "python":
            compile(block.text, block.title or "", "exec")
        case "spl":
            compile_text(block.text)
        case "json":
            json.loads(block.text)
        case "console":
            for call in calls(block.text):
                run_call(call, folder, str(block))
    return None


def run_python(block: Block, folder: Path, namespace: dict[str, object]) -> str:
    """The text is a file, because models are inferred from the source of functions."""
    path = folder / f"block_{block.line}.py"
    path.write_text(block.text)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.text, str(path), "exec"), namespace)
    return out.getvalue()


def on_one_worker(page: Path) -> pytest.ParameterSet:
    """Pages that start Spark share a worker with all other tests that do."""
    spark = any(_ON_SPARK.search(b.text) for b in blocks(page) if b.language == "console")
    marks = [pytest.mark.xdist_group("spark-commands")] if spark else []
    return pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks)


@pytest.mark.parametrize("page", [on_one_worker(page) for page in pages()])
def test_a_page_can_be_followed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path)
    try:
        follow(page, tmp_path)
    finally:
        end_services(tmp_path)


def end_services(folder: Path) -> None:
    """End what a page has started and, where it could not be followed to its end, has not stopped."""
    for file in folder.rglob("service.pid"):
        with contextlib.suppress(ProcessLookupError, ValueError):
            os.kill(int(file.read_text()), signal.SIGTERM)
    for file in folder.rglob("process.json"):
        Attempt(folder=file.parent).kill()


def test_every_block_says_what_it_is():
    strange = [
        f"{b}: {b.language or 'no language'}" for page in pages() for b in blocks(page) if b.language not in LANGUAGES
    ]
    assert strange == []


def test_commands_stand_in_console_blocks_where_they_are_run():
    """A synopsis, with its `[--options]`, is for reading, and so is what only looks like a command."""
    bare = [
        b for page in pages() for b in blocks(page) if b.language in ("indented", "text") and _COMMAND.search(b.text)
    ]
    assert [str(b) for b in bare if not _SYNOPSIS.search(b.text)] == []


def test_few_blocks_are_not_run():
    marked = [f"{b}: {b.reason}" for page in pages() for b in blocks(page) if b.reason is not None]
    assert len(marked) <= MOST_NOT_RUN, marked


def test_the_options_of_a_synopsis_exist():
    from penstock.cli import cli

    for page in pages():
        for match in _SYNOPSIS.finditer("\n".join(b.text for b in blocks(page))):
            with cli.make_context("penstock", [], resilient_parsing=True) as context:
                command = cli.get_command(context, match["command"])
            assert command is not None, f"{page}: {match['command']}"
            known = {name for parameter in command.params for name in parameter.opts}
            assert set(re.findall(r"--[\w-]+", match[0])) <= known, f"{page}: {match[0]}"
