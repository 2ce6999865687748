"""Compiles a program with PEs that a test names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.compiler import CompiledJob, Options, compile
from penstock.toolkit.core.program import Program


def compile_fused(
    program: Program, fusion: Sequence[Iterable[str]], *, channels: int | None = 1, **options: Any
) -> CompiledJob:
    """The job of a fusion, on one channel unless told otherwise; `options` are more of `Options`."""
    return compile(program, Options(pes=[tuple(group) for group in fusion], channels=channels, **options))
