"""A program: the graph and the operator definitions that its kinds mean. What every front end makes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.base.diagnostics import Diagnostic
from penstock.ir.graph import Application
from penstock.toolkit.core.operator_registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A checked application, ready to be compiled or interpreted.

    Attributes:
        application: The logical graph.
        registry: Finds the definition of every kind in it.
        directory: Where its text lies; its `data` folder is the default for relative file names.
        warnings: What its front end found that is no mistake, but the user should know.
    """

    application: Application
    registry: Registry
    directory: Path = Path()
    warnings: tuple[Diagnostic, ...] = ()
