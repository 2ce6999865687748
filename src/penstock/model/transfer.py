"""The costs of moving tuples: the mapping v of section 3.4 of the SPADE paper, on Spark.

A stream that leaves a PE crosses from Python to the JVM, and from there to the Python of the next PE; where tuples
change channels or hosts it also goes through an exchange. Each of the six parts of the way takes CPU time, in the
process of a PE or in the JVM, in proportion to tuples and bytes:

    Python of the sender -- python_send, jvm_drain --> [exchange_write, exchange_read] -- jvm_feed, python_receive -->

Both processes also take bytes off the wire and put them on it, `python_pass`, even where these are for others.

A micro-batch and each of its stages also take some time however little they carry.

The times are those of one machine. On another they scale with the speed of a core, as the paper's footnote says.

Example:
    >>> crossing = Cost(seconds_per_tuple=1e-7, seconds_per_byte=1e-9)
    >>> transfer = Transfer(mips=1000.0, python_send=crossing)
    >>> round(transfer.fraction("python_send", rate_tps=1e6, tuple_bytes=100), 3)
    0.2
    >>> round(transfer.fraction("python_send", rate_tps=1e6, tuple_bytes=100, mips=4000.0), 3)
    0.05
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.model.reading import AMOUNT, FLAG, OBJECT, POSITIVE, Field, Reader, Record, load_object

VERSION = 1

CROSSING = ("jvm_feed", "python_receive", "python_send", "jvm_drain")
EXCHANGE = ("exchange_write", "exchange_read")
PASS = "python_pass"
PARTS = (*CROSSING, *EXCHANGE, PASS)
FIXED = ("batch_seconds", "stage_seconds", "state_seconds", "task_seconds", "pe_seconds")

_COST = (Field("seconds_per_tuple", *AMOUNT, default=0.0), Field("seconds_per_byte", *AMOUNT, default=0.0))
_TRANSFER = (
    Field("version", lambda _: True, "the version"),
    Field("mips", *POSITIVE),
    *(Field(part, *OBJECT) for part in CROSSING + EXCHANGE),
    Field(PASS, *OBJECT, default={}),
    *(Field(fixed, *AMOUNT, default=0.0) for fixed in FIXED),
    Field("pipelined", *FLAG, default=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """CPU time of one part of the way."""

    seconds_per_tuple: float = 0.0
    seconds_per_byte: float = 0.0

    def seconds(self, tuples: float, tuple_bytes: float) -> float:
        """The CPU time that so many tuples of that size take."""
        return tuples * (self.seconds_per_tuple + self.seconds_per_byte * tuple_bytes)


FREE = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The costs of moving tuples on a machine.

    Attributes:
        mips: The speed of one core of the machine.
        jvm_feed: A thread of the JVM hands tuples to a PE.
        python_receive: The PE takes them in.
        python_send: The PE hands tuples back.
        jvm_drain: A thread of the JVM takes them in.
        exchange_write: A task leaves tuples for the next stage.
        exchange_read: A task of the next stage fetches them.
        python_pass: The process of a PE takes them off the wire, or puts them on it, whomever they are for.
        batch_seconds: A micro-batch, however small: planning it, and committing it.
        stage_seconds: Each stage of a micro-batch behind the first, however small: launching its tasks, and waiting for
            the last one.
        state_seconds: A PE with state in a micro-batch, however small: loading and storing it.
        task_seconds: Each task of such a PE behind its first one, however small.
        pe_seconds: A PE in a micro-batch, however small: handing its code to a worker, and asking for its answer.
        pipelined: Whether Spark's `spark.python.udf.pipelined.enabled` was on.
    """

    mips: float
    jvm_feed: Cost = FREE
    python_receive: Cost = FREE
    python_send: Cost = FREE
    jvm_drain: Cost = FREE
    exchange_write: Cost = FREE
    exchange_read: Cost = FREE
    python_pass: Cost = FREE
    batch_seconds: float = 0.0
    stage_seconds: float = 0.0
    state_seconds: float = 0.0
    task_seconds: float = 0.0
    pe_seconds: float = 0.0
    pipelined: bool = False

    def part(self, name: str) -> Cost:
        """The cost of a part by its name."""
        cost: Cost = getattr(self, name)
        return cost

    def fraction(self, part: str, *, rate_tps: float, tuple_bytes: float, mips: float | None = None) -> float:
        """The paper's v: the fraction of a core that a part takes, here or on a core of another speed."""
        return self.part(part).seconds(rate_tps, tuple_bytes) * self.mips / (mips or self.mips)


def read_transfer(path: Path) -> Transfer:
    """Read a calibration.

    Raises:
        UserError: The file cannot be read or is no calibration; every mistake is named.
    """
    return transfer_from_json(load_object(path), str(path))


def write_transfer(transfer: Transfer, path: Path) -> None:
    """Write a calibration, for `read_transfer` and for people."""
    path.write_text(json.dumps(transfer_to_json(transfer), indent=2) + "\n", encoding="utf-8")


def transfer_from_json(value: Record, path: str = "transfer") -> Transfer:
    """A calibration from its JSON value; `path` is for messages.

    Raises:
        UserError: It is no calibration; every mistake is named.
    """
    reader = Reader(path)
    reader.version(value, VERSION, "calibration")
    head = reader.record({"version": VERSION, **value}, _TRANSFER, "the calibration")
    costs = {
        part: reader.record(value[part], _COST, f"`{part}`") for part in PARTS if isinstance(value.get(part), dict)
    }
    reader.raise_if_any()
    assert head is not None
    parts = {part: Cost(**{k: float(v) for k, v in cost.items()}) for part, cost in costs.items() if cost is not None}
    rest = {key: float(head[key]) for key in ("mips", *FIXED)}
    return Transfer(**rest, **parts, pipelined=head["pipelined"])  # type: ignore[arg-type]  # keys do not overlap


def transfer_to_json(transfer: Transfer) -> Record:
    """A calibration as `write_transfer` writes it.

    Example:
        >>> transfer = Transfer(mips=1000.0, jvm_feed=Cost(seconds_per_tuple=1e-7), batch_seconds=0.1)
        >>> transfer_from_json(transfer_to_json(transfer)) == transfer
        True
    """
    costs = {part: transfer.part(part) for part in PARTS}
    return {
        "version": VERSION,
        "mips": transfer.mips,
        **{
            part: {"seconds_per_tuple": cost.seconds_per_tuple, "seconds_per_byte": cost.seconds_per_byte}
            for part, cost in costs.items()
        },
        **{fixed: getattr(transfer, fixed) for fixed in FIXED},
        "pipelined": transfer.pipelined,
    }
