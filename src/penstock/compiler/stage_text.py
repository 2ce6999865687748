"""The fused and the generated stage as text and JSON: every PE with its edges, and its code."""

from __future__ import annotations

from penstock.codegen.build import Build
from penstock.codegen.plan.physical import PE, PhysicalPlan
from penstock.codegen.write.generate import Module

_PLACE = {"source": "the source log", "sink": "the driver"}


def fused_text(plan: PhysicalPlan) -> str:
    """The PEs for a person: what each holds and where its streams go."""
    return "\n".join(line for pe in plan.pes for line in _pe_lines(plan, pe))


def fused_json(plan: PhysicalPlan) -> dict[str, object]:
    """The PEs for a program, without their code."""
    return {"application": plan.application.name, "pes": [_pe_json(pe) for pe in plan.pes], "edges": _edges_json(plan)}


def pe_title(pe: PE) -> str:
    """A PE in a few words."""
    return f"PE {pe.index}, {pe.role}" + ("" if pe.channels == 1 else f" on {pe.channels} channels")


def generated_text(plan: PhysicalPlan, build: Build) -> str:
    """The PEs for a person: what each holds, where its streams go, and the code that it runs."""
    return "\n\n".join("\n".join([*_pe_lines(plan, pe), _code_text(pe, build)]) for pe in plan.pes)


def generated_json(plan: PhysicalPlan, build: Build) -> dict[str, object]:
    """The PEs for a program."""
    return {
        "application": plan.application.name,
        "pes": [{**_pe_json(pe), **_code_json(pe, build)} for pe in plan.pes],
        "edges": _edges_json(plan),
    }


def _pe_json(pe: PE) -> dict[str, object]:
    return {"index": pe.index, "role": pe.role, "channels": pe.channels, "operators": list(pe.operators)}


def _edges_json(plan: PhysicalPlan) -> list[dict[str, object]]:
    return [{"index": e.index, "stream": e.stream, "from": e.producer, "to": e.consumer} for e in plan.edges]


def _pe_lines(plan: PhysicalPlan, pe: PE) -> list[str]:
    title = f"{pe_title(pe)}: {', '.join(pe.operators)}"
    return [title, *(f"  edge {e.index}: {e.stream} to PE {e.consumer}" for e in plan.out_of(pe.index))]


def _code_text(pe: PE, build: Build) -> str:
    if pe.role in _PLACE:
        return f"  runs in {_PLACE[pe.role]}"
    pieces = build.pieces[pe.index]
    if len(pieces.made) == 1:
        return _made_text(next(iter(pieces.made.values())))
    texts = [
        f"  piece {i}: {', '.join(pieces.plan.pes[piece].operators)}\n{_made_text(made)}"
        for i, (piece, made) in enumerate(pieces.made.items())
    ]
    return "\n".join(texts)


def _made_text(made: Module | str) -> str:
    if isinstance(made, Module):
        return "\n".join(f"    {line}".rstrip() for line in made.text.splitlines())
    return f"  runs its operators one tuple at a time: {made}"


def _code_json(pe: PE, build: Build) -> dict[str, object]:
    """The code of a PE; where it is in pieces, all of it, and why some pieces have none."""
    if pe.role in _PLACE:
        return {"code": None, "why": f"it runs in {_PLACE[pe.role]}", "pieces": []}
    pieces = build.pieces[pe.index]
    return {
        "code": "\n\n".join(made.text for made in pieces.modules.values()) or None,
        "why": "; ".join(pieces.reasons.values()) or None,
        "pieces": [
            {"operators": list(pieces.plan.pes[piece].operators), "generated": isinstance(made, Module)}
            for piece, made in pieces.made.items()
        ],
    }
