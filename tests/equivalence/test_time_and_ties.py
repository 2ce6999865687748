"""What happens at one time happens in one order: in the reference, in pieces on channels, and on Spark."""

from __future__ import annotations

import random

import pytest
from test_plans import environment, files, random_fusion

from penstock import App, after, agg, col, sliding, source, time, tumbling
from penstock.codegen.plan.physical import physical_plan
from penstock.ir.graph import Application
from penstock.lang import compile_text
from penstock.parallel.loops import loops
from penstock.reference import run
from penstock.toolkit.core.program import Program
from plan_runner import run_plan
from spark_session import assert_equal_on_spark
from timed_programs import timed_program

BEACON = """stream<int32 k, int32 v> A = Beacon() { param period: 0.25; iterations: 13u;
      output A: k = (int32) (IterationCount() % 3ul), v = (int32) IterationCount(); }"""


@source
def ticks():
    yield (4, "d")
    yield (2, "d")
    yield after(0.5)
    yield (4, "c")
    yield after(0.5)
    yield (2, "c")
    yield after(1.0)


def two_windows() -> Program:
    """Windows by time behind windows by time: what they send at one time has come when those behind them fire."""
    app = App("Cascade")
    first = app.source(ticks, "int32 n, rstring s", name="A").aggregate(
        tumbling(time(1.0)), by="n", s=agg.last(col.s), name="W"
    )
    second = first.aggregate(sliding(time(2.0), every=time(1.0)), by="s", c=agg.count(), name="V")
    second.write_file("v.csv", name="Sink")
    return app.program()


def spl(body: str, *streams: str) -> Program:
    sinks = [f'() as Sink{stream} = FileSink({stream}) {{ param file: "{stream}.csv"; }}' for stream in streams]
    return compile_text("composite Main { graph\n" + "\n".join([body, *sinks]) + "\n}")


PROGRAMS = {
    "windows behind windows": two_windows,
    "a join by time": lambda: spl(
        """
    stream<int64 n, rstring s> A = Beacon() { param period: 0.25; iterations: 12u;
      output A: n = (int64) IterationCount(), s = IterationCount() % 3ul == 0ul ? "a" : "b"; }
    stream<A> F = Filter(A) { param filter: n >= 0l; }
    stream<int32 c, rstring s> C = Aggregate(A) { window A: tumbling, time(1.0), partitioned; param partitionBy: s;
      output C: c = Count(), s = Any(s); }
    stream<int32 c, int64 n, rstring s> J = Join(C; F) { window C: sliding, count(0); F: sliding, time(1.0);
      param equalityLHS: C.s; equalityRHS: F.s; output J: c = C.c, n = F.n, s = F.s; }""",
        "J",
    ),
    "a throttle before a window": lambda: spl(
        f"""{BEACON}
    stream<A> T = Throttle(A) {{ param rate: 2.0; }}
    stream<A> W = Aggregate(T) {{ window T: tumbling, time(0.5), partitioned; param partitionBy: k;
      output W: k = Any(k), v = Sum(v); }}
    stream<A> M = Functor(W, T) {{ output M: v = v + 1; }}""",
        "W",
        "M",
    ),
    "an outer join before a window": lambda: spl(
        f"""{BEACON}
    stream<A> G = Filter(A) {{ param filter: v % 2 == 0; }}
    stream<A> J = Join(A; G) {{ window A: sliding, time(0.5); G: sliding, time(0.75);
      param algorithm: outer; equalityLHS: A.k; equalityRHS: G.k; match: A.v + 1 < G.v;
      output J: k = A.k, v = A.v * 100 + G.v; }}
    stream<A> W = Aggregate(J) {{ window J: tumbling, time(0.5), partitioned; param partitionBy: k;
      output W: k = Any(k), v = Sum(v); }}""",
        "J",
        "W",
    ),
    "no delay at all": lambda: spl(
        f"""{BEACON}
    stream<A> D = Delay(A) {{ param delay: 0.0; }}
    stream<A> F = Functor(D, A) {{ output F: v = v + 1; }}
    stream<A> W = Aggregate(D) {{ window D: sliding, time(0.5), time(0.25), partitioned; param partitionBy: k;
      output W: k = Any(k), v = Sum(v); }}
    stream<A> G = Functor(W, F, D) {{ output G: v = v + 1; }}""",
        "F",
        "G",
    ),
    "a delay that outlives its source": lambda: spl(
        f"""{BEACON}
    stream<A> B = Beacon() {{ param period: 0.25; iterations: 3u; output B: k = 7, v = (int32) IterationCount(); }}
    stream<A> D = Delay(B) {{ param delay: 1.25; }}
    stream<A> M = Functor(D, A) {{ output M: v = v + 1; }}
    stream<A> W = Aggregate(D) {{ window D: tumbling, time(0.25), partitioned; param partitionBy: k;
      output W: k = Any(k), v = Count(); }}""",
        "M",
        "W",
    ),
    "a loop that a timer sends several tuples into": lambda: spl(
        f"""{BEACON}
    stream<A> S = Sort(A) {{ window A: tumbling, time(0.75); param sortBy: k; }}
    stream<A> F = Functor(S) {{ output F: v = v + 1; }}
    stream<A> L = Custom(S, F as I; T as J) {{ logic onTuple I: submit(I, L);
      onTuple J: if (v < 60) submit({{k = k, v = v + 20}}, L); }}
    stream<A> T = Throttle(L) {{ param rate: 8.0; }}
    stream<A> M = Functor(L, S, T) {{ output M: v = v + 1; }}""",
        "T",
        "M",
    ),
    "a loop at one time": lambda: spl(
        f"""{BEACON}
    stream<A> L = Custom(A as I; E as J) {{ logic onTuple I: submit(I, L);
      onTuple J: if (v < 100) submit({{k = k, v = v + 40}}, L); }}
    stream<A> D = Delay(L) {{ param delay: 0.0; }}
    stream<A> E = Delay(D) {{ param delay: 0.0; }}
    stream<A> M = Functor(D, A, E) {{ output M: v = v + 1; }}""",
        "E",
        "M",
    ),
    "a loop and a way around it": lambda: spl(
        f"""{BEACON}
    stream<A> F = Functor(A) {{ output F: v = v + 1; }}
    stream<A> L = Custom(A, F as I; R as J) {{ logic onTuple I: submit(I, L);
      onTuple J: if (v < 50) submit({{k = k, v = v + 20}}, L); }}
    stream<A> R = Filter(L) {{ param filter: v % 4 != 3; }}
    stream<A> G = Functor(F) {{ output G: v = v + 500; }}
    stream<A> M = Functor(L, A, G) {{ output M: v = v + 1; }}""",
        "L",
        "M",
    ),
}


