"""The same program through Penstock: its functions and its class, unchanged, between the same DataFrames."""

from __future__ import annotations

from program import Visits, classify, parse
from pyspark.sql import DataFrame

import penstock.spark
from penstock import App

app = App("Visits")
events = app.from_spark("events", "rstring line")
clicks = events.map_in_pandas(parse, "rstring user, rstring page, int64 millis", stateless=True)
people = clicks.map_in_pandas(classify, "rstring user, rstring page, int64 millis, rstring section", stateless=True)
told = "rstring user, rstring section, int64 clicks, int64 pages, float64 seconds"
people.transform_with_state(Visits(), told, by="user").to_spark("visits")


def visits(events: DataFrame, channels: int = 2) -> DataFrame:
    """The visits in a stream of events."""
    return penstock.spark.transform(app, {"events": events}, channels=channels, ordered=False)["visits"]
