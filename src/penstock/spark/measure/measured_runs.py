"""Measured runs of an application on Spark, for `optimize` and the benchmarks: what it writes is thrown away."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.base.diagnostics import UserError
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.model import Profile
from penstock.profiler.sampling import Sampling
from penstock.runtime.sources.batch_size import TURNS_PER_BATCH
from penstock.spark.measure.profiling import profile_on_spark
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SHORT_SECONDS = 10.0
"""A run of a single batch that took less is repeated: most of it may be the start of processes."""


class BatchRates:
    """How many tuples the sources give in a second of processing.

    The first batch starts processes and loads code; where there are others, it does not count.

    Example:
        >>> rates = BatchRates(["In"])
        >>> for total, milliseconds in ((100, 5000), (300, 1000), (500, 1000)):
        ...     rates.add(total, milliseconds)
        >>> rates.tuples_per_second()
        200.0
    """

    def __init__(self, sources: Sequence[str]) -> None:
        self._sources = sources
        self._batches: list[tuple[int, float]] = []

    def watch(self, progress: dict[str, Any]) -> None:
        """Take Spark's progress after a batch."""
        submitted = progress["totals"].submitted
        self.add(sum(sum(submitted.get(id_, ())) for id_ in self._sources), progress["batchDuration"])

    def add(self, total: int, milliseconds: float) -> None:
        """Take the tuples so far, and how long the last batch took."""
        self._batches.append((total, milliseconds / 1000.0))

    def tuples_per_second(self) -> float:
        """The rate; 0 if nothing was processed."""
        counted = [(total, seconds) for total, seconds in self._batches if seconds > 0]
        if not counted:
            return 0.0
        if len(counted) == 1:
            return counted[0][0] / counted[0][1]
        return (counted[-1][0] - counted[0][0]) / sum(seconds for _, seconds in counted[1:])

    def is_mostly_start(self) -> bool:
        """Whether all there was is one short batch, the one in which processes start.

        Example:
            >>> rates = BatchRates(["In"])
            >>> rates.add(100, 5000)
            >>> rates.is_mostly_start()
            True
        """
        return len(self._batches) == 1 and 0 < self._batches[0][1] < _SHORT_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """The measured runs of an application, with the settings that they share.

    Attributes:
        program: The program to run.
        environment: Files, settings and the clock of the run; output goes elsewhere.
        spark: The session to run it in.
        mips: The speed of one core.
        seconds: For how long at most; without it, until the input ends.
        rate: The fraction of tuples that signals look at.
        turns_per_batch: How many turns a source takes for one batch; as many as in the run that is planned.
    """

    program: Program
    environment: Environment
    spark: SparkSession
    mips: float
    seconds: float | None = None
    rate: float = 0.001
    turns_per_batch: int = TURNS_PER_BATCH

    def run(self, groups: Sequence[Sequence[str]], channels: int | None) -> tuple[Profile, float]:
        """Run a fusion; gives its profile, and the tuples that left the sources in a second of processing.

        A run that ends with its first batch, within seconds, is made once more, when processes have started.

        Args:
            groups: The operators of each PE.
            channels: How many channels parallel regions get; None leaves it to `@parallel` annotations.

        Raises:
            UserError: An operator failed, or no tuple came.
            KeyboardInterrupt: The user does not want to wait; what was measured until then is not the whole.
        """
        profile, rates = self._run_once(groups, channels)
        if rates.is_mostly_start():
            profile, rates = self._run_once(groups, channels)
        if rates.tuples_per_second() <= 0:
            raise UserError(
                f"no tuple came from the sources of `{self.program.application.name}`, so nothing can be measured",
                hint="give it input (--data DIR), or more time (--for SECONDS)",
            )
        return profile, rates.tuples_per_second()

    def _run_once(self, groups: Sequence[Sequence[str]], channels: int | None) -> tuple[Profile, BatchRates]:
        application = self.program.application
        rates = BatchRates([o.id for o in application.operators if not o.inputs])
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            out.mkdir()
            options = Options(
                environment=replace(self.environment, output_directory=out),
                pes=groups,
                channels=channels,
                batch=self.turns_per_batch,
                sampling=Sampling(rate=self.rate),
            )
            found = profile_on_spark(
                self.program,
                options,
                self.spark,
                mips=self.mips,
                checkpoint=Path(folder) / "job",
                seconds=self.seconds,
                on_progress=rates.watch,
            )
        if found.run.stopped == "interrupted":
            raise KeyboardInterrupt
        return found.profile, rates
