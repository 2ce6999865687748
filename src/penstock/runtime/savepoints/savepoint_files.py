"""Savepoints on disk: a folder that any plan of the program can go on from, of this version and of later ones.

    savepoint.json          format, program, number of the next batch, key groups; every file with its size and SHA-256
    operators.parquet       a row for each operator: what belongs to no key, how far time has come, whether it has ended
    operators/N-PART.parquet  what operator N keeps by key, a row for each key, in order of key groups (`state_tables`)
    job.pickle              where the sources stand, and what has been counted; an engine's own notes beside it

`savepoint.json` is written last, when all else is synced, and a folder without it is none. Both
formats, 1 and 2, stay readable.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.base.diagnostics import UserError
from penstock.base.durable_files import LOST, make_folder, sync_file, sync_folder, write_durably
from penstock.base.plain_pickle import load_plain
from penstock.base.private_files import check_private, make_private_folder
from penstock.codegen.plan.channels import choose_channels
from penstock.ir.graph import Application
from penstock.ir.types import parse_type
from penstock.runtime.savepoints.job_state import JobState, OperatorState
from penstock.runtime.savepoints.split_state import attribute_types
from penstock.runtime.savepoints.state_tables import (
    columns_of_table,
    part_of_table,
    table_of_columns,
    tables_of_part,
)

FORMAT = 2
READABLE = (1, FORMAT)
"""The formats that this version reads; before 2 there were no positions."""
HEAD = "savepoint.json"
_OPERATORS = "operators.parquet"
_JOB = "job.pickle"
_PLAIN = ("time_ns", "has_ended", "is_held", "late")
_PICKLED = ("random", "metrics")


@dataclass(frozen=True, slots=True, kw_only=True)
class Savepoint:
    """A savepoint.

    Attributes:
        state: Of the job.
        program: What is known of the program that wrote it: `graph`, a fingerprint; for each operator its signature.
        engine: The notes of the engine that ran it, by name.
        positions: Where the sources stand that the engine reads by itself, by operator.
    """

    state: JobState
    program: dict[str, Any] = field(default_factory=dict)
    engine: dict[str, Any] = field(default_factory=dict)
    positions: dict[str, Any] = field(default_factory=dict)


def write_savepoint(savepoint: Savepoint, application: Application, folder: Path) -> None:
    """Write a savepoint to a folder that is not there yet, or empty.

    Raises:
        UserError: There is something in the folder.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UserError(f"`{folder}` is not empty", hint="name another folder for the savepoint")
    make_private_folder(folder)
    make_folder(folder / "operators")
    state = savepoint.state
    for name, table in _tables(state, application):
        pq.write_table(table, folder / name)
    job = {"sources": state.sources, "totals": state.totals, "engine": savepoint.engine}
    (folder / _JOB).write_bytes(pickle.dumps(job, protocol=5))
    head = {
        "format": FORMAT,
        "application": state.application,
        "batch": state.batch,
        "key_groups": state.groups,
        "time_ns": state.time_ns,
        "ended": sorted(state.ended),
        "has_ended": state.has_ended,
        "rejected": state.totals.get("rejected", {}),
        "positions": savepoint.positions,
        "program": savepoint.program,
        "files": {str(path.relative_to(folder)): _describe(path) for path in _files(folder)},
    }
    for path in _files(folder):
        sync_file(path)
    sync_folder(folder / "operators")
    write_durably(folder / HEAD, json.dumps(head, indent=2).encode() + b"\n")


def read_head(folder: Path) -> dict[str, Any]:
    """What a savepoint says of itself.

    Raises:
        UserError: The folder is no savepoint, or of a format that this version does not know.
    """
    try:
        head: dict[str, Any] = json.loads((folder / HEAD).read_bytes())
        format_ = head["format"]
    except FileNotFoundError:
        raise UserError(f"`{folder}` is no savepoint: there is no `{HEAD}` in it") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"the savepoint is damaged: `{folder / HEAD}` cannot be read", hint=LOST) from None
    if format_ not in READABLE:
        raise UserError(f"the savepoint `{folder}` has format {format_}, this version of penstock reads up to {FORMAT}")
    return head


def read_savepoint(folder: Path) -> Savepoint:
    """Read a savepoint.

    Raises:
        UserError: It is damaged, or of a format that this version does not know; or others may have written it.
    """
    head = read_head(folder)
    check_private(folder, f"the savepoint `{folder}`")
    with telling_damage(f"`{folder}`"):
        return _read(folder, head)


