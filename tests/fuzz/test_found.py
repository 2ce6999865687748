"""Programs that once meant something else when they were compiled, each as small as it can be."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from penstock.lang import compile_text

from .compare import differences
from .execute import run_compiled, run_reference
from .library import REGISTRY
from .setting import Setting

FOUND = Path(__file__).parents[1] / "fixtures" / "spl" / "found"
PROGRAMS = sorted(FOUND.glob("*.spl"))
SETTINGS = [
    Setting(seed=0, fused=fused, channels=channels, batches=batches, crashes=crashes)
    for fused, channels, (batches, crashes) in product(
        (0.0, 1.0), (1, 3), (((1000,), frozenset()), ((1,), frozenset({1, 2})))
    )
]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_means_the_same_however_it_is_run(path):
    program = compile_text(path.read_text(encoding="utf-8"), path=path.name, registry=REGISTRY)
    wanted = run_reference(program, FOUND / "data")
    for setting in SETTINGS:
        found = run_compiled(program, FOUND / "data", setting)
        assert list(differences(wanted, found)) == [], setting
