"""The build folder: the generated modules of an application, where a person can read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import pieces_of
from penstock.codegen.write.generate import Generated
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What was made of a plan.

    Attributes:
        modules: The generated modules by name: `pe_N`, or `pe_N_I` for piece I of a PE in pieces.
        reasons: Why a container runs other PEs, or pieces of them; sources and sinks are left out.
    """

    modules: dict[str, Generated]
    reasons: dict[int, str]

    def write(self, folder: Path) -> list[Path]:
        """Write every module to a file of its name in a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, module in self.modules.items():
            path = folder / f"{name}.py"
            path.write_text(module.text, encoding="utf-8")
            paths.append(path)
        return paths


def build(program: Program, plan: PhysicalPlan) -> Build:
    """Generate what can be generated.

    Example:
        >>> from penstock.codegen.plan.physical import physical_plan
        >>> from penstock.ir.graph import Application
        >>> from penstock.toolkit.core.registry import standard
        >>> empty = Program(application=Application(name="Empty"), registry=standard())
        >>> build(empty, physical_plan(empty.application, ())).modules
        {}
    """
    modules: dict[str, Generated] = {}
    reasons: dict[int, str] = {}
    for pe in plan.pes:
        if pe.role in ("source", "sink"):
            continue
        pieces = pieces_of(program, plan, pe.index)
        for i, made in enumerate(pieces.made.values()):
            if isinstance(made, Generated):
                modules[f"pe_{pe.index}" if len(pieces.made) == 1 else f"pe_{pe.index}_{i}"] = made
        if pieces.reasons:
            reasons[pe.index] = "; ".join(pieces.reasons.values())
    return Build(modules=modules, reasons=reasons)
