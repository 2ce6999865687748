"""`Run`: an application that runs in the background, until it ends or is stopped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.base.diagnostics import PenstockError, UserError
from penstock.reference.interrupt import on_interrupt

if TYPE_CHECKING:
    from penstock.local.run import LocalRun
    from penstock.spark.job.run import SparkRun

Ports = Mapping[str, Sequence[int]]
"""From operator id to the tuples of each port."""


Rescale = Callable[[int, Callable[[float], bool]], tuple[dict[str, float], list[int]] | None]
"""Gives a run so many channels."""


class Counts(NamedTuple):
    """The tuples of an operator, over all its ports.

    Example:
        >>> Counts(received=3, submitted=2)
        Counts(received=3, submitted=2, rejected=0, late=0, expired=0)
    """

    received: int
    submitted: int
    rejected: int = 0
    late: int = 0
    expired: int = 0


class Progress(NamedTuple):
    """How far a run is: batches, tuples that went into operators, seconds since the start.

    Example:
        >>> Progress(batches=2, tuples=40, seconds=0.5).tuples
        40
    """

    batches: int = 0
    tuples: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run.

    Attributes:
        stopped: Why it stopped: `done`, `interrupted`, `time`.
        received: The tuples of each input port, by operator.
        submitted: The tuples of each output port, by operator.
        rejected: The tuples that were set aside, by operator.
        late: The tuples that came too late, by operator: behind the clock, or behind the watermark.
        expired: The keys that were dropped because their time to live was over, by operator.
        batches: How many batches there were.
    """

    stopped: str
    received: Ports
    submitted: Ports
    rejected: Mapping[str, int]
    late: Mapping[str, int] = field(default_factory=dict)
    expired: Mapping[str, int] = field(default_factory=dict)
    batches: int = 1

    @staticmethod
    def of(run: LocalRun | SparkRun) -> Outcome:
        """The outcome of a run in batches."""
        totals = run.totals
        return Outcome(
            stopped=run.stopped,
            received=totals.received,
            submitted=totals.submitted,
            rejected=totals.rejected,
            late=totals.late,
            expired=totals.expired,
            batches=run.batches,
        )

    @property
    def totals(self) -> dict[str, Counts]:
        """The counts of all operators."""
        return count_operators(self.received, self.submitted, self.rejected, self.late, self.expired)


@dataclass(slots=True)
class Control:
    """The state that an engine and the handle of its run share.

    Attributes:
        stops: How often a stop was requested; the second request stops the run at once.
        ask: The function to call when a stop is requested.
        rescale: Gives the run other channels, if its engine can, and returns the seconds of each phase and the channels
            of each PE; nothing if the run is over, which the function that it is given waits for.
        totals: The counts so far.
        batches: How many batches there were so far.
    """

    stops: int = 0
    ask: Callable[[], None] | None = None
    rescale: Rescale | None = None
    totals: Mapping[str, Counts] = field(default_factory=dict)
    batches: int = 0

    def look(self, progress: Mapping[str, Any]) -> None:
        """Take what an engine tells behind a batch."""
        totals = progress["totals"]
        self.batches += 1
        counted = (totals.received, totals.submitted, totals.rejected, totals.late, totals.expired)
        self.totals = count_operators(*counted)

    def stop(self) -> None:
        """Ask the engine to stop."""
        self.stops += 1
        if self.ask is not None:
            self.ask()


Work = Callable[[Control], Outcome]


