"""Operators with an instance for each key: what an instance sees, when it wakes, when it is gone."""

from __future__ import annotations

import pickle
from math import nan
from typing import Any

import pytest

from feeding import FINAL, WINDOW, after, feed, items_of, program
from penstock import App, KeyedOperator, Output, State
from penstock.api.operators import definition_of, is_operator
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Clock, Environment
from penstock.reference import run
from penstock.reference.failure import OperatorFailed
from penstock.testing import apply
from penstock.testing import feed as given
from penstock.toolkit.core.memory import join, split

SCHEMA = "rstring k, int32 n"


class Counting(KeyedOperator):
    """Numbers the tuples of a key."""

    def __init__(self, start: int = 0, names: list[str] = []):  # noqa: B006 # each instance has its own
        self.count = start
        self.names = names

    def process(self, t):
        self.count += 1
        self.names.append("x")
        yield {"k": t.k, "n": self.count * 100 + len(self.names)}


class Session(KeyedOperator):
    """Tells how much came until the key was quiet for two seconds."""

    ttl = 2.0

    def __init__(self):
        self.total = 0

    def process(self, t):
        self.total += t.n

    def on_expire(self):
        yield {"k": self.key.k, "n": self.total}


class Waking(KeyedOperator):
    """Tells of a tuple after as many seconds as it says, if no other came in between."""

    def process(self, t):
        self.wake(t.n or None)
        self.last = t

    def on_wake(self):
        yield {"k": self.last.k, "n": round(self.now * 1000)}


def tuples_of(owner: type[KeyedOperator], items: list[Any], params: str = "partitionBy: k;") -> list[Any]:
    graph = f"stream<{SCHEMA}> B = {owner.__name__}(A) {{ param {params} }}"
    found = items_of(graph, "B", A=feed(SCHEMA, items), operators=[definition_of(owner)])
    return [item for item in found if item is not WINDOW]


def test_every_key_has_an_instance_with_parameters_of_its_own():
    rows = [("a", 0), ("b", 0), ("a", 0)]
    assert tuples_of(Counting, rows) == [("a", 101), ("b", 101), ("a", 202)]
    found = tuples_of(Counting, rows, 'partitionBy: k; start: 5; names: "p", "q";')
    assert found == [("a", 603), ("b", 603), ("a", 704)]
    assert apply(Counting, rows, schema=SCHEMA, partition_by="k", start=1) == [("a", 201), ("b", 201), ("a", 302)]


def test_an_instance_expires_when_its_key_was_quiet_and_a_tuple_of_that_very_time_starts_a_new_one():
    items = [("a", 1), after(1), ("a", 2), ("b", 5), after(2), ("a", 4), after(3)]
    assert tuples_of(Session, items) == [("a", 3), ("b", 5), ("a", 4)]
    assert tuples_of(Session, items, "partitionBy: k; ttl: 1.0;") == [("a", 1), ("a", 2), ("b", 5), ("a", 4)]


def test_the_end_of_the_input_neither_wakes_nor_expires():
    assert tuples_of(Session, [("a", 1)]) == []
    assert tuples_of(Waking, [("a", 1)]) == []


def test_a_wake_comes_at_its_time_and_only_the_last_one_counts():
    items = [("a", 2), ("b", 1), after(1), ("a", 2), ("b", 3), after(1), ("b", 0), after(5)]
    assert tuples_of(Waking, items) == [("b", 1000), ("a", 3000)]


def test_what_has_expired_does_not_wake():
    class Both(Waking):
        ttl = 1.0

        def on_expire(self):
            yield {"k": self.last.k, "n": -1}

    assert tuples_of(Both, [("a", 1), ("b", 2), after(3)]) == [("a", -1), ("b", -1)]


def test_wakes_of_one_time_come_in_the_order_in_which_they_were_set():
    items = [("a", 3), ("b", 2), after(1), ("c", 2), ("b", 2), after(9)]
    assert tuples_of(Waking, items) == [("a", 3000), ("c", 3000), ("b", 3000)]


def test_markers_and_the_end_reach_the_keys_in_the_order_of_their_first_tuples():
    class Ending(Counting):
        ttl = 10.0

        def on_punctuation(self, port):
            yield {"k": self.key.k, "n": -self.count}

        def finish(self):
            yield {"k": self.key.k, "n": self.count}

    items = [("b", 0), ("a", 0), ("b", 0), WINDOW, after(10), ("c", 0)]
    assert tuples_of(Ending, items)[3:] == [("b", -2), ("a", -1), ("c", 101), ("c", 1)]


