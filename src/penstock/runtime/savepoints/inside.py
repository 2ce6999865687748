"""The inside of a state: what each operator keeps, by key and key group, for people and for other tools."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.base.diagnostics import UserError, did_you_mean
from penstock.base.plain_pickle import load_plain
from penstock.ir.types import parse_type
from penstock.runtime.savepoints.job_state import JobState
from penstock.runtime.savepoints.savepoint_files import Savepoint, tables_of_operator, telling_damage
from penstock.runtime.savepoints.state_tables import KIND


@dataclass(frozen=True, slots=True, kw_only=True)
class Inside:
    """A state as tables.

    Attributes:
        state: Of the job.
        kinds: Of its operators.
        tables: For each operator what it keeps by key, with the name of each part.
    """

    state: JobState
    kinds: dict[str, str]
    tables: dict[str, list[tuple[str, pa.Table]]]


def inside_of(savepoint: Savepoint) -> Inside:
    """The state of a savepoint as tables.

    Raises:
        UserError: It is damaged.
    """
    state, tables = savepoint.state, {}
    with telling_damage("its state"):
        described = savepoint.program["operators"]
        for id_, own in state.operators.items():
            known = described[id_]
            types = {name: parse_type(text) for name, text in known["types"].items()}
            tables[id_] = list(tables_of_operator(own, tuple(known["routing"]), types, state.groups))
        return Inside(state=state, kinds={id_: described[id_]["kind"] for id_ in tables}, tables=tables)


def describe_state(inside: Inside) -> list[dict[str, Any]]:
    """For each operator with state: its keys, bytes and key groups, and how many keys the largest group has."""
    with telling_damage("its state"):
        return [_describe(inside, id_) for id_ in inside.tables if _has_state(inside, id_)]


def export_state(inside: Inside, folder: Path, operators: Sequence[str] = ()) -> Iterator[tuple[Path, int]]:
    """Write what operators keep by key as Parquet, a file for each part; yields the files and how many keys they have.

    Raises:
        UserError: An operator that is named is none.
    """
    for id_ in operators:
        if id_ not in inside.tables:
            hint = did_you_mean(id_, inside.tables) or f"there are {', '.join(inside.tables)}"
            raise UserError(f"there is no operator `{id_}` with state", hint=hint)
    folder.mkdir(parents=True, exist_ok=True)
    for id_ in operators or inside.tables:
        tables = inside.tables[id_]
        for name, table in tables:
            part = "" if len(tables) == 1 else "-" + _file_name(name)
            path = folder / f"{_file_name(id_)}{part}.parquet"
            pq.write_table(_readable(table), path)
            yield path, table.num_rows


def _describe(inside: Inside, id_: str) -> dict[str, Any]:
    tables = [table for _, table in inside.tables[id_]]
    counts = np.zeros(inside.state.groups, np.int64)
    for table in tables:
        counts += np.bincount(table.column("group").to_numpy(), minlength=inside.state.groups)
    used, keys = int(np.count_nonzero(counts)), int(counts.sum())
    return {
        "operator": id_,
        "kind": inside.kinds[id_],
        "keys": keys,
        "bytes": sum(table.nbytes for table in tables) + _bytes_of_whole(inside, id_),
        "groups": used,
        "largest_group_keys": int(counts.max(initial=0)),
        "skew": float(counts.max(initial=0) * used / keys) if keys else 0.0,
    }


def _has_state(inside: Inside, id_: str) -> bool:
    return bool(inside.tables[id_]) or _bytes_of_whole(inside, id_) > 0


def _bytes_of_whole(inside: Inside, id_: str) -> int:
    """The size of what belongs to no key."""
    own = inside.state.operators[id_]
    whole = own.memory[0] if own.memory is not None else own.columns["whole"] if own.columns is not None else {}
    return len(pickle.dumps(whole, protocol=5)) if whole else 0


def _readable(table: pa.Table) -> pa.Table:
    """A table without what only Penstock reads: objects become JSON, or Python's text of them where they have none."""
    found = table.drop_columns(["position"])
    for i, field in enumerate(found.schema):
        kind = (field.metadata or {}).get(KIND, b"").decode().partition(" ")[0]
        if kind in ("pickle", "slices"):
            texts = [_text(load_plain(value, "the state of an operator")) for value in found.column(i).to_pylist()]
            found = found.set_column(i, field.name, pa.array(texts, pa.string()))
    return found.rename_columns([_column_name(name) for name in found.column_names]).replace_schema_metadata(None)


def _column_name(name: str) -> str:
    return name.removeprefix("key.").removeprefix("row.") or "held"


def _text(value: Any) -> str:
    if isinstance(value, pa.Array):
        value = value.to_pylist()[0]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return json.dumps(value, default=repr, ensure_ascii=False)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "_", text)
