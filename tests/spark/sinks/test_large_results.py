"""Rows that a task does not send are in a file, in order, and gone when they are read."""

from __future__ import annotations

from penstock.codegen.transport.batches import ROWS_FILE, values_as_rows
from penstock.spark.sinks.collected_rows import _pairs
from penstock.spark.sinks.large_results import spill_large


def test_what_is_not_sent_comes_by_a_file_in_order(tmp_path):
    rows = [values_as_rows(n % 3, [bytes([n]) * 1000]) for n in range(50)]
    sent = list(spill_large(iter(rows), str(tmp_path / "large"), most_bytes=10_000))
    assert len(sent) == 11
    assert sent[-1].column("edge").to_pylist() == [ROWS_FILE]
    assert len(list((tmp_path / "large").iterdir())) == 1
    found = [pair for batch in sent for pair in _pairs(batch)]
    assert found == [pair for batch in rows for pair in _pairs(batch)]
    assert list((tmp_path / "large").iterdir()) == []


def test_few_rows_are_sent_as_they_are(tmp_path):
    rows = [values_as_rows(0, [b"x"])]
    assert list(spill_large(iter(rows), str(tmp_path / "large"))) == rows
    assert not (tmp_path / "large").exists()
