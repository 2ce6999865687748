"""Sessions of users, in Python: the graph of sessions.spl."""

import sys
from pathlib import Path

from penstock import App

sys.path.insert(0, str(Path(__file__).parent / "toolkit"))

from browsing import Clicks, Session  # the toolkit stands beside this file

app = App("Main")
seen = app.source(Clicks, "rstring user, rstring page", count=400, name="Seen")
sessions = seen.apply(
    Session,
    "rstring user, rstring what, int32 pages",
    partition_by="user",
    ttl=30.0,
    patience=10.0,
    name="Sessions",
)
sessions.write_file("sessions.csv", name="Sink")
