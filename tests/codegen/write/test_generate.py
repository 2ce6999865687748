"""Generated PEs without state: what leaves is what leaves a container."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, inner_pe, plan_of

from feeding import feed, program
from operator_graphs import PER_TUPLE, ROWS, SCHEMA, STATEFUL, STATELESS, graph_text
from penstock.codegen.transport.batches import FINAL, PULSE, TUPLE, WINDOW, Item


@st.composite
def graphs(draw: st.DrawFn, choices: tuple[str, ...] = STATELESS) -> str:
    return graph_text(draw, choices)


@st.composite
def batches(draw: st.DrawFn, edges: tuple[int, ...], largest: int = 8) -> list[list[tuple[int, Item]]]:
    """A few batches of items of edges, in no particular order within a batch; some edges may end."""
    found, time_ns = [], 0
    for _ in range(draw(st.integers(1, 3))):
        batch: list[tuple[int, Item]] = []
        for number in range(draw(st.integers(0, largest))):
            time_ns += draw(st.integers(0, 1))
            path = draw(st.sampled_from([b"", b"\0\0\0\1", b"\0\0\1\0\0\0\0\2"]))
            kind = draw(st.sampled_from([TUPLE] * 7 + [WINDOW]))
            row = draw(ROWS) if kind == TUPLE else None
            batch.append((draw(st.sampled_from(edges)), Item(time_ns, number, path, kind, row)))
        batch = draw(st.permutations(batch))
        time_ns += 1
        batch += [(edge, Item(time_ns, 2**62, b"", PULSE)) for edge in edges]
        found.append(batch)
    ends = draw(st.lists(st.sampled_from(edges), unique=True))
    found[-1] += [(edge, Item(time_ns + i, 0, b"", FINAL)) for i, edge in enumerate(ends)]
    return found


@settings(max_examples=200, deadline=None)
@given(data=st.data(), graph=graphs((*STATELESS, *PER_TUPLE, *PER_TUPLE)))
def test_graphs_with_code_leave_what_a_container_leaves(data, graph):
    made = program(graph, A=feed(SCHEMA, []), B=feed(SCHEMA, []))
    plan = plan_of(made)
    pe = inner_pe(plan)
    edges = tuple(e.index for e in plan.into(pe))
    assert_same(made, plan, pe, data.draw(batches(edges)))


@settings(max_examples=400, deadline=None)
@given(data=st.data(), graph=graphs((*STATELESS, *PER_TUPLE, *STATEFUL, *STATEFUL, *STATEFUL)))
def test_graphs_with_state_leave_what_a_container_leaves(data, graph):
    made = program(graph, A=feed(SCHEMA, []), B=feed(SCHEMA, []))
    plan = plan_of(made)
    pe = inner_pe(plan)
    edges = tuple(e.index for e in plan.into(pe))
    assert_same(made, plan, pe, data.draw(batches(edges, 30)))


@settings(max_examples=300, deadline=None)
@given(data=st.data(), graph=graphs())
def test_stateless_graphs_leave_what_a_container_leaves(data, graph):
    made = program(graph, A=feed(SCHEMA, []), B=feed(SCHEMA, []))
    plan = plan_of(made)
    pe = inner_pe(plan)
    edges = tuple(e.index for e in plan.into(pe))
    assert_same(made, plan, pe, data.draw(batches(edges)))
