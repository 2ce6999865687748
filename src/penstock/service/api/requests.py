"""The bodies of requests, read and checked."""

from __future__ import annotations

from typing import Any

from penstock.base.json_reader import JsonReader, Object, expect_object
from penstock.service.jobs.submission import LARGEST, MOST_RANK


def read_weight(document: object) -> float:
    """The weight in `{"weight": 2.5}`.

    Raises:
        UserError: It is none.
    """
    reader, item = _reader(document, '{"weight": 2.5}')
    reader.check_keys(item, ("weight",), "the request")
    weight = reader.number(item, "weight", "the job")
    reader.raise_if_any()
    return weight


def read_rank(document: object) -> dict[str, Any]:
    """The rank in `{"rank": 1}`, and whether the job is required, if the request says so.

    Raises:
        UserError: It is none.
    """
    reader, item = _reader(document, '{"rank": 1}')
    reader.check_keys(item, ("rank", "required"), "the request")
    if "rank" not in item:
        reader.complain("the request has no rank", 'write "rank": a whole number')
    found: dict[str, Any] = {"rank": _rank(reader, item, "rank", "the job")}
    if "required" in item:
        found["required"] = reader.flag(item, "required", "the job")
    reader.raise_if_any()
    return found


def read_mips(document: object) -> dict[str, float]:
    """The mips of nodes in `{"mips": {"local": 2000}}`.

    Raises:
        UserError: They are none.
    """
    reader, item = _reader(document, '{"mips": {"local": 2000}}')
    reader.check_keys(item, ("mips",), "the request")
    found = _amounts(reader, item, "mips")
    if not found:
        reader.complain("the request has no mips", 'write "mips": {"NODE": a number}')
    reader.raise_if_any()
    return found


def read_changes(document: object) -> dict[str, Any]:
    """The changes of a what-if: `weights` and `ranks` by job, `mips` by node.

    Raises:
        UserError: They are none.

    Example:
        >>> read_changes({"weights": {"a": 3}})
        {'weights': {'a': 3.0}, 'ranks': {}, 'mips': {}}
    """
    reader, item = _reader(document, '{"weights": {"JOB": 2}, "ranks": {}, "mips": {}}')
    reader.check_keys(item, ("weights", "ranks", "mips"), "the request")
    ranks = reader.mapping(item, "ranks", "the request")
    found = {
        "weights": _amounts(reader, item, "weights"),
        "ranks": {job: _rank(reader, ranks, job, "the ranks") for job in ranks},
        "mips": _amounts(reader, item, "mips"),
    }
    reader.raise_if_any()
    return found


def _reader(document: object, example: str) -> tuple[JsonReader, Object]:
    return JsonReader(largest=LARGEST), expect_object(document, "request", example)


def _amounts(reader: JsonReader, item: Object, key: str) -> dict[str, float]:
    values = reader.mapping(item, key, "the request")
    return {name: reader.amount(value, f"the {key} of `{name[:80]}`") for name, value in values.items()}


def _rank(reader: JsonReader, item: Object, key: str, owner: str) -> int:
    rank = reader.count(item, key, owner)
    if rank > MOST_RANK:
        reader.complain(f"the {key[:80]} of {owner} is {rank}", f"write a whole number up to {MOST_RANK}")
    return rank
