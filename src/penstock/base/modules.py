"""Loads Python modules that lie in no package: from a file, or from text that was generated."""

from __future__ import annotations

import linecache
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any


def load_file(path: Path, name: str) -> ModuleType:
    """Load a file as the module of a name; while and after it runs, it is found under that name."""
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def load_text(text: str, names: dict[str, Any], file: str = "<penstock>") -> dict[str, Any]:
    """Run the text of a module with the names that it is given, and return them with its own.

    Args:
        text: What would stand in the file.
        names: The names that it finds; changed.
        file: What tracebacks call it. One that is told shows its lines there, too.

    Example:
        >>> load_text("def double(x):\\n    return factor * x", {"factor": 2})["double"](4)
        8
    """
    if file != "<penstock>":
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names
