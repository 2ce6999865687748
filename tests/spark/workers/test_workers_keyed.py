"""State of the application's own classes, and keyed operators, on Spark: on channels, in small batches, resumed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from penstock import App, KeyedOperator, Operator, after, source
from spark_session import assert_equal_on_spark, everything_fused, nothing_fused

pytestmark = pytest.mark.xdist_group("spark")

APPLICATION = '''
"""Sessions of users, with classes of its own in their state."""

import enum
from dataclasses import dataclass, field

from penstock import App, KeyedOperator, Operator, after, source


class Mood(enum.Enum):
    CALM = 1
    WILD = 2


@dataclass
class Account:
    total: int = 0
    mood: Mood = Mood.CALM
    seen: set = field(default_factory=set)


class Accounts(KeyedOperator):
    partition_by, ttl = "k", 0.05

    def __init__(self):
        self.account = Account()

    def process(self, t):
        self.wake(0.013)
        self.account.total += t.x
        self.account.mood = Mood.WILD if self.account.total > 900 else Mood.CALM
        self.account.seen.add(t.x % 7)
        if self.account.mood is Mood.WILD:
            yield {"k": t.k, "told": f"{self.account.total} {sorted(self.account.seen)}"}

    def on_wake(self):
        yield {"k": self.key.k, "told": f"awake {self.now:.3f}"}

    def on_expire(self):
        assert isinstance(self.account, Account)
        yield {"k": self.key.k, "told": f"gone {self.account.total} {self.account.mood is Mood.WILD}"}


class All(Operator):
    def __init__(self):
        self.accounts = {}

    def process(self, t):
        account = self.accounts.setdefault(t.k, Account())
        account.total += 1
        yield {"k": t.k, "told": f"{t.told} {account.total}"}


@source
def steps():
    for x in range(1200):
        yield {"k": x * x % 23, "x": x}
        yield after(0.001)


app = App("Sessions")
ticks = app.source(steps, "int32 k, int32 x", name="A")
told = ticks.apply(Accounts, "int32 k, rstring told", name="B")
told.apply(All, name="C").write_file("out.csv", name="Sink")
'''


class Account:
    def __init__(self):
        self.seen = []


class Told(KeyedOperator):
    """Wakes, expires, and gives any number of tuples."""

    ttl = 1.0

    def __init__(self):
        self.account = Account()

    def process(self, t):
        self.account.seen.append(t)
        if t.n % 3:
            self.wake(t.n % 3 / 2)
        for _ in range(t.n % 3):
            yield t

    def on_wake(self):
        assert type(self.account) is Account
        yield {"k": self.account.seen[-1].k, "n": 100 + len(self.account.seen)}

    def on_expire(self):
        yield {"k": self.account.seen[0].k, "n": 200 + sum(t.n for t in self.account.seen)}


class Listening(Operator):
    """Keeps instances of a class of the application, and changes what it is given."""

    def __init__(self):
        self.accounts = {}

    def process(self, t):
        account = self.accounts.setdefault(t.k, Account())
        account.seen.append(t.n)
        yield {"k": t.k, "n": sum(account.seen) % 1000}


@source
def steps():
    for n in range(40):
        yield {"k": "abc"[n * n % 3], "n": n % 7}
        if n % 4 == 0:
            yield after(0.25 + n % 3)


def test_keyed_operators_and_classes_in_state_give_on_spark_what_the_reference_gives(tmp_path):
    app = App("Keyed")
    given = app.source(steps, "rstring k, int32 n", name="A")
    told = given.apply(Told, name="B", partition_by="k")
    again = told.apply(Told, name="C", partition_by="n", ttl=0.75)
    again.apply(Listening, name="D").write_file("d.csv", name="SinkD")
    told.write_file("b.csv", name="SinkB")
    program = app.program()
    assert_equal_on_spark(program, tmp_path, fusions=(everything_fused,), turns_per_batch=30)
    assert_equal_on_spark(program, tmp_path, fusions=(nothing_fused,), turns_per_batch=25, channels=3)


START = ("--start-time", "2026-01-31T12:00:00")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock.cli", "run", "sessions.py:app", "--data", ".", *START, *arguments]


def test_state_of_the_applications_classes_is_resumed_and_a_class_that_is_gone_is_named(tmp_path):
    (tmp_path / "sessions.py").write_text(APPLICATION)
    subprocess.run(command("--engine", "reference", "--out", "wanted"), cwd=tmp_path, check=True)
    on_spark = command("--channels", "2", "--batch", "300", "--checkpoint", "c", "--out", "found", "--json")
    running = subprocess.Popen(on_spark, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while not (line := running.stderr.readline()).startswith("batch"):
        assert line, "it ended before the first batch"
    running.send_signal(signal.SIGINT)
    _, messages = running.communicate(timeout=300)
    assert running.returncode == 130, messages
    (tmp_path / "sessions.py").write_text(APPLICATION.replace("Account:", "Renamed:").replace("Account()", "Renamed()"))
    accepting = [*on_spark, "--accept-changed-code"]
    refused = subprocess.run(accepting, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert refused.returncode == 1
    assert "the class `Account` of `sessions`, which the state refers to, is no more" in refused.stderr
    (tmp_path / "sessions.py").write_text(APPLICATION)
    resumed = subprocess.run(accepting, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert json.loads(resumed.stdout)["resumed"]
    assert (tmp_path / "found" / "out.csv").read_bytes() == (tmp_path / "wanted" / "out.csv").read_bytes()
