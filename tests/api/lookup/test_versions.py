"""Tables that change: each version is a turn of its source, and what was given is not given again."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from penstock.api.lookup.versions import LookedUp, VersionsRuntime
from penstock.expr.environment import Environment
from penstock.ir.types import parse_schema
from penstock.toolkit.core.runtime import Wait

SCHEMA = parse_schema("rstring sym, int32 x")


class _Context:
    environment = Environment()


def start(given: Any, *, follows: bool = True, every_ns: int | None = 5) -> tuple[VersionsRuntime, list[Any]]:
    table = LookedUp(given=given, schema=SCHEMA, keys=1, every_ns=every_ns)
    runtime = VersionsRuntime(table, None, _Context())  # type: ignore[arg-type]
    runtime.follows = follows
    sent: list[Any] = []
    runtime.submit = [sent.append]
    return runtime, sent


def take(sent: list[Any]) -> list[Any]:
    found = list(sent)
    sent.clear()
    return found


def test_a_later_version_gives_the_keys_that_have_changed() -> None:
    now = [("a", 1), ("b", 2), ("a", 3), ("c", 4)]
    runtime, sent = start(lambda: now)
    items = runtime.produce()
    assert next(items) is None
    assert take(sent) == [("a", 1, True), ("a", 3, True), ("b", 2, True), ("c", 4, True)]
    assert next(items) == Wait(5)
    now[:] = [("a", 1), ("a", 5), ("b", 2), ("d", 6)]
    assert next(items) is None
    assert take(sent) == [("c", 0, False), ("a", 0, False), ("a", 1, True), ("a", 5, True), ("d", 6, True)]
    assert next(items) == Wait(5)
    assert next(items) is None
    assert take(sent) == []


def test_a_run_that_ends_with_its_inputs_reads_the_table_once() -> None:
    for options in ({"follows": False}, {"every_ns": None}):
        runtime, sent = start(lambda: [("a", 1)], **options)
        assert list(runtime.produce()) == [None]
        assert sent == [("a", 1, True)]
        again, more = start(lambda: [("a", 1)], **options)
        again.restore(pickle.loads(pickle.dumps(runtime.snapshot())))
        assert (list(again.produce()), more) == ([], [])


def test_a_job_that_resumes_is_given_what_has_changed_meanwhile() -> None:
    now = [("a", 1), ("b", 2)]
    first, _ = start(lambda: now)
    next(first.produce())
    state = pickle.loads(pickle.dumps(first.snapshot()))
    now[:] = [("b", 3)]
    second, sent = start(lambda: now)
    second.restore(state)
    items = second.produce()
    assert [next(items), take(sent), next(items)] == [Wait(5), [], None]
    assert sent == [("a", 0, False), ("b", 0, False), ("b", 3, True)]


def test_a_file_is_read_when_it_has_changed(tmp_path: Path, monkeypatch: Any) -> None:
    file = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"sym": ["a"], "x": [1]}), file)
    reads = []
    monkeypatch.setattr(LookedUp, "read", lambda *a, read=LookedUp.read: reads.append(1) or read(*a))
    runtime, sent = start(str(file))
    items = runtime.produce()
    for _ in range(5):
        next(items)
    assert (take(sent), len(reads)) == ([("a", 1, True)], 1)
    parquet.write_table(pa.table({"sym": ["a", "b"], "x": [1, 2]}), file)
    assert isinstance(next(items), Wait)
    next(items)
    assert (take(sent), len(reads)) == ([("b", 2, True)], 2)
