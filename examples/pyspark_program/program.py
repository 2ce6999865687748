"""A PySpark program as people have them: two `mapInPandas`, a `StatefulProcessor`, and a Parquet sink.

Nothing in it knows Penstock. `transformed.py` runs the same functions and the same class through Penstock.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

EVENTS = "line string"
CLICKS = "user string, page string, millis bigint, section string"
VISITS = "user string, section string, clicks bigint, pages bigint, seconds double"

CLICKS_OF_VISIT = 5


def parse(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Take lines apart: `user page milliseconds`; what is no such line is left out."""
    for frame in frames:
        parts = frame["line"].str.split(" ", expand=True).reindex(columns=range(3))
        millis = pd.to_numeric(parts[2], errors="coerce")
        good = millis.notna()
        yield pd.DataFrame({"user": parts[0][good], "page": parts[1][good], "millis": millis[good].astype("int64")})


def classify(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """Say which section of the site a page is in, and leave robots out."""
    for frame in frames:
        people = frame[~frame["user"].str.startswith("bot")]
        yield people.assign(section=people["page"].str.extract(r"^/([a-z]*)", expand=False).fillna(""))


class Visits(StatefulProcessor):
    """Tells of a user's visit after every five clicks."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self.open = handle.getValueState("open", "clicks bigint, millis bigint")
        self.pages = handle.getMapState("pages", "page string", "clicks bigint")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        """Count clicks and pages of a user."""
        told = []
        clicks, total = self.open.get() or (0, 0)
        for frame in rows:
            for page, millis, section in zip(frame["page"], frame["millis"], frame["section"], strict=True):
                clicks, total = clicks + 1, total + millis
                found = self.pages.getValue((page,))
                self.pages.updateValue((page,), ((found[0] if found else 0) + 1,))
                if clicks == CLICKS_OF_VISIT:
                    told.append((key[0], section, clicks, len(list(self.pages.keys())), total / 1000))
                    clicks, total = 0, 0
                    self.pages.clear()
        self.open.update((clicks, total))
        yield pd.DataFrame(told, columns=["user", "section", "clicks", "pages", "seconds"])

    def close(self) -> None:
        """Nothing is open."""


def visits(events: DataFrame) -> DataFrame:
    """The visits in a stream of events, with Spark alone."""
    clicks = events.mapInPandas(parse, "user string, page string, millis bigint").mapInPandas(classify, CLICKS)
    return clicks.groupBy("user").transformWithStateInPandas(Visits(), VISITS, "Append", "None")
