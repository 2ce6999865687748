"""Tumbling windows of time: what leaves, and its place, is what leaves a container."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from pes import assert_same, plan_of

from feeding import feed, program
from operator_graphs import ROWS, SCHEMA
from penstock.codegen.kernels.time_windows import Moments, TumblingTimes
from penstock.codegen.rows.frames import Frame
from penstock.codegen.rows.paths import Paths
from penstock.codegen.rows.places import Places
from penstock.codegen.rows.timer_places import AFTER_TIMERS, firing_path, ticket_at
from penstock.codegen.transport.batches import FINAL, PULSE, TUPLE, Item

WINDOWS = (
    """stream<A> O = Aggregate(A) { window A: tumbling, time(0.000000003), partitioned; param partitionBy: s;
         output O: n = Count() + Sum(n), x = Sum(x), s = Any(s); }""",
    """stream<A> O = Aggregate(A) { window A: tumbling, time(0.000000002), partitioned; param partitionBy: n % 3, s;
         output O: n = First(n), x = Max(x), s = First(s); }""",
    """stream<A> O = Aggregate(A) { window A: tumbling, time(0.000000004); output O: n = Min(n), x = Average(x); }""",
    """stream<A> O = Aggregate(A, B) { window A: tumbling, time(0.000000001); output O: n = Count(); }
       stream<A> P = Aggregate(O) { window O: tumbling, punct(); output P: n = Sum(n); }
       () as Other = FileSink(P) { param file: "p"; }""",
)


def _ticket(step: int) -> bytes:
    return ticket_at(0, 0, step.to_bytes(4), 0)


@st.composite
def batches(draw: st.DrawFn, edges: tuple[int, ...]) -> list[list[tuple[int, Item]]]:
    """A few batches of items whose times often meet those of timers; some are made by timers themselves."""
    found, time_ns = [], draw(st.integers(0, 2))
    plain = st.integers(0, 300).map(lambda step: step.to_bytes(4))
    # A timer upstream has a lower rank; what a loop upstream makes in a later wave may have any.
    made = st.builds(firing_path, st.integers(0, 1), st.integers(0, 1), st.integers(0, 300).map(_ticket))
    for _ in range(draw(st.integers(1, 4))):
        batch: list[tuple[int, Item]] = []
        for number in range(draw(st.integers(0, 12))):
            time_ns += draw(st.sampled_from([0, 0, 1, 1, 2, 7]))
            made_by_timer = draw(st.booleans())
            path, row = draw(made if made_by_timer or draw(st.booleans()) else plain), draw(ROWS)
            item = Item(time_ns, AFTER_TIMERS if made_by_timer else number, path, TUPLE, row)
            if all(item[:3] != other[:3] for _, other in batch):
                batch.append((draw(st.sampled_from(edges)), item))
        batch.sort(key=lambda pair: pair[1][:3])
        time_ns += draw(st.integers(1, 5))
        batch += [(edge, Item(time_ns, 2**62, b"", PULSE)) for edge in edges]
        time_ns += 1
        found.append(batch)
    ends = draw(st.lists(st.sampled_from(edges), unique=True))
    found[-1] += [
        (
            edge,
            Item(
                time_ns + i,
                *draw(st.sampled_from([(AFTER_TIMERS, firing_path(0, 1, _ticket(0))), (0, b"\0\0\0\1")])),
                FINAL,
            ),
        )
        for i, edge in enumerate(ends)
    ]
    found[-1] += [(edge, Item(time_ns + len(edges), 2**62, b"", PULSE)) for edge in edges]
    found.append([(edge, Item(time_ns + 10, 2**62, b"", PULSE)) for edge in edges])
    return found


@settings(max_examples=300, deadline=None)
@given(data=st.data(), graph=st.sampled_from(WINDOWS))
def test_windows_of_time_fire_as_in_a_container(data, graph):
    made = program(f'{graph}\n() as Sink = FileSink(O) {{ param file: "o"; }}', A=feed(SCHEMA, []), B=feed(SCHEMA, []))
    plan = plan_of(made, [["O"], ["P"]])
    pe = plan.home["O"]
    edges = tuple(e.index for e in plan.into(pe))
    assert_same(made, plan, pe, data.draw(batches(edges)))


def test_keys_whose_windows_are_empty_are_not_touched():
    kernel = TumblingTimes(10, rank=0, marks=False, keys=["int64"], columns=["int64"], calls=[("Sum", 0)])

    def fire(keys: list[int], time_ns: int, until_ns: int) -> tuple[int, list[int]]:
        rows = len(keys)
        frame = Frame(Places(np.arange(rows)), {})
        path = Paths.of(pa.array([b"\0\0\0\0"] * rows, pa.binary()))
        moments = Moments(np.full(rows, time_ns), np.zeros(rows, np.int64), path, until_ns)
        found = kernel.fire(frame, [np.array(keys, np.int64)], [np.ones(rows, np.int64)], moments)
        return len(found.frame), kernel.tables[0].take_touched().tolist()

    assert fire(list(range(50)), 0, 5) == (0, list(range(50)))
    assert fire([], 5, 25) == (50, list(range(50)))
    assert fire([], 25, 250) == (0, [])
    assert fire([7, 7], 253, 254) == (0, [7])
    assert fire([], 254, 300) == (1, [7])
