"""Outlier detection: SPL and Python agree, and both agree with a plain computation."""

from __future__ import annotations

import csv
import math
import random
from collections import defaultdict, deque
from pathlib import Path

import pytest

from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.runtime.verify.verify_models import verify_models
from penstock.testing import apply, run

SPL = "radio_astronomy/radio_astronomy.spl"
PYTHON = "radio_astronomy/radio_astronomy.py"


@pytest.fixture
def samples(example, tmp_path) -> Path:
    example("radio_astronomy/generate.py").generate(tmp_path / "samples.csv", samples=30_000, antennas=2, rare=1500)
    return tmp_path


def found(program, folder: Path) -> dict[str, list[list[str]]]:
    run(program, environment=Environment(data_directory=folder, output_directory=folder))
    names = ("bursts.csv", "interference.csv")
    return {name: list(csv.reader((folder / name).open(newline=""))) for name in names}


def expected(folder: Path) -> list[tuple[float, float, float]]:
    """(time, intensity, score) of each outlier, by hand."""
    last: dict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=32))
    seen: dict[tuple[str, str], int] = defaultdict(int)
    outliers = []
    for number, row in enumerate(csv.reader((folder / "samples.csv").open(newline="")), 1):
        parts = [float(x) for x in row[3:]]
        if max(abs(x) for x in parts) >= 1000:
            continue
        place, power = (row[1], row[2]), sum(x * x for x in parts)
        window = last[place]
        if len(window) == 32:
            mean = sum(window) / 32
            sigma = math.sqrt(max(sum(x * x for x in window) / 32 - mean * mean, 1e-6))
            # The rating waits for the highest of 64 samples, the report for the sky's brightness over 200.
            if power > mean + 8 * sigma and seen[place] >= 64 and number >= 200:
                outliers.append((float(row[0]), power, (power - mean) / sigma))
        window.append(power)
        seen[place] += 1
    return outliers


def test_spl_and_python_make_equal_graphs(example, examples):
    spl = compile_file(examples / SPL).application
    assert spl == example(PYTHON).app().program().application
    assert len(spl.operators) == 56


def test_both_find_the_outliers_that_a_plain_computation_finds(example, examples, samples):
    from_spl = found(compile_file(examples / SPL), samples)
    assert from_spl == found(example(PYTHON).app().program(), samples)
    assert all(len(rows) > 5 for rows in from_spl.values())
    rows = sorted(([float(x) for x in row] for kind in from_spl.values() for row in kind), key=lambda row: row[0])
    wanted = expected(samples)
    assert [row[0] for row in rows] == [time for time, _, _ in wanted]
    assert [row[3] for row in rows] == pytest.approx([power for _, power, _ in wanted])
    assert [row[10] for row in rows] == pytest.approx([score for _, _, score in wanted])


def test_a_burst_is_polarized_in_a_circle_and_interference_in_a_line(example, samples):
    rows = found(example(PYTHON).app().program(), samples)
    strong = {kind: [row for row in found if float(row[3]) > 300] for kind, found in rows.items()}
    assert min(map(len, strong.values())) > 5
    assert all(float(row[5]) < -0.7 for row in strong["bursts.csv"])
    assert all(abs(float(row[5])) < 0.5 for row in strong["interference.csv"])


def test_all_of_it_has_a_generated_form(example):
    program = example(PYTHON).app().program()
    plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
    inner = [pe.index for pe in plan.pes if pe.role not in ("source", "sink")]
    assert [type(generate(program, plan, pe)) for pe in inner] == [Module]


def test_a_spectrum_shows_the_line_that_an_antenna_hears(example):
    module = example(PYTHON)
    rng = random.Random(1)
    heard = [(0, rng.gauss(0.0, 0.3)) for _ in range(400)]
    heard += [(1, rng.gauss(0.0, 0.3) + 0.5 * math.cos(2 * math.pi * 5 * n / 32)) for n in range(400)]
    waves = [(0.0, 0, antenna, 1.0, 0.0, circular, 0.0, 0.0) for antenna, circular in heard]
    seen = apply(module.Spectrum, waves, schema=module.SEEN, output=module.with_lines(module.SEEN, 32), bins=32)
    silent, humming = ([row[-1] for row in seen if row[2] == antenna] for antenna in (0, 1))
    assert humming[-1] > 10 > silent[-1]


def test_what_the_spectrum_claims_is_true_and_outliers_are_the_same_with_it(example, samples):
    module = example(PYTHON)
    without = found(module.app().program(), samples)
    lines = found(verify_models(module.app(bins=16).program()), samples)
    assert {name: [row[:12] + row[13:] for row in rows] for name, rows in lines.items()} == without
