"""Functions of the user's in generated PEs: called directly, in the order of the sequential program."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, by_generated_code, generated, inner_pe, plan_of, tuples

from penstock import App, col, filter_, flat_map, map_
from penstock.codegen.run.loaded_module import OperatorError
from penstock.codegen.write.generate import generate
from penstock.ir.models import OperatorModel, State
from penstock.testing import feed

SCHEMA = "int32 n, rstring s"


@map_
def doubled(t):
    return {"n": t.n * 2, "s": t.s.upper()}


@filter_
def is_even(t):
    return t.n % 2 == 0


@flat_map
def letters(t):
    for letter in t.s:
        yield (t.n, letter)


STATELESS = OperatorModel(state=State.STATELESS)


@map_(batch=True, model=STATELESS)
def shifted(batch):
    return pa.RecordBatch.from_arrays([pc.add(batch.column("n"), 1), batch.column("s")], names=["n", "s"])


@flat_map(batch=True, model=STATELESS)
def twice(batch):
    return pa.concat_batches([batch, batch])


@flat_map
def scaled(t, *, factor: int = 2):
    return [(t.n * factor, t.s)]


FUNCTIONS = (doubled, is_even, letters, shifted, twice, scaled)


def grown(choices: list[tuple[int, int]]):
    """An application of functions, each on any of the streams before it, given by their numbers."""
    app = App("Test")
    streams = [app.source(feed([]), SCHEMA, name="A")]
    for i, (at, which) in enumerate(choices):
        stream, function = streams[at % len(streams)], (*FUNCTIONS, None)[which]
        streams.append(
            stream.filter(col.n > 1, name=f"O{i}")
            if function is None
            else stream.apply(function, SCHEMA, name=f"O{i}", **({"factor": 3} if function is scaled else {}))
        )
    streams[-1].union(*streams[1:3], name="U").write_file("out.csv", name="Sink")
    return app.program()


CHOICES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, len(FUNCTIONS))), min_size=1, max_size=6)
ROWS = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["", "a", "bc"])), max_size=6)


@settings(max_examples=150, deadline=None)
@given(choices=CHOICES, found=st.lists(ROWS, min_size=1, max_size=2))
def test_graphs_of_functions_leave_what_a_container_leaves(choices, found):
    program = grown(choices)
    plan = plan_of(program)
    pe = inner_pe(plan)
    batches = [
        [(e.index, item) for e in plan.into(pe) for item in tuples(batch, start=10 * i, path=e.index.to_bytes(4))]
        for i, batch in enumerate(found)
    ]
    assert_same(program, plan, pe, batches)


def chained(*functions):
    app = App("Test")
    stream = app.source(feed([]), SCHEMA, name="A")
    for function in functions:
        stream = stream.apply(function, SCHEMA, name=function.__name__)
    stream.write_file("out.csv", name="Sink")
    program = app.program()
    plan = plan_of(program)
    return program, plan, inner_pe(plan)


calls: list[str] = []


@map_
def first(t):
    calls.append(f"first {t.n}")
    return t


@map_
def second(t):
    calls.append(f"second {t.n}")
    return t


def test_effects_of_functions_in_one_loop_come_depth_first():
    program, plan, pe = chained(first, second)
    calls.clear()
    by_generated_code(program, plan, pe, [[(0, item) for item in tuples([(1, ""), (2, "")])]])
    assert calls == ["first 1", "second 1", "first 2", "second 2"]


def test_effects_that_would_come_in_another_order_are_left_to_the_container():
    program, plan, pe = chained(first, shifted, second)
    assert generate(program, plan, pe) == "the effects of `first` and `second` would come in another order"


def test_a_batch_function_is_called_once_for_a_batch():
    program, plan, pe = chained(shifted)
    assert "# map of whole batches\n    shifted = mapped(a, shifted_call_1" in generated(program, plan, pe).text


@map_(batch=True)
def short(batch):
    return batch.slice(1)


@map_
def broken(t):
    return {"n": 1 // t.n, "s": t.s}


@pytest.mark.parametrize(
    ("functions", "culprit", "reason"),
    [
        ((doubled, short), "short", "a map gives one row for each row, got 1 for 2"),
        ((shifted, broken), "broken", "integer division or modulo by zero"),
    ],
)
def test_a_function_that_fails_is_named(functions, culprit, reason):
    program, plan, pe = chained(*functions)
    with pytest.raises(OperatorError, match=f"operator `{culprit}` failed: {reason}") as found:
        by_generated_code(program, plan, pe, [[(0, item) for item in tuples([(-1, "a"), (3, "b")])]])
    assert found.value.operator == culprit
