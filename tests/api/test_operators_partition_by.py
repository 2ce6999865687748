"""`partition_by` on a Python operator of any kind is honoured, or refused with the reason."""

from __future__ import annotations

import pytest

from penstock import App, Operator, OperatorModel, State, col, filter_, flat_map, map_, sink, source
from penstock.base.diagnostics import UserError
from penstock.codegen.plan.physical import physical_plan
from penstock.testing import feed
from plan_runner import run_plan
from spark_session import environment, everything_fused, files, run_reference

SCHEMA = "rstring sym, int32 n"
ROWS = [(f"s{i % 5}", i) for i in range(40)]
SEEN: dict[str, int] = {}


@source
def numbers():
    yield from ROWS


@map_
def mapped(t):
    SEEN[t.sym] = SEEN.get(t.sym, 0) + 1
    return {"sym": t.sym, "n": SEEN[t.sym]}


@filter_
def kept(t):
    SEEN[t.sym] = SEEN.get(t.sym, 0) + 1
    return SEEN[t.sym] % 2 == 0


@flat_map
def doubled(t):
    SEEN[t.sym] = SEEN.get(t.sym, 0) + 1
    yield t


@sink
def taken(t):
    SEEN[t.sym] = t.n


class Counts(Operator):
    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.sym.strip()] = n = self.counts.get(t.sym.strip(), 0) + 1
        yield {"sym": t.sym, "n": n}


class KeyedByBoth(Operator):
    def __init__(self):
        self.last = {}

    def process(self, t):
        self.last[t.sym, t.n] = 1
        yield t


class AtTheEnd(Operator):
    def process(self, t):
        yield t

    def finish(self):
        yield {"sym": "end", "n": 0}


def built(add) -> App:
    app = App("Keys")
    add(app, app.source(feed(ROWS), SCHEMA, name="A"))
    return app


def model(add) -> OperatorModel:
    return built(add).program().application.operator["B"].model


@pytest.mark.parametrize("spelling", ["partition_by", "partitionBy"])
@pytest.mark.parametrize(
    "add",
    [
        lambda app, a, **k: a.map(mapped, name="B", **k),
        lambda app, a, **k: a.map(lambda t: t, name="B", **k),
        lambda app, a, **k: a.filter(kept, name="B", **k),
        lambda app, a, **k: a.flat_map(doubled, name="B", **k),
        lambda app, a, **k: a.for_each(taken, name="B", **k),
        lambda app, a, **k: a.apply(Counts, name="B", **k),
        lambda app, a, **k: a.apply(KeyedByBoth, name="B", **k),
        lambda app, a, **k: app.source(numbers, SCHEMA, name="B", **k),
    ],
    ids=["map", "stateless map", "filter", "flat map", "sink", "class", "class with a larger key", "source"],
)
def test_a_key_is_honoured_on_operators_of_every_kind(add, spelling):
    found = model(lambda app, a: add(app, a, **{spelling: "sym"}))
    assert (found.state, found.partition_by) == (State.PARTITIONED, (frozenset({"sym"}),))
    assert not any(str(why).startswith("state") for why in found.why)


def test_the_author_gives_a_key_by_the_decorator_or_in_the_class():
    @map_(partition_by="sym")
    def decorated(t):
        return mapped(t)

    class WithKey(Counts):
        partition_by = ("sym",)

    for operator in (decorated, WithKey):
        assert model(lambda app, a, o=operator: a.apply(o, name="B")).partition_by == (frozenset({"sym"}),)


def test_a_key_that_is_no_part_of_the_known_one_is_refused():
    message = "`B` cannot be partitioned by `n`: its state is kept by `sym`"

    class BySymbol(Operator):
        def __init__(self):
            self.last = {}

        def process(self, t):
            self.last[t.sym] = 1
            yield t

    with pytest.raises(UserError, match=message):
        model(lambda app, a: a.apply(BySymbol, name="B", partition_by="n"))

    class Declared(BySymbol):
        model = OperatorModel(state=State.PARTITIONED, partition_by=(frozenset({"sym"}),))

    with pytest.raises(UserError, match=message):
        model(lambda app, a: a.apply(Declared, name="B", partition_by="n"))


def test_a_key_of_an_operator_that_acts_for_all_keys_at_once_is_refused():
    with pytest.raises(UserError, match="cannot be partitioned by `sym`: it acts in `finish`, once for all keys"):
        model(lambda app, a: a.apply(AtTheEnd, name="B", partition_by="sym"))


def test_a_key_that_is_not_there_is_refused():
    class WithKey(Counts):
        partition_by = "symbol"

    with pytest.raises(UserError, match=r"`B` cannot be partitioned by `symbol`: an input has \{sym, n\}"):
        model(lambda app, a: a.apply(WithKey, name="B"))


def test_a_filter_over_columns_refuses_a_key():
    with pytest.raises(UserError, match="`Filter` has no parameter `partition"):
        model(lambda app, a: a.filter(col.n > 1, name="B", partition_by="sym"))


def test_a_key_that_is_honoured_gives_the_sequential_result_on_channels(tmp_path):
    app = built(lambda app, a: a.apply(Counts, name="B", partition_by="sym").write_file("out.csv", name="Sink"))
    program = app.program()
    plan = physical_plan(program.application, everything_fused(program.application), 3)
    assert plan.channels == 3
    run_plan(program, plan, environment(tmp_path, tmp_path), turns_per_batch=7)
    assert files(tmp_path) == run_reference(program, tmp_path)
