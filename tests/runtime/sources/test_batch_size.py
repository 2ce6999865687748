"""Batches whose work nobody knows beforehand stay short."""

from penstock.lang import compile_text
from penstock.runtime.sources.batch_size import CAREFUL, EVEN, TURNS_PER_BATCH, GrowingSize, Pace, choose_size

NAMES = """composite Main { graph
    stream<rstring name> N = Beacon() { output N: name = "a.csv"; }
    stream<int32 x> S = FileSource(N) { }
    () as O = FileSink(S) { param file: "o.csv"; } }"""


def test_a_file_source_that_is_told_names_makes_work_that_nobody_knows():
    assert choose_size(compile_text(NAMES).application, 500)() == CAREFUL.first
    plain = NAMES.replace("FileSource(N) { }", "Functor(N) { output S: x = 1; }")
    assert choose_size(compile_text(plain).application, 500)() == 500


def test_who_never_ends_or_is_stopped_begins_with_small_batches_unless_the_size_is_said():
    endless = NAMES.replace("FileSource(N) { }", "Functor(N) { output S: x = 1; }")
    ending = endless.replace("output N: name", "param iterations: 5u; output N: name")
    sizes = [
        choose_size(compile_text(text).application, TURNS_PER_BATCH, is_timed=is_timed)()
        for text, is_timed in ((endless, False), (ending, True), (ending, False))
    ]
    assert sizes == [EVEN.first, EVEN.first, TURNS_PER_BATCH]


def run_batches(
    seconds_each: float, count: int, most: int = 200_000, anyway: float = 0.0, pace: Pace = CAREFUL
) -> list[float]:
    """How long batches take whose turns take so long each, and that take some time whatever is in them."""
    now, took = 0.0, []
    size = GrowingSize(most, now=lambda: now, pace=pace)
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


def test_batches_of_a_run_that_somebody_stops_never_take_much_longer_than_they_should():
    for seconds_each in (1e-5, 1e-3, 0.01, 0.05):
        for anyway in (0.05, 0.3, 2.0):
            took = run_batches(seconds_each, 30, anyway=anyway, pace=EVEN)
            assert max(took) < 14.0, (seconds_each, anyway)
            assert took[-1] <= 6.0 + anyway


def test_a_run_of_light_tuples_has_full_batches_soon():
    now = 0.0
    size = GrowingSize(200_000, now=lambda: now, pace=EVEN)
    sizes = []
    for number in range(9):
        sizes.append(size.next())
        now += (3.0 if number == 0 else 0.3) + sizes[-1] * 1e-6
    assert sizes[-1] == 200_000
