"""Writes the command-line reference from the commands' own help.

python -m penstock.cli.reference > docs/reference/command-line.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from penstock.cli import SUBCOMMANDS, cli

_WIDTH = 80
_HEAD = """\
# The command line

<!-- Written by `python -m penstock.cli.reference`; do not edit. -->

Every command prints what a person reads, or with `--json` one JSON value on standard output; logs and progress go to
standard error. The exit status is 0 when it is done, 1 for a mistake of the user's (with file, line and caret where
there is source), 2 for a wrong call, 3 if there is no feasible solution, 4 for a bug of ours, and 130 after Ctrl-C.

`APP` is a `.spl` file, or `FILE.py:app` or `MODULE:app`, where `app` is an `App` or a function that gives one; its
arguments come from `--set`.
"""


def reference() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *_sections()])


def _sections() -> Iterator[str]:
    width: dict[str, Any] = {"max_content_width": _WIDTH, "terminal_width": _WIDTH}
    with click.Context(cli, info_name="penstock", **width, **cli.context_settings) as root:
        yield from _section("penstock", cli.get_help(root))
        for name in SUBCOMMANDS:
            command = cli.get_command(root, name)
            assert command is not None
            with click.Context(command, info_name=name, parent=root, **width) as context:
                yield from _section(f"penstock {name}", command.get_help(context))


def _section(title: str, text: str) -> Iterator[str]:
    yield f"## {title}\n"
    yield "```text"
    yield from (line.rstrip() for line in text.splitlines())
    yield "```\n"


if __name__ == "__main__":
    print(reference(), end="")
