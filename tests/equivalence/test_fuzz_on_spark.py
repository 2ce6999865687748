"""Random programs on Spark, many in one query: every sink receives what the reference gives it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from packs import in_two_layers, outcome_of_reference, outcome_on_spark, packed

from fuzz.execute import run_reference
from fuzz.generate import Size, generate
from fuzz.library import REGISTRY
from fuzz.outputs import read_outputs
from fuzz.program import FuzzProgram
from penstock.lang import compile_text
from penstock.toolkit.core.program import Program

PROGRAMS = 25
"""In one query."""

SIZE = Size(operators=4, items=8, fails=False)


def in_pack(program: FuzzProgram, prefix: str, data: Path) -> Program:
    """A program whose files and prints have names of their own."""
    text = re.sub(r'"K(\d+)', rf'"{prefix}K\1', program.text())
    for name, lines in program.files.items():
        (data / f"{prefix}{name}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        text = text.replace(f'"{name}"', f'"{prefix}{name}"')
    return compile_text(text, registry=REGISTRY)


def that_end_well(first: int, data: Path) -> Iterator[tuple[str, Program]]:
    """Programs that no failure ends, which would end all of the pack."""
    seed = first
    while True:
        program = in_pack(generate(seed, SIZE), f"seed{seed}", data)
        if program.application.streams and run_reference(program, data).error is None:
            yield f"seed{seed}", program
        seed += 1


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(("first", "channels"), [(0, 1), (1000, 3)])
def test_random_programs_mean_the_same_on_spark(first, channels):
    with TemporaryDirectory() as folder:
        data = Path(folder)
        programs = dict(program for program, _ in zip(that_end_well(first, data), range(PROGRAMS), strict=False))
        pack = packed("Fuzz", programs)
        wanted = outcome_of_reference(pack, data, read=read_outputs)
        found, batches = outcome_on_spark(
            pack, data, in_two_layers(pack.application), turns_per_batch=20, channels=channels, read=read_outputs
        )
    differing = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    assert not differing, [(name, wanted.get(name), found.get(name)) for name in differing[:3]]
    assert batches > 1
