"""Profiles as JSON. `docs/formats/profile.md` describes the format.

Example:
    >>> profile = profile_from_json({"version": 1, "mips": 1000, "operators": [{"id": "a", "rate_tps": 5,
    ...     "cpu_seconds": 0.1}], "streams": []})
    >>> profile_from_json(profile_to_json(profile)) == profile
    True
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from penstock.model.profile import OperatorProfile, Profile, StreamProfile
from penstock.model.reading import (
    AMOUNT,
    AMOUNTS,
    INDEX,
    LIST,
    NAME,
    NAMES,
    POSITIVE,
    TEXT,
    Field,
    Reader,
    Record,
    load_object,
)

VERSION = 1

_PROFILE = (
    Field("version", lambda _: True, "the version"),
    Field("application", *TEXT, default=""),
    Field("mips", *POSITIVE),
    Field("seconds", *AMOUNT, default=0.0),
    Field("operators", *LIST),
    Field("streams", *LIST, default=()),
)
_OPERATOR = (
    Field("id", *NAME),
    Field("kind", *TEXT, default=""),
    Field("rate_tps", *AMOUNT),
    Field("cpu_seconds", *AMOUNT),
    Field("cpu_variance", *AMOUNT, default=0.0),
    Field("cpu_fraction", *AMOUNT, default=None),
    Field("selectivity", *AMOUNTS, default=()),
)
_STREAM = (
    Field("id", *NAME),
    Field("from", *NAME),
    Field("port", *INDEX, default=0),
    Field("to", *NAMES, default=()),
    Field("feedback", *NAMES, default=()),
    Field("rate_tps", *AMOUNT),
    Field("tuple_bytes", *AMOUNT),
    Field("rate_bytes", *AMOUNT, default=None),
)
_DISAGREEMENT = 0.01
"""By how much a product may differ from its factors: rounding of a file that people may edit."""


def read_profile(path: Path) -> Profile:
    """Read a profile.

    Raises:
        UserError: The file cannot be read or is no profile; every mistake is named.
    """
    return profile_from_json(load_object(path), str(path))


def write_profile(profile: Profile, path: Path) -> None:
    """Write a profile, for `read_profile` and for people."""
    path.write_text(json.dumps(profile_to_json(profile), indent=2) + "\n", encoding="utf-8")


def profile_from_json(value: Record, path: str = "profile") -> Profile:
    """A profile from its JSON value; `path` is for messages.

    Raises:
        UserError: It is no profile; every mistake is named.
    """
    reader = Reader(path)
    reader.version(value, VERSION, "profile")
    head = reader.record({"version": VERSION, **value}, _PROFILE, "the profile")
    operators = {record["id"]: _operator(record, reader) for record in reader.records(value, "operators", _OPERATOR)}
    streams = [_stream(record, operators, reader) for record in reader.records(value, "streams", _STREAM)]
    if not operators:
        reader.complain("the profile has no operators")
    _refuse_shared_ports(streams, reader)
    reader.raise_if_any()
    assert head is not None
    return Profile(
        application=head["application"],
        mips=float(head["mips"]),
        seconds=float(head["seconds"]),
        operators=tuple(operators.values()),
        streams=tuple(streams),
    )


def profile_to_json(profile: Profile) -> Record:
    """A profile as `write_profile` writes it."""
    return {
        "version": VERSION,
        "application": profile.application,
        "mips": profile.mips,
        "seconds": profile.seconds,
        "operators": [_operator_to_json(o) for o in profile.operators],
        "streams": [_stream_to_json(s) for s in profile.streams],
    }


def _operator(record: Record, reader: Reader) -> OperatorProfile:
    _check_product(record, "cpu_fraction", ("rate_tps", "cpu_seconds"), reader)
    return OperatorProfile(
        id=record["id"],
        kind=record["kind"],
        rate_tps=float(record["rate_tps"]),
        cpu_seconds=float(record["cpu_seconds"]),
        cpu_variance=float(record["cpu_variance"]),
        selectivity=tuple(map(float, record["selectivity"])),
    )


def _stream(record: Record, operators: dict[str, OperatorProfile], reader: Reader) -> StreamProfile:
    id_, producer, port = record["id"], record["from"], record["port"]
    if reader.known(producer, operators, f"`{id_}` comes `from` an operator that is not listed:"):
        ports = len(operators[producer].selectivity)
        if port >= ports:
            hint = "give a selectivity for each output port"
            reader.complain(f"`{id_}` leaves port {port} of `{producer}`, which has {ports} in `selectivity`", hint)
    for consumer in record["to"]:
        reader.known(consumer, operators, f"`{id_}` goes `to` an operator that is not listed:")
    for consumer in record["feedback"]:
        reader.known(consumer, record["to"], f"`{id_}` is `feedback` for an operator that is not in its `to`:")
    _check_product(record, "rate_bytes", ("rate_tps", "tuple_bytes"), reader)
    return StreamProfile(
        id=id_,
        producer=producer,
        port=port,
        consumers=tuple(record["to"]),
        feedback=frozenset(record["feedback"]),
        rate_tps=float(record["rate_tps"]),
        tuple_bytes=float(record["tuple_bytes"]),
    )


def _check_product(record: Record, key: str, factors: tuple[str, str], reader: Reader) -> None:
    """Complain of a product in the file that is not what its factors make."""
    one, other = factors
    product = record[one] * record[other]
    if record[key] is not None and abs(record[key] - product) > _DISAGREEMENT * max(product, record[key]):
        said = f"the `{key}` of `{record['id']}` is {record[key]:g}"
        reader.complain(f"{said}, but `{one}` times `{other}` is {product:g}", f"leave `{key}` out")


def _refuse_shared_ports(streams: list[StreamProfile], reader: Reader) -> None:
    first: dict[tuple[str, int], str] = {}
    for s in streams:
        other = first.setdefault((s.producer, s.port), s.id)
        if other != s.id:
            reader.complain(
                f"`{other}` and `{s.id}` both leave port {s.port} of `{s.producer}`", "a port makes one stream"
            )


def _operator_to_json(o: OperatorProfile) -> dict[str, Any]:
    return {
        "id": o.id,
        "kind": o.kind,
        "rate_tps": o.rate_tps,
        "cpu_seconds": o.cpu_seconds,
        "cpu_variance": o.cpu_variance,
        "cpu_fraction": o.cpu_fraction,
        "selectivity": list(o.selectivity),
    }


def _stream_to_json(s: StreamProfile) -> dict[str, Any]:
    return {
        "id": s.id,
        "from": s.producer,
        "port": s.port,
        "to": list(s.consumers),
        "feedback": sorted(s.feedback),
        "rate_tps": s.rate_tps,
        "tuple_bytes": s.tuple_bytes,
        "rate_bytes": s.rate_bytes,
    }
