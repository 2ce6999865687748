"""Runs an application from Python: `app.run()`, `stream.collect()`, `app.explain()`.

The engines that it can run on are above the API in the order of imports; `api.runnable` is the one place that asks for
this package. What it has is loaded on first use, so that a run on one engine does not wait for the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.running.collecting import collect as collect
    from penstock.running.collecting import show as show
    from penstock.running.engines import run as run
    from penstock.running.explaining import STAGES as STAGES
    from penstock.running.explaining import Explanation as Explanation
    from penstock.running.explaining import check as check
    from penstock.running.explaining import explain as explain
    from penstock.running.explaining import picture as picture
    from penstock.running.handle import Counts as Counts
    from penstock.running.handle import Progress as Progress
    from penstock.running.handle import Run as Run

_HOMES = {
    "collecting": ("collect", "show"),
    "engines": ("run",),
    "explaining": ("STAGES", "Explanation", "check", "explain", "picture"),
    "handle": ("Counts", "Progress", "Run"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = list(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module `penstock.running` has no attribute `{name}`")
    return getattr(import_module(f"penstock.running.{_HOME[name]}"), name)
