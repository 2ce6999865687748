"""The program of a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from .draft import Draft
from .meeting import SEVERAL_PORTS, draw_loop, gate_loop
from .operators import ONE_PORT
from .program import FuzzProgram, Op
from .sinks import draw_sink
from .sources import draw_schema, draw_source
from .windows import WINDOWED

DRAWN = tuple((weight, draw) for table in (ONE_PORT, WINDOWED, SEVERAL_PORTS) for weight, draw in table)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large programs are.

    Attributes:
        sources: The most sources.
        operators: The most operators between sources and sinks.
        items: The most items of a source.
        timed: The most operators that act when time passes.
        fails: Whether an operator may end the run.
    """

    sources: int = 3
    operators: int = 7
    items: int = 24
    timed: int = 4
    fails: bool = True


def generate(seed: int, size: Size = Size()) -> FuzzProgram:  # noqa: B008 # frozen
    """Draw a program."""
    rng = Random(seed)
    draft = Draft(rng, timed=rng.randint(0, size.timed))
    files: dict[str, tuple[str, ...]] = {}
    usual = draw_schema(rng)
    for i in range(rng.randint(1, size.sources)):
        schema = usual if rng.random() < 0.7 else draw_schema(rng)
        op, lines = draw_source(rng, f"S{i}", schema, size.items)
        draft.add(op)
        files |= lines
    for i in range(rng.randint(1, size.operators)):
        for op in _draw_next(draft, f"A{i}"):
            draft.add(_dressed(rng, op))
    _end(draft)
    ops = draft.ops if size.fails else [_never_failing(op) for op in draft.ops]
    return FuzzProgram(ops=tuple(ops), files=files)


def _draw_next(draft: Draft, name: str) -> list[Op]:
    if draft.rng.random() < 0.04:
        return draft.rng.choice([draw_loop, gate_loop])(draft, name)
    draw = draft.rng.choices([draw for _, draw in DRAWN], [weight for weight, _ in DRAWN])[0]
    return [draw(draft, name)]


def _dressed(rng: Random, op: Op) -> Op:
    """An operator with what can stand on any."""
    if rng.random() < 0.08:
        op = replace(op, annotations=(*op.annotations, f"@parallel(width={rng.randint(2, 4)})"))
    if rng.random() < 0.08 and all(len(port) == 1 for port in op.inputs):
        op = replace(op, wrapped=True)
    return op


def _never_failing(op: Op) -> Op:
    """An operator that sets aside what it fails on."""
    risky = op.kind in ("Functor", "PyInverse") and "@catch" not in op.annotations
    return replace(op, annotations=(*op.annotations, "@catch")) if risky else op


def _end(draft: Draft) -> None:
    """Sinks for what nobody takes, and for some other streams."""
    taken = {stream for op in draft.ops for stream in op.streams}
    inner = [s for s in draft.schemas if not s.startswith("S")]
    ends = [s for s in inner if s not in taken or draft.rng.random() < 0.25]
    for i, stream in enumerate(ends):
        draft.ops.append(draw_sink(draft.rng, f"K{i}", stream, draft.schemas[stream]))
