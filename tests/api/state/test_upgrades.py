"""State that another version of a class has left: brought up to date by its `upgrade`, or refused in clear words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from penstock import App, KeyedOperator, Operator
from penstock.api.own_code import OwnCode
from penstock.api.state.upgrades import KEYS, stamp_in, stamp_of
from penstock.base.diagnostics import UserError
from penstock.codegen.build import build
from penstock.codegen.plan.channels import choose_channels
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.write.generate import Module
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.program_changes import compare_programs, describe_program
from stopped_runs import run_some

ROWS = [(f"k{n % 3}", n) for n in range(12)]


def program(owner: type, name: str | None = None) -> Any:
    """A program with the class under the name `K`; classes of two versions have one name."""
    if name is not None:
        owner.__name__ = name
    app = App("Versions")
    rows = app.from_rows(ROWS, "rstring k, int32 x", name="Rows")
    rows.apply(owner, "rstring k, int64 n", name="K").write_csv("out.csv", name="Out")
    return app.program()


def change(then: type, now: type, out: Path, *, strip: bool = False, name: str | None = None, channels: int = 1) -> str:
    """What the second version writes that goes on with the state of the first."""
    state = run_some(program(then, "Versioned"), out, batches=2)
    if strip:
        state = unstamped(state)
    run_some(program(now, name or "Versioned"), out, state, channels=channels)
    return (out / "out.csv").read_text()


def unstamped(state: JobState) -> JobState:
    """The state as it was written before there were stamps."""
    whole, parts = state.operators["K"].memory or ({}, {})
    whole = {n: value[1] if n == "instance" else value for n, value in whole.items()}
    parts = {KEYS if stamp_in(n) else n: part for n, part in parts.items()}
    return replace(state, operators={**state.operators, "K": replace(state.operators["K"], memory=(whole, parts))})


class Counts(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield t.k, self.n


class Tens(KeyedOperator):
    """Has gained `step`, lost `n`, and says how."""

    partition_by = "k"

    def __init__(self):
        self.count, self.step = 0, 10

    def process(self, t):
        self.count += self.step
        yield t.k, self.count

    @classmethod
    def upgrade(cls, old):
        return {"count": 100 * old["n"], "step": 10}


class Mute(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.count, self.step = 0, 10

    def process(self, t):
        self.count += self.step
        yield t.k, self.count


UPGRADED = [(f"k{n % 3}", n // 3 + 1 if n < 6 else 200 + 10 * (n // 3 - 1)) for n in range(12)]
WANTED = "".join(f'"{k}",{n}\n' for k, n in UPGRADED)


@pytest.mark.parametrize("strip", [False, True], ids=["stamped", "without a stamp"])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_keyed_class_that_gained_and_lost_fields_upgrades_its_keys(tmp_path, strip, channels):
    assert change(Counts, Tens, tmp_path, strip=strip, channels=channels) == WANTED


class TensInContainer(Tens):
    """What acts on markers does not run in a loop over columns."""

    def on_punctuation(self, port):
        return ()


def runs_in_loop(owner: type) -> bool:
    made = program(owner)
    plan = physical_plan(made.application, [["K"]], choose_channels(made.application, 1))
    codes = [code for own in build(made, plan).pieces.values() for code in own.made.values()]
    return any(isinstance(code, Module) and "K" in code.classes for code in codes)


def test_a_class_upgrades_in_a_loop_over_columns_and_tuple_by_tuple(tmp_path):
    assert (runs_in_loop(Tens), runs_in_loop(TensInContainer)) == (True, False)
    assert change(Counts, TensInContainer, tmp_path) == WANTED


def test_without_a_hook_the_state_is_refused_with_the_fields_by_name(tmp_path):
    with pytest.raises(UserError) as refused:
        change(Counts, Mute, tmp_path)
    assert (
        "operator `K` (Versioned) cannot go on: its state was left by another version of its class: "
        "`count`, `step` are new, `n` is gone"
    ) in str(refused.value)
    assert "write `@classmethod def upgrade(cls, old)` in `Versioned`" in str(refused.value)


def test_state_that_is_upgraded_is_not_upgraded_again(tmp_path):
    state = run_some(program(Counts, "Versioned"), tmp_path, batches=1)
    for _ in range(3):
        state = run_some(program(Tens, "Versioned"), tmp_path, state, batches=1)
    assert (tmp_path / "out.csv").read_text().splitlines()[3::3] == ['"k0",110', '"k0",120', '"k0",130']
    assert [stamp_in(part) for part in state.operators["K"].memory[1]] == [stamp_of(Tens)]


def test_channels_of_which_only_one_was_upgraded_go_on_together(tmp_path):
    state = run_some(program(Counts, "Versioned"), tmp_path, batches=2)
    whole, parts = state.operators["K"].memory
    ((_, (names, values)),) = parts.items()
    own = {key: value for key, value in values.items() if key == ("k0",)}
    renewed = ("k0",), 0, 0, (("count", "step"), (200, 10)), None, None
    mixed = {
        stamp_of(Counts).keys: (names, {key: value for key, value in values.items() if key not in own}),
        stamp_of(Tens)._replace(name="Versioned").keys: (names, {("k0",): renewed}),
    }
    kept = replace(state.operators["K"], memory=(whole, mixed))
    run_some(program(Tens, "Versioned"), tmp_path, replace(state, operators={**state.operators, "K": kept}))
    assert (tmp_path / "out.csv").read_text() == WANTED


class Total(Operator):
    def __init__(self):
        self.total = 0

    def process(self, t):
        self.total += t.x
        yield t.k, self.total


class Sum(Operator):
    def __init__(self):
        self.seen, self.sum = 0, 0

    def process(self, t):
        self.seen += 1
        self.sum += t.x
        self.submit((t.k, 1000 * self.seen + self.sum))

    @classmethod
    def upgrade(cls, old):
        assert list(old) == ["total"], "what the engine gave is not part of it"
        return {"seen": 0, "sum": old["total"]}


SUMS = [sum(range(n + 1)) + (0 if n < 6 else 1000 * (n - 5)) for n in range(12)]


@pytest.mark.parametrize("strip", [False, True], ids=["stamped", "without a stamp"])
def test_the_only_instance_of_a_class_is_upgraded_and_can_submit(tmp_path, strip):
    change(Total, Sum, tmp_path, strip=strip)
    found = [int(line.split(",")[1]) for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert found == SUMS


def test_a_renamed_class_is_refused_without_a_hook_and_upgraded_with_one(tmp_path):
    with pytest.raises(UserError, match="the class was `Versioned`"):
        change(Total, type("Total", (Total,), {}), tmp_path, name="Another")
    again = tmp_path / "again"
    again.mkdir()
    change(Total, type("Sum", (Sum,), {}), again, name="Another")
    # The program as a whole may say so, too.
    state = run_some(program(Total, "Versioned"), tmp_path, batches=1)
    then = describe_program(program(Total, "Versioned").application)
    with_hook, without = (compare_programs(then, program(c, "Another"), state) for c in (Sum, Mute))
    assert not with_hook.are_lossy
    assert without.changed == {"K": "kind"} | without.changed


def with_version(number: int, **more: Any) -> type:
    return type("Versioned", (Total,), {"version": number, **more})


def test_a_version_says_that_state_means_something_else(tmp_path):
    with pytest.raises(UserError, match="it was version 1, now it is 2"):
        change(Total, with_version(2), tmp_path)
    hook = classmethod(lambda cls, old: {"total": old["total"] + 5000})
    out = tmp_path / "again"
    out.mkdir()
    change(Total, with_version(2, upgrade=hook), out)
    assert (out / "out.csv").read_text().splitlines()[6] == '"k0",5021'
    older = tmp_path / "older"
    older.mkdir()
    change(Total, with_version(2, upgrade=hook), older, strip=True)
    assert (older / "out.csv").read_text() == (out / "out.csv").read_text()


@pytest.mark.parametrize(
    ("upgrade", "told"),
    [
        (lambda cls, old: old["gone"], r"`upgrade` of `Versioned` failed on its old state: KeyError: 'gone'; the old"),
        (lambda cls, old: None, "gave NoneType, not attributes by name"),
        (lambda cls, old: {}, "did not give `seen`, `sum`"),
    ],
)
def test_a_hook_that_is_wrong_is_told_in_clear_words(tmp_path, upgrade, told):
    now = type("Sum", (Sum,), {"upgrade": classmethod(upgrade)})
    with pytest.raises(UserError, match=rf"operator `K` \(Versioned\) cannot go on: .*{told}"):
        change(Total, now, tmp_path)


class Lazy(Operator):
    """Sets attributes late, in its class and not at all: none of this is another version."""

    late = 0

    def __init__(self):
        self.first = True

    def process(self, t):
        if hasattr(self, "first"):
            del self.first
        self.late += 1
        self.now = t.x
        yield t.k, self.late


class LazyToo(Lazy):
    """What a method sets, and what the class has, need not be in the state."""

    more = 7

    def process(self, t):
        self.other = t.x
        yield from super().process(t)


def test_attributes_that_come_and_go_are_no_other_version(tmp_path):
    run_some(program(Lazy, "Versioned"), tmp_path, run_some(program(Lazy), tmp_path, batches=1))
    assert change(Lazy, LazyToo, tmp_path).endswith('"k2",12\n')


def test_an_operator_that_becomes_a_keyed_one_is_refused(tmp_path):
    for then, now in ((Total, Counts), (Counts, Total)):
        with pytest.raises(UserError, match="was left by an operator of another kind"):
            change(then, now, tmp_path)


class Stateful(Operator):
    def __init__(self):
        self.total, self.log = 0, []

    def __getstate__(self):
        return [self.total]

    def __setstate__(self, state):
        self.__init__()
        self.total = state[0]

    def process(self, t):
        self.total += t.x
        self.log.append(t.x)
        yield t.k, self.total


class Stateful2(Stateful):
    version = 2

    @classmethod
    def upgrade(cls, old):
        return [old[0] + 70]


def test_a_class_with_its_own_state_is_asked_by_version_alone(tmp_path):
    change(Stateful, Stateful2, tmp_path)
    assert (tmp_path / "out.csv").read_text().splitlines()[-1] == f'"k2",{sum(range(12)) + 70}'


def slotted(*names: str, **more: Any) -> type:
    def process(self, t):
        self.a += 1
        yield t.k, self.a

    def __init__(self):
        for name in names:
            setattr(self, name, 0)

    body = {"__slots__": names, "partition_by": "k", "process": process, "__init__": __init__, **more}
    return type("Versioned", (KeyedOperator,), body)


def test_slots_are_fields_too(tmp_path):
    with pytest.raises(UserError, match="`b` is new"):
        change(slotted("a"), slotted("a", "b"), tmp_path)
    for gives, told in (({"a": 40, "b": 1}, None), ({"a": 1, "b": 1, "c": 1}, "gave `c`, which instances have no pl")):
        now = slotted("a", "b", upgrade=classmethod(lambda cls, old, gives=gives: gives))
        out = tmp_path / str(told)
        out.mkdir()
        if told is None:
            assert change(slotted("a"), now, out).endswith('"k2",42\n')
        else:
            with pytest.raises(UserError, match=told):
                change(slotted("a"), now, out)


@dataclass
class Seen:
    count: int = 0
    last: list[int] = field(default_factory=list)


SEEN = Seen


@dataclass(frozen=True)
class Frozen:
    at: int


class Holds(KeyedOperator):
    partition_by = "k"

    def __init__(self):
        self.seen, self.frozen = SEEN(), Frozen(3)

    def process(self, t):
        self.seen.count += self.frozen.at - 2
        yield t.k, self.seen.count


def another_seen(bases: tuple[type, ...] = (), **body: Any) -> type:
    kinds = {name: type(value) for name, value in body.items() if name != "upgrade"}
    body = {"count": 0, **body, "__annotations__": {"count": int, "more": list, **kinds}}
    body |= {"__module__": __name__, "__qualname__": "Seen", "more": field(default_factory=list)}
    return dataclass(type("Seen", bases, body))


@pytest.fixture
def fresh_walks(monkeypatch):
    """What the operator's code reaches is looked for again, as in another process."""
    monkeypatch.setattr("penstock.api.instances.own_code_of", OwnCode)
    return monkeypatch


