"""Makes a program that shows a difference smaller, as long as it shows the same kind of difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from .program import FuzzProgram, Op, Output
from .setting import Setting

T = TypeVar("T")
How = TypeVar("How")
Case = tuple[FuzzProgram, Setting]


def simpler_settings(setting: Setting) -> Iterator[Setting]:
    """Settings with less of something."""
    if setting.crashes:
        yield replace(setting, crashes=frozenset())
    if setting.opens_loop:
        yield replace(setting, opens_loop=False)
    for batches in ((1000,), (1,), setting.batches[:1]):
        if setting.batches not in ((1000,), (1,), batches):
            yield replace(setting, batches=batches)
    for channels in (1, 2):
        if setting.channels is None or setting.channels > channels:
            yield replace(setting, channels=channels)
    for fused in (1.0, 0.0):
        if setting.fused not in (0.0, 1.0):
            yield replace(setting, fused=fused)


def shrink(
    case: tuple[FuzzProgram, How],
    fails: Callable[[tuple[FuzzProgram, How]], bool],
    simpler: Callable[[How], Iterator[How]] = simpler_settings,  # type: ignore[assignment]  # the usual `How`
    *,
    seconds: float = 120.0,
) -> tuple[FuzzProgram, How]:
    """The smallest case that is found in some time.

    Args:
        case: A program, and how it is run.
        fails: False where it does not even compile.
        simpler: Simpler ways to run a program.
        seconds: How long to look.
    """
    until = time.monotonic() + seconds
    while True:
        smaller = next((c for c in candidates(case, simpler) if time.monotonic() < until and fails(c)), None)
        if smaller is None:
            return case
        case = smaller


def candidates(
    case: tuple[FuzzProgram, How],
    simpler: Callable[[How], Iterator[How]] = simpler_settings,  # type: ignore[assignment]  # the usual `How`
) -> Iterator[tuple[FuzzProgram, How]]:
    """Smaller cases, those that leave out most first."""
    program, setting = case
    for op in reversed(program.ops):
        yield _without(program, {op.name}), setting
    for op in reversed(program.ops):
        if len(op.inputs) == 1 and op.outputs:
            yield _bypassed(program, op), setting
    for less in simpler(setting):
        yield program, less
    for i, op in enumerate(program.ops):
        for smaller in _smaller(op):
            changed = replace(program, ops=(*program.ops[:i], smaller, *program.ops[i + 1 :]))
            yield _without(changed, set()), setting
    for name, lines in program.files.items():
        for fewer in _fewer(lines):
            yield replace(program, files={**program.files, name: fewer}), setting
    yield from ((smaller, setting) for smaller in _with_fewer_attributes(program))


def _without(program: FuzzProgram, names: set[str]) -> FuzzProgram:
    """The program without operators, and without those that then have a port to which nothing comes from a source."""
    ops = [op for op in program.ops if op.name not in names]
    fed: set[str] = set()
    while True:
        streams = {output.stream for op in ops if op.name in fed for output in op.outputs}
        more = {op.name for op in ops if all(any(s in streams for s in port) for port in op.inputs)}
        if more == fed:
            break
        fed = more
    kept = (op for op in ops if op.name in fed)
    return replace(
        program,
        ops=tuple(
            replace(op, inputs=tuple(tuple(s for s in port if s in streams) for port in op.inputs)) for op in kept
        ),
    )


def _bypassed(program: FuzzProgram, op: Op) -> FuzzProgram:
    """The program in which who took the streams of an operator takes its input."""
    gone = {output.stream for output in op.outputs}
    ops = []
    for other in program.ops:
        if other.name != op.name:
            inputs = tuple(
                tuple(dict.fromkeys(s for stream in port for s in (op.inputs[0] if stream in gone else (stream,))))
                for port in other.inputs
            )
            ops.append(replace(other, inputs=inputs))
    return _without(replace(program, ops=tuple(ops)), set())


def _smaller(op: Op) -> Iterator[Op]:
    for field in ("annotations", "params", "windows"):
        for fewer in _fewer(getattr(op, field)):
            yield replace(op, **{field: fewer})
    if op.wrapped:
        yield replace(op, wrapped=False)
    for i, (clause, statements) in enumerate(op.logic):
        yield replace(op, logic=(*op.logic[:i], *op.logic[i + 1 :]))
        for fewer in _fewer(statements):
            yield replace(op, logic=(*op.logic[:i], (clause, fewer), *op.logic[i + 1 :]))
    for i, output in enumerate(op.outputs):
        for fewer in _fewer(output.assignments):
            changed: Output = replace(output, assignments=fewer)
            yield replace(op, outputs=(*op.outputs[:i], changed, *op.outputs[i + 1 :]))
    if len(op.outputs) > 1:
        yield replace(op, outputs=op.outputs[:-1])
    for i, port in enumerate(op.inputs):
        for fewer in _fewer(port):
            if fewer:
                yield replace(op, inputs=(*op.inputs[:i], fewer, *op.inputs[i + 1 :]))
    yield from _with_fewer_items(op)


def _with_fewer_items(op: Op) -> Iterator[Op]:
    """Sources that send less."""
    params = dict(op.params)
    if op.kind == "Beacon" and "iterations" in params:
        count = int(params["iterations"].rstrip("u"))
        for fewer in {count // 2, count - 1} - {count, -1}:
            yield replace(op, params=tuple((params | {"iterations": f"{fewer}u"}).items()))
    if op.kind == "PySource":
        items = eval(params["items"][1:-1], {"nan": float("nan"), "inf": float("inf")})
        for left in _fewer(items):
            yield replace(op, params=(("items", f'"{list(left)!r}"'),))


def _fewer(things: Sequence[T]) -> Iterator[Sequence[T]]:
    """Without a half, a quarter, ..., without one."""
    size = len(things)
    while size > 0:
        for start in range(0, len(things), size):
            yield (*things[:start], *things[start + size :])
        size //= 2


def _with_fewer_attributes(program: FuzzProgram) -> Iterator[FuzzProgram]:
    """Without an attribute, everywhere; where an expression needs it, it does not compile."""
    names = sorted({name for schema in program.schemas.values() for name, _ in schema if name.startswith("e")})
    for name in names:
        ops = []
        for op in program.ops:
            outputs = tuple(
                replace(
                    o,
                    schema=tuple(a for a in o.schema if a[0] != name),
                    assignments=tuple(a for a in o.assignments if a[0] != name),
                )
                for o in op.outputs
            )
            ops.append(replace(op, outputs=outputs))
        yield replace(program, ops=tuple(ops))
