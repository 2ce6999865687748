"""Operators written in Python, run on the reference interpreter."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock import (
    App,
    Operator,
    OperatorModel,
    Output,
    Selectivity,
    State,
    UserError,
    after,
    agg,
    col,
    count,
    filter_,
    flat_map,
    map_,
    sink,
    source,
    time,
    tumbling,
)
from penstock.api.operators import definition_of
from penstock.testing import apply, feed, outputs, run


@map_
def doubled(t, *, factor: int = 2):
    return {"x": t.x * factor}


@filter_
def odd(t):
    return t.x % 2 == 1


@flat_map
def repeated(t, *, times: int):
    for _ in range(times):
        yield t


@flat_map
def listed(t):
    return [t, t]


@map_(batch=True)
def negated(batch):
    return pa.RecordBatch.from_arrays([pc.negate(batch.column(0))], schema=batch.schema)


class RunningSum(Operator):
    """The sum so far of each key."""

    def __init__(self, start: int = 0):
        self.sums = {}
        self.start = start

    def process(self, t):
        self.sums[t.x] = self.sums.get(t.x, self.start) + t.x
        yield {"x": self.sums[t.x]}


class LastOnly(Operator):
    def __init__(self):
        self.last = None

    def process(self, t):
        self.last = t

    def finish(self):
        if self.last is not None:
            yield self.last


class EvenOdd(Operator):
    outputs = 2

    def process(self, t):
        self.submit(t, t.x % 2)


class Zip(Operator):
    inputs = 2

    def __init__(self):
        self.left = []

    def process_port(self, t, port):
        if port == 0:
            self.left.append(t.x)
        elif self.left:
            yield {"x": self.left.pop(0) * 100 + t.x}


@pytest.mark.parametrize(
    ("operator", "given", "expected", "params"),
    [
        (doubled, [1, 2], [2, 4], {}),
        (doubled, [1, 2], [5, 10], {"factor": 5}),
        (odd, [1, 2, 3], [1, 3], {}),
        (repeated, [1, 2], [1, 1, 2, 2], {"times": 2}),
        (listed, [1], [1, 1], {}),
        (negated, [1, 2], [-1, -2], {}),
        (RunningSum, [1, 2, 1], [1, 2, 2], {}),
        (RunningSum, [1, 1], [11, 12], {"start": 10}),
        (LastOnly, [1, 2, 3], [3], {}),
    ],
)
def test_an_operator_gives_what_its_code_says(operator, given, expected, params):
    assert apply(operator, [(x,) for x in given], schema="int32 x", **params) == [(x,) for x in expected]


def test_a_class_with_two_outputs_submits_to_either():
    app = App("Test")
    numbers = app.source(feed([1, 2, 3]), "int32 x")
    even, odd_ = app.invoke(EvenOdd, numbers, outputs=[Output(schema="int32 x"), Output(schema="int32 x")])
    result = run(app, collect=[even, odd_])
    assert result.tuples_of(even.id) == [(2,)]
    assert result.tuples_of(odd_.id) == [(1,), (3,)]


def test_a_class_with_two_inputs_sees_the_port():
    app = App("Test")
    left, right = (app.source(feed(values), "int32 x") for values in ([1, 2], [3, 4]))
    (zipped,) = app.invoke(Zip, left, right, outputs=[Output(schema="int32 x")])
    assert outputs(app, zipped) == [(103,), (204,)]


def test_a_source_lets_time_pass():
    @source
    def ticking():
        for x in range(6):
            yield x
            yield after(1)

    app = App("Test")
    sums = app.source(ticking, "int32 x").aggregate(tumbling(time(2)), total=agg.count(), name="Sums")
    assert outputs(app, sums) == [(2,), (2,), (2,)]


def test_a_sink_takes_every_tuple():
    taken = []

    @sink
    def take(t):
        taken.append(t.x)

    app = App("Test")
    app.source(feed([1, 2]), "int32 x").for_each(take)
    run(app)
    assert taken == [1, 2]


def test_a_value_that_does_not_fit_names_operator_attribute_and_tuple():
    @map_
    def wrong(t):
        return {"x": "one"}

    with pytest.raises(UserError) as caught:
        apply(wrong, [(1,)], schema="int32 x")
    message = str(caught.value)
    assert "wrong" in message
    assert "attribute `x` is int32, got 'one'" in message
    assert "{x=1}" in message


def test_an_exception_of_user_code_names_the_operator_and_the_tuple():
    @map_
    def divides(t):
        return {"x": 1 // t.x}

    with pytest.raises(UserError, match=r"operator `divides` .* failed on \{x=0\}: ZeroDivisionError"):
        apply(divides, [(1,), (0,)], schema="int32 x")


def test_skipped_tuples_become_dead_letters_and_are_counted():
    app = App("Test")
    made = app.source(feed([1, 0, 2]), "int32 x").map(lambda t: {"x": 2 // t.x}, on_error="skip", name="Halves")
    result = run(app, collect=[made])
    assert result.tuples_of("Halves") == [(2,), (1,)]
    assert result.rejected == {"Halves": 1}
    assert result.dead_letters[0].record == "{x=0}"


def test_models_are_inferred_where_none_is_declared():
    app = App("Test")
    numbers = app.source(feed([1]), "int32 x")
    numbers.map(doubled, name="Doubled")
    numbers.apply(RunningSum, name="Sums")
    models = {o.id: o.model for o in app.program().application.operators}
    assert models["Doubled"].state is State.STATELESS
    assert models["Doubled"].selectivity is Selectivity.EXACTLY_ONE
    assert models["Sums"].state is State.PARTITIONED
    assert models["Sums"].partition_by == (frozenset({"x"}),)


def test_a_declared_model_wins_and_takes_its_key_from_the_invocation():
    class Declared(Operator):
        model = OperatorModel(state=State.PARTITIONED, selectivity=Selectivity.EXACTLY_ONE)

        def process(self, t):
            yield t

    app = App("Test")
    app.source(feed([1]), "int32 x").apply(Declared, partitionBy="x", name="D")
    model = app.program().application.operator["D"].model
    assert (model.state, model.partition_by) == (State.PARTITIONED, (frozenset({"x"}),))


def test_an_operator_that_acts_at_the_end_has_unknown_state():
    app = App("Test")
    app.source(feed([1]), "int32 x").apply(LastOnly, name="L")
    model = app.program().application.operator["L"].model
    assert model.state is State.UNKNOWN
    assert any("finish" in why.text for why in model.why)


def test_a_missing_parameter_is_named():
    with pytest.raises(UserError, match="times"):
        apply(repeated, [(1,)], schema="int32 x")


def test_an_unknown_parameter_suggests_the_right_one():
    with pytest.raises(UserError, match="did you mean `factor`"):
        apply(doubled, [(1,)], schema="int32 x", facto=3)


def test_an_annotation_that_is_not_understood_is_refused():
    @map_
    def odd_parameter(t, *, when: complex):
        return t

    with pytest.raises(UserError, match="parameter `when` of `odd_parameter` is annotated `complex`"):
        definition_of(odd_parameter)


def test_a_plain_function_is_no_operator():
    with pytest.raises(UserError, match="`len` is not an operator"):
        definition_of(len)


def test_count_windows_work_from_python():
    app = App("Test")
    means = app.source(feed([1, 3, 5]), "int32 x").aggregate(tumbling(count(2)), x=agg.max(col.x))
    assert outputs(app, means) == [(3,)]


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, t):
        return (t.x * self.by,)

    def scale(self, t):
        return self(t)


class Unhashable(Scaled):
    __hash__ = None


def test_objects_that_can_be_called_are_functions():
    for function in (Scaled(3), Scaled(3).scale, partial(lambda by, t: (t.x * by,), 3), map_(Scaled(3))):
        assert App().from_rows([(1,), (2,)], "int32 x").map(function).collect() == [(3,), (6,)]


def test_what_cannot_be_decorated_or_told_apart_is_an_error_of_the_user():
    with pytest.raises(UserError, match="`scale` is a method, which cannot be decorated"):
        map_(Scaled(3).scale)
    with pytest.raises(UserError, match="`Unhashable` is an object that can be called but has no hash"):
        App().from_rows([(1,)], "int32 x").map(Unhashable(3))
