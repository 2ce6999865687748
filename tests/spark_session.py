"""The one Spark session of a test run, and the comparison that everything on Spark is held to."""

from __future__ import annotations

import contextlib
import functools
import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from compiling import compile_fused
from penstock.expr.environment import Environment
from penstock.ir.graph import Application
from penstock.reference import run
from penstock.spark.job.run import SparkRun, run_on_spark
from penstock.spark.job.session import open_session
from penstock.toolkit.core.program import Program

Fusion = Sequence[Sequence[str]]


@functools.cache
def session() -> SparkSession:
    return open_session("local[2]", **{"spark.driver.memory": "2g"})


def everything_fused(application: Application) -> Fusion:
    return [[o.id for o in application.operators]]


def nothing_fused(application: Application) -> Fusion:
    return [[o.id] for o in application.operators]


def environment(data: Path, out: Path, settings: Mapping[str, list[str]] | None = None) -> Environment:
    return Environment(
        data_directory=data, output_directory=out, application_directory=data, submission_values=settings or {}
    )


def files(folder: Path) -> dict[str, bytes]:
    """What a run has written: the content of every file."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def run_reference(program: Program, data: Path) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()):
        run(program, environment=environment(data, Path(out)))
        return files(Path(out))


def run_spark(
    program: Program, data: Path, fusion: Fusion, *, turns_per_batch: int = 7, channels: int | None = 1
) -> tuple[dict[str, bytes], SparkRun]:
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryDirectory() as checkpoint:
        job = compile_fused(
            program, fusion, channels=channels, environment=environment(data, Path(out)), batch=turns_per_batch
        )
        outcome = run_on_spark(job, session(), checkpoint=Path(checkpoint) / "job")
        return files(Path(out)), outcome


def assert_equal_on_spark(
    program: Program,
    data: Path,
    *,
    fusions: Sequence[Callable[[Application], Fusion]] = (everything_fused, nothing_fused),
    turns_per_batch: int = 7,
    channels: int | None = 1,
) -> None:
    """Every sink receives on Spark what it receives from the reference, in the same order, however it is fused."""
    wanted = run_reference(program, data)
    assert wanted, "the program writes nothing, so it shows nothing"
    for fusion in fusions:
        found, _ = run_spark(
            program, data, fusion(program.application), turns_per_batch=turns_per_batch, channels=channels
        )
        assert found == wanted, fusion.__name__
