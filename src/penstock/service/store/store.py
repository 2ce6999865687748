"""The store: the one durable thing of the service.

One connection for all threads, one write at a time. A change of state compares and sets, so of two who move a job one
finds that it has moved already.

Example:
    >>> store = Store(":memory:")
    >>> store.add_job("a", {}, rank=2, required=False, weight=1.0, templates=())
    >>> store.move("a", JobState.QUEUED, JobState.ADMITTED)
    True
    >>> store.move("a", JobState.QUEUED, JobState.ADMITTED)
    False
    >>> store.move("a", JobState.ADMITTED, JobState.DONE)
    Traceback (most recent call last):
    penstock.service.store.store.IllegalTransition: job `a` cannot go from admitted to done
    >>> [event.text for event in store.events()]
    ['queued', 'admitted']
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock.base.diagnostics import UserError
from penstock.service.states.job_state import JobState, Wanted
from penstock.service.store.records import DecisionRecord, EventRecord, JobRecord, SampleRecord, TemplateRecord
from penstock.service.store.schema import migrate

KEPT_SAMPLES = 400
"""Of each template; older ones are forgotten."""

KEPT_DECISIONS, KEPT_EVENTS = 5_000, 50_000

_LEAST_DECISIONS, _MOST_PLAN_BYTES = 200, 200 << 20
"""A plan for many jobs is long: fewer are kept."""

_log = logging.getLogger("penstock.service")

_SETTABLE = frozenset(
    {"rank", "required", "weight", "wanted", "template", "mips", "ingest_tps", "cores", "attempt", "failures"}
    | {"not_before", "error", "reason", "state_since"}
)


class IllegalTransition(Exception):
    """A job was to go where it cannot; a bug of ours, which the store has stopped."""


class Store:
    """The file of a service.

    Args:
        path: Of the file.
        clock: Tells the time in seconds since 1970.
    """

    def __init__(self, path: Path | str, clock: Callable[[], float] = time.time) -> None:
        self._lock = threading.RLock()
        self._clock, self._path = clock, str(path)
        try:
            self._connection = _connect(self._path)
            migrate(self._connection, self._path)
        except sqlite3.Error as error:
            raise UserError(f"`{path}` cannot be used as the service's store: {error}") from None
        self._file = _identity(self._path)

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def keep_file(self) -> bool:
        """Write the file anew if somebody has taken it away; whether that was so.

        What was in it is still there as long as we hold it open.
        """
        with self._lock:
            if self._path == ":memory:" or _identity(self._path) == self._file:
                return False
            fresh = Path(f"{self._path}.new")
            fresh.unlink(missing_ok=True)
            copy = sqlite3.connect(fresh)
            self._connection.backup(copy)
            copy.close()
            for ending in ("-wal", "-shm"):
                # They are of the file that is gone, and would spoil another.
                Path(self._path + ending).unlink(missing_ok=True)
            fresh.replace(self._path)
            self._connection.close()
            self._connection, self._file = _connect(self._path), _identity(self._path)
            return True

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # A full disk may have rolled it back already, or have stopped it at its very end.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[sqlite3.Row]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def add_job(
        self,
        job_id: str,
        spec: Mapping[str, Any],
        *,
        rank: int,
        required: bool,
        weight: float,
        templates: Sequence[TemplateRecord],
    ) -> None:
        """Add a job, queued.

        Raises:
            UserError: There is one of that name.
        """
        now = self._clock()
        with self.transaction() as connection:
            if connection.execute("SELECT 1 FROM jobs WHERE id = ?", (job_id,)).fetchone():
                raise UserError(f"there is a job `{job_id}` already", hint="give it another name")
            connection.execute(
                "INSERT INTO jobs (id, number, submitted_at, spec, rank, required, weight, state, state_since)"
                " VALUES (?, (SELECT COALESCE(MAX(number), 0) + 1 FROM jobs), ?, ?, ?, ?, ?, 'queued', ?)",
                (job_id, now, json.dumps(spec), rank, required, weight, now),
            )
            rows = [(job_id, t.id, n, json.dumps(t.spec), json.dumps(t.description)) for n, t in enumerate(templates)]
            connection.executemany("INSERT INTO templates VALUES (?, ?, ?, ?, ?)", rows)
            self.note("state", "queued", job_id)

    def remove_job(self, job_id: str, states: Collection[JobState]) -> bool:
        """Forget a job that is in one of some states, and all that is known of it; whether it was."""
        with self.transaction() as connection:
            row = connection.execute("SELECT state FROM jobs WHERE id = ?", (job_id,)).fetchone()
            if row is None or JobState(row["state"]) not in states:
                return False
            for table, column in (("templates", "job"), ("samples", "job"), ("events", "job"), ("jobs", "id")):
                connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (job_id,))
            self.note("user", f"job `{job_id}` was removed")
            return True

    def move(self, job_id: str, before: JobState, after: JobState, why: str = "", **values: object) -> bool:
        """Bring a job from one state to another, with other values of its record; whether it was in that state.

        Raises:
            IllegalTransition: The one may not follow the other.
        """
        assert values.keys() <= _SETTABLE
        columns = "".join(f", {name} = ?" for name in values)
        with self.transaction() as connection:
            try:
                done = connection.execute(
                    f"UPDATE jobs SET state = ?, state_since = ?{columns} WHERE id = ? AND state = ?",
                    (after.value, self._clock(), *values.values(), job_id, before.value),
                )
            except sqlite3.IntegrityError:
                message = f"job `{job_id}` cannot go from {before} to {after}"
                raise IllegalTransition(message) from None
            if done.rowcount:
                self.note("state", f"{after}: {why}" if why else after.value, job_id)
            return bool(done.rowcount)

    def set(self, job_id: str, **values: object) -> None:
        """Change values of a job that are not its state."""
        assert values.keys() <= _SETTABLE
        columns = ", ".join(f"{name} = ?" for name in values)
        with self.transaction() as connection:
            connection.execute(f"UPDATE jobs SET {columns} WHERE id = ?", (*values.values(), job_id))

    def job(self, job_id: str) -> JobRecord | None:
        """The job of an id, if there is one."""
        rows = self._rows("SELECT * FROM jobs WHERE id = ?", (job_id,))
        return self._job(rows[0]) if rows else None

    def jobs(self) -> tuple[JobRecord, ...]:
        """All jobs, in the order of submission."""
        with self._lock:
            return tuple(self._job(row) for row in self._rows("SELECT * FROM jobs ORDER BY number"))

    def _job(self, row: sqlite3.Row) -> JobRecord:
        found = self._rows("SELECT * FROM templates WHERE job = ? ORDER BY number", (row["id"],))
        templates = tuple(
            TemplateRecord(id=t["id"], spec=json.loads(t["spec"]), description=json.loads(t["description"]))
            for t in found
        )
        values: dict[str, Any] = {
            **dict(row),
            "spec": json.loads(row["spec"]),
            "required": bool(row["required"]),
            "state": JobState(row["state"]),
            "wanted": Wanted(row["wanted"]),
            "templates": templates,
        }
        return JobRecord(**values)

    def note(self, kind: str, text: str, job_id: str | None = None) -> None:
        """Write down that something has happened."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO events (at, job, kind, text) VALUES (?, ?, ?, ?)", (self._clock(), job_id, kind, text)
            )
        _log.log(logging.ERROR if kind == "error" else logging.INFO, "%s", text, extra={"kind": kind, "job": job_id})

    def events(self, job_id: str | None = None, *, after: int = 0, most: int = 200) -> list[EventRecord]:
        """The latest events, or the first ones after an event; of one job or of all; the oldest first."""
        chosen, values = ("AND job = ?", [job_id]) if job_id is not None else ("", [])
        order = "ASC" if after else "DESC"
        query = f"SELECT * FROM events WHERE id > ? {chosen} ORDER BY id {order} LIMIT ?"
        found = self._rows(query, (after, *values, most))
        return sorted((EventRecord(**dict(row)) for row in found), key=lambda event: event.id)

    def add_sample(self, sample: SampleRecord) -> None:
        """Keep a look at a running job."""
        columns = "at, job, template, seconds, mips, ingest_tps, waited, importance, streams, pes"
        with self.transaction() as connection:
            connection.execute(
                f"INSERT INTO samples ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(sample.at, sample.job, sample.template, sample.seconds, sample.mips, sample.ingest_tps),
                    *(sample.waited, sample.importance, json.dumps(dict(sample.streams))),
                    json.dumps(dict(sample.pes)),
                ),
            )
            connection.execute(
                "DELETE FROM samples WHERE job = ? AND template = ? AND id <= (SELECT id FROM samples WHERE job = ?"
                " AND template = ? ORDER BY id DESC LIMIT 1 OFFSET ?)",
                (sample.job, sample.template, sample.job, sample.template, KEPT_SAMPLES),
            )

    def samples(self, job_id: str, template: str | None = None, most: int = KEPT_SAMPLES) -> list[SampleRecord]:
        """The latest samples of a job, the oldest first."""
        chosen, values = ("AND template = ?", [template]) if template is not None else ("", [])
        query = f"SELECT * FROM samples WHERE job = ? {chosen} ORDER BY id DESC LIMIT ?"
        found = []
        for row in reversed(self._rows(query, (job_id, *values, most))):
            kept = {key: row[key] for key in row.keys() if key != "id"}  # noqa: SIM118 # a row is not a mapping
            told = {name: json.loads(row[name]) for name in ("streams", "pes")}
            found.append(SampleRecord(**{**kept, **told}))
        return found

    def add_decision(self, kind: str, figures: Mapping[str, float], plan: Mapping[str, Any]) -> int:
        """Keep a decision; its number."""
        names = ("importance", "waterline", "mips", "mips_used", "seconds")
        text = json.dumps(plan)
        with self.transaction() as connection:
            done = connection.execute(
                f"INSERT INTO decisions (at, kind, {', '.join(names)}, plan) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (self._clock(), kind, *(figures[name] for name in names), text),
            )
            number = done.lastrowid or 0
            kept = max(_LEAST_DECISIONS, min(KEPT_DECISIONS, _MOST_PLAN_BYTES // len(text)))
            connection.execute("DELETE FROM decisions WHERE id <= ?", (number - kept,))
            connection.execute("DELETE FROM events WHERE id <= (SELECT MAX(id) FROM events) - ?", (KEPT_EVENTS,))
            return number

    def decisions(self, *, most: int = 50, kind: str | None = None) -> list[DecisionRecord]:
        """The latest decisions, the newest first."""
        chosen, values = ("WHERE kind = ?", [kind]) if kind is not None else ("", [])
        rows = self._rows(f"SELECT * FROM decisions {chosen} ORDER BY id DESC LIMIT ?", (*values, most))
        return [_decision(row) for row in rows]

    def decision(self, number: int) -> DecisionRecord | None:
        """The decision of a number, if it is kept."""
        rows = self._rows("SELECT * FROM decisions WHERE id = ?", (number,))
        return _decision(rows[0]) if rows else None

    def setting(self, key: str) -> Any:
        """A setting of the service; None where it was never set."""
        rows = self._rows("SELECT value FROM settings WHERE key = ?", (key,))
        return json.loads(rows[0]["value"]) if rows else None

    def set_setting(self, key: str, value: object) -> None:
        """Keep a setting of the service."""
        with self.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    return connection


def _identity(path: str) -> tuple[int, int] | None:
    """Which file a path leads to; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _decision(row: sqlite3.Row) -> DecisionRecord:
    return DecisionRecord(**{**dict(row), "plan": json.loads(row["plan"])})
