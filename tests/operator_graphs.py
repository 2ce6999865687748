"""Operators as SPL text, and graphs of them, for tests that run one program in several ways."""

from __future__ import annotations

from hypothesis import strategies as st

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


BY_TIME = (
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, time(2.0), partitioned; param partitionBy: s;
         output {o}: n = Count(), x = Sum(x), s = Any(s); }}""",
    "stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, time(1.0); output {o}: n = Sum(n), x = Max(x); }}",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, time(3.0), count(1), partitioned; param partitionBy: s;
         aggregateIncompleteWindows: true; output {o}: n = Min(n), x = Average(x), s = Last(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, count(3), time(1.5);
         output {o}: n = Count(), x = Sum(x); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, count(3), partitioned, partitionAge(1.5);
         param partitionBy: s; aggregateIncompleteWindows: true; output {o}: n = Sum(n), x = Sum(x), s = Any(s); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, time(1.0), partitioned, partitionAge(2.0);
         param partitionBy: s; output {o}: n = Count(), x = Sum(x), s = Any(s); }}""",
    "stream<{a}> {o} = Delay({a}) {{ param delay: 1.0; }}",
    "stream<{a}> {o} = Throttle({a}) {{ param rate: 2.0; }}",
    """stream<{a}> {o} = Join({a} as L; {b} as R) {{ window L: sliding, time(2.0); R: sliding, time(1.0);
         param match: L.s == R.s; output {o}: n = L.n + R.n, x = R.x, s = L.s; }}""",
)

IN_CONTAINERS = (
    "stream<{a}> {o} = Sort({a}) {{ window {a}: tumbling, count(3); param sortBy: n, s; }}",
    "stream<{a}> {o} = Sort({a}) {{ window {a}: sliding, count(2); param sortBy: s; }}",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, count(4); param groupBy: s;
         output {o}: n = Count(), x = Sum(x); }}""",
    """stream<{a}> {o} = Aggregate({a}) {{ window {a}: tumbling, count(3), partitioned; param partitionBy: s;
         output {o}: n = CountDistinct(n), x = StdDev(x); }}""",
    "stream<{a}> {o} = Aggregate({a}) {{ window {a}: sliding, delta(n, 2), count(1); output {o}: n = Sum(n); }}",
    """stream<{a}> {o} = Join({a} as L; {b} as R) {{ window L: sliding, count(2); R: sliding, count(3);
         param match: L.n < R.n; output {o}: n = L.n + R.n, x = R.x, s = L.s; }}""",
    """stream<int32 n, float64 x, rstring s> {o} = Barrier({a} as L; {b} as R) {{
         output {o}: n = L.n, x = R.x, s = L.s; }}""",
    "stream<{a}> {o} = Pair({a}; {b}) {{}}",
    "@catch stream<{a}> {o} = Functor({a}) {{ output {o}: n = 12 / n; }}",
    """stream<{a}> {o} = Custom({a}) {{ logic state: mutable int32 c = 0;
         onTuple {a}: {{ c++; submit({a}, {o}); }}
         onPunct {a}: {{ submit({{n = c, x = 0.0, s = "punct"}}, {o}); }} }}""",
    """stream<{a}> {o} = Custom({a} as L; {b} as R) {{ logic state: mutable int32 c = 0;
         onTuple L: c += L.n; onTuple R: submit({{n = c, x = R.x, s = R.s}}, {o}); }}""",
    "stream<{a}> {o} = Changes({a}) {{}}",
)
"""Operators without a generated form; `Changes` is a class that a test has to register."""


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
