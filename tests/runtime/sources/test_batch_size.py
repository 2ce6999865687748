"""Batches whose work nobody knows beforehand stay short."""

from penstock.lang import compile_text
from penstock.runtime.sources.batch_size import FIRST_TURNS, GrowingSize, choose_size

NAMES = """composite Main { graph
    stream<rstring name> N = Beacon() { output N: name = "a.csv"; }
    stream<int32 x> S = FileSource(N) { }
    () as O = FileSink(S) { param file: "o.csv"; } }"""


def test_a_file_source_that_is_told_names_makes_work_that_nobody_knows():
    assert choose_size(compile_text(NAMES).application, 500)() == FIRST_TURNS
    plain = NAMES.replace("FileSource(N) { }", "Functor(N) { output S: x = 1; }")
    assert choose_size(compile_text(plain).application, 500)() == 500


def run_batches(seconds_each: float, count: int, most: int = 200_000, anyway: float = 0.0) -> list[float]:
    """How long batches take whose turns take so long each, and that take some time whatever is in them."""
    now, took = 0.0, []
    size = GrowingSize(most, now=lambda: now)
    for _ in range(count):
        took.append(size.next() * seconds_each + anyway)
        now += took[-1]
    return took


def test_batches_come_to_take_about_a_second_whatever_a_turn_takes():
    for seconds_each in (1e-4, 1e-3, 0.01, 0.1):
        assert 0.4 < run_batches(seconds_each, 40)[-1] < 2.1


def test_the_first_batch_is_small_and_one_that_takes_long_is_not_repeated():
    took = run_batches(3.0, 4)
    assert took == [24.0, 3.0, 3.0, 3.0]


def test_batches_that_take_long_whatever_is_in_them_do_not_shrink_to_a_single_turn():
    for anyway in (1.5, 4.0, 20.0):
        took = run_batches(0.01, 40, anyway=anyway)
        assert 1.3 * anyway < took[-1] < 2.7 * anyway


def test_it_never_exceeds_what_the_job_says():
    assert max(run_batches(0.0, 60, most=500)) == 0.0
    size = GrowingSize(500, now=lambda: 0.0)
    assert max(size.next() for _ in range(60)) == 500