def test_all_nans_are_one_key_and_so_are_both_zeros_and_nothing_is_a_key_too():
    rows = [(nan,), (-0.0,), (None,), (nan,), (0.0,), (None,)]

    class Keys(KeyedOperator):
        partition_by = "f"

        def __init__(self):
            self.count = 0

        def process(self, t):
            self.count += 1
            yield {"f": t.f, "told": f"{self.key.f} {self.count}"}

    found = apply(Keys, rows, schema="optional<float64> f", output="optional<float64> f, rstring told")
    assert [told for _, told in found] == ["nan 1", "-0.0 1", "None 1", "nan 2", "-0.0 2", "None 2"]


def test_several_ports_share_the_instances():
    class Last(KeyedOperator):
        inputs = outputs = 2

        def __init__(self):
            self.last = None

        def process_port(self, t, port):
            if port == 0:
                self.last = t.n
                self.submit(t, 1)
            else:
                yield {"k": t.k, "n": -1 if self.last is None else self.last}

    graph = f"""(stream<{SCHEMA}> B; stream<{SCHEMA}> C) = Last(A; D) {{ param partitionBy: k; }}"""
    feeds = {"A": feed(SCHEMA, [("a", 1), ("b", 2)]), "D": feed("int32 x, rstring k", [(0, "b"), (0, "a"), (0, "b")])}
    made = program(graph, operators=[definition_of(Last)], **feeds)
    found = run(made, collect=["B", "C"]).collected
    assert [item for item in found["B"] if item is not FINAL] == [("b", -1), ("a", 1), ("b", 2)]
    assert [item for item in found["C"] if item is not FINAL] == [("a", 1), ("b", 2)]
    assert made.application.operator["B"].model.partition_by == (frozenset("k"), frozenset("k"))


def test_a_failing_tuple_is_set_aside_and_the_instance_goes_on():
    class Failing(Counting):
        def process(self, t):
            yield from super().process(t)
            if t.n == 13:
                raise ValueError("thirteen")

    app = App("Failing")
    stream = app.source(given([("a", 1), ("a", 13), ("a", 2)]), SCHEMA)
    params = {"partition_by": "k"}
    made = app.invoke(Failing, stream, outputs=[Output(schema=SCHEMA)], params=params, on_error="skip")[0]
    result = run(app.program(), collect=[made.id])
    assert result.tuples_of(made.id) == [("a", 101), ("a", 202), ("a", 303)]
    assert [letter.reason for letter in result.dead_letters] == ["ValueError: thirteen"]


@pytest.mark.parametrize(
    ("seconds", "message"),
    [(0, "above 0, or None, got 0"), (-1.0, "got -1.0"), (float("inf"), "got inf"), (nan, "got nan")],
)
def test_a_wake_needs_a_time_to_come(seconds, message):
    class Wrong(Waking):
        def process(self, t):
            self.wake(seconds)

    with pytest.raises(OperatorFailed, match=message):
        apply(Wrong, [("a", 1)], schema=SCHEMA, partition_by="k")


def test_nobody_wakes_without_on_wake_or_after_the_end():
    class Deaf(KeyedOperator):
        def process(self, t):
            self.wake(1)

    class Undead(Session):
        on_wake = Waking.on_wake

        def on_expire(self):
            self.wake(1)

    with pytest.raises(OperatorFailed, match="Deaf calls wake, but has no on_wake"):
        tuples_of(Deaf, [("a", 1)])
    with pytest.raises(OperatorFailed, match="an instance that has expired cannot be woken"):
        tuples_of(Undead, [("a", 1), after(3)])


def test_dead_keys_are_gone_from_memory_and_from_what_is_remembered():
    class Forgetting(Counting):
        ttl = 1.0

    for owner in (Forgetting, Session):
        runtime, clock = runtime_of(owner)
        for n in range(5_000):
            clock.advance_to(n * 10_000_000)
            if owner is Session:
                for timer in [t for t in runtime.expiries._timers.values() if t.due_ns <= clock.now_ns]:
                    timer._fire(timer.due_ns)
            runtime.receiver(0)((f"k{n}", n))
        assert len(runtime.entries) in ((100, 200) if owner is Session else (100,))
        _, parts = runtime.snapshot()
        assert len(parts[runtime.stamp.keys][1]) == len(runtime.entries)
        assert len(runtime.wakes._timers) == 0


