"""Runs an application from Python: `app.run()`, `stream.collect()`, `app.explain()`.

The engines that it can run on are above the API in the order of imports; `api.runnable` is the one place that asks for
this package.
"""

from __future__ import annotations

from penstock.running.collecting import collect, show
from penstock.running.engines import ENGINES, run
from penstock.running.explaining import STAGES, Explanation, check, explain, picture
from penstock.running.handle import Counts, Progress, Run
from penstock.running.options import RunOptions

__all__ = [
    "ENGINES",
    "STAGES",
    "Counts",
    "Explanation",
    "Progress",
    "Run",
    "RunOptions",
    "check",
    "collect",
    "explain",
    "picture",
    "run",
    "show",
]
