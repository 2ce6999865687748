"""State that refers to the application's own classes and functions, restored where only the operator's code came."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App, Operator
from penstock.api.instances import dump_state, load_state
from penstock.api.own_code import OwnCode, is_own
from penstock.base.diagnostics import UserError
from penstock.testing import feed

HELPER = """
class Base:
    def __init__(self):
        self.seen = []
"""

APPLICATION = """
import enum, sys, pickle
from collections import defaultdict, namedtuple
from dataclasses import dataclass, field
import helper
from penstock import App, Operator
from penstock.testing import feed

class Mood(enum.Enum):
    CALM = 1
    WILD = 2

@dataclass
class Acc:
    total: int = 0
    mood: Mood = Mood.CALM
    made = 0
    notes: list = field(default_factory=list)

Point = namedtuple("Point", "x y")
MISSING = object()

def doubled(n):
    return 2 * n

def local():
    class Inner(helper.Base):
        __slots__ = ("n",)
        def bump(self):
            self.n = getattr(self, "n", 0) + 1
            return self.n
    return Inner

Inner = local()

class Keeper(Operator):
    def __init__(self):
        self.accs = {}
        self.last = MISSING
        self.counts = defaultdict(lambda: [0])
        self.inner = Inner()
        self.function = doubled
        factor = 3
        self.times = lambda n: n * factor + self.count
        self.handler = self.handle
        self.me = self
        self.count = 0
        self.gone = 1

    def handle(self, acc):
        assert isinstance(acc, Acc) and type(acc) is Acc
        return acc.mood is Mood.WILD

    def process(self, t):
        if self.count == 1 and hasattr(self, "gone"):
            del self.gone
        acc = self.accs.setdefault(t.s, Acc())
        first = self.last is MISSING
        self.last = Point(t.n, t.s) if t.n % 4 else MISSING
        acc.total += t.n
        acc.mood = Mood.WILD if acc.total > 10 else Mood.CALM
        self.me.count += 1
        self.counts[t.s][0] += 1
        told = (first, self.handler(acc), self.counts[t.s], self.inner.bump(), self.function(t.n), self.times(t.n))
        self.inner.seen.append(acc)
        same = self.inner.seen[0] is self.accs[sorted(self.accs)[0]]
        yield (t.s, f"{told} {same} {self.me is self} {hasattr(self, 'gone')} {isinstance(self.inner, Inner)}")

def program():
    app = App("Kept")
    rows = [(n, "ab"[n % 2]) for n in range(12)]
    app.source(feed(rows), "int32 n, rstring s", name="A").apply(Keeper, "rstring s, rstring told", name="K")
    return app.program()

if __name__ == "__main__":
    from pyspark import cloudpickle
    cloudpickle.register_pickle_by_value(helper)
    with open(sys.argv[1], "wb") as file:
        file.write(cloudpickle.dumps(program()))
"""

WORKER = """
import pickle, sys
from pathlib import Path
from cutting import Session
from penstock.expr.environment import Clock, Environment
from penstock.base.diagnostics import UserError

program, state, steps = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
session = Session(pickle.loads(program.read_bytes()), Environment(clock=Clock())).start()
try:
    if state.exists():
        session.restore(state.read_bytes())
except UserError as error:
    sys.exit(str(error))
for _ in range(steps):
    session.step()
for _, stream, item in session.seen:
    if stream == "K" and isinstance(item, tuple):
        print(item[1])
state.write_bytes(session.snapshot())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "application.py").write_text(APPLICATION)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "worker.py").write_text(WORKER)
    return tmp_path


def ship(folder: Path) -> None:
    """Pickle the program as a script of its own does: its classes are those of `__main__`."""
    subprocess.run([sys.executable, "application.py", "program.pickle"], cwd=folder, check=True)


def work(folder: Path, state: str, steps: int) -> subprocess.CompletedProcess[str]:
    """Take some items in a process that cannot import the application."""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "worker.py", "../program.pickle", f"../{state}", str(steps)]
    surroundings = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        command, cwd=folder / "elsewhere", env=surroundings, capture_output=True, text=True, check=False
    )


def test_state_of_the_applications_classes_goes_on_in_other_processes(folder):
    ship(folder)
    whole = work(folder, "whole", 20)
    assert whole.returncode == 0, whole.stderr
    assert len(whole.stdout.splitlines()) == 12
    pieces = [work(folder, "cut", steps) for steps in (3, 2, 15)]
    assert [piece.stderr for piece in pieces] == ["", "", ""]
    assert "".join(piece.stdout for piece in pieces) == whole.stdout
    renamed = APPLICATION.replace("Acc", "Account")
    (folder / "application.py").write_text(renamed)
    ship(folder)
    refused = work(folder, "cut", 1)
    assert refused.returncode == 1
    assert "the state of operator `K` (Keeper) cannot be restored: the class `Acc` of `__main__`" in refused.stderr
    assert "give it its old name and place again" in refused.stderr


def operator_of(owner: type[Operator]):
    app = App("One")
    app.source(feed([]), "int32 n", name="A").apply(owner, name="K")
    return app.program().application.operator["K"]


def test_a_class_that_is_made_while_the_operator_runs_is_refused():
    class Making(Operator):
        def process(self, t):
            class Made:
                pass

            self.made = Made()

    making = Making()
    making.process(None)
    with pytest.raises(UserError, match=r"the attribute `made` of operator `K` .* is made while the operator runs"):
        dump_state(making, {}, operator_of(Making))


def make_class(number: int) -> type:
    class Same:
        value = number

    return Same


ONE, TWO = make_class(1), make_class(2)


def test_two_classes_of_one_name_are_refused():
    class Confused(Operator):
        def process(self, t):
            self.kept = [ONE(), TWO()]

    confused = Confused()
    confused.process(None)
    with pytest.raises(UserError, match=r"there are two things named `make_class.<locals>.Same`"):
        dump_state(confused, {}, operator_of(Confused))


def test_what_an_instance_has_deleted_does_not_come_back():
    class Deleting(Operator):
        __slots__ = ("slot",)

        def __init__(self):
            self.slot = self.attribute = 1

    first, second = Deleting(), Deleting()
    del first.slot, first.attribute
    load_state(second, dump_state(first, {}, operator_of(Deleting)), {}, operator_of(Deleting))
    assert not hasattr(second, "attribute")
    assert not hasattr(second, "slot")


def test_a_script_and_a_module_name_the_same_class():
    class Account:
        pass

    class Keeper(Operator):
        def process(self, t):
            return [Account]

    code = OwnCode(Keeper)
    kind, _, text = code.name_of(Account)
    assert code.find((kind, "__main__", text)) is Account
    with pytest.raises(LookupError, match="is no more"):
        code.find((kind, "elsewhere", text))


def test_what_is_installed_is_no_code_of_the_application():
    assert is_own(__name__)
    assert not is_own(pytest.__name__)
    assert not is_own(pickle.__name__)
