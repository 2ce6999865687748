"""A script that ends with a mistake of its own shows that, and none of our frames."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import UserError
from penstock.base.tracebacks import simplify_cause

PROGRAM = """
from penstock import App

def divide(t):
    return {"q": t.a // t.b}

rows = App().from_rows([(1, 0)], "int32 a, int32 b")
rows.map(divide, "int32 q").show()
"""


def shown_by(text: str, folder: Path, **settings: str) -> str:
    script = folder / "script.py"
    script.write_text(text)
    environment = {**os.environ, **settings}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1
    return done.stderr


def test_a_failed_function_is_shown_with_the_users_lines_alone(tmp_path: Path) -> None:
    shown = shown_by(PROGRAM, tmp_path)
    assert 'return {"q": t.a // t.b}' in shown
    assert "ZeroDivisionError: integer division or modulo by zero" in shown
    assert "operator `divide` (divide) failed on {a=1,b=0}" in shown
    assert f"site-packages{os.sep}penstock" not in shown
    assert f"penstock{os.sep}running" not in shown
    assert shown.count("Traceback") == 2


def test_all_frames_are_shown_on_request(tmp_path: Path) -> None:
    assert f"penstock{os.sep}running" in shown_by(PROGRAM, tmp_path, PENSTOCK_TRACEBACKS="full")


def test_an_error_that_is_not_about_the_program_keeps_its_traceback(tmp_path: Path) -> None:
    shown = shown_by("from penstock import App\nApp().from_rows(1 / 0, 'int32 a')\n", tmp_path)
    assert shown.endswith("ZeroDivisionError: division by zero\n")


def read() -> None:
    try:
        {}["key"]
    except KeyError:
        raise ValueError("no key") from None


def fail() -> None:
    try:
        read()
    except ValueError as error:
        raise UserError("operator `f` failed") from error


def test_what_the_users_code_did_about_an_error_is_kept() -> None:
    with pytest.raises(UserError) as raised:
        fail()
    simplify_cause(raised.value)
    assert isinstance(raised.value.__cause__, ValueError)
    assert raised.value.__cause__.__suppress_context__
