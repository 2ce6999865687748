"""Parts for channels together are the batch: every row once, in order, in equal shares, and the marks for each."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from penstock.codegen.plan.physical import physical_plan
from penstock.lang import compile_text
from penstock.runtime.sources.channel_parts import channels_of_source, deal_to_channels


@given(st.lists(st.integers(0, 50), min_size=1, max_size=12), st.integers(2, 9), st.data())
def test_every_row_is_in_one_part_in_order(sizes, channels, data):
    cut = data.draw(st.integers(0, len(sizes)))
    marks = {"time_ns": 5, "end": (5, 9), "pulse": 5}
    parts = [{"extents": list(range(cut)), "time_ns": 5, "end": None, "pulse": None}]
    parts.append({"extents": list(range(cut, len(sizes))), **marks})
    dealt = deal_to_channels(parts, channels)
    rows = [
        (extent, row)
        for part in dealt
        for extent, (first, end) in zip(part["extents"], part["slices"], strict=True)
        for row in range(sizes[extent] * first // part["of"], sizes[extent] * end // part["of"])
    ]
    assert rows == [(extent, row) for extent, size in enumerate(sizes) for row in range(size)]
    assert [part["channel"] for part in dealt] == list(range(channels))
    assert all({name: part[name] for name in marks} == marks for part in dealt)
    shares = {sum(Fraction(end - first, part["of"]) for first, end in part["slices"]) for part in dealt}
    assert shares == {Fraction(len(sizes), channels)}


def test_a_batch_without_extents_has_the_marks_for_every_channel():
    part = {"extents": [], "time_ns": 0, "end": None, "pulse": 3}
    assert [(p["extents"], p["pulse"]) for p in deal_to_channels([part], 3)] == [([], 3)] * 3


def plan_of(body: str, channels: int):
    program = compile_text(f"composite Main {{ graph stream<int32 x> A = Beacon() {{}} {body} }}").application
    return physical_plan(program, [[o.id for o in program.operators]], channels)


def test_only_a_source_whose_tuples_go_in_turns_is_read_by_channel():
    functor = 'stream<A> B = Functor(A) {} () as S = FileSink(B) { param file: "s"; }'
    assert channels_of_source(plan_of(functor, 3)) == 3
    assert channels_of_source(plan_of(functor, 1)) is None
    # A sink of the source's stream is on no channel.
    assert channels_of_source(plan_of(functor + '() as T = FileSink(A) { param file: "t"; }', 3)) is None
    keyed = """stream<A> B = Aggregate(A) { window A: tumbling, count(2), partitioned; param partitionBy: x; }
        () as S = FileSink(B) { param file: "s"; }"""
    assert channels_of_source(plan_of(keyed, 3)) is None
    second = functor + 'stream<int32 x> C = Beacon() {} () as T = FileSink(C) { param file: "t"; }'
    assert channels_of_source(plan_of(second, 3)) is None
