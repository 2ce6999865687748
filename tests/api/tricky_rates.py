"""Another module, with tables that are changed in one place or another."""

from __future__ import annotations

CHANGED_THERE = {"a": 1.0}
IMPORTED_AND_CHANGED = {"a": 1.0}
CHANGED_FROM_AFAR = {"a": 1.0}
READ_ONLY = {"a": 1.0}


def change():
    CHANGED_THERE["b"] = 2.0
    IMPORTED_AND_CHANGED.clear()


def reset(module):
    return module
