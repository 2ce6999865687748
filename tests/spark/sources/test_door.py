"""The doors of our readers in sessions of Spark."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from penstock.spark.sources.data_source import FORMAT, SourceReader
from penstock.spark.sources.door import register_door
from spark_session import session

pytestmark = pytest.mark.xdist_group("spark")


def test_a_child_session_has_a_door_of_its_own_while_its_parent_is_active():
    parent = session()
    register_door(parent, FORMAT, SourceReader)
    parent.createDataFrame([(1,)], "x int")  # This makes it the active session of the thread.
    child = parent.newSession()
    register_door(child, FORMAT, SourceReader)
    assert child.readStream.format(FORMAT).load().isStreaming
    active = SparkSession.getActiveSession()
    assert active is not None
    assert active._jsparkSession.equals(parent._jsparkSession)
