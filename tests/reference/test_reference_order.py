"""The order of everything: submits, sources, timers, feedback, ends."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import FINAL, WINDOW, after, feed, numbers, program, run_graph, tuples_of
from penstock.reference import run


def seen(graph: str, *streams: str, **given) -> list[tuple[str, object]]:
    """What the streams carried, in the order in which it happened."""
    happened: list[tuple[str, object]] = []

    def note(stream: str, item: object) -> None:
        if not streams or stream in streams:
            happened.append((stream, item if item in (WINDOW, FINAL) else item[0]))

    run(program(graph, **given), on_tuple=note)
    return happened


def tuples_seen(graph: str, *streams: str, **given) -> list[tuple[str, object]]:
    return [(stream, item) for stream, item in seen(graph, *streams, **given) if item not in (WINDOW, FINAL)]


def test_a_submit_is_processed_to_the_end_before_the_next_depth_first():
    graph = """
        (stream<int32 x> B; stream<int32 x> C) = Custom(A) {
          logic onTuple A: { submit({x = 1}, B); submit({x = 2}, C); submit({x = 3}, B); } }
        stream<int32 x> D = Functor(B) { output D: x = x + 10; }
        stream<int32 x> E = Functor(C) { output E: x = x + 20; }"""
    order = [("A", 0), ("B", 1), ("D", 11), ("C", 2), ("E", 22), ("B", 3), ("D", 13)]
    assert tuples_seen(graph, A=numbers(1)) == order


def test_subscribers_take_a_tuple_in_order_of_declaration():
    graph = """
        stream<int32 x> C = Functor(A) {}
        stream<int32 x> B = Functor(A) {}"""
    assert tuples_seen(graph, "B", "C", A=numbers(2)) == [("C", 0), ("B", 0), ("C", 1), ("B", 1)]


def test_sources_of_equal_time_take_turns_in_order_of_declaration():
    assert tuples_seen("", A=numbers(2), B=numbers(3)) == [("A", 0), ("B", 0), ("A", 1), ("B", 1), ("B", 2)]


def test_the_source_whose_time_comes_first_goes_first():
    fed = {
        "A": feed("int32 x", [after(2), (1,), (2,), after(2), (3,)]),
        "B": feed("int32 x", [(10,), after(1), (11,), after(1), (12,), (13,), after(2), (14,)]),
    }
    # At 2 and at 4 both are there, and A is declared first although B asked for its time later.
    order = [("B", 10), ("B", 11), ("A", 1), ("B", 12), ("A", 2), ("B", 13), ("A", 3), ("B", 14)]
    assert tuples_seen("", **fed) == order


def test_none_gives_a_turn_away():
    fed = {"A": feed("int32 x", [None, None, (1,)]), "B": numbers(3)}
    assert tuples_seen("", **fed) == [("B", 0), ("B", 1), ("A", 1), ("B", 2)]


def test_the_same_program_runs_the_same_way_twice():
    graph = """
        stream<int32 x> C = Union(A; B) {}
        stream<int32 n> D = Aggregate(C) { window C: sliding, time(3), time(1); output D: n = Sum(x); }"""
    fed = {
        "A": feed("int32 x", [(1,), after(1), (2,), after(2), (3,)]),
        "B": feed("int32 x", [(7,), after(1), (8,), after(5), (9,)]),
    }
    assert seen(graph, **fed) == seen(graph, **fed)


def test_a_port_ends_when_all_its_streams_have_ended():
    graph = """
        stream<int32 x> C = Functor(A, B) {}
        stream<int32 x> D = Union(C; E) {}
        stream<int32 x> E = Functor(A) {}"""
    happened = seen(graph, A=numbers(1), B=numbers(3))
    ends = [stream for stream, item in happened if item is FINAL]
    assert ends == ["A", "E", "B", "C", "D"]
    assert happened.index(("C", 2)) < happened.index(("B", FINAL)) < happened.index(("C", FINAL))


def test_final_punctuation_comes_last_and_once_on_every_stream():
    graph = """
        stream<int32 x> B = Functor(A) {}
        stream<int32 x> C = Sort(B) { window B: sliding, count(9); param sortBy: x; }"""
    for stream in ("A", "B", "C"):
        items = [item for _, item in seen(graph, stream, A=numbers(4))]
        assert items.count(FINAL) == 1
        assert items[-1] is FINAL


def test_a_custom_may_end_its_stream_early():
    graph = """
        stream<int32 x> B = Custom(A) {
          logic onTuple A: { if (x == 1) { submit(Sys.FinalMarker, B); } submit(A, B); } }
        stream<int32 x> C = Functor(B) {}"""
    assert seen(graph, "C", A=numbers(4)) == [("C", 0), ("C", FINAL)]
    assert run_graph(graph, A=numbers(4)).dropped == {"B": 3}


LOOP = """
    stream<int32 x> Loop = Functor(A, Back) {}
    stream<int32 x> Back = Filter(Next) { param filter: x % 10 < 3; }
    stream<int32 x> Next = Functor(Loop) { output Next: x = x + 1; }"""


def test_a_tuple_on_a_feedback_edge_waits_until_the_source_item_is_processed():
    fed = {"A": feed("int32 x", [(0,), (10,)])}
    loop = [x for stream, x in tuples_seen(LOOP, **fed) if stream == "Loop"]
    assert loop == [0, 1, 2, 10, 11, 12]


def test_a_loop_ends_with_its_source():
    result = run_graph(LOOP, collect=["Loop", "Back", "Next"], A=numbers(1))
    assert all(items[-1] is FINAL for items in result.collected.values())
    assert result.received["Loop"] == (3,)
    assert result.dropped == {}


def test_window_markers_do_not_go_round_a_loop():
    graph = """stream<int32 x> N = Beacon() { param iterations: 3u; output N: x = (int32) IterationCount(); }
        stream<int32 x> A = Functor(N, B) { }
        stream<int32 x> B = Functor(A) { param filter: false; }"""
    result = run_graph(graph, collect=["A", "B"])
    assert result.collected["A"] == [(0,), (1,), (2,), WINDOW, FINAL]
    assert result.collected["B"] == [WINDOW, FINAL]


def test_feedback_is_first_in_first_out():
    graph = """
        stream<int32 x> Loop = Custom(A; Back) {
          logic onTuple A: { submit({x = 1}, Loop); submit({x = 2}, Loop); }
                onTuple Back: { if (x < 100) { submit({x = x * 10}, Loop); } } }
        stream<int32 x> Back = Functor(Loop) {}"""
    assert [x for stream, x in tuples_seen(graph, "Loop", A=numbers(1))] == [1, 2, 10, 20, 100, 200]


def test_delayed_tuples_arrive_after_the_source_has_ended_and_before_the_end():
    graph = """
        stream<int32 x> B = Delay(A) { param delay: 5.0; }
        stream<int32 n> C = Aggregate(B) { window B: tumbling, time(2); output C: n = Count(); }"""
    result = run_graph(graph, collect=["B", "C"], A=feed("int32 x", [(1,), after(1), (2,), after(2), (3,)]))
    assert result.collected["B"] == [(1,), (2,), (3,), FINAL]
    assert result.end_time_ns == 8_000_000_000
    assert result.tuples_of("C") == [(2,)]


def test_time_passes_only_as_far_as_somebody_waits():
    result = run_graph("", A=feed("int32 x", [after(3), (1,)]))
    assert (result.start_time_ns, result.end_time_ns) == (0, 3_000_000_000)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=4))
def test_time_never_runs_backwards_and_nothing_is_lost(waits):
    names = "ABDE"[: len(waits)]
    fed = {
        name: feed("int32 x, int32 t", [item for w in own for item in (after(w), (0, 0))])
        for name, own in zip(names, waits, strict=True)
    }
    graph = f"""stream<int64 ns> C = Custom({", ".join(names)} as I) {{
        logic onTuple I: {{ submit({{ns = getSeconds(getTimestamp()) }}, C); }} }}"""
    times = [t for (t,) in tuples_of(graph, "C", **fed)]
    assert times == sorted(times)
    expected = sorted(sum(own[: i + 1]) for own in waits for i in range(len(own)))
    assert times == expected
