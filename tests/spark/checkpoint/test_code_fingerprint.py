"""What a change of Python code is, and what is none."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from compiling import compile_fused
from penstock import App, KeyedOperator
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.runtime.verify.verify_models import verify_models, verify_some
from penstock.spark.checkpoint.code_fingerprint import fingerprint_code
from penstock.spark.checkpoint.plan_record import claim
from penstock.spark.job.pickling import ship_user_modules
from penstock.spark.sources.data_source import dump, load_job

TEXT = '''
import helping
from helping import scaled
from penstock import App, Operator, map_, source

LIMIT = 5
NAMES = {"b", "a", "c", "d"}
TABLE = {"x": [1, 2], "y": (3.5, None)}


@source
def numbers():
    for n in range(8):
        yield (n,)


def double(x):
    """Twice as much."""
    return 2 * x


def adder(n):
    def add(t):
        return (t.x + n,)
    return add


@map_
def shift(t, by: int = 3):
    """Shift by something."""
    y = double(t.x) + by
    return (y if str(y) not in NAMES and TABLE else LIMIT + scaled(y) + helping.other(y),)


class Base(Operator):
    step = 1

    def count(self):
        self.seen = getattr(self, "seen", 0) + self.step
        return self.seen


class Count(Base):
    """Counts."""

    def process(self, t):
        self.submit((self.count() + t.x,))


app = App("Test")
a = app.source(numbers, "int64 x")
b = a.map(shift, "int64 x", name="shifted")
c = b.map(adder(7), "int64 x", name="added")
d = c.apply(Count, "int64 x", name="counted")
d.write_file("out.csv")
'''
HELPING = "def scaled(x):\n    return 3 * x\n\ndef other(x):\n    return x\n\ndef unused(x):\n    return x\n"


def _program(folder, text=TEXT, helping=HELPING):
    folder.mkdir(exist_ok=True)
    (folder / "helping.py").write_text(helping)
    (folder / "apps.py").write_text(text)
    for name in ("helping", "apps"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules["apps"].app.program()


@pytest.fixture
def without_traces():
    yield
    for name in ("helping", "apps"):
        sys.modules.pop(name, None)


def _changed(tmp_path, old, new, helping=HELPING):
    before = fingerprint_code(_program(tmp_path / "a"))
    assert old in TEXT
    after = fingerprint_code(_program(tmp_path / "b", TEXT.replace(old, new), helping))
    assert before.keys() == after.keys()
    return {id_ for id_ in before if before[id_] != after[id_]}


def test_every_operator_in_python_has_a_fingerprint_and_no_other(tmp_path, without_traces):
    program = _program(tmp_path)
    python = {o.id for o in program.application.operators if o.kind != "FileSink"}
    assert fingerprint_code(program).keys() == python
    assert len(python) == 4


def test_operators_that_are_checked_as_they_run_have_the_same_fingerprints(tmp_path, without_traces):
    program = _program(tmp_path)
    wanted = fingerprint_code(program)
    assert fingerprint_code(verify_some(program)) == fingerprint_code(verify_models(program)) == wanted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Twice as much."""', '"""Another text."""'),
        ('"""Counts."""', '"""Something else."""'),
        ("LIMIT = 5", "# a comment\n\n\nLIMIT = 5"),
        ("y = double(t.x) + by", "y = double(t.x) + by  # a comment"),
        ("def double(x):", "def double(x: int) -> int:"),
        ('NAMES = {"b", "a", "c", "d"}', 'NAMES = {"d", "c", "b", "a"}'),
        ('TABLE = {"x": [1, 2], "y": (3.5, None)}', 'TABLE = {"y": (3.5, None), "x": [1, 2]}'),
    ],
)
def test_what_changes_nothing_that_runs_is_no_change(tmp_path, without_traces, old, new):
    assert _changed(tmp_path, old, new) == set()


def test_a_function_that_no_operator_uses_is_no_change(tmp_path, without_traces):
    assert (
        _changed(tmp_path, "", "", HELPING.replace("def unused(x):\n    return x", "def unused(x):\n    return -x"))
        == set()
    )


