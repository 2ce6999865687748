"""The sandbox: what a program of somebody else may not do when it is run with `--sandbox`.

It reads no files but those of the data folder, and writes none but those of the output folder; it has no functions for
files, the environment or application configurations; it talks to no servers; it brings no code but SPL: no Python, no
Perl, no toolkit but those that the user names. It may still compute for ever, and use memory and disks: that is the
business of whoever gives it a machine.

The environment variable is set by the option, so that every part of a run knows, the process that plans batches too.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.base.diagnostics import UserError

VARIABLE = "PENSTOCK_SANDBOX"

_FAMILIES = frozenset({"files"})
_FUNCTIONS = frozenset(
    {"mktemp", "getEnvironmentVariable", "getApplicationConfiguration", "getApplicationConfigurationProperty"}
)


def is_on() -> bool:
    """Whether programs run in the sandbox here."""
    return bool(os.environ.get(VARIABLE))


def check_function(name: str, family: str) -> None:
    """Refuse a function that reaches out of the sandbox.

    Raises:
        UserError: It does, and programs run in the sandbox.
    """
    if is_on() and (family in _FAMILIES or name in _FUNCTIONS):
        raise UserError(f"`{name}` is not to be had in a sandbox", hint="run it without --sandbox if you trust it")


def check_place(path: Path, folder: Path, what: str) -> Path:
    """A path that is in a folder.

    Raises:
        UserError: It is not, and programs run in the sandbox.
    """
    if is_on() and not path.resolve().is_relative_to(folder.resolve()):
        hint = "run it without --sandbox if you trust it"
        raise UserError(f"`{path}` is outside of the {what}, which a program in a sandbox cannot leave", hint=hint)
    return path
