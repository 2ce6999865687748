"""The result of a run: why it ended, its counts, and its dead letters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path

from penstock.expr.environment import Tuple
from penstock.toolkit.core.runtime import Punctuation
from penstock.toolkit.files.sink_names import DEAD_LETTERS

__all__ = ["DEAD_LETTERS", "DeadLetter", "ReferenceResult", "RunResult", "StopReason"]


class StopReason(Enum):
    """Why a run ended."""

    DONE = "done"
    TIME = "time"
    TUPLES = "tuples"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """A record or a tuple that was set aside.

    Attributes:
        operator: The id of the operator that could not process it.
        reason: Why, in one sentence.
        record: Its text.
    """

    operator: str
    reason: str
    record: str

    def line(self) -> bytes:
        """The letter as a line of the file of dead letters."""
        return json.dumps(asdict(self), ensure_ascii=False).encode() + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The outcome of a run, on whatever engine.

    Attributes:
        stopped: Why the run ended.
        received: For each operator, the tuples that came in by each input port.
        submitted: For each operator, the tuples that went out by each output port.
        dead_letters: What was set aside, in order.
        expired: For each operator that dropped some, the keys whose time to live was over.
        collected: The tuples of each stream that the caller asked for; of the reference interpreter punctuations, too.

    Example:
        >>> letters = (DeadLetter(operator="B", reason="a division by zero", record="{x=0}"),)
        >>> result = RunResult(
        ...     stopped=StopReason.DONE,
        ...     received={"B": (2,)},
        ...     submitted={"A": (2,), "B": (1,)},
        ...     dead_letters=letters,
        ...     collected={"B": [(1,)]},
        ... )
        >>> result.tuples, result.rejected, result.tuples_of("B")
        (2, {'B': 1}, [(1,)])
    """

    stopped: StopReason
    received: Mapping[str, tuple[int, ...]]
    submitted: Mapping[str, tuple[int, ...]]
    dead_letters: tuple[DeadLetter, ...] = ()
    expired: Mapping[str, int] = field(default_factory=dict)
    collected: Mapping[str, list[Tuple | Punctuation]] = field(default_factory=dict)

    @property
    def tuples(self) -> int:
        """The tuples received, summed over all operators.

        Example:
            >>> RunResult(stopped=StopReason.DONE, received={"B": (2, 1), "C": (4,)}, submitted={}).tuples
            7
        """
        return sum(sum(ports) for ports in self.received.values())

    @property
    def rejected(self) -> dict[str, int]:
        """For each operator that set records aside, how many.

        Example:
            >>> letters = (DeadLetter(operator="B", reason="not a number", record="x"),) * 2
            >>> RunResult(stopped=StopReason.DONE, received={}, submitted={}, dead_letters=letters).rejected
            {'B': 2}
        """
        counts: dict[str, int] = {}
        for letter in self.dead_letters:
            counts[letter.operator] = counts.get(letter.operator, 0) + 1
        return counts

    def tuples_of(self, stream: str) -> list[Tuple]:
        """The tuples of a stream that was collected, without its punctuations.

        Example:
            >>> items = [(1,), Punctuation.WINDOW, (2,), Punctuation.FINAL]
            >>> RunResult(stopped=StopReason.DONE, received={}, submitted={}, collected={"A": items}).tuples_of("A")
            [(1,), (2,)]
        """
        return [item for item in self.collected[stream] if not isinstance(item, Punctuation)]

    def write_dead_letters(self, folder: Path) -> Path | None:
        """Write the file of dead letters; returns it, or None if there are none.

        Example:
            >>> import tempfile
            >>> folder = Path(tempfile.mkdtemp())
            >>> letters = (DeadLetter(operator="B", reason="not a number", record="x"),)
            >>> result = RunResult(stopped=StopReason.DONE, received={}, submitted={}, dead_letters=letters)
            >>> print(result.write_dead_letters(folder).read_text(), end="")
            {"operator": "B", "reason": "not a number", "record": "x"}
        """
        if not self.dead_letters:
            return None
        path = folder / DEAD_LETTERS
        path.write_bytes(b"".join(letter.line() for letter in self.dead_letters))
        return path


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceResult(RunResult):
    """The outcome of a run on the reference interpreter.

    Where several programs ran together, an id stands behind its application's name: `Main.Sink`.

    Attributes:
        dropped: For each operator that lost some, the tuples that would have reached it over a feedback edge or an
            import after it had ended or after an interrupt, or that it submitted to a stream which it had ended itself.
        metrics: Custom metrics by name.
        start_time_ns: The virtual time when the run began.
        end_time_ns: The virtual time when it ended.
    """

    dropped: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, int] = field(default_factory=dict)
    start_time_ns: int = 0
    end_time_ns: int = 0
