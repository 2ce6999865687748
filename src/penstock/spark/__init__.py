"""The engine on Spark. Of its packages only `transform` and `write` are meant for programs of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.spark.frames.transform import transform as transform
    from penstock.spark.frames.transform import write as write

__all__ = ["transform", "write"]


def __getattr__(name: str) -> object:
    # Loaded on first use: a worker imports packages under this one, and has no use for these.
    if name not in __all__:
        raise AttributeError(f"module `penstock.spark` has no attribute `{name}`")
    from penstock.spark.frames import transform

    return getattr(transform, name)
