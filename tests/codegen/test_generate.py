"""Generated PEs without state: what leaves is what leaves a container."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, inner_pe, plan_of

from feeding import feed, program
from penstock.codegen.transport import FINAL, PULSE, TUPLE, WINDOW, Item

SCHEMA = "int32 n, float64 x, rstring s"
ROWS = st.tuples(
    st.integers(-3, 9) | st.sampled_from([2**31 - 1, -(2**31)]),
    st.sampled_from([0.0, -0.0, 0.1, 0.7, 1e16, -1e16, -2.25, float("nan"), float("inf")]),
    st.sampled_from(["", "a", "b", "Trade", "é"]),
)

STATELESS = (
    "stream<{a}> {o} = Filter({a}) {{ param filter: n > 2; }}",
    "stream<{a}> {o} = Filter({a}) {{ param filter: n != 0 && 10 / n > 1; }}",
    '(stream<{a}> {o}; stream<{a}> {o}Rest) = Filter({a}) {{ param filter: s == "a" || x < 1.0; }}',
    "stream<{a}> {o} = Functor({a}) {{ output {o}: n = n * 3 + 1, x = x * 0.5 - (float64) n; }}",
    'stream<{a}> {o} = Functor({a}) {{ param filter: length(s) > 0; output {o}: s = s + "z"; }}',
    "stream<{a}> {o} = Functor({a}) {{ param filter: hashCode(s) % 2u == 0u && n > 0; output {o}: n = n>4 ? n : -n; }}",
    "(stream<{a}> {o}; stream<{a}> {o}Twice) = Functor({a}) {{ output {o}: n = n - 1; {o}Twice: x = x + x; }}",
    "(stream<{a}> {o}; stream<{a}> {o}1; stream<{a}> {o}2) = Split({a}) {{ param index: (int64) n; }}",
    "stream<{a}> {o} = Punctor({a}) {{ param punctuate: n % 2 == 0; position: before; }}",
    "stream<{a}> {o} = Punctor({a}) {{ param punctuate: x > 0.0; position: after; output {o}: n = n + 7; }}",
    "stream<{a}> {o} = Union({a}; {b}) {{}}",
    "stream<{a}> {o} = Union({a}; {b}; {c}) {{}}",
    "stream<{a}> {o} = Functor({a}, {b}) {{ output {o}: n = n & 3; }}",
)


PER_TUPLE = (
    "stream<{a}> {o} = Functor({a}) {{ output {o}: x = exp(x) + (float64) n, n = n + 1; }}",
    "stream<{a}> {o} = Filter({a}) {{ param filter: n == 0 || 7 / n > 1; }}",
    "stream<{a}> {o} = Custom({a}) {{ logic onTuple {a}: {{ if (n > 0) submit({a}, {o}); }} }}",
    """stream<{a}> {o} = Custom({a}) {{
         logic state: mutable int32 c = 0;
               onTuple {a}: {{ c += n; {a}.n = c; submit({a}, {o}); if (c % 2 == 0) submit({a}, {o}); }} }}""",
    """(stream<{a}> {o}; stream<{a}> {o}Rest) = Custom({a}) {{
         logic state: mutable list<int32> seen = [];
               onTuple {a}: {{
                 if (n in seen) {{ submit({a}, {o}Rest); return; }}
                 appendM(seen, n);
                 for (int32 i in range(size(seen))) {{
                   if (i > 2) break;
                   submit({{n = seen[i], x = x, s = s}}, {o});
                 }}
               }} }}""",
    """stream<{a}> {o} = Functor({a}) {{
         logic state: mutable int32 c = 0;
               onTuple {a}: {{ c++; if (n > 5) c += 2; }}
         param filter: c % 3 != 0; output {o}: n = n + c; }}""",
    "(stream<{a}> {o}; stream<{a}> {o}Rest) = Split({a}) {{ param index: [(int64) n, 1l, (int64) n - 2l]; }}",
    """stream<{a}> {o} = Custom({a}) {{ logic onTuple {a}: {{ mutable int32 i = 0; while (i < n && i < 3) {{
         submit({a}, {o}); i++; }} }} }}""",
)


STATEFUL = (
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, count(3), partitioned; param partitionBy: s;
         output {o}: n = Sum(n), x = Sum(x), s = Any(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, count(4), count(2); param
         aggregateIncompleteWindows: true; output {o}: n = Count() + Max(n), x = Average(x) * 2.0, s = First(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, count(2), partitioned; param partitionBy: s, n % 2;
         output {o}: n = Average(n), x = Min(x), s = Last(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, count(5), partitioned; param partitionBy: x;
         output {o}: n = Min(n) - Average(n), x = Max(x + 1.0), s = First(s) + "!"; }}""",
    "stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, count(1); output {o}: n = Count(); }}",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, count(3), partitioned; param partitionBy: s;
         output {o}: n = Max(n) + Sum(n), x = Sum(x) + Max(x), s = First(s) + Any(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, delta(n, 2), partitioned; param partitionBy: s;
         output {o}: n = First(n), x = Sum(x), s = Last(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, delta(x, 1.5);
         output {o}: n = Count() + Min(n), x = Average(x) - Min(x), s = First(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, punct();
         output {o}: n = Count() + Average(n), x = Sum(x), s = First(s); }}""",
    """stream<{a}> {o} = Join({a} as L; {b} as R) {{ window L: sliding, count(0), partitioned; R: sliding, count(1),
         partitioned; param partitionByLHS: L.s; partitionByRHS: R.s; equalityLHS: L.s; equalityRHS: R.s;
         output {o}: n = L.n + R.n, x = R.x, s = L.s; }}""",
    """stream<{a}> {o} = Join({a} as L; {b} as R) {{ window L: sliding, count(1); R: sliding, count(1);
         param match: L.n <= R.n && L.s != ""; output {o}: n = R.n, x = L.x - R.x, s = R.s; }}""",
    """stream<{a}> {o} = Join({a}, {c} as L; {b} as R) {{
         window L: sliding, count(1), partitioned; R: sliding, count(0);
         param partitionByLHS: L.n, L.s; equalityLHS: L.n, L.s; equalityRHS: R.n, R.s;
         output {o}: n = L.n, x = L.x, s = R.s; }}""",
    "stream<{a}> {o} = DeDuplicate({a}) {{ param key: n; timeOut: 0.000000002; }}",
    "(stream<{a}> {o}; stream<{a}> {o}Rest) = DeDuplicate({a}) {{ param key: s, x; count: 3ul; }}",
    "stream<{a}> {o} = DeDuplicate({a}) {{ param key: n; count: 2ul; resetOnDuplicate: false; output {o}: n = -n; }}",
    "stream<{a}> {o} = DeDuplicate({a}) {{ }}",
)


def graph_text(draw: st.DrawFn, choices: tuple[str, ...], largest: int = 7) -> str:
    """Operators that each take any of the streams before them, then sinks for all of them."""
    streams, lines = ["A", "B"], []
    for i in range(draw(st.integers(1, largest))):
        a, b, c = (draw(st.sampled_from(streams)) for _ in range(3))
        text = draw(st.sampled_from(choices)).format(a=a, b=b, c=c, o=f"O{i}")
        lines.append(text)
        streams += [name for name in (f"O{i}", f"O{i}Rest", f"O{i}Twice", f"O{i}1", f"O{i}2") if f"> {name}" in text]
    wanted = draw(st.lists(st.sampled_from(streams[2:]), unique=True, min_size=1))
    lines += [f'() as Sink{i} = FileSink({name}) {{ param file: "{name}"; }}' for i, name in enumerate(wanted)]
    return "\n".join(lines)


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
