"""The tables of the service's file, and how an older file becomes one of now.

A file has the number of the last migration that it has seen in `PRAGMA user_version`. Migrations are only ever added:
each brings a file of the version before it to its own, in one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from penstock.base.diagnostics import UserError
from penstock.service.states.job_state import TRANSITIONS

_FIRST = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE legal_transitions (before TEXT NOT NULL, after TEXT NOT NULL, PRIMARY KEY (before, after));
CREATE TABLE jobs (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    submitted_at REAL NOT NULL,
    spec TEXT NOT NULL,
    rank INTEGER NOT NULL CHECK (rank >= 1),
    required INTEGER NOT NULL,
    weight REAL NOT NULL CHECK (weight >= 0),
    state TEXT NOT NULL,
    state_since REAL NOT NULL,
    wanted TEXT NOT NULL DEFAULT 'run',
    template TEXT,
    mips REAL NOT NULL DEFAULT 0,
    ingest_tps REAL,
    cores INTEGER NOT NULL DEFAULT 1,
    attempt INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    not_before REAL NOT NULL DEFAULT 0,
    error TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT ''
);
CREATE TABLE templates (
    job TEXT NOT NULL REFERENCES jobs (id), id TEXT NOT NULL, number INTEGER NOT NULL,
    spec TEXT NOT NULL, description TEXT NOT NULL, PRIMARY KEY (job, id)
);
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, kind TEXT NOT NULL, importance REAL NOT NULL,
    waterline INTEGER NOT NULL, mips REAL NOT NULL, mips_used REAL NOT NULL, seconds REAL NOT NULL, plan TEXT NOT NULL
);
CREATE TABLE samples (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, job TEXT NOT NULL, template TEXT NOT NULL,
    seconds REAL NOT NULL, mips REAL NOT NULL, ingest_tps REAL NOT NULL, waited REAL NOT NULL, importance REAL NOT NULL,
    streams TEXT NOT NULL
);
CREATE INDEX samples_of_jobs ON samples (job, template, id);
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, job TEXT, kind TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX events_of_jobs ON events (job, id);
CREATE TRIGGER states_follow_the_table BEFORE UPDATE OF state ON jobs
WHEN OLD.state <> NEW.state
    AND NOT EXISTS (SELECT 1 FROM legal_transitions t WHERE t.before = OLD.state AND t.after = NEW.state)
BEGIN SELECT RAISE(ABORT, 'illegal transition'); END;
CREATE TRIGGER jobs_begin_queued BEFORE INSERT ON jobs WHEN NEW.state <> 'queued'
BEGIN SELECT RAISE(ABORT, 'illegal transition'); END;
"""

_SECOND = "ALTER TABLE samples ADD COLUMN pes TEXT NOT NULL DEFAULT '{}';"

MIGRATIONS = (_FIRST, _SECOND)
"""The statements of each version, from the first."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a file to the version of now.

    Raises:
        UserError: It is of a later version.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        message = f"`{path}` is of a later version of penstock: {version}, and this one knows {len(MIGRATIONS)}"
        raise UserError(message, hint="run the version that wrote it")
    for number, script in enumerate(MIGRATIONS[version:], version + 1):
        connection.executescript(f"BEGIN; {script} PRAGMA user_version = {number}; COMMIT;")
    with connection:
        # The table is the code's: a later version may allow more.
        connection.execute("DELETE FROM legal_transitions")
        connection.executemany("INSERT INTO legal_transitions VALUES (?, ?)", list(_pairs()))


def _pairs() -> Iterator[tuple[str, str]]:
    for before, states in TRANSITIONS.items():
        for after in sorted(states):
            yield before.value, after.value
