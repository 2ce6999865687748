"""What operators written in Python remember."""

from __future__ import annotations

import pickle
from random import Random
from typing import Any

import pytest

from cutting import run_cut, run_whole
from feeding import WINDOW, _definition, feed
from penstock.api.operators import Operator, definition_of, flat_map, map_, source
from penstock.api.sources.timed_items import after
from penstock.base.diagnostics import UserError
from penstock.expr.environment import Clock, Environment
from penstock.lang import compile_text
from penstock.toolkit.core.operator_registry import standard
from penstock.toolkit.core.program import Program
from toolkit.memory_cases import SCHEMA, random_items


class Changes(Operator):
    """Keeps rows, shares objects between attributes, and holds on to what the engine gives."""

    def __init__(self, environment=None, least: int = 0):
        self.environment = environment
        self.clock = environment.clock
        self.send = self.submit if hasattr(self, "submit") else None
        self.last = {}
        self.history = [self.last]
        self.least = least

    def process(self, t):
        assert self.history[0] is self.last
        before = self.last.get(t.k)
        self.last[t.k] = t
        if before is not None and t.x - before.x >= self.least:
            yield {"k": t.k, "x": t.x - before.x, "f": self.clock.now_ns / 1e9}

    def on_punctuation(self, port):
        yield {"k": -1, "x": len(self.last), "f": 0.0}

    def finish(self):
        yield {"k": -2, "x": sum(row.x for row in self.last.values()), "f": 0.0}


class Slotted(Operator):
    """Says for itself what its state is."""

    def __init__(self):
        self.count = 0
        self.double = lambda x: 2 * x

    def __getstate__(self):
        return {"count": self.count}

    def __setstate__(self, state):
        self.count = state["count"]

    def process(self, t):
        self.count += 1
        yield {"k": t.k, "x": self.double(self.count), "f": t.f}


@map_
def twice(t):
    """One in, one out."""
    return {"k": t.k, "x": 2 * t.x, "f": t.f}


@flat_map
def copies(t):
    """Any number out."""
    return [t] * (t.k + 1)


@source
def steps():
    """A few tuples and pauses."""
    for i in range(8):
        yield {"k": i % 2, "x": i, "f": 0.5}
        if i % 3 == 0:
            yield after(0.5)
        if i == 4:
            yield WINDOW


def program(items: list[Any], *operators: Any) -> Program:
    registry = standard().extended(
        [
            *map(definition_of, (Changes, Slotted, twice, copies, steps, *operators)),
            _definition("A", feed(SCHEMA, items)),
        ]
    )
    graph = f"""composite Main {{ graph
        stream<{SCHEMA}> A = FeedA() {{}}
        stream<{SCHEMA}> S = steps() {{}}
        stream<{SCHEMA}> T = twice(A, S) {{}}
        stream<{SCHEMA}> C = Changes(T) {{ param least: 1; }}
        stream<{SCHEMA}> D = copies(C) {{}}
        stream<{SCHEMA}> E = Slotted(D) {{}}
        {"".join(f"stream<{SCHEMA}> O{i} = {o.__name__}(A) {{}}" for i, o in enumerate(operators))}
    }}"""
    return compile_text(graph, registry=registry)


@pytest.mark.parametrize("seed", range(6))
def test_python_operators_go_on_where_others_stood(seed: int):
    random = Random(seed)
    made = program(random_items(random, 50))
    wanted = run_whole(made, Environment(clock=Clock()))
    found = run_cut(made, lambda: Environment(clock=Clock()), random, 0.4)
    assert str(found.all_seen()) == str(wanted.all_seen())
    assert found.counts() == wanted.counts()


class Unpicklable(Operator):
    """Has an attribute that cannot be pickled."""

    def __init__(self):
        self.count = 0
        self.doubled = (2 * x for x in range(3))

    def process(self, t):
        yield t


def test_an_attribute_that_cannot_be_pickled_is_named():
    session = run_whole(program([(1, 2, 0.5)], Unpicklable), Environment(clock=Clock()))
    (node,) = [n for n in session.nodes if n.operator.kind == "Unpicklable"]
    with pytest.raises(UserError) as error:
        node.snapshot()
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.message.startswith("the attribute `doubled` of operator `O0` (Unpicklable) cannot be pickled: ")
    assert "`__getstate__`" in diagnostic.hint


def test_a_memory_holds_nothing_of_the_engine():
    session = run_whole(program([(1, 2, 0.5), (1, 4, 0.5)]), Environment(clock=Clock()))
    data = pickle.dumps([n.snapshot() for n in session.nodes])
    assert b"Environment" not in data
    assert b"penstock.reference" not in data


def test_open_files_cannot_be_remembered(tmp_path):
    session = run_whole(program([]), Environment(clock=Clock()))
    session.environment.open_files[3] = object()
    with pytest.raises(UserError, match="1 files that `fopen` has opened are still open"):
        session.engine.snapshot()
