"""An operator that lies in its model is caught; one that does not runs as it always does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock import App, Operator, OperatorModel, Selectivity, State, flat_map, map_
from penstock.api.outputs import Output
from penstock.base.diagnostics import UserError
from penstock.codegen.build import build
from penstock.codegen.plan.liveness import dead_attributes
from penstock.codegen.plan.physical import physical_plan
from penstock.expr.environment import Environment
from penstock.expr.evaluate import Evaluator
from penstock.ir.models import Forwarding
from penstock.lang import compile_text
from penstock.parallel.extensions import BEYOND
from penstock.parallel.regions import parallel_regions
from penstock.reference import run
from penstock.runtime.sources.waiting import waits_for_time
from penstock.runtime.verify import verify_models as checks
from penstock.runtime.verify.verify_models import verify_models, verify_some
from penstock.testing import feed
from plan_runner import run_plan
from spark_session import environment, everything_fused, files, run_reference, run_spark

ONE = Selectivity.EXACTLY_ONE
ROWS = [(i % 4, i) for i in range(20)]
FIXTURES = Path(__file__).parents[2] / "fixtures" / "spl" / "valid"


def claim(*, key: str = "", selectivity: Selectivity = ONE, forwards: str = "") -> OperatorModel:
    return OperatorModel(
        state=State.PARTITIONED if key else State.STATELESS,
        partition_by=(frozenset(key),) if key else (),
        selectivity=selectivity,
        forwarding=Forwarding.ALWAYS,
        forwards=frozenset(forwards),
    )


class Numbered(Operator):
    """Claims to be stateless, and counts."""

    model = claim(forwards="k")

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield {"k": t.k, "x": self.n}


class CountedByAnother(Operator):
    """Claims state by k, and counts all tuples."""

    model = claim(key="k", forwards="k")

    def __init__(self):
        self.n = 0

    def process(self, t):
        self.n += 1
        yield {"k": t.k, "x": self.n}


SEEN: list[int] = []


@map_(model=claim(forwards="kx"))
def remembered_outside(t):
    SEEN.append(t.x)
    return {"k": t.k, "x": t.x, "y": len(SEEN)}


@map_(model=claim(forwards="k"))
def rekeyed(t):
    return {"k": t.k if t.x < 9 else 0, "x": t.x}


@flat_map(model=claim())
def sometimes_none(t):
    if t.x != 5:
        yield t


@flat_map(model=claim(selectivity=Selectivity.AT_MOST_ONE))
def sometimes_two(t):
    yield t
    if t.x == 7:
        yield t


class AtTheEnd(Operator):
    """Claims to submit only while a tuple comes in."""

    model = claim(selectivity=Selectivity.AT_MOST_ONE)

    def process(self, t):
        return ()

    def finish(self):
        yield {"k": 0, "x": 0}


LIES = {
    "state": (Numbered, "int32 k, int32 x", r"`B` \(.*Numbered\) failed on \{k=1,x=1\}: .* is stateless, .*gave "),
    "key": (CountedByAnother, "int32 k, int32 x", r"`B` .* failed on \{k=.*state partitioned by k, but it gave"),
    "global": (remembered_outside, "int32 k, int32 x, int32 y", r"failed on \{k=0,x=0\}: .*is stateless"),
    "forwarding": (rekeyed, "int32 k, int32 x", r"failed on \{k=1,x=9\}: .*forwards `k` unchanged, .* 0 of 1"),
    "none": (sometimes_none, None, r"failed on \{k=1,x=5\}: .*exactly one for one, but it submitted none"),
    "two": (sometimes_two, None, r"failed on \{k=3,x=7\}: .*at most one for one, but it submitted 2"),
    "end": (AtTheEnd, None, r"only submits while a tuple comes in, but it submitted \{k=0,x=0\}"),
}


def lying(operator, schema) -> App:
    app = App("Lies")
    given = app.source(feed(ROWS), "int32 k, int32 x", name="A")
    given.apply(operator, schema, name="B").write_file("out.csv", name="Sink")
    return app


@pytest.mark.parametrize("name", LIES)
def test_a_lie_is_caught_with_the_operator_the_tuple_and_the_claim(name, tmp_path):
    operator, schema, message = LIES[name]
    SEEN.clear()
    with pytest.raises(UserError, match=message):
        run(verify_models(lying(operator, schema).program()), environment=environment(tmp_path, tmp_path))


@pytest.mark.parametrize(
    ("name", "claimed"),
    [("state", "is stateless"), ("key", "partitioned by k"), ("forwarding", "forwards `k`"), ("two", "at most one")],
)
def test_a_lie_is_caught_in_containers_on_channels(name, claimed, tmp_path):
    operator, schema, _ = LIES[name]
    program = verify_models(lying(operator, schema).program())
    plan = physical_plan(program.application, everything_fused(program.application), 2)
    assert plan.channels == 2
    with pytest.raises(UserError, match=rf"`B` \(.*failed on .*{claimed}"):
        run_plan(program, plan, environment(tmp_path, tmp_path), turns_per_batch=100)


def test_without_the_switch_a_lie_goes_unseen(tmp_path):
    run(lying(Numbered, "int32 k, int32 x").program(), environment=environment(tmp_path, tmp_path))


HONEST = [
    path
    for path in sorted(FIXTURES.glob("*.spl"))
    if "Import(" not in path.read_text() and 'file: "' in path.read_text()
]


@pytest.mark.parametrize("path", HONEST, ids=lambda path: path.stem)
def test_honest_programs_run_as_always(path, tmp_path):
    program = compile_text(path.read_text(), path=path.name)
    assert run_reference(verify_models(program), FIXTURES / "data") == run_reference(program, FIXTURES / "data")


JOINED = """composite Main { graph
    stream<int32 k, int32 x> A = Beacon() { param iterations: 60u;
      output A: k = (int32) (IterationCount() * 7ul % 5ul), x = (int32) IterationCount(); }
    stream<int32 k, int32 n> N = Aggregate(A) { window A: sliding, count(3), partitioned; param partitionBy: k;
      output N: k = Any(k), n = Sum(x); }
    stream<int32 k, int32 x, int32 n> J = Join(A; N) {
      window A: sliding, count(0), partitioned; N: sliding, count(1), partitioned;
      param partitionByLHS: A.k; partitionByRHS: N.k; equalityLHS: A.k; equalityRHS: N.k; output J: k = A.k; }
    () as Sink = FileSink(J) { param file: "out.csv"; } }"""


def test_a_watched_program_has_the_same_regions(tmp_path):
    program = compile_text(JOINED)
    assert (
        parallel_regions(verify_models(program).application, BEYOND).regions
        == parallel_regions(program.application, BEYOND).regions
    )


def test_state_of_watched_operators_survives_batches(tmp_path):
    program = compile_text(JOINED)
    watched = verify_models(program)
    plan = physical_plan(watched.application, everything_fused(watched.application), 3)
    run_plan(watched, plan, environment(tmp_path, tmp_path), turns_per_batch=7)
    assert files(tmp_path) == run_reference(program, tmp_path)


@pytest.mark.parametrize("name", sorted(LIES))
def test_a_lie_about_the_first_tuples_is_caught_by_default(name, tmp_path):
    operator, schema, _ = LIES[name]
    SEEN.clear()
    with pytest.raises(UserError, match=r"operator `B` \(.*its model says that it .*but .*; correct its model"):
        run(verify_some(lying(operator, schema).program()), environment=environment(tmp_path, tmp_path))


@map_
def shouted(t):
    return {"k": t.k, "x": t.x + 1}


@pytest.mark.parametrize("name", ["global", "forwarding", "none", "two"])
def test_a_lie_is_caught_in_generated_code(name, tmp_path):
    operator, schema, message = LIES[name]
    SEEN.clear()
    program = verify_some(lying(operator, schema).program())
    plan = physical_plan(program.application, everything_fused(program.application), 1)
    inner = next(pe for pe in plan.pes if "B" in pe.operators and pe.role != "source")
    assert build(program, plan).pieces[inner.index].modules
    with pytest.raises(UserError, match=message.replace("submitted", "gave").replace("submits", "gives")):
        run_plan(program, plan, environment(tmp_path, tmp_path), turns_per_batch=100)


def test_after_the_first_tuples_nothing_is_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "FIRST_TUPLES", 5)
    for operator in (rekeyed, sometimes_two):
        run(verify_some(lying(operator, None).program()), environment=environment(tmp_path, tmp_path))


class Sums(Operator):
    """Honest state by k, inferred."""

    def __init__(self):
        self.sums = {}

    def process(self, t):
        self.sums[t.k] = self.sums.get(t.k, 0) + t.x
        yield {"k": t.k, "x": self.sums[t.k]}


@pytest.mark.parametrize("limit", [5, 2000])
def test_checks_of_the_first_tuples_survive_batches_and_leave_the_result(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(checks, "FIRST_TUPLES", limit)
    program = lying(Sums, None).program()
    checked = verify_some(program)
    plan = physical_plan(checked.application, everything_fused(checked.application), 3)
    run_plan(checked, plan, environment(tmp_path, tmp_path), turns_per_batch=3)
    assert files(tmp_path) == run_reference(program, tmp_path)


class FailsAfterItHasCounted(Operator):
    """Honest, and cannot process every tuple."""

    def __init__(self):
        self.counts = {}

    def process(self, t):
        self.counts[t.k] = n = self.counts.get(t.k, 0) + 1
        if t.x % 3 == 0:
            raise ValueError(t.x)
        yield {"k": t.k, "x": n}


@pytest.mark.parametrize("checked", [verify_some, verify_models])
def test_an_operator_that_fails_on_some_tuples_is_not_taken_for_a_liar(checked, tmp_path):
    app = App("Fails")
    given = app.source(feed(ROWS), "int32 k, int32 x", name="A")
    output = Output(schema=given.schema, name="B")
    (made,) = app.invoke(FailsAfterItHasCounted, given, outputs=[output], on_error="skip")
    made.write_file("out.csv", name="Sink")
    assert run_reference(checked(app.program()), tmp_path) == run_reference(app.program(), tmp_path)


def test_what_an_unchecked_run_has_left_is_taken_up_without_replicas(tmp_path):
    program = lying(Sums, None).program()
    operator = program.application.operator["B"]

    def made(of):
        world = Environment()
        context = SimpleNamespace(environment=world, evaluator=Evaluator(functions=(), environment=world))
        runtime = of.registry.get(operator.kind).runtime(operator, context)
        runtime.submit.append(sent.append)
        return runtime, runtime.receiver(0)

    sent: list[object] = []
    plain, take = made(program)
    take((1, 5))
    resumed, take = made(verify_some(program))
    resumed.restore(plain.snapshot())
    take((1, 5))
    assert sent == [(1, 5), (1, 10)]
    again, take = made(program)
    again.restore(resumed.snapshot())
    take((1, 5))
    assert sent[-1] == (1, 15)


def test_standard_operators_and_plans_stay_as_they_are():
    program = compile_text(JOINED)
    assert verify_some(program) is program
    checked = verify_some(lying(shouted, None).program())
    assert [o.kind for o in checked.application.operators][1] == "shouted"


LIAR = """
from penstock import App, OperatorModel, Selectivity, State, map_
from penstock.testing import feed
seen = []
@map_(model=OperatorModel(state=State.STATELESS, selectivity=Selectivity.EXACTLY_ONE))
def numbered(t):
    seen.append(t.x)
    return {"x": len(seen)}
