"""Finds the files of bargain detection: inside the installed package, or in the clone that this file stands in."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from penstock.base.diagnostics import UserError
from penstock.base.modules import load_file

_HERE = Path(__file__).parent
_PLACES = (_HERE / "bargains", *(parent / "examples/bargains" for parent in _HERE.parents[2:3]))


def folder() -> Path:
    """The folder that holds `bargains.spl`, `bargains.py` and `generate.py`.

    Example:
        >>> sorted(path.name for path in folder().glob("bargains.*"))
        ['bargains.py', 'bargains.spl']
    """
    for place in _PLACES:
        if (place / "bargains.spl").is_file():
            return place
    raise UserError("the files of the demo are not here", hint="install penstock anew")


def module(name: str) -> ModuleType:
    """A Python file of the example, loaded."""
    return load_file(folder() / f"{name}.py", f"penstock_demo_{name}")
