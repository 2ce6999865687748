"""The pipeline: a program and options go in, a job that an engine can run comes out.

    program -> loops -> parallel regions -> channels -> fusion -> PEs -> hosts -> generated modules

`compile` runs the stages of `pipeline.STAGES`, one after the other. Engines, `explain` and measurements take what they
need from the `CompiledJob`; nobody else decides anything. Nothing here knows an engine: what has to be measured is
measured by a function among the options.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.compiler.job import Choice as Choice
    from penstock.compiler.job import CompiledJob as CompiledJob
    from penstock.compiler.options import Measure as Measure
    from penstock.compiler.options import Options as Options
    from penstock.toolkit.core.program import Program

# Loaded on first use, so that a command that only wants the words of options starts at once.
_HOME = {"Choice": "job", "CompiledJob": "job", "Measure": "options", "Options": "options"}

__all__ = ["Choice", "CompiledJob", "Measure", "Options", "compile"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module `penstock.compiler` has no attribute `{name}`")
    return getattr(import_module(f"penstock.compiler.{_HOME[name]}"), name)


def compile(program: Program, options: Options) -> CompiledJob:
    """Compile a program to a job.

    Args:
        program: What will run.
        options: How it is to be compiled.

    Raises:
        UserError: The options do not fit the program, or an algorithm needs a profile that there is none of.
        Infeasible: No fusion keeps the constraints of the program.

    Example:
        >>> from penstock.compiler import Options
        >>> from penstock.ir.graph import Application
        >>> from penstock.toolkit.core.program import Program
        >>> from penstock.toolkit.core.operator_registry import standard
        >>> empty = Program(application=Application(name="Empty"), registry=standard())
        >>> compile(empty, Options()).plan.pes
        ()
    """
    from penstock.compiler.pipeline import run_stages

    return run_stages(program, options).finished()
