"""Finds the files of bargain detection: inside the installed package, or in the clone that this file stands in."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from penstock.base.diagnostics import UserError

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
    spec = importlib.util.spec_from_file_location(f"penstock_demo_{name}", folder() / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded
