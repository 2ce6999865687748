"""Graphs drawn at random mean the same in the reference, in containers, and in generated code, however they are cut."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from feeding import WINDOW, Fed, after, feed, program
from operator_graphs import BY_TIME, IN_CONTAINERS, PER_TUPLE, SCHEMA, STATEFUL, STATELESS, graph_text
from penstock import Operator
from penstock.api.operators import definition_of
from penstock.codegen.plan.physical import PhysicalPlan, physical_plan
from penstock.codegen.plan.pieces import pieces_of
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.reference import run
from penstock.toolkit.core.program import Program
from plan_runner import run_plan

PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failing graph is small enough as it is, and to make it smaller takes minutes."""

ROWS = st.tuples(
    st.integers(1, 9),
    st.sampled_from([0.0, 0.1, 0.7, 1e16, -1e16, -2.25]),
    st.sampled_from(["a", "b", "c"]),
)
"""Without what code fails on: a failure ends the run at another tuple where PEs work one after the other."""


class Changes(Operator):
    """Passes a tuple on when its number differs from the last one of its string."""

    def __init__(self):
        self.last = {}

    def process(self, t):
        if self.last.get(t.s) != t.n:
            self.last[t.s] = t.n
            yield t

    def finish(self):
        for s, n in self.last.items():
            yield {"n": n, "x": 0.0, "s": s}


@st.composite
def fed(draw: st.DrawFn) -> list[Fed]:
    """What a source sends: tuples and markers, with time between them."""
    items: list[Fed] = []
    for _ in range(draw(st.integers(0, 25))):
        kind = draw(st.sampled_from(["tuple"] * 6 + ["marker", "wait"]))
        items.append({"tuple": draw(ROWS), "marker": WINDOW, "wait": after(draw(st.sampled_from([0.5, 1.0])))}[kind])
    return items


@st.composite
def graphs(draw: st.DrawFn, choices: tuple[str, ...]) -> str:
    return graph_text(draw, choices, largest=6)


def program_of(graph: str, items: list[Fed]) -> Program:
    """One source alone: how several of them alternate depends on the batches."""
    both = f"stream<A> B = Filter(A) {{ param filter: n > 3; }}\n{graph}"
    return program(both, operators=[definition_of(Changes)], A=feed(SCHEMA, items))


@st.composite
def fusions(draw: st.DrawFn, application: Application) -> list[list[str]]:
    """All operators in one PE, each in its own, or those next to each other in order of declaration."""
    ids = [o.id for o in application.operators]
    how = draw(st.sampled_from(["all", "none", "runs"]))
    if how == "all":
        return [ids]
    if how == "none":
        return [[id_] for id_ in ids]
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(ids) - 1)))))
    return [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def folders() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        for i in range(10):
            (Path(folder) / str(i)).mkdir()
            yield Path(folder) / str(i)


def surroundings(out: Path) -> Environment:
    return Environment(data_directory=out, output_directory=out)


def assert_equal(made: Program, plan: PhysicalPlan, turns: int) -> None:
    out = folders()
    whole, cut = next(out), next(out)
    run(made, environment=surroundings(whole))
    run_plan(made, plan, surroundings(cut), turns_per_batch=turns)
    assert files(cut) == files(whole)


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    data=st.data(),
    items=fed(),
    graph=graphs((*STATELESS[:5], *PER_TUPLE[:6], *STATEFUL, *IN_CONTAINERS, *IN_CONTAINERS)),
)
def test_graphs_of_all_operators_mean_the_same_however_they_are_cut(data, graph, items):
    made = program_of(graph, items)
    plan = physical_plan(made.application, data.draw(fusions(made.application)))
    assert_equal(made, plan, data.draw(st.sampled_from([1, 4, 1000])))


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(
    data=st.data(),
    items=fed(),
    graph=graphs((*STATELESS[:5], *STATEFUL[:6], *IN_CONTAINERS[:2], *BY_TIME, *BY_TIME)),
)
def test_graphs_with_timers_mean_the_same_however_they_are_cut(data, graph, items):
    made = program_of(graph, items)
    plan = physical_plan(made.application, data.draw(fusions(made.application)))
    assert_equal(made, plan, data.draw(st.sampled_from([1, 4, 1000])))


def test_an_operator_without_a_generated_form_leaves_the_others_theirs():
    made = program(
        """stream<A> F = Filter(A) { param filter: n > 1; }
           stream<A> S = Sort(F) { window F: tumbling, count(3); param sortBy: n; }
           stream<A> T = Union(S; A) {}
           () as Sink = FileSink(T) { param file: "t"; }""",
        A=feed(SCHEMA, [(i % 5, float(i), "a") for i in range(20)]),
    )
    plan = physical_plan(made.application, [[o.id for o in made.application.operators]])
    pieces = pieces_of(made, plan, plan.home["F"])
    assert [pieces.plan.pes[piece].operators for piece in pieces.made] == [("F",), ("S",), ("T",)]
    assert list(pieces.reasons.values()) == ["`S` (Sort) has no generated form"]
    assert_equal(made, plan, 6)
