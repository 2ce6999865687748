"""The interpreter of Spark's workers: what is said when they do not start."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.base.diagnostics import UserError
from penstock.spark.workers.interpreter import check_python, explain_silence, fault_of


def script(folder: Path, text: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def context(python: str, master: str = "local[2]") -> SimpleNamespace:
    return SimpleNamespace(pythonExec=python, master=master)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("echo 'no module named penstock' >&2; exit 1", "no module named penstock"),
        ("exit 3", "it ends with status 3"),
        (f'exec {sys.executable} -S -E -I "$@"', "ModuleNotFoundError: No module named"),
    ],
)
def test_an_interpreter_that_cannot_run_workers_is_told_from_a_busy_machine(tmp_path, text, fault):
    python = script(tmp_path, text)
    assert fault in str(fault_of(python))
    error = explain_silence(context(python))
    assert python in str(error)
    assert fault in str(error)
    assert "busy" not in str(error)
    with pytest.raises(UserError, match="in which there is no Penstock"):
        check_python(context(python))


def test_another_name_of_the_same_interpreter_is_right(tmp_path):
    python = script(tmp_path, f'exec {sys.executable} "$@"')
    assert fault_of(python) is None
    check_python(context(python))
    assert "the machine is busy" in str(explain_silence(context(python)))


def test_of_other_machines_both_causes_are_named():
    error = str(explain_silence(context("/elsewhere/python", "spark://host:7077")))
    assert "`/elsewhere/python` is on every worker" in error
    assert "the machine is busy" in error
    check_python(context("/elsewhere/python", "spark://host:7077"))


def test_where_the_session_is_gone_the_machine_is_named():
    assert "the machine is busy" in str(explain_silence(None))