def runtime_of(owner: type[KeyedOperator], **params: Any) -> tuple[Any, Clock]:
    app = App("One")
    app.source(given([]), SCHEMA, name="A").apply(owner, name="B", partition_by="k", **params)
    made = app.program()

    class Context:
        environment = Environment(clock=Clock())
        evaluator = None

        def at(self, time_ns, action, ticket=None):
            return 0

    operator = made.application.operator["B"]
    runtime = made.registry.get(operator.kind).runtime(operator, Context())
    runtime.submit.append(lambda tuple_: None)
    return runtime, Context.environment.clock


def test_the_state_of_keys_can_be_split_and_joined():
    runtime, _ = runtime_of(Counting)
    for n in range(20):
        runtime.receiver(0)((f"k{n % 5}", n))
    memory = pickle.loads(pickle.dumps(runtime.snapshot()))
    groups = split(memory, lambda key: int(key["k"][1:]) % 2)
    assert {group: len(parts[runtime.stamp.keys][1]) for group, (_, parts) in groups.items()} == {0: 3, 1: 2}
    other, _ = runtime_of(Counting)
    other.restore(join(groups.values()))
    sent: list[Any] = []
    other.submit[0] = sent.append
    other.receiver(0)(("k3", 0))
    assert sent == [("k3", 505)]


def test_only_what_a_batch_touches_is_made_again():
    runtime, _ = runtime_of(Counting)
    for n in range(10):
        runtime.receiver(0)((f"k{n}", n))
    memory = pickle.loads(pickle.dumps(runtime.snapshot()))
    other, _ = runtime_of(Counting)
    other.restore(memory)
    other.receiver(0)(("k3", 0))
    assert sum(type(entry).__name__ == "Seat" for entry in other.entries.values()) == 1
    assert len(other.snapshot()[1][other.stamp.keys][1]) == 10


def test_a_restored_instance_is_made_like_a_new_one_and_keeps_its_wake():
    class Made(KeyedOperator):
        def __init__(self):
            self.wake(5)
            self.lock = object
            self.seen = 0

        def __getstate__(self):
            return {"seen": self.seen}

        def __setstate__(self, state):
            self.seen = state["seen"]

        def process(self, t):
            self.seen += 1
            assert self.lock is object
            yield {"k": t.k, "n": self.seen}

        def on_wake(self):
            yield {"k": "woken", "n": self.seen}

    first, _ = runtime_of(Made)
    first.receiver(0)(("a", 1))
    second, clock = runtime_of(Made)
    second.restore(pickle.loads(pickle.dumps(first.snapshot())))
    clock.advance_to(3_000_000_000)
    sent: list[Any] = []
    second.submit[0] = sent.append
    second.receiver(0)(("a", 1))
    assert sent == [("a", 2)]
    assert [timer.due_ns for timer in second.wakes._timers.values()] == [5_000_000_000]


def test_the_model_is_partitioned_by_the_key_whatever_the_code_does():
    def model_of(owner: type[KeyedOperator], **params: Any):
        app = App("One")
        app.source(given([]), SCHEMA, name="A").apply(owner, name="B", **params)
        return app.program().application.operator["B"].model

    assert model_of(Counting, partition_by=["k", "n"]).partition_by == (frozenset({"k", "n"}),)
    assert not model_of(Counting, partition_by="k").spontaneous
    assert model_of(Session, partitionBy="k").spontaneous

    class Ending(Counting):
        def finish(self):
            yield {"k": "", "n": 0}

    found = model_of(Ending, partition_by="k")
    assert found.state is State.UNKNOWN
    assert "state: it acts in `finish`, which reaches all keys at once" in map(str, found.why)


