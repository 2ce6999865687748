"""The build folder: the generated modules of an application, where a person can read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.codegen.generate import Generated, generate
from penstock.codegen.plan import PhysicalPlan
from penstock.toolkit.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What was made of a plan.

    Attributes:
        modules: The generated modules, by PE.
        reasons: Why the other PEs have none and are run by a container; sources and sinks are left out.
    """

    modules: dict[int, Generated]
    reasons: dict[int, str]

    def write(self, folder: Path) -> list[Path]:
        """Write every module to `pe_N.py` in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for pe, module in self.modules.items():
            path = folder / f"pe_{pe}.py"
            path.write_text(module.text, encoding="utf-8")
            paths.append(path)
        return paths


def build(program: Program, plan: PhysicalPlan) -> Build:
    """Generate what can be generated.

    Example:
        >>> from penstock.codegen.plan import physical_plan
        >>> from penstock.ir.graph import Application
        >>> from penstock.toolkit.registry import standard
        >>> empty = Program(application=Application(name="Empty"), registry=standard())
        >>> build(empty, physical_plan(empty.application, ())).modules
        {}
    """
    modules: dict[int, Generated] = {}
    reasons: dict[int, str] = {}
    for pe in plan.pes:
        if pe.role in ("source", "sink"):
            continue
        made = generate(program, plan, pe.index)
        if isinstance(made, Generated):
            modules[pe.index] = made
        else:
            reasons[pe.index] = made
    return Build(modules=modules, reasons=reasons)