class Run:
    """A running application, as `app.run()` returns it.

    The run goes on in the background. A script that ends before it waits for it; `wait` raises what went wrong.

    Example:
        >>> from penstock import App
        >>> app = App("Numbers")
        >>> app.from_rows([(1,), (2,)], "int32 x", name="Numbers").for_each(lambda t: None, name="Sink")
        >>> run = app.run(engine="reference").wait()
        >>> run
        <Run of Numbers on reference: done>
        >>> run.totals["Sink"].received
        2
    """

    def __init__(self, application: str, engine: str, work: Work) -> None:
        self.application = application
        self.engine = engine
        self._control = Control()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._is_over = threading.Event()
        self._began = time.perf_counter()
        self._ended: float | None = None
        _wait_at_exit(self)
        threading.Thread(target=self._work, args=(work,), name=f"penstock run of {application}", daemon=True).start()

    def __repr__(self) -> str:
        return f"<Run of {self.application} on {self.engine}: {self.status}>"

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the run if it is still going, and wait until it has stopped."""
        self.stop()
        self.wait()

    @property
    def status(self) -> str:
        """`running`, `done`, `interrupted` (by `stop` or Ctrl-C), `time` (that was asked for has passed) or `failed`.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([(1,)], "int32 x").for_each(lambda t: None)
            >>> app.run(engine="reference").wait().status
            'done'
        """
        if not self._is_over.is_set():
            return "running"
        return self._outcome.stopped if self._outcome is not None else "failed"

    @property
    def totals(self) -> dict[str, Counts]:
        """The tuples that each operator has received, submitted and set aside: so far on Spark, else at the end.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([(1,), (2,)], "int32 x", name="Numbers").for_each(lambda t: None)
            >>> app.run(engine="reference").wait().totals["Numbers"]
            Counts(received=0, submitted=2, rejected=0, late=0, expired=0)
        """
        return self._outcome.totals if self._outcome is not None else dict(self._control.totals)

    @property
    def progress(self) -> Progress:
        """How far the run is.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([(1,), (2,)], "int32 x").for_each(lambda t: None)
            >>> app.run(engine="reference").wait().progress.tuples
            2
        """
        batches = self._outcome.batches if self._outcome is not None else self._control.batches
        tuples = sum(counts.received for counts in self.totals.values())
        ended = self._ended if self._ended is not None else time.perf_counter()
        return Progress(batches=batches, tuples=tuples, seconds=ended - self._began)

    def stop(self) -> None:
        """Stop in order: at the end of a batch, with everything before it written. Once more: at once.

        It does not wait; `wait` does. A run that is over is left alone.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.beacon("int32 x").for_each(lambda t: None)
            >>> run = app.run(engine="reference")
            >>> run.stop()
            >>> run.wait().status
            'interrupted'
        """
        if not self._is_over.is_set():
            self._control.stop()

    def rescale(self, channels: int) -> dict[str, float]:
        """Give a run on Spark other channels: it stops between two batches, deals its state out anew, and goes on.

        It returns when the first batch on the new channels is done.

        Returns:
            The seconds of each phase, and of the pause as a whole.

        Raises:
            UserError: The run is not on Spark, or is over before it has the channels; if it failed, so says `wait`.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.beacon("int32 x").for_each(lambda t: None)
            >>> with app.run(engine="reference") as run:
            ...     run.rescale(4)
            Traceback (most recent call last):
            penstock.UserError: error: a run on the reference engine has no channels that could change; ...
        """
        if not isinstance(channels, int) or isinstance(channels, bool) or channels < 1:
            raise UserError(f"`channels` is a number of at least 1, found {channels!r}")
        if self.engine != "spark":
            message = f"a run on the {self.engine} engine has no channels that could change"
            raise UserError(message, hint='run it with engine="spark"')
        while self._control.rescale is None and not self._is_over.wait(0.05):
            # It is being compiled.
            continue
        found = None
        if self._control.rescale is not None and not self._is_over.is_set():
            found = self._control.rescale(channels, self._is_over.wait)
        if found is None:
            raise UserError("the run was over before it was rescaled", hint=f"run it with channels={channels}")
        return found[0]

    def wait(self, seconds: float | None = None) -> Run:
        """Wait until the run is over, or for so many seconds at most; returns the run.

        Ctrl-C stops the run in order, and `wait` returns when it has stopped; a second one interrupts the waiting.

        Raises:
            UserError: The run has failed: as the command line says it, with the place in the program.

        Example:
            >>> from penstock import App
            >>> app = App()
            >>> app.from_rows([(0,)], "int32 x").map(lambda t: (1 // t.x,)).for_each(lambda t: None)
            >>> app.run(engine="reference").wait()
            Traceback (most recent call last):
            penstock.reference.failure.OperatorFailed: ...: error: operator `function` (function) failed on {x=0}: ...
        """
        with on_interrupt(self.stop):
            self._is_over.wait(seconds)
        if self._error is not None:
            _UNTOLD.discard(self)
            # The place in the program is what counts; that of a thread of ours is of use only where the bug is ours.
            raise self._error.with_traceback(None) if isinstance(self._error, PenstockError) else self._error
        return self

    def _work(self, work: Work) -> None:
        try:
            self._outcome = work(self._control)
            _UNTOLD.discard(self)
        except BaseException as error:
            self._error = error
        self._ended = time.perf_counter()
        self._is_over.set()


_UNTOLD: set[Run] = set()
"""The runs that are not over, and those that have failed while nobody has been told."""


def _wait_at_exit(run: Run) -> None:
    """See to it that the process does not end before a run does."""
    if not _IS_REGISTERED.is_set():
        _IS_REGISTERED.set()
        # An executor takes no more work when the interpreter shuts down, and jobs use some. `atexit` is too late, so we
        # ask to be called where executors do, and before them: the last one who asks comes first.
        import concurrent.futures.thread  # noqa: F401

        threading._register_atexit(_end_all)  # type: ignore[attr-defined] # as concurrent.futures does
    _UNTOLD.add(run)


_IS_REGISTERED = threading.Event()


def _end_all() -> None:
    """A script has ended without waiting: wait for its runs, and say what went wrong. A notebook stops them."""
    is_interactive = hasattr(sys, "ps1") or "ipykernel" in sys.modules
    for run in list(_UNTOLD):
        if is_interactive:
            run.stop()
        try:
            run.wait()
        except BaseException as error:
            print(error, file=sys.stderr)


def count_operators(
    received: Ports,
    submitted: Ports,
    rejected: Mapping[str, int],
    late: Mapping[str, int] | None = None,
    expired: Mapping[str, int] | None = None,
) -> dict[str, Counts]:
    """The counts of all operators.

    Example:
        >>> count_operators({"B": (2,)}, {"A": (2,), "B": (1, 1)}, {"B": 1})
        {'A': Counts(received=0, submitted=2, rejected=0, late=0, expired=0),
         'B': Counts(received=2, submitted=2, rejected=1, late=0, expired=0)}
    """
    return {
        id_: Counts(
            received=sum(received.get(id_, ())),
            submitted=sum(submitted.get(id_, ())),
            rejected=rejected.get(id_, 0),
            late=(late or {}).get(id_, 0),
            expired=(expired or {}).get(id_, 0),
        )
        for id_ in dict.fromkeys([*submitted, *received])
    }
