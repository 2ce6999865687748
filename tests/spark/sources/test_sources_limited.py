"""Sources under an ingest limit: batches are as large as it lets them be, and what they give is the same."""

from __future__ import annotations

from pathlib import Path

from source_reading import Sources, program

from penstock.runtime.ingest.ingest_limit import SECONDS_PER_BATCH, write_limit

NUMBERS = program("stream<int32 n> A = Beacon() { param iterations: 100u; output A: n = (int32) IterationCount(); }")


def test_a_limit_makes_batches_smaller_and_changes_nothing_else(tmp_path: Path) -> None:
    free = Sources(NUMBERS, tmp_path, tmp_path / "free", turns=50).run()
    (tmp_path / "slow").mkdir()
    write_limit(tmp_path / "slow", 10 / SECONDS_PER_BATCH)
    slow = Sources(NUMBERS, tmp_path, tmp_path / "slow", turns=50).run()
    assert slow.seen == free.seen
    assert slow.batches >= 10 > free.batches


def test_a_limit_that_changes_holds_from_the_next_batch_on(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    write_limit(tmp_path / "job", 10 / SECONDS_PER_BATCH)
    sources = Sources(NUMBERS, tmp_path, tmp_path / "job", turns=50)
    sources.step()
    first = len(sources.found.seen)
    write_limit(tmp_path / "job", None)
    sources.restart()
    while sources.step():
        pass
    assert first <= 11
    assert len([value for _, value in sources.found.seen if isinstance(value, tuple)]) == 100
    assert sources.found.batches <= 4
