"""Wet spells in four years of Seattle weather: at least a week of rain, with its length and how much fell.

The spells are found by an operator written in Python: it remembers the spell that it is in.
"""

from __future__ import annotations

from penstock import App, Operator, col

WEEK = 7


class Spells(Operator):
    """Sums up runs of wet days; gives a run when a dry day ends it."""

    def __init__(self) -> None:
        self.start, self.days, self.millimetres = "", 0, 0.0

    def process(self, day):
        if day.precipitation > 0.0:
            self.start = self.start or day.date
            self.days += 1
            self.millimetres += day.precipitation
        elif self.days:
            yield {"start": self.start, "days": self.days, "millimetres": self.millimetres}
            self.start, self.days, self.millimetres = "", 0, 0.0


app = App("Weather")
days = app.read_file(
    "seattle-weather.csv",
    "rstring date, float64 precipitation, float64 warmest, float64 coldest, float64 wind, rstring weather",
    hasHeaderLine=True,
    name="Days",
)
spells = days.apply(Spells, "rstring start, int32 days, float64 millimetres", name="Spells")
long = spells.filter(col.days >= WEEK, name="Long")
long.write_file("spells.csv", name="Sink")
