"""What a Spark without admission control of Python sources is told."""

from __future__ import annotations

import pytest

from penstock.base.diagnostics import UserError
from penstock.spark.sources import admission
from penstock.spark.sources.door import register_door
from penstock.spark.sources.reader import SourceReader


def test_a_spark_that_cannot_run_jobs_is_refused_in_a_line(monkeypatch):
    monkeypatch.setattr(admission, "HAS_ADMISSION", False)
    with pytest.raises(UserError, match="cannot run a job whose sources Penstock reads") as caught:
        register_door(None, "penstock", SourceReader)
    assert "install pyspark 4.2 or newer" in str(caught.value)