app = App("Liar")
app.source(feed([1, 2, 3]), "int32 x", name="A").map(numbered, name="B").write_file("out.csv", name="Sink")
"""


@pytest.mark.parametrize(
    ("options", "status"),
    [((), 1), (("--verify-models", "none"), 0), (("--verify-models", "some"), 1), (("--verify-models",), 1)],
)
def test_the_command_line_checks_unless_told_not_to(options, status, tmp_path):
    (tmp_path / "liar.py").write_text(LIAR)
    arguments = ["run", "--engine", "reference", "--out", str(tmp_path), *options, str(tmp_path / "liar.py")]
    found = subprocess.run(
        [sys.executable, "-m", "penstock.cli", *arguments], capture_output=True, text=True, check=False
    )
    assert found.returncode == status, found.stderr
    assert ("operator `B`" in found.stderr and "it is stateless, but" in found.stderr) == bool(status)


@pytest.mark.xdist_group("spark")
def test_a_lie_is_caught_on_spark(tmp_path):
    program = verify_models(lying(rekeyed, "int32 k, int32 x").program())
    with pytest.raises(UserError, match=r"operator `B` \(.*rekeyed\) failed on \{k=1,x=9\}: .*forwards `k` unchanged"):
        run_spark(program, tmp_path, everything_fused(program.application), turns_per_batch=100)


def test_a_watched_operator_waits_for_time_as_it_does_unwatched_and_sees_whole_tuples():
    text = """composite Main { graph
        stream<int32 x, int32 y> A = Beacon() {}
        stream<A> B = Delay(A) { param delay: 1.0; }
        stream<int32 x> C = Functor(B) { param filter: x > 0; }
        () as Sink = FileSink(C) { param file: "c"; } }"""
    program = compile_text(text)
    watched = verify_models(program)
    assert waits_for_time(program.application)
    assert waits_for_time(watched.application)
    assert dead_attributes(program.application)["B"] == {"y"}
    assert dead_attributes(watched.application)["B"] == set()
    assert watched.application.operator["C"].facts == watched.registry.get("watched::Functor").facts
    assert watched.application.operator["C"].facts.drops_by is None
