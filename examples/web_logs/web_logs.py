"""Sessions of visitors and requests by minute, from a web log that is not in the order of time."""

from penstock import App, agg, col, fn
from penstock import windows as w

app = App("WebLogs")
log = app.read_csv("access.csv", "int64 at, rstring user, rstring page, int32 bytes", name="Log")
requests, late = log.by_event_time("at", resolution="ms", lateness="5 s", name="Requests")

sessions = requests.aggregate(
    w.session("30 minutes"), by="user", requests=agg.count(), bytes=agg.sum(col.bytes), name="Sessions"
)
by_minute = requests.aggregate(w.tumbling_time("1 minute"), requests=agg.count(), name="ByMinute")

seconds = {"start": fn.get_seconds(col.window_start), "end": fn.get_seconds(col.window_end)}
sessions.select("user", seconds, "requests", "bytes").write_csv("sessions.csv", name="SessionFile")
by_minute.select(seconds, "requests").write_csv("by_minute.csv", name="MinuteFile")
late.write_csv("late.csv", name="LateFile")