@pytest.mark.parametrize(
    ("old", "new", "operator"),
    [
        ("range(8)", "range(9)", "numbers"),
        ("LIMIT = 5", "LIMIT = 6", "shifted"),
        ('"d"}', '"e"}', "shifted"),
        ("[1, 2]", "[1, 3]", "shifted"),
        ("3.5, None", "3.5, 0", "shifted"),
        ("return 2 * x", "return 2 + x", "shifted"),
        ("by: int = 3", "by: int = 4", "shifted"),
        ("str(y)", "repr(y)", "shifted"),
        ("adder(7)", "adder(8)", "added"),
        ("t.x + n,", "t.x - n,", "added"),
        ("step = 1", "step = 2", "counted"),
        ('"seen", 0', '"seen", 1', "counted"),
        ("self.count() + t.x", "self.count() * t.x", "counted"),
    ],
)
def test_a_change_is_told_of_the_operators_that_run_it(tmp_path, without_traces, old, new, operator):
    assert {id_.lower() for id_ in _changed(tmp_path, old, new)} == {operator}


@pytest.mark.parametrize("old", ["return 3 * x", "other(x):\n    return x"])
def test_a_change_in_a_module_of_the_users_own_is_told(tmp_path, without_traces, old):
    assert _changed(tmp_path, "", "", HELPING.replace(old, old + " + 1")) == {"shifted"}


def test_a_watched_operator_has_the_fingerprint_of_what_is_watched(tmp_path, without_traces):
    program = _program(tmp_path)
    assert fingerprint_code(verify_models(program)) == fingerprint_code(program)


def test_other_processes_find_the_same_fingerprints(tmp_path, without_traces):
    mine = fingerprint_code(_program(tmp_path))
    code = (
        "import apps\nfrom penstock.spark.checkpoint.code_fingerprint import fingerprint_code\n"
        "print(sorted(fingerprint_code(apps.app.program()).items()))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(tmp_path)}
        told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert told.stdout.strip() == str(sorted(mine.items()))


def test_a_stateless_operator_is_resumed_with_a_notice_and_one_with_state_is_asked_for(tmp_path, without_traces):
    def resume(text, **options):
        program = _program(tmp_path / "app", text)
        plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
        told = []
        resumed = claim(tmp_path / "job", plan, fingerprint_code(program), notice=told.append, **options)
        return resumed, told

    assert resume(TEXT) == (False, [])
    assert resume(TEXT) == (True, [])
    changed = TEXT.replace("t.x + n,", "t.x - n,")
    ((_, told), (_, again)) = resume(changed), resume(changed)
    assert (len(told), again) == (1, [])
    assert told[0].startswith("the Python code of `added` has changed")
    other = changed.replace("step = 1", "step = 2")
    for _ in range(2):
        with pytest.raises(UserError, match=r"code of `\w+` has changed .* it has state; --accept-changed-code"):
            resume(other)
    assert resume(other, accept_changed_code=True)[0]
    assert resume(other) == (True, [])


class Sized(KeyedOperator):
    """Has an attribute by the name of a global, which it does not mean."""

    partition_by = "os"

    def __init__(self):
        self.sys = 0

    def process(self, t):
        self.sys += 1
        yield {"os": t.os, "sys": self.sys}


def test_a_class_that_was_pickled_by_value_and_read_again_has_the_same_fingerprint(tmp_path):
    """Taking a savepoint reads the program again, in the process that goes on with it."""
    made = App("Sizes").from_rows([(1,)], "int32 os", name="A").apply(Sized, "int32 os, int32 sys", name="B")
    made.write_file("out", name="Out")
    program = made.app.program()
    before = fingerprint_code(program)
    job = compile_fused(program, [["B"]])
    ship_user_modules(program)
    dump(program, job.plan, job.options.environment, job.build, tmp_path / "program.pickle")
    (read, _, _), _ = load_job(str(tmp_path / "program.pickle"))
    assert fingerprint_code(read) == before == fingerprint_code(program)
