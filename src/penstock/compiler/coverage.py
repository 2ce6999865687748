"""Which operators have a generated form: a table made of programs, for the documentation.

Run: `python -m penstock.compiler.coverage PROGRAM.spl...`. A test compares the output for all fixtures with the
page `docs/design/codegen.md`, so that it never tells anything else than the code.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from penstock.codegen.plan.part import part_of
from penstock.codegen.write.generate import reasons
from penstock.compiler.options import Options
from penstock.compiler.pipeline import run_stages
from penstock.lang import compile_file
from penstock.toolkit.core.program import Program

_HEAD = "| operator | generated | in a container | why |\n|---|---|---|---|"


def coverage(programs: Iterable[Program]) -> str:
    """For each kind of operator, how many of the programs' operators are generated, and why the others are not.

    Example:
        >>> from penstock.lang import compile_text
        >>> print(coverage([compile_text('''composite Main { graph
        ...     stream<int32 x> A = Beacon() {}
        ...     stream<A> B = Delay(A) { param delay: 1.0; }
        ...     () as Sink = FileSink(B) { param file: "b"; } }''')]))
        | operator | generated | in a container | why |
        |---|---|---|---|
        | Delay | 0 | 1 | has no generated form |
    """
    generated: Counter[str] = Counter()
    others: dict[str, Counter[str]] = {}
    for program in programs:
        for kind, reason in _operators(program):
            if reason is None:
                generated[kind] += 1
            else:
                others.setdefault(kind, Counter())[reason] += 1
    kinds = sorted({*generated, *others})
    return "\n".join([_HEAD, *(_row(kind, generated[kind], others.get(kind, Counter())) for kind in kinds)])


def _row(kind: str, generated: int, others: Counter[str]) -> str:
    return f"| {kind} | {generated} | {others.total()} | {'; '.join(sorted(others))} |"


def _operators(program: Program) -> Iterable[tuple[str, str | None]]:
    """The kinds of a program's inner operators, with the reasons of those that have no generated form."""
    options = Options(pes=[[o.id for o in program.application.operators]], channels=1)
    plan = run_stages(program, options, until="cut into PEs").plan
    assert plan is not None
    for pe in plan.pes:
        if pe.role not in ("source", "sink"):
            part = part_of(plan, pe.index)
            found = reasons(program, part)
            for operator in part.operators:
                reason = found.get(operator.id)
                yield operator.kind, None if reason is None else reason.text


def main(paths: Iterable[str]) -> None:
    """Print the table of some programs."""
    print(coverage(compile_file(Path(path)) for path in paths))


if __name__ == "__main__":
    main(sys.argv[1:])
