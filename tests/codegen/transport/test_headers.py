"""Places that tell themselves do not travel, and come out as they went in."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.codegen.transport.batches import HEADER, PULSE, PULSE_NUMBER, TUPLE, encoded_batches, read_batches
from penstock.codegen.transport.headers import compact, expanded, numbers_on_every_tuple

Place = tuple[int, int, bytes, int]


def header(places: list[Place]) -> pa.RecordBatch:
    columns = list(zip(*places, strict=True)) or [[], [], [], []]
    return pa.RecordBatch.from_arrays(
        [pa.array(list(c), f.type) for c, f in zip(columns, HEADER, strict=True)], schema=HEADER
    )


@st.composite
def runs(draw: st.DrawFn) -> list[Place]:
    found: list[Place] = []
    for _ in range(draw(st.integers(0, 20))):
        time_ns, number = draw(st.integers(0, 2)), draw(st.integers(-1, 30))
        step, period = draw(st.sampled_from([0, 1, 3])), draw(st.sampled_from([0, 0, 5, 2**33]))
        path, kind = draw(st.sampled_from([b"", b"0001", b"0002", b"00010001"])), draw(st.integers(0, 3))
        found += [(time_ns + i * period, number + i * step, path, kind) for i in range(draw(st.integers(1, 12)))]
    return found


@settings(deadline=None)
@given(runs(), st.integers(0, 5), st.integers(0, 5))
def test_a_header_comes_out_as_it_went_in_whole_or_sliced(places, skipped, left):
    given_ = header(places)
    part = given_.slice(skipped, max(0, len(places) - skipped - left))
    for one in (given_, part):
        assert expanded(compact(one)).to_pylist() == one.to_pylist()
        assert expanded(compact(one)).schema == HEADER


def test_what_comes_one_after_the_other_travels_as_one_run():
    places = [(0, n, b"0001", TUPLE) for n in range(100)] + [(0, PULSE_NUMBER, b"", PULSE)]
    assert compact(header(places)).num_rows == 2


def test_gaps_travel_as_distances_of_two_bytes():
    given_ = header([(0, 3 * n, b"0001", TUPLE) for n in range(100)])
    found = compact(given_)
    assert (found.num_rows, found.column("_d").type) == (1, pa.list_(pa.uint16()))
    assert found.column("_d").to_pylist() == [[3 * n for n in range(100)]]
    assert expanded(found) == given_


def test_numbers_far_apart_travel_in_four_bytes_or_eight():
    far = header([(0, 2**20 * n, b"0001", TUPLE) for n in range(100)])
    assert compact(far).column("_d").type == pa.list_(pa.uint32())
    farther = header([(0, 2**40 * n, b"0001", TUPLE) for n in range(100)])
    assert compact(farther).column("_d").type == pa.list_(pa.int64())


def test_numbers_and_times_that_fall_travel_as_they_are():
    falling = header([(0, -n, b"0001", TUPLE) for n in range(100)])
    back = header([(100 - n, n, b"0001", TUPLE) for n in range(100)])
    assert compact(falling) is falling
    assert compact(back) is back


def test_times_travel_as_distances_in_nanoseconds():
    given_ = header([(7 + 1000 * n, n, b"0001", TUPLE) for n in range(100)])
    found = compact(given_)
    assert found.schema.names == ["_t", "_n", "_k", "_p", "_r", "_s"]
    assert found.column("_s").type == pa.list_(pa.uint32())
    assert expanded(found) == given_


def test_numbers_can_be_made_to_travel_and_then_a_value_is_larger():
    places, values = header([(0, n, b"0001", TUPLE) for n in range(1000)]), pa.record_batch({"x": list(range(1000))})
    small = encoded_batches(places, values)
    with numbers_on_every_tuple():
        large = encoded_batches(places, values)
    assert len(small) < 10_000
    assert len(large) >= len(small) + 2 * 1000
    assert read_batches(small)[0] == read_batches(large)[0] == places