def test_a_dataclass_in_the_state_that_gained_a_field_is_refused_or_upgraded(tmp_path, fresh_walks):
    state = run_some(program(Holds, "Versioned"), tmp_path, batches=2)
    made = program(Holds, "Versioned")
    run_some(made, tmp_path, state, batches=1)
    fresh_walks.setitem(globals(), "SEEN", another_seen())
    with pytest.raises(UserError, match=r"`K` \(Versioned\).*another version of `Seen`: `more` is new, `last` is gone"):
        run_some(made, tmp_path, state)
    hook = classmethod(lambda cls, old: {"count": old["count"] + 50, "more": old["last"]})
    fresh_walks.setitem(globals(), "SEEN", another_seen(upgrade=hook))
    run_some(made, tmp_path, state)
    assert (tmp_path / "out.csv").read_text().splitlines()[-1] == '"k2",54'
    fresh_walks.setitem(globals(), "SEEN", another_seen(upgrade=classmethod(lambda cls, old: {})))
    with pytest.raises(UserError, match="`upgrade` of `Seen` did not give `more`"):
        run_some(made, tmp_path, state)


def test_a_field_with_a_default_needs_no_hook(tmp_path, fresh_walks):
    state = run_some(program(Holds, "Versioned"), tmp_path, batches=2)
    body = {
        "__annotations__": {"count": int, "last": list, "rest": int},
        "__module__": __name__,
        "__qualname__": "Seen",
    }
    made = dataclass(type("Seen", (), {**body, "count": 0, "last": field(default_factory=list), "rest": 5}))
    fresh_walks.setitem(globals(), "SEEN", made)
    run_some(program(Holds, "Versioned"), tmp_path, state)
    assert (tmp_path / "out.csv").read_text().splitlines()[-1] == '"k2",4'
