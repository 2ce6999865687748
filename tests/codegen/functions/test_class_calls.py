"""Classes of the user's in a loop over a batch give what a container gives, tuple by tuple."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pes import assert_same, end, inner_pe, plan_of

from penstock import App, KeyedOperator, Operator, OperatorModel, Output, State
from penstock.base.diagnostics import UserError
from penstock.codegen.functions.instance_table import memory_of
from penstock.codegen.plan.physical import physical_plan
from penstock.codegen.plan.pieces import pieces_of
from penstock.codegen.transport.batches import PULSE, PULSE_NUMBER, REPORT, TUPLE, WINDOW, Item, encode
from penstock.codegen.write.generate import Module, generate
from penstock.expr.environment import Environment
from penstock.reference.failure import OperatorFailed
from penstock.runtime.pes.container import Container
from penstock.runtime.pes.instances import instance_maker, run_in_container
from penstock.runtime.verify.verify_models import FIRST_TUPLES, verify_some
from penstock.testing import apply, feed, outputs

SCHEMA = "int64 n, rstring s, float64 f"


class Numbered(KeyedOperator):
    """Counts and sums by key."""

    partition_by = "s"

    def __init__(self, step: int = 1):
        self.step, self.count, self.total = step, 0, 0.0

    def process(self, t):
        self.count += self.step
        self.total += t.f
        yield {"n": self.count, "s": t.s, "f": self.total}


class ByFloat(Numbered):
    partition_by = "f"


class ByTwo(Numbered):
    partition_by = ("s", "n")


class Falsy(Numbered):
    """An instance that is false."""

    def __len__(self):
        return 0


class Timed(Numbered):
    def process(self, t):
        yield {"n": t.n, "s": self.key.s, "f": self.now}


class Same(Numbered):
    """Gives one dict again and again, and goes on changing it."""

    def __init__(self):
        self.made = {"n": 0, "s": "", "f": 0.0}

    def process(self, t):
        for i in range(t.n % 3):
            self.made["n"] += i
            self.made["s"] = t.s
            yield self.made


class Listed(Numbered):
    """Gives lists, tuples, rows or nothing; by yielding it and by submitting it."""

    def process(self, t):
        self.count += 1
        if t.n % 4 == 0:
            return None
        if t.n % 4 == 1:
            return [t, (self.count, t.s, t.f)]
        self.submit(t)
        return iter([{"n": self.count, "s": "", "f": 0.5}])


class Catching(Numbered):
    """Submits what does not fit, and something else instead."""

    def process(self, t):
        try:
            self.submit({"n": "text" if t.n % 2 else t.n, "s": t.s, "f": t.f})
        except Exception as error:
            self.submit((t.n, str(error), t.f))


class Kept(Operator):
    """Remembers the rows themselves."""

    def __init__(self):
        self.rows = []

    def process(self, t):
        self.rows.append(t)
        yield self.rows[len(self.rows) // 2]


class ByDict(Operator):
    """Counts by key in a dictionary of its own, and submits by a function that is not its own."""

    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.s] = self.counts.get(t.s, 0) + t.n
        submit_twice(self, t.s, t.f)
        yield {"n": self.counts[t.s], "s": t.s, "f": t.f}
        submit_twice(self, "behind", t.f)


def submit_twice(operator, s, f):
    operator.submit((1, s, f))
    operator.submit({"n": 2, "s": s, "f": f})


class Moving(Numbered):
    """Goes over to another method."""

    def process(self, t):
        self.process = self.second
        yield (1, t.s, t.f)

    def second(self, t):
        yield (2, t.s, t.f)


CLASSES = [Numbered, ByFloat, ByTwo, Falsy, Timed, Same, Listed, Catching, Kept, ByDict, Moving]


def chain(*kinds: Any, schema: str = SCHEMA, **options: Any):
    app = App("Test")
    stream = app.source(feed([]), schema, name="A")
    for i, kind in enumerate(kinds):
        stream = stream.apply(kind, name=f"C{i}", **options)
    stream.write_file("out.csv", name="Sink")
    return app.program()


def rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    chosen = random.Random(seed)
    floats = [0.0, -0.0, 1.5, float("nan"), float("nan"), 1e300]
    return [(chosen.randrange(7), chosen.choice("abc"), chosen.choice(floats)) for _ in range(count)]


def batches(edges: list[int], seed: int = 1, sizes: tuple[int, ...] = (5, 0, 40), *, marks: bool = True):
    """Batches of items that come by edges in turn, at times that stand still now and then."""
    chosen, number, time_ns, found = random.Random(seed), 0, 0, []
    for size in sizes:
        batch = []
        for row in rows(seed + number, size):
            number += 1
            time_ns += chosen.choice([0, 0, 1_000_000_000])
            edge = edges[number % len(edges)]
            batch.append((edge, Item(time_ns, number, b"0000", TUPLE, row)))
            if marks and chosen.random() < 0.2:
                number += 1
                batch.append((edge, Item(time_ns, number, b"0000", WINDOW)))
        batch += [(edge, Item(time_ns, PULSE_NUMBER, b"", PULSE)) for edge in edges]
        found.append(batch)
    return found


def is_generated(program) -> bool:
    plan = plan_of(program)
    return isinstance(generate(program, plan, inner_pe(plan)), Module)


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("is_checked", [False, True])
def test_a_class_gives_what_a_container_gives(kind, is_checked):
    program = chain(kind)
    program = verify_some(program) if is_checked else program
    plan = plan_of(program)
    edges = [e.index for e in plan.into(inner_pe(plan))]
    given = batches(edges)
    given.append([(edges[0], end(10**12, b"0000")), (edges[0], Item(10**12, PULSE_NUMBER, b"", PULSE))])
    assert_same(program, plan, inner_pe(plan), given)


def test_classes_stand_in_one_module_with_others_between():
    app = App("Test")
    stream = app.source(feed([]), SCHEMA, name="A").apply(Numbered, name="C0").filter(lambda t: t.n % 2 == 1, name="F")
    stream.apply(Listed, name="C1").write_file("out.csv", name="Sink")
    program = app.program()
    plan = plan_of(program)
    assert_same(program, plan, inner_pe(plan), batches([e.index for e in plan.into(inner_pe(plan))]))


def test_more_tuples_than_are_checked_and_than_become_columns_at_once():
    program = verify_some(chain(Listed))
    plan = plan_of(program)
    edges = [e.index for e in plan.into(inner_pe(plan))]
    assert_same(program, plan, inner_pe(plan), batches(edges, sizes=(FIRST_TUPLES - 3, 5000), marks=False))


class Ports(Operator):
    """Sends to two ports in any order."""

    outputs = 2
    model = OperatorModel(state=State.PARTITIONED, partition_by=(frozenset({"s"}),))

    def __init__(self):
        self.count = 0

    def process(self, t):
        self.count += 1
        if t.n % 2:
            self.submit((t.n, t.s), 1)
        yield {"n": self.count, "s": t.s, "f": t.f}
        if t.n % 3:
            self.submit({"n": -t.n, "s": t.s}, port=1)
            yield t


class Both(KeyedOperator):
    """Takes two ports, tells of their turns, and gives by two."""

    partition_by, inputs, outputs = "s", 2, 2

    def __init__(self):
        self.seen = []

    def process_port(self, t, port):
        self.seen.append(port)
        self.submit((len(self.seen), t.s), 1)
        yield t.n, "".join(map(str, self.seen[-5:])), t.f


OUTPUTS = [Output(schema=SCHEMA, name="O0"), Output(schema="int64 n, rstring s", name="O1")]


def joined(kind: Any, *, twice: bool = False):
    """A program in which the two outputs of a class meet again."""
    app = App("Test")
    first = app.source(feed([]), SCHEMA, name="A")
    second = first if twice or kind.inputs == 1 else app.source(feed([]), SCHEMA, name="B")
    whole, short = app.invoke(kind, *([first] if kind.inputs == 1 else [first, second]), outputs=OUTPUTS)
    short.union(whole.map(lambda t: (t.n + 1, t.s), "int64 n, rstring s", name="M"), name="U").write_file("out.csv")
    whole.write_file("whole.csv")
    return app.program()


@pytest.mark.parametrize("kind", [Ports, Both], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("is_checked", [False, True])
def test_several_ports_are_served_in_the_sequential_order(kind, twice, is_checked):
    program = joined(kind, twice=twice)
    program = verify_some(program) if is_checked else program
    plan = plan_of(program)
    edges = [e.index for e in plan.into(inner_pe(plan))]
    assert_same(program, plan, inner_pe(plan), batches(edges, sizes=(9, 60)))


class Holding(KeyedOperator):
    """Gives lists that it goes on changing, its own and those of rows."""

    partition_by = "n"

    def __init__(self):
        self.seen = []

    def process(self, t):
        t.xs.append(0)
        self.seen.append(t.n)
        yield {"n": t.n, "xs": self.seen}
        yield t


def test_what_is_given_is_ours_at_once():
    schema = "int64 n, list<int64> xs"
    program = chain(Holding, Holding, schema=schema)
    plan = plan_of(program)
    (edge,) = plan.into(inner_pe(plan))
    items = [(edge.index, Item(0, i, b"0000", TUPLE, (i % 2, [i]))) for i in range(9)]
    assert_same(program, plan, inner_pe(plan), [items, items])


class Setting:
    """A program of one PE, which may fail."""

    def __init__(self, program) -> None:
        self.program = program
        self.plan = physical_plan(program.application, [[o.id for o in program.application.operators]])
        self.pe = inner_pe(self.plan)
        self.pieces = pieces_of(program, self.plan, self.pe)
        assert self.pieces.modules
        self.schema = self.plan.application.streams["A"].schema

    def values(self, *given: tuple[Any, ...]) -> list[tuple[int, bytes]]:
        (edge,) = self.plan.into(self.pe)
        items = [Item(0, i, b"0000", TUPLE, row) for i, row in enumerate(given)]
        return [(edge.index, value) for value in encode(items, self.schema)]

    def failure(self, *parts: list[tuple[int, bytes]], by_container: bool = False) -> OperatorFailed:
        """The failure of the last batch."""
        with pytest.raises(OperatorFailed) as failed:
            self._run_in_container(parts) if by_container else self._run(parts)
        return failed.value

    def _run_in_container(self, parts: Sequence[list[tuple[int, bytes]]]) -> None:
        whole = [value for part in parts for value in part]
        list(run_in_container(self.program, self.plan, self.pe, Environment(), whole))

    def _run(self, parts: Sequence[list[tuple[int, bytes]]]) -> None:
        """Run batch after batch, the state stored and restored in between."""
        state = None
        for part in parts:
            instance = instance_maker(self.program, self.plan, self.pieces, Environment())()
            if state is not None:
                instance.restore(state)
            list(instance.process_batch(part))
            state = instance.snapshot()


class Failing(Numbered):
    """Fails on the third tuple of a key, in one of several ways."""

    def process(self, t):
        self.count += 1
        yield t
        if self.count == 3:
            if t.n == 0:
                yield {"n": "text", "s": t.s, "f": t.f}
            elif t.n == 1:
                raise StopIteration("over")
            elif t.n == 2:
                yield {"n": 2**63, "s": t.s, "f": t.f}
            self.submit(t, 1)


class FailingAtBirth(Numbered):
    def __init__(self):
        self.count = {}["count"]


@pytest.mark.parametrize("n", range(4))
@pytest.mark.parametrize("kind", [Failing, FailingAtBirth])
def test_a_failure_is_told_as_a_container_tells_it(n, kind):
    setting = Setting(chain(kind))
    first = [(5, "a", 0.0)] if kind is Failing else []
    parts = [setting.values(*first), setting.values((6, "b", 0.0), (7, "a", 0.5), (n, "a", 1.5), (8, "b", 0.0))]
    found, expected = setting.failure(*parts), setting.failure(*parts, by_container=True)
    assert str(found) == str(expected)
    assert found.record is not None


def test_a_failure_behind_a_class_comes_before_a_later_one_of_the_class():
    app = App("Test")
    stream = app.source(feed([]), SCHEMA, name="A").apply(Failing, name="C0")
    stream.map(lambda t: (10 // t.n, t.s, t.f), SCHEMA, name="M").write_file("out.csv", name="Sink")
    setting = Setting(app.program())
    batch = setting.values((5, "a", 0.0), (0, "b", 0.0), (7, "a", 0.5), (1, "a", 1.5))
    assert str(setting.failure(batch)) == str(setting.failure(batch, by_container=True))


def test_a_class_that_lies_in_its_model_is_caught():
    class Lying(Operator):
        model = OperatorModel(state=State.STATELESS)

        def __init__(self):
            self.count = 0

        def process(self, t):
            self.count += 1
            yield {"n": self.count, "s": t.s, "f": t.f}

    setting = Setting(verify_some(chain(Lying)))
    with pytest.raises(OperatorFailed, match="its model says that it is stateless"):
        list(
            instance_maker(setting.program, setting.plan, setting.pieces, Environment())().process_batch(
                setting.values(*rows(1, 9))
            )
        )


def test_the_state_of_a_class_has_the_memory_of_its_runtime_so_a_container_goes_on_with_it():
    setting = Setting(chain(Numbered))
    first = instance_maker(setting.program, setting.plan, setting.pieces, Environment())()
    list(first.process_batch(setting.values((1, "a", 0.5), (2, "b", 1.0))))
    (piece,) = first.snapshot()["pieces"]
    container = Container(setting.program, setting.plan, setting.pe, Environment())
    container.node["C0"].runtime.restore(memory_of(piece["operators"]["C0"]))
    (edge,) = setting.plan.into(setting.pe)
    container.take([(edge.index, Item(0, 5, b"0000", TUPLE, (1, "b", 2.0)))])
    assert [item.tuple_ for items in container.leaving.values() for item in items] == [(2, "b", 3.0)]


@pytest.mark.parametrize("in_container", [False, True])
def test_a_class_that_has_seen_nothing_yet_is_restored(in_container):
    setting = Setting(verify_some(chain(Numbered)))
    if in_container:
        setting.pieces = replace(setting.pieces, made={setting.pe: "for the test"})
    make = instance_maker(setting.program, setting.plan, setting.pieces, Environment())
    first, second = make(), make()
    list(first.process_batch(setting.values()))
    second.restore(first.snapshot())
    left = [pair for pair in second.process_batch(setting.values((1, "b", 2.0))) if pair[0] != REPORT]
    assert len(left) == 1


def test_a_class_that_cannot_be_made_fails_as_in_a_container():
    class Wanting(Operator):
        def __init__(self):
            raise UserError("no model file")

        def process(self, t):
            yield t

    setting = Setting(chain(Wanting))
    with pytest.raises(OperatorFailed, match="it cannot start: no model file"):
        instance_maker(setting.program, setting.plan, setting.pieces, Environment())()


class Woken(Numbered):
    def process(self, t):
        self.wake(1.0)

    def on_wake(self):
        return []


class Finishing(Numbered):
    def finish(self):
        return []


class Marked(Numbered):
    def on_punctuation(self, port):
        return []


class Dying(Numbered):
    ttl = 3.0


class Parting(Dying):
    def on_expire(self):
        return []


class Seeing(Operator):
    def __init__(self, environment):
        self.environment = environment

    def process(self, t):
        yield t


class Printing(Numbered):
    def process(self, t):
        print(t)
        yield t


@pytest.mark.parametrize("kind", [Woken, Finishing, Marked, Parting, Seeing, Printing], ids=lambda kind: kind.__name__)
def test_what_the_loop_does_not_cover_stays_in_a_container(kind):
    assert not is_generated(chain(kind))
    assert is_generated(chain(Numbered))
    assert is_generated(chain(Dying))


def test_classes_that_may_share_state_stay_in_a_container():
    assert is_generated(chain(Kept))
    assert not is_generated(chain(Kept, Kept))
    assert is_generated(chain(Kept, Numbered, Listed))


class Added(Operator):
    """Adds to an array without dimensions in place, which it gives every time."""

    def __init__(self):
        self.total = np.zeros(())

    def process(self, t):
        self.total += 1
        yield {"x": self.total}


class AddedByKey(KeyedOperator):
    partition_by = "x"

    def __init__(self):
        self.total = np.zeros(())

    def process(self, t):
        self.total += 1
        yield {"x": self.total}


@pytest.mark.parametrize("kind", [Added, AddedByKey])
def test_a_number_that_changes_in_place_is_given_as_it_was(kind, monkeypatch):
    monkeypatch.setattr("penstock.testing.verify_some", lambda program: program)
    rows = [(1.0,)] * 5
    assert apply(kind, rows, schema="float64 x") == [(float(n),) for n in range(1, 6)]


def test_a_function_may_give_an_array_that_it_changes_in_place(monkeypatch):
    monkeypatch.setattr("penstock.testing.verify_some", lambda program: program)
    total = np.zeros(())

    def add(t):
        np.add(total, t.x, out=total)
        return {"x": total}

    app = App()
    assert outputs(app, app.source(feed([(1.0,)] * 4), "float64 x").map(add)) == [(1.0,), (2.0,), (3.0,), (4.0,)]
