"""Join: what meets whom, when it leaves, and what is sent alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from feeding import SECOND, WINDOW, Wait, after, feed, items_of, program, tuples_of
from penstock.base.diagnostics import UserError
from penstock.ir.models import State

LEFT, RIGHT = "int32 k, int32 l", "int32 k, int32 r"


def join(windows: str, params: str = "", output: str = "k = L.k, l = l, r = r") -> str:
    return f"""stream<int32 k, int32 l, int32 r> J = Join(L; R) {{
        window {windows} {f"param {params}" if params else ""} output J: {output}; }}"""


def both(left: list, right: list) -> dict:
    return {"L": feed(LEFT, left), "R": feed(RIGHT, right)}


COUNTS = "L: sliding, count(2); R: sliding, count(2);"


def test_a_tuple_meets_what_is_in_the_other_window_in_order_of_arrival():
    # The sources take turns: L1 R1 L2 R2 L3 R3.
    fed = both([(0, 1), (0, 2), (0, 3)], [(0, 10), (0, 20), (0, 30)])
    assert items_of(join(COUNTS), "J", **fed) == [
        *[(0, 1, 10), WINDOW],
        *[(0, 2, 10), WINDOW],
        *[(0, 1, 20), (0, 2, 20), WINDOW],
        *[(0, 3, 10), (0, 3, 20), WINDOW],
        *[(0, 2, 30), (0, 3, 30), WINDOW],
    ]


def test_only_matches_are_sent_and_only_they_bring_a_marker():
    fed = both([(1, 1), (2, 2)], [(2, 10), (2, 20)])
    assert items_of(join(COUNTS, "match: L.k == R.k;"), "J", **fed) == [(2, 2, 10), WINDOW, (2, 2, 20), WINDOW]


def test_equality_keys_give_what_a_match_gives():
    fed = both([(i % 3, i) for i in range(8)], [(i % 2, i) for i in range(8)])
    by_match = items_of(join(COUNTS, "match: L.k == R.k;"), "J", **fed)
    by_key = items_of(join(COUNTS, "equalityLHS: L.k; equalityRHS: R.k;"), "J", **fed)
    assert by_key == by_match
    assert by_key


def test_a_side_without_memory_only_looks_for_partners():
    windows = "L: sliding, count(1); R: sliding, count(0);"
    fed = both([(0, 1), (0, 2), None], [(0, 10), None, (0, 20)])
    assert tuples_of(join(windows), "J", **fed) == [(0, 1, 10), (0, 2, 20)]


def test_a_partitioned_window_evicts_within_each_partition():
    windows = "L: sliding, count(1), partitioned; R: sliding, count(0);"
    params = "partitionByLHS: L.k; equalityLHS: L.k; equalityRHS: R.k;"
    fed = both([(1, 1), (2, 2), (1, 3)], [None, None, None, (1, 10), (2, 20)])
    assert tuples_of(join(windows, params), "J", **fed) == [(1, 3, 10), (2, 2, 20)]


def test_matches_are_looked_for_in_all_partitions():
    windows = "L: sliding, count(1), partitioned; R: sliding, count(0);"
    fed = both([(1, 1), (2, 2)], [None, None, (9, 10)])
    assert tuples_of(join(windows, "partitionByLHS: L.k;"), "J", **fed) == [(1, 1, 10), (2, 2, 10)]


OUTER = "(stream<int32 k, int32 l, int32 r> J; {ports}) = Join(L; R) {{ window {windows} param {params} {output} }}"


def outer(algorithm: str, ports: str, output: str = "output J: k = L.k, l = l, r = r;") -> str:
    params = f"algorithm: {algorithm}; match: L.k == R.k;"
    return OUTER.format(
        ports=ports, windows="L: sliding, count(1), count(1); R: sliding, count(1);", params=params, output=output
    )


@pytest.mark.parametrize(
    ("algorithm", "ports", "alone"),
    [
        ("leftOuter", f"stream<{LEFT}> A", {"A": [(1, 1)]}),
        ("rightOuter", f"stream<{RIGHT}> A", {"A": [(9, 10)]}),
        ("outer", f"stream<{LEFT}> A; stream<{RIGHT}> B", {"A": [(1, 1)], "B": [(9, 10)]}),
    ],
)
def test_tuples_without_a_match_leave_by_ports_of_their_own(algorithm, ports, alone):
    fed = both([(1, 1), (2, 2), (3, 3)], [(9, 10), (2, 20), None])
    graph = outer(algorithm, ports)
    assert items_of(graph, "J", **fed) == [(2, 2, 20), WINDOW]
    for stream, tuples in alone.items():
        assert items_of(graph, stream, **fed) == tuples


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (outer("inner", f"stream<{LEFT}> A"), "a Join with the algorithm inner has 1 output port, found 2"),
        (outer("outer", f"stream<{LEFT}> A"), "a Join with the algorithm outer has 1 or 3 output ports, found 2"),
        (outer("leftOuter", f"stream<{RIGHT}> A"), "`A` gets the LHS tuples as they are"),
        (
            outer("leftOuter", f"stream<{LEFT}> A", "output J: k = L.k; A: l = 1;"),
            "`Join` has no output clause for `A`, but `l` is assigned",
        ),
    ],
)
def test_the_further_ports_of_a_join_must_fit(graph, message):
    with pytest.raises(UserError, match=message):
        program(graph, **both([], []))


def test_a_time_window_forgets():
    windows = "L: sliding, time(2); R: sliding, count(0);"
    fed = both([(0, 1), after(1), (0, 2)], [after(1.5), (0, 10), after(0.5), (0, 20), after(1), (0, 30)])
    assert tuples_of(join(windows), "J", **fed) == [(0, 1, 10), (0, 2, 10), (0, 2, 20)]


def test_a_delta_window_keeps_what_lies_near_the_newest():
    windows = "L: sliding, delta(l, 5); R: sliding, count(0);"
    fed = both([(0, 1), (0, 4), (0, 7)], [None, None, None, (0, 10)])
    assert tuples_of(join(windows), "J", **fed) == [(0, 4, 10), (0, 7, 10)]


def test_an_outer_join_sends_what_leaves_without_having_matched():
    windows = "L: sliding, count(1); R: sliding, count(1);"
    fed = both([(1, 1), (2, 2), (3, 3)], [(9, 10), (2, 20), (9, 30)])
    expected = {
        "inner": [(2, 2, 20)],
        "leftOuter": [(1, 1, 0), (2, 2, 20)],
        "rightOuter": [(2, 2, 20), (0, 0, 10)],
        "outer": [(1, 1, 0), (2, 2, 20), (0, 0, 10)],
    }
    for algorithm, tuples in expected.items():
        graph = join(windows, f"algorithm: {algorithm}; equalityLHS: L.k; equalityRHS: R.k;")
        assert tuples_of(graph, "J", **fed) == tuples


def test_what_a_tuple_pushes_out_of_an_outer_join_comes_behind_its_matches_and_before_the_marker():
    windows = "L: sliding, count(1); R: sliding, count(1);"
    graph = join(windows, "algorithm: leftOuter; equalityLHS: L.k; equalityRHS: R.k;")
    fed = both([(1, 1), (2, 2), (2, 3), (4, 4)], [(2, 20)])
    assert items_of(graph, "J", **fed) == [(2, 2, 20), (1, 1, 0), WINDOW, (2, 3, 20), WINDOW]


def test_a_marker_follows_what_is_pushed_out_without_a_match():
    windows = "L: sliding, count(1); R: sliding, count(1);"
    graph = join(windows, "algorithm: leftOuter; match: false;")
    assert items_of(graph, "J", **both([(1, 1), (2, 2)], [])) == [(1, 1, 0), WINDOW]


def test_the_missing_side_can_be_given():
    windows = "L: sliding, count(0); R: sliding, count(1);"
    graph = join(windows, "algorithm: leftOuter; match: L.k == R.k; defaultTupleRHS: {k = -1, r = -7};")
    assert tuples_of(graph, "J", **both([(1, 1)], [])) == [(1, 1, -7)]


def test_an_outer_join_sends_what_a_time_window_evicts_when_its_time_comes():
    windows = "L: sliding, time(1); R: sliding, count(0);"
    graph = join(windows, "algorithm: leftOuter; match: L.k == R.k;")
    fed = both([(1, 1), (2, 2)], [after(0.5), (2, 10), after(5), (7, 70)])
    assert items_of(graph, "J", **fed) == [(2, 2, 10), WINDOW, (1, 1, 0)]


def test_what_is_in_a_window_at_the_end_is_not_sent():
    graph = join(COUNTS, "algorithm: outer; match: false;")
    assert tuples_of(graph, "J", **both([(1, 1)], [(2, 2)])) == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 2)), max_size=20),
    st.sampled_from(["count(1)", "count(3)", "time(2)"]),
    st.sampled_from(["count(0)", "count(2)", "time(1)"]),
    st.sampled_from(["inner", "leftOuter", "rightOuter", "outer"]),
)
def test_a_join_sends_what_a_nested_loop_over_lists_sends(steps, left_window, right_window, algorithm):
    graph = join(
        f"L: sliding, {left_window}; R: sliding, {right_window};",
        f"algorithm: {algorithm}; equalityLHS: L.k; equalityRHS: R.k; match: (l + r) % 3 != 0;",
    )
    left, right, second = [], [], 0
    for number, (is_left, key, wait) in enumerate(steps):
        second += wait
        (left if is_left else right).append((second, (key, number)))
    got = tuples_of(graph, "J", **both(timed(left), timed(right)))
    assert got == nested_loop(left, right, (left_window, right_window), algorithm)


def timed(events: list) -> list:
    items, second = [], 0
    for at, tuple_ in events:
        if at > second:
            items.append(Wait((at - second) * SECOND))
            second = at
        items.append(tuple_)
    return items


def nested_loop(left: list, right: list, windows: tuple[str, str], algorithm: str) -> list:
    """The join of two histories, with lists for windows."""
    is_outer = (algorithm in ("leftOuter", "outer"), algorithm in ("rightOuter", "outer"))
    held: tuple[list, list] = ([], [])
    out: list = []

    def send(side: int, mine: tuple, other: tuple) -> None:
        (key, left), (_, right) = (mine, other) if side == 0 else (other, mine)
        out.append((key, left, right))

    def leave(side: int, entry: list) -> None:
        if is_outer[side] and not entry[2]:
            send(side, entry[1], (0, 0))

    def expire(now: int) -> None:
        due = []
        for side in (0, 1):
            size = int(windows[side][5:-1]) if windows[side].startswith("time") else None
            if size is not None:
                due += [(e[0] + size, e[3], side, e) for e in held[side] if e[0] + size <= now]
        for _, _, side, entry in sorted(due, key=lambda d: d[:2]):
            held[side].remove(entry)
            leave(side, entry)

    for number, (at, side, tuple_) in enumerate(turns(left, right)):
        expire(at)
        entry = [at, tuple_, False, number]
        size = int(windows[side][6:-1]) if windows[side].startswith("count") else None
        for partner in held[1 - side]:
            if partner[1][0] == tuple_[0] and (partner[1][1] + tuple_[1]) % 3 != 0:
                entry[2] = partner[2] = True
                send(side, tuple_, partner[1])
        if size and len(held[side]) == size:
            leave(side, held[side].pop(0))
        if size == 0:
            leave(side, entry)
        else:
            held[side].append(entry)
    return out


def turns(left: list, right: list) -> list:
    """The two histories as the sources take turns: at equal times one each, in order of declaration."""
    merged = []
    for second in sorted({at for at, _ in left + right}):
        mine = [[(side, t) for at, t in events if at == second] for side, events in enumerate((left, right))]
        while any(mine):
            for queue in mine:
                if queue:
                    side, tuple_ = queue.pop(0)
                    merged.append((second, side, tuple_))
    return merged


@pytest.mark.parametrize(
    ("windows", "params", "message"),
    [
        ("L: tumbling, count(1); R: sliding, count(1);", "", "the LHS window of a Join slides"),
        ("L: sliding, count(1), count(2); R: sliding, count(1);", "", "its windows have no trigger"),
        (COUNTS, "equalityLHS: L.k;", "`equalityLHS` and `equalityRHS` must agree, found (int32) and (nothing)"),
        (COUNTS, "partitionByLHS: L.k;", "`partitionByLHS` needs a partitioned window"),
        (COUNTS, "algorithm: full;", "takes one of `inner`, `leftOuter`, `rightOuter`, `outer`, found `full`"),
        (COUNTS, 'defaultTupleLHS: {k = 1, l = "x"};', "`defaultTupleLHS` must be of type tuple<int32 k, int32 l>"),
        (COUNTS, "match: 1;", "the parameter `match` of `Join` is of type boolean, found int32"),
    ],
)
def test_a_wrong_invocation_is_explained(windows, params, message):
    with pytest.raises(UserError) as error:
        program(join(windows, params), **both([], []))
    assert message in str(error.value)


def model(windows: str, params: str):
    return program(join(windows, params), **both([], [])).application.operator["J"].model


def test_a_join_is_partitioned_by_the_equality_keys_within_which_its_windows_evict():
    keys = "equalityLHS: L.k, l; equalityRHS: R.k, r;"
    by_time = model("L: sliding, time(2); R: sliding, count(0);", keys)
    assert by_time.partition_by == (frozenset({"k", "l"}), frozenset({"k", "r"}))
    windows = "L: sliding, count(2), partitioned; R: sliding, time(1);"
    partitioned = model(windows, f"partitionByLHS: L.k; {keys}")
    assert (partitioned.state, partitioned.partition_by[0]) == (State.PARTITIONED, frozenset({"k"}))
    assert model(COUNTS, keys).state is State.UNKNOWN
    assert model("L: sliding, time(2); R: sliding, time(2);", "match: L.k == R.k;").state is State.UNKNOWN


AGING = "L: sliding, count(2), partitioned, partitionAge(3); R: sliding, count(0);"
BY_K = "equalityLHS: L.k; equalityRHS: R.k; partitionByLHS: L.k;"


def test_a_partition_that_was_idle_matches_nothing_any_more():
    left = [(1, 1), after(2), (2, 2), after(0.5), (1, 3)]
    right = [after(2.75), (1, 10), after(0.25), (2, 20), after(2), (2, 21), after(0.5), (1, 11)]
    found = tuples_of(join(AGING, BY_K), "J", **both(left, right))
    # At 2.75 both of key 1 are there; key 2 is gone at 5, and key 1 at 5.5.
    assert found == [(1, 1, 10), (1, 3, 10), (2, 2, 20)]


@given(
    st.lists(st.tuples(st.integers(0, 8), st.booleans(), st.integers(0, 2)), max_size=30),
    st.integers(1, 3),
    st.sampled_from([2, 3, 8]),
    st.sampled_from(["inner", "leftOuter"]),
)
def test_ages_do_what_a_plain_loop_does(steps, size, age, algorithm):
    """Each step is a pause in quarters of a second, a side and a key."""
    sides: list[list] = [[], []]
    waited = [0, 0]
    for number, (pause, is_left, key) in enumerate(steps):
        waited = [w + pause + 1 for w in waited]
        sides[not is_left] += [after(waited[not is_left] / 4), (key, number)]
        waited[not is_left] = 0
    windows = f"L: sliding, count({size}), partitioned, partitionAge({age / 4}); R: sliding, count(1);"
    default = " algorithm: leftOuter;" if algorithm == "leftOuter" else ""
    found = tuples_of(join(windows, BY_K + default), "J", **both(*sides))
    held: dict[int, list] = {}
    last: dict[int, int] = {}
    newest, wanted, now = None, [], 0
    for number, (pause, is_left, key) in enumerate(steps):
        now += pause + 1
        for k in [k for k in last if now - last[k] >= age]:
            del held[k], last[k]
        if is_left:
            mine = [key, number, False]
            if newest is not None and newest[0] == key:
                mine[2] = True
                wanted.append((key, number, newest[1]))
            entries = held.setdefault(key, [])
            if len(entries) == size:
                gone = entries.pop(0)
                if algorithm == "leftOuter" and not gone[2]:
                    wanted.append((gone[0], gone[1], 0))
            entries.append(mine)
            last[key] = now
        else:
            for entry in held.get(key, []):
                entry[2] = True
                wanted.append((key, entry[1], number))
            newest = (key, number)
    assert found == wanted


def test_an_age_without_partitions_or_with_a_window_by_time_is_refused():
    for windows, message in (
        ("L: sliding, count(2), partitionAge(3); R: sliding, count(0);", "partitionAge needs a partitioned window"),
        ("L: sliding, time(2), partitioned, partitionAge(3); R: sliding, count(0);", "has no partitions that could be"),
    ):
        with pytest.raises(UserError) as error:
            program(join(windows, BY_K), **both([], []))
        assert message in str(error.value)