def test_it_runs_on_channels_with_wakes_and_any_number_of_tuples():
    class Many(Waking):
        def process(self, t):
            yield from super().process(t) or ()
            for _ in range(t.n):
                yield t

    app = App("Many")
    app.source(given([]), SCHEMA, name="A").apply(Many, name="B", partition_by="k").write_file("out.csv", name="S")
    plan = physical_plan(app.program().application, [["A"], ["B"], ["S"]], 3)
    assert [pe.channels for pe in plan.pes if "B" in pe.operators] == [3]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, r"`Counting` has an instance for each key, but no key is given; write `partitionBy`"),
        ({"partition_by": "key"}, r"there is no attribute `key`"),
        ({"partition_by": "k", "ttl": 0.0}, r"`ttl` is 0.0; it is a number above 0"),
        ({"partition_by": "k", "ttl": -1}, r"`ttl`.* -1"),
    ],
)
def test_a_wrong_invocation_is_refused(params, message):
    with pytest.raises(UserError, match=message):
        apply(Counting, [("a", 1)], schema=SCHEMA, **params)


def test_a_key_that_a_port_does_not_have_is_refused():
    class Keyed(Counting):
        partition_by = ("k", "sym")

    with pytest.raises(UserError, match="`Keyed` is partitioned by `sym`, which input port 0 does not have"):
        apply(Keyed, [], schema=SCHEMA)
    with pytest.raises(UserError, match="`sym` cannot be a key: it is of type list<int32>"):
        apply(Keyed, [], schema="rstring k, list<int32> sym", output=SCHEMA)
    with pytest.raises(UserError, match="`Session` has `on_expire`, but nothing expires without a `ttl`"):
        apply(type("Session", (Session,), {"ttl": None}), [], schema=SCHEMA, partition_by="k")


def test_a_class_without_process_or_with_a_wrong_declaration_is_refused():
    for attributes, message in (
        ({}, "has no method `process`"),
        ({"process": Counting.process, "ttl": "1"}, "`ttl` of `Wrong` is '1'"),
        ({"process": Counting.process, "partition_by": 3}, "`partition_by` of `Wrong` is 3"),
        ({"process": Counting.process, "__init__": lambda self, ttl: None}, "has a parameter `ttl`"),
    ):
        with pytest.raises(UserError, match=message):
            definition_of(type("Wrong", (KeyedOperator,), attributes))
    assert not is_operator(KeyedOperator)
    assert is_operator(Counting)


TABLE = {"a": 1}
SEEN: list[int] = []


class Shared(KeyedOperator):
    """Only reads what its instances share."""

    rates: dict[str, int] = {"a": 2}  # noqa: RUF012
    total = 0

    def __init__(self):
        self.mine = []
        self.own = {}

    def process(self, t):
        self.mine.append(TABLE.get(t.k, 0) + self.rates.get(t.k, 0))
        self.own[t.k] = 1
        self.total += 1
        mine = list(self.mine)
        mine.append(3)
        seen = set()
        seen.add(t.k)
        yield t


def test_what_is_only_read_may_be_shared():
    definition_of(Shared)


def change_class(self, t):
    type(self).total += 1


def change_class_by_name(self, t):
    Shared.total += 1


def change_list_of_class(self, t):
    self.rates[t.k] = 1


def add_to_list_of_class(self, t):
    self.rates |= {t.k: 1}


def change_global(self, t):
    SEEN.append(t.n)


def set_global(self, t):
    global TOTAL
    TOTAL = t.n


def change_class_by_alias(self, t):
    rates = self.rates
    rates[t.k] = 1


def change_global_by_alias(self, t):
    seen = SEEN
    seen.append(t.n)


def add_to_seen(n):
    push_to_seen(n)


def push_to_seen(n):
    SEEN.append(n)


def change_global_by_helpers(self, t):
    add_to_seen(t.n)


@pytest.mark.parametrize(
    ("process", "name"),
    [
        (change_class_by_alias, "Changing.rates"),
        (change_global_by_alias, "SEEN"),
        (change_global_by_helpers, "SEEN"),
        (change_class, "Changing.total"),
        (change_class_by_name, "Changing.total"),
        (change_list_of_class, "Changing.rates"),
        (add_to_list_of_class, "Changing.rates"),
        (change_global, "SEEN"),
        (set_global, "TOTAL"),
    ],
)
def test_what_is_shared_and_changed_is_refused(process, name):
    changing = type("Changing", (Shared,), {"process": process})
    with pytest.raises(UserError, match=f"changes `{name}`, which the instances of all keys share"):
        definition_of(changing)
