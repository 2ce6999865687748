"""Programs as simple as they can be, for tests of what tests programs."""

from __future__ import annotations

from .program import FuzzProgram, Op, Output

N = (("n", "int32"),)


def chain(*kinds: str) -> FuzzProgram:
    """Operators one behind the other, and a sink."""
    ops = [
        Op(
            name="S0",
            kind="Custom",
            outputs=(Output(stream="S0", schema=N),),
            logic=(("onProcess", tuple(f"submit({{n = {i}}}, O0);" for i in range(9))),),
        )
    ]
    for i, kind in enumerate(kinds):
        ops.append(Op(name=f"A{i}", kind=kind, inputs=((ops[-1].name,),), outputs=(Output(stream=f"A{i}", schema=N),)))
    ops.append(Op(name="K", kind="FileSink", inputs=((ops[-1].name,),), params=(("file", '"K"'),)))
    return FuzzProgram(ops=tuple(ops))
