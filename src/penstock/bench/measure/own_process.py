"""Functions that run in a process of their own: nothing before them counts in their time and memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

_CHILD = """
import importlib, json, resource, sys
module, name, arguments = sys.argv[1:]
found = getattr(importlib.import_module(module), name)(**json.loads(arguments))
found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps(found))
"""


def run_apart(function: Callable[..., dict[str, Any]], **arguments: object) -> dict[str, Any]:
    """The result of a function in a process of its own, with its peak memory as `peak_mib`; all of it must be JSON."""
    command = [sys.executable, "-c", _CHILD, function.__module__, function.__name__, json.dumps(arguments)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found
