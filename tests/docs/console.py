"""Runs the commands of a console block and compares what they print with what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROMPT = "$ "
_FAILS = re.compile(r"\berror: |no feasible solution")
_VARYING = [
    (re.compile(r"\d[\d,.]*( (?:s|ms|seconds|a second|tuples/s|MB)\b)"), r"N\1"),
    (re.compile(r'("\w*seconds\w*": )[\d.e+-]+'), r"\1N"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A command and the lines that the page shows below it."""

    command: str
    shown: str


def calls(text: str) -> Iterator[Call]:
    """The commands of a block; a line that ends in a backslash goes on in the next."""
    for part in re.split(rf"^{re.escape(PROMPT)}", text.replace("\\\n", ""), flags=re.MULTILINE):
        command, _, shown = part.partition("\n")
        if command.strip():
            yield Call(command=command, shown=shown)


def run_call(call: Call, folder: Path, where: str) -> None:
    """Run a command as a reader would; it must do what the page shows."""
    environment = dict(os.environ)
    environment.update(
        PATH=f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}", COLUMNS="100", NO_COLOR="1"
    )
    done = subprocess.run(
        ["bash", "-c", _checked(call.command)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=900,
    )
    fails = _FAILS.search(call.shown) is not None
    assert (done.returncode != 0) == fails, f"{where}: `{call.command}` exits {done.returncode}:\n{done.stdout}"
    if call.shown.strip():
        assert shows(call.shown, done.stdout), f"{where}: `{call.command}` prints\n{done.stdout}"


def _checked(command: str) -> str:
    """`make` would build an environment, and run these tests: see that the target is there."""
    return re.sub(r"^make ", "make --dry-run ", command)


def shows(shown: str, printed: str) -> bool:
    """Whether what was printed is what is shown, where `...` stands for anything and times differ.

    >>> shows("in 0.4 s\\n...\\nend", "in 1.25 s\\nmore\\nend\\n")
    True
    >>> shows("1 error", "2 errors")
    False
    """
    pieces = [re.escape(_plain(piece)) for piece in shown.split("...")]
    return re.fullmatch(r"\s*" + ".*".join(pieces) + r"\s*", _plain(printed), re.DOTALL) is not None


def _plain(text: str) -> str:
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    return re.sub(r"[ \t]+", " ", re.sub(r" *\n\s*", "\n", text)).strip(" ")
