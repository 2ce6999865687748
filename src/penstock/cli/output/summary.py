"""The summary of a run, for a person and for a machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.ir.graph import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The summary of a run, on any engine."""

    application: str
    engine: str
    stopped: str
    seconds: float
    received: Mapping[str, Sequence[int]]
    submitted: Mapping[str, Sequence[int]]
    rejected: Mapping[str, int]
    dead_letters_file: Path | None
    more: Mapping[str, object]
    late: Mapping[str, int] = field(default_factory=dict)
    expired: Mapping[str, int] = field(default_factory=dict)

    @property
    def tuples(self) -> int:
        """The tuples received, summed over all operators."""
        return sum(sum(ports) for ports in self.received.values())

    @property
    def operators(self) -> list[str]:
        """The ids of all operators that took or gave tuples."""
        return list(dict.fromkeys([*self.submitted, *self.received]))

    def to_json(self) -> dict[str, object]:
        """The summary as `--json` prints it."""
        return {
            "application": self.application,
            "engine": self.engine,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "tuples": self.tuples,
            "tuples_per_second": self.tuples / self.seconds if self.seconds else 0.0,
            "operators": {
                id_: {
                    "received": list(self.received.get(id_, ())),
                    "submitted": list(self.submitted.get(id_, ())),
                    "rejected": self.rejected.get(id_, 0),
                    "late": self.late.get(id_, 0),
                    "expired": self.expired.get(id_, 0),
                }
                for id_ in self.operators
            },
            "dead_letters": sum(self.rejected.values()),
            "dead_letters_file": None if self.dead_letters_file is None else str(self.dead_letters_file),
            **self.more,
        }


def in_order_of(application: Application, counts: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Counts in the order of declaration; PEs report as they end."""
    return {o.id: counts[o.id] for o in application.operators if o.id in counts}


def print_summary(summary: Summary) -> None:
    """Print a table of the operators, the rate, and where records were set aside."""
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True)
    title = f"{summary.application}: {summary.stopped}"
    table = Table("operator", "in", "out", title=title, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for id_ in summary.operators:
        counts = (summary.received.get(id_, ()), summary.submitted.get(id_, ()))
        table.add_row(id_, *(" + ".join(f"{n:,}" for n in ports) for ports in counts))
    console.print(table)
    rate = summary.tuples / summary.seconds if summary.seconds else 0.0
    what = f"{summary.tuples:,} tuples over all operators in {summary.seconds:.2f} s"
    console.print(f"{what} ({rate:,.0f} a second)")
    if summary.dead_letters_file is not None:
        rejected = ", ".join(f"{count:,} by {id_}" for id_, count in summary.rejected.items())
        console.print(f"set aside in {summary.dead_letters_file}: {rejected}")
    if summary.late:
        late = ", ".join(f"{count:,} of {id_}" for id_, count in summary.late.items())
        console.print(f"came late: {late}")
    if summary.expired:
        expired = ", ".join(f"{count:,} by {id_}" for id_, count in summary.expired.items())
        console.print(f"keys dropped, their time to live was over: {expired}")