def fusions(application: Application) -> list[list[list[str]]]:
    """Everything in one PE; and every operator in its own, but for those of loops."""
    everything = [o.id for o in application.operators]
    looped = [id_ for loop in loops(application) for id_ in loop]
    apart = [[id_] for id_ in everything if id_ not in looped]
    return [[everything], [*apart, looped] if looped else apart]


def assert_equal(program: Program, fusion: list[list[str]], channels: int, turns: int, wanted, tmp_path) -> None:
    plan = physical_plan(program.application, fusion, channels)
    out = tmp_path / f"{len(list(tmp_path.iterdir()))}"
    with environment(tmp_path, out) as cut:
        run_plan(program, plan, cut, turns_per_batch=turns)
    assert files(out) == wanted, (fusion, channels, turns)


def reference(program: Program, tmp_path) -> dict[str, bytes]:
    with environment(tmp_path, tmp_path / "whole") as whole:
        run(program, environment=whole)
    return files(tmp_path / "whole")


def test_what_windows_send_has_come_when_those_behind_them_fire(tmp_path):
    assert reference(two_windows(), tmp_path)["v.csv"] == b'"c",2\n"d",1\n'


def test_a_tuple_that_has_left_its_window_by_time_is_not_joined(tmp_path):
    found = reference(PROGRAMS["a join by time"](), tmp_path)["J.csv"]
    # The window of "b" closes at 1.25 s, when the tuple of 0.25 s has just left.
    assert found == b'2,3,"a"\n3,2,"b"\n3,4,"b"\n1,6,"a"\n3,7,"b"\n3,8,"b"\n'


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_by_time_means_the_same_in_pieces(name, tmp_path):
    program = PROGRAMS[name]()
    wanted = reference(program, tmp_path)
    for fusion in fusions(program.application):
        for channels, turns in ((1, 3), (1, 1000), (3, 1), (3, 1000)):
            assert_equal(program, fusion, channels, turns, wanted, tmp_path)


@pytest.mark.parametrize("seed", range(40))
def test_a_random_program_by_time_means_the_same_in_pieces(seed, tmp_path):
    text = timed_program(seed)
    program, rng = compile_text(text), random.Random(seed)
    wanted = reference(program, tmp_path)
    everything = [o.id for o in program.application.operators]
    for fusion in ([everything], random_fusion(program.application, seed)):
        channels, turns = rng.randint(1, 5), rng.choice((2, 7, 20, 1000))
        try:
            assert_equal(program, fusion, channels, turns, wanted, tmp_path)
        except AssertionError as error:
            raise AssertionError(f"{error}\nseed {seed}:\n{text}") from None


@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("name", ["windows behind windows", "a join by time", "a throttle before a window"])
def test_a_program_by_time_means_the_same_on_spark(name, tmp_path):
    program = PROGRAMS[name]()
    assert_equal_on_spark(program, tmp_path, channels=1, turns_per_batch=1000)
    assert_equal_on_spark(program, tmp_path, channels=3)
