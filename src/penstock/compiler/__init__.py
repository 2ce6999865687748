"""The pipeline: a program and options go in, a job that an engine can run comes out.

    program -> loops -> parallel regions -> channels -> fusion -> PEs -> hosts -> generated modules

`compile` runs the stages of `pipeline.STAGES`, one after the other. Engines, `explain` and measurements take what they
need from the `CompiledJob`; nobody else decides anything. Nothing here knows an engine: what has to be measured is
measured by a function among the options.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.compiler.job import Choice, CompiledJob
from penstock.compiler.options import Measure, Options

if TYPE_CHECKING:
    from penstock.toolkit.core.program import Program

__all__ = ["Choice", "CompiledJob", "Measure", "Options", "compile"]


def compile(program: Program, options: Options) -> CompiledJob:
    """Compile a program to a job.

    Args:
        program: What will run.
        options: How it is to be compiled.

    Raises:
        UserError: The options do not fit the program, or an algorithm needs a profile that there is none of.
        Infeasible: No fusion keeps the constraints of the program.

    Example:
        >>> from penstock.ir.graph import Application
        >>> from penstock.toolkit.core.program import Program
        >>> from penstock.toolkit.core.registry import standard
        >>> empty = Program(application=Application(name="Empty"), registry=standard())
        >>> compile(empty, Options()).plan.pes
        ()
    """
    from penstock.compiler.pipeline import run_stages

    return run_stages(program, options).finished()