@contextmanager
def telling_damage(what: str) -> Iterator[None]:
    """Say that a savepoint is damaged, whatever goes wrong with it: its seals can be made anew by who changes it.

    Args:
        what: Cannot be read.

    Raises:
        UserError: Something goes wrong.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0] or "it is not as it was written"
        message = f"the savepoint is damaged: {what} cannot be read: {type(error).__name__}: {reason}"
        raise UserError(message, hint=LOST) from None


def _read(folder: Path, head: dict[str, Any]) -> Savepoint:
    for name, known in head["files"].items():
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise UserError(f"the savepoint is damaged: `{name}` leads out of `{folder}`", hint=LOST)
        if not (folder / name).exists():
            raise UserError(f"the savepoint is damaged: there is no `{folder / name}`", hint=LOST)
        if _describe(folder / name) != known:
            raise UserError(f"the savepoint is damaged: `{folder / name}` is not as it was written", hint=LOST)
    job = load_plain((folder / _JOB).read_bytes(), f"`{folder / _JOB}`")
    state = JobState(
        application=head["application"],
        batch=head["batch"],
        groups=head["key_groups"],
        operators=dict(_operators(folder)),
        ended=frozenset(head["ended"]),
        sources=job["sources"],
        has_ended=head["has_ended"],
        totals=job["totals"],
    )
    return Savepoint(state=state, program=head["program"], engine=job["engine"], positions=head.get("positions", {}))


def tables_of_operator(
    state: OperatorState, key: tuple[str, ...], types: Mapping[str, Any], groups: int
) -> Iterator[tuple[str, pa.Table]]:
    """What an operator keeps by key, as tables with their names."""
    if state.memory is not None:
        for name, part in state.memory[1].items():
            yield name, tables_of_part(part, key, types, groups)
    if state.columns is not None:
        for i, table in enumerate(state.columns["tables"]):
            yield f"table {i}", table_of_columns(table, key, types, groups)


def routing_keys(application: Application) -> dict[str, tuple[str, ...]]:
    """For each operator that may run on several channels the attributes that it would be routed by."""
    channels = choose_channels(application, 2)
    return {id_: channels.key[region] for id_, region in channels.region.items()}


def _tables(state: JobState, application: Application) -> Iterator[tuple[str, pa.Table]]:
    rows, keys = [], routing_keys(application)
    for number, (id_, own) in enumerate(state.operators.items()):
        types = attribute_types(application.operator[id_])
        parts = []
        for i, (name, table) in enumerate(tables_of_operator(own, keys.get(id_, ()), types, state.groups)):
            path = f"operators/{number}-{i}.parquet"
            parts.append((name, path))
            yield path, table
        rows.append(_row(id_, own, parts, types))
    schema = pa.schema([("operator", pa.string()), ("form", pa.string())])
    yield _OPERATORS, pa.Table.from_pylist(rows) if rows else pa.Table.from_pylist([], schema=schema)


def _row(id_: str, own: OperatorState, parts: list[tuple[str, str]], types: Mapping[str, Any]) -> dict[str, Any]:
    form, whole = "none", None
    if own.memory is not None:
        form, whole = "memory", own.memory[0]
    elif own.columns is not None:
        form, whole = "columns", own.columns["whole"]
    return {
        "operator": id_,
        "form": form,
        "whole": pickle.dumps(whole, protocol=5),
        **{name: getattr(own, name) for name in _PLAIN},
        **{name: pickle.dumps(getattr(own, name), protocol=5) for name in _PICKLED},
        "parts": json.dumps(parts),
        "types": json.dumps({name: str(type_) for name, type_ in types.items()}),
    }


def _operators(folder: Path) -> Iterator[tuple[str, OperatorState]]:
    for row in pq.read_table(folder / _OPERATORS).to_pylist():
        what = f"the state of operator `{row['operator']}`"
        whole = load_plain(row["whole"], what)
        types = {name: parse_type(text) for name, text in json.loads(row["types"]).items()}
        tables = [(name, pq.read_table(folder / path)) for name, path in json.loads(row["parts"])]
        memory = columns = None
        if row["form"] == "memory":
            memory = whole, {name: part_of_table(table, types) for name, table in tables}
        elif row["form"] == "columns":
            columns = {"tables": [columns_of_table(table) for _, table in tables], "whole": whole}
        plain = {name: row[name] for name in _PLAIN} | {name: load_plain(row[name], what) for name in _PICKLED}
        yield row["operator"], OperatorState(memory=memory, columns=columns, **plain)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != HEAD)


def _describe(path: Path) -> dict[str, Any]:
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
