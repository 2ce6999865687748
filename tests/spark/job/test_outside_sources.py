"""Sources that Spark reads by itself."""

from __future__ import annotations

from penstock.spark.job.outside_sources import READERS
from penstock.toolkit.core.operator_registry import standard


def test_every_source_that_the_engine_reads_has_a_reader():
    assert set(READERS) == {d.kind for d in standard().definitions() if d.facts.is_read_by_engine}
