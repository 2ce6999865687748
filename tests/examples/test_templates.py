"""A job with three templates: which one is admitted depends on the capacity."""

from __future__ import annotations

import pytest

from penstock.expr.environment import Environment
from penstock.lang import compile_file
from penstock.scheduler.io.admission_format import problem_from_json
from penstock.scheduler.macroq.macroq import solve
from penstock.testing import run

SIZES = {"Basic": 4, "Cleaned": 5, "Settled": 6}


@pytest.mark.parametrize(("mips", "template"), [(5000, "basic"), (9000, "cleaned"), (16000, "settled")])
def test_the_capacity_decides_which_template_is_admitted(example, mips, template):
    answer = solve(problem_from_json(example("templates/make_jobs.py").problem(mips)))
    assert answer.jobs["alarms"].template == template


def test_more_capacity_never_lowers_the_importance(example):
    make = example("templates/make_jobs.py").problem
    values = [solve(problem_from_json(make(mips))).importance for mips in range(2000, 18000, 2000)]
    assert values == sorted(values)
    assert values[0] < values[-1]


@pytest.mark.parametrize(("main", "size"), SIZES.items())
def test_each_template_is_a_program_with_as_many_operators_as_it_has_pes(example, examples, main, size):
    application = compile_file(examples / "templates/templates.spl", main=main).application
    templates = example("templates/make_jobs.py").TEMPLATES
    assert len(application.operators) - 2 == size == len(templates[main.lower()][0])


def test_a_better_template_leaves_false_alarms_out(example, examples, tmp_path):
    example("templates/generate.py").generate(tmp_path / "readings.csv", readings=8000)
    alarms = {}
    for main in SIZES:
        program = compile_file(examples / "templates/templates.spl", main=main)
        run(program, environment=Environment(data_directory=tmp_path, output_directory=tmp_path))
        alarms[main] = (tmp_path / "alarms.csv").read_text().splitlines()
    assert any("-9999" in line for line in alarms["Basic"])
    assert not any("-9999" in line for line in alarms["Cleaned"])
    assert 0 < len(alarms["Settled"]) < len(alarms["Cleaned"])
    assert set(alarms["Settled"]) < set(alarms["Cleaned"])
