"""The build of a job: the generated modules of all its PEs, and the folder where a person can read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from penstock.codegen.plan.contained import find_contained
from penstock.codegen.plan.physical import PhysicalPlan
from penstock.codegen.plan.pieces import Pieces, pieces_of
from penstock.codegen.write.generate import Module
from penstock.toolkit.core.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The generated code of a plan.

    Attributes:
        pieces: Each PE but sources and sinks by its index, cut into pieces, with their modules.
    """

    pieces: dict[int, Pieces]

    @property
    def modules(self) -> dict[str, Module]:
        """The generated modules by name: `pe_N`, or `pe_N_I` for piece I of a PE in pieces."""
        return {
            f"pe_{pe}" if len(pieces.made) == 1 else f"pe_{pe}_{i}": made
            for pe, pieces in self.pieces.items()
            for i, made in enumerate(pieces.made.values())
            if isinstance(made, Module)
        }

    @property
    def reasons(self) -> dict[int, str]:
        """Why a container runs PEs, or pieces of them."""
        return {pe: "; ".join(pieces.reasons.values()) for pe, pieces in self.pieces.items() if pieces.reasons}

    def write(self, folder: Path) -> list[Path]:
        """Write every module to a file of its name in a folder; those of another build are removed."""
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("pe_*.py"):
            old.unlink()
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
        >>> from penstock.toolkit.core.operator_registry import standard
        >>> empty = Program(application=Application(name="Empty"), registry=standard())
        >>> build(empty, physical_plan(empty.application, ())).modules
        {}
    """
    plan = replace(plan, contained=find_contained(program))
    inner = [pe.index for pe in plan.pes if pe.role not in ("source", "sink")]
    return Build(pieces={pe: pieces_of(program, plan, pe) for pe in inner})
