"""The common parts of the experiments on Spark: a session, timed runs, and the programs by hand.

A run has two figures. `seconds` is the time of the whole run, the start of the query included. `steady_tps` leaves out
the start and the end: the tuples of a batch over the median time of a batch. Runs that are compared take turns in one
session, and their medians are compared, so that what else the machine does falls on all of them.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from penstock.base import modules
from penstock.base.diagnostics import UserError
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.toolkit.core.program import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[4]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """A run with its time.

    Attributes:
        seconds: How long it took, from the start of the query to its end.
        batch_seconds: How long each batch took that was seen, the first and the last left out where there are others.
        received: For each operator, the tuples that came in by each input port.
    """

    seconds: float
    batch_seconds: tuple[float, ...]
    received: Mapping[str, Sequence[int]]

    def steady_tps(self, turns_per_batch: int) -> float:
        """Source tuples a second between the start and the end.

        Example:
            >>> Timed(seconds=9.0, batch_seconds=(2.0, 1.0, 1.0), received={}).steady_tps(500)
            500.0
        """
        return turns_per_batch / statistics.median(self.batch_seconds)


def open_bench_session() -> SparkSession:
    """The session of an experiment: all cores of this machine."""
    from penstock.spark.job.session import open_session

    return open_session("local[*]", **{"spark.driver.memory": "2g"})


def run_timed(
    spark: SparkSession,
    program: Program,
    *,
    data: Path,
    out: Path,
    turns_per_batch: int,
    fusion: str | Sequence[Sequence[str]] = "all",
    channels: int | None = 1,
) -> Timed:
    """Run a program to its end with a new checkpoint; files are written to `out`."""
    from penstock.spark.job.rescaling import run_program

    options = Options(
        environment=Environment(data_directory=data, output_directory=out),
        fusion=fusion if isinstance(fusion, str) else "all",
        pes=None if isinstance(fusion, str) else fusion,
        loops="inside",
        channels=channels,
        batch=turns_per_batch,
    )
    seen: dict[int, float] = {}
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as checkpoint:
        _, outcome = run_program(
            program,
            options,
            spark,
            checkpoint=Path(checkpoint) / "job",
            on_progress=lambda p: seen.update({p["batchId"]: p["batchDuration"] / 1000}),
        )
    middle = [seconds for batch, seconds in seen.items() if 0 < batch < outcome.batches - 1]
    return Timed(
        seconds=outcome.seconds,
        batch_seconds=tuple(middle or seen.values()),
        received=outcome.totals.received,
    )


def seconds_of(action: Callable[[], object]) -> float:
    """How long an action takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def in_turns(rounds: int, actions: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Let actions that measure something take turns; the median of each.

    Example:
        >>> in_turns(3, {"a": lambda: 1.0, "b": lambda: 2.0})
        {'a': 1.0, 'b': 2.0}
    """
    measured: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            measured[name].append(action())
    return {name: statistics.median(values) for name, values in measured.items()}


def by_hand(name: str) -> Any:
    """The module `benchmarks/handwritten_NAME.py` of the checkout; its functions are sent to workers by value.

    Raises:
        UserError: Penstock is installed without its checkout.
    """
    from pyspark import cloudpickle

    module = load_file(ROOT / "benchmarks" / f"handwritten_{name}.py")
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(module)
    return module


def load_file(path: Path) -> ModuleType:
    """Load a Python file of the checkout that is not part of the package.

    Raises:
        UserError: Penstock is installed without its checkout.
    """
    if not path.exists():
        raise UserError(f"this experiment needs `{path.name}`", hint="run it from a checkout of penstock")
    return modules.load_file(path, f"checkout_{path.stem}")
