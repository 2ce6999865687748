"""The reports of PEs to the driver, for each batch: tuples in and out of each operator, and dead letters.

A report travels with the tuples, so it is counted exactly once, as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.ir.graph import Application
from penstock.reference.node import Node
from penstock.reference.result import DeadLetter
from penstock.runtime.pes.prints import Printed

Counts = dict[str, list[int]]

PER_VALUE = 1000
"""How many letters, and prints, a value holds: one with more would be held in memory as a whole wherever it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One PE, one batch.

    Attributes:
        pe: The PE's index.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        dead_letters: What was set aside.
        prints: What operators have printed.
        signals: What submit signals have collected, as plain data, if there are any.
        late: For each operator, the tuples that came too late: behind the clock, or behind the watermark.
        expired: For each operator, the keys that it has dropped because their time to live was over.
        held: For each operator how many keys one channel holds, and how many bytes (`held_state`).
    """

    pe: int
    received: Counts = field(default_factory=dict)
    submitted: Counts = field(default_factory=dict)
    dead_letters: tuple[DeadLetter, ...] = ()
    prints: tuple[Printed, ...] = ()
    signals: tuple[dict[str, Any], ...] = ()
    late: dict[str, int] = field(default_factory=dict)
    expired: dict[str, int] = field(default_factory=dict)
    held: Counts = field(default_factory=dict)

    def encode(self) -> list[bytes]:
        """The report as values, each with only so many letters and prints, which together say what it says."""
        # Not `asdict` of the whole, which would copy every sample.
        counted = ("received", "submitted", "late", "expired", "held")
        plain = {name: getattr(self, name) for name in ("pe", "signals", *counted)}
        empty = {"pe": self.pe, "signals": (), **{name: {} for name in counted}}
        starts = range(0, max(1, len(self.dead_letters), len(self.prints)), PER_VALUE)
        return [json.dumps({**(empty if start else plain), **self._listed(start)}).encode() for start in starts]

    def _listed(self, start: int) -> dict[str, Any]:
        """The letters and prints of one value."""
        part = slice(start, start + PER_VALUE)
        return {"dead_letters": [asdict(letter) for letter in self.dead_letters[part]], "prints": self.prints[part]}


def decode_report(value: bytes) -> Report:
    """The report, or the part of one, that is in a value which `encode` gave.

    Example:
        >>> decode_report(Report(pe=3, received={"F": [2]}).encode()[0]) == Report(pe=3, received={"F": [2]})
        True
    """
    read = json.loads(value)
    letters = tuple(DeadLetter(**letter) for letter in read.pop("dead_letters"))
    prints = tuple(Printed(*printed) for printed in read.pop("prints"))
    return Report(**read | {"dead_letters": letters, "prints": prints, "signals": tuple(read["signals"])})


def counts_of(nodes: Iterable[Node], operators: Iterable[str]) -> tuple[Counts, Counts]:
    """The tuples that operators of a running graph have received and submitted so far."""
    wanted = {n.id: n for n in nodes if n.id in set(operators)}
    received = {id_: [sum(e.count for e in edges) for edges in n.edges] for id_, n in wanted.items() if n.edges}
    submitted = {id_: [s.count for s in n.streams] for id_, n in wanted.items() if n.streams}
    return received, submitted


def count_late(application: Application, submitted: Mapping[str, Sequence[int]], prefix: str = "") -> dict[str, int]:
    """The tuples that operators have sent by the port for what comes too late, of those that have sent any.

    Args:
        application: Whose operators they are.
        submitted: For each operator, the tuples that went out by each output port.
        prefix: Stands before the ids of operators there.

    Example:
        >>> count_late(Application(name="Empty"), {})
        {}
    """
    ports = {prefix + o.id: o.facts.late_port for o in application.operators}
    return {id_: sent[port] for id_, sent in submitted.items() if (port := ports.get(id_)) is not None and sent[port]}


def add(total: Counts, more: Counts) -> Counts:
    """The sum of two counts.

    Example:
        >>> add({"F": [1]}, {"F": [2], "G": [3, 4]})
        {'F': [3], 'G': [3, 4]}
    """
    summed = {id_: list(ports) for id_, ports in total.items()}
    for id_, ports in more.items():
        before = summed.get(id_, [0] * len(ports))
        summed[id_] = [a + b for a, b in zip(before, ports, strict=True)]
    return summed
