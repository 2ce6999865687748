"""The job of `penstock bench moves`, and the process that runs it: its channels move at random between all batches.

`python -m penstock.bench.workloads.moving_job MASTER FOLDER...` runs the job of `crashing_job` with the checkpoint of
each folder until it is done, starting it again where the query fails, and tells on standard output what happens:
`FOLDER move N` before a batch for which channels have moved, `FOLDER batch N` behind it, `FOLDER failed 0`, `FOLDER
done 0`. The name of a folder is the seed that moves are drawn from.
"""

from __future__ import annotations

import faulthandler
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.bench.workloads.crashing_job import (
    FUSION,
    MOST_RESTARTS,
    PATIENCE_SECONDS,
    TURNS_PER_BATCH,
    program,
    tell,
)
from penstock.compiler import Options
from penstock.expr.environment import Environment
from penstock.placement.live.channel_graph import ChannelGraph
from penstock.placement.live.live_schedule import Executor, Homes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHANNELS = 3
_SHARE_OF_MOVES = 0.4
"""The share of channels that move before a batch."""


def move_at_random(rng: random.Random, homes: Homes, executors: list[Executor]) -> Homes:
    """Some tasks on other executors.

    Example:
        >>> there = [Executor(id=str(n), host=str(n)) for n in range(3)]
        >>> move_at_random(random.Random(3), {(1, 0): "0", (1, 1): "1"}, there)
        {(1, 0): '2', (1, 1): '2'}
    """
    ids = [executor.id for executor in executors]
    return {task: rng.choice(ids) if rng.random() < _SHARE_OF_MOVES else home for task, home in homes.items()}


def main() -> None:
    """Run the jobs one after the other."""
    from penstock.spark.job.session import ON_PLACES, open_session

    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    master, *folders = sys.argv[1:]
    spark = open_session(master, **{"spark.driver.memory": "1g", "spark.executor.memory": "512m", **ON_PLACES})
    for folder in map(Path, folders):
        run_to_the_end(spark, folder)


def run_to_the_end(spark: SparkSession, folder: Path) -> None:
    """Run the job of a folder until it is done."""
    for _ in range(MOST_RESTARTS):
        try:
            _run_once(spark, folder)
        except Exception as error:
            print(error, file=sys.stderr)
            tell(folder, "failed")
        else:
            (folder / "done").touch()
            tell(folder, "done")
            return
    raise RuntimeError(f"the job has failed {MOST_RESTARTS} times")


def _run_once(spark: SparkSession, folder: Path) -> None:
    """Run the job from its checkpoint to its end, or to a failure."""
    from penstock.spark.job import query
    from penstock.spark.job.rescaling import run_program
    from penstock.spark.placement.placement_settings import PlacementSettings
    from penstock.spark.placement.placer import Placer

    class Restless(Placer):
        """A placer whose channels stay nowhere."""

        def _cause(self, present: Any) -> str | None:
            found = super()._cause(present)
            return "at random" if found is None else found

        def _decide(self, batch: int, cause: str) -> None:
            super()._decide(batch, cause)
            rng = random.Random(f"{folder.name}/{batch}")
            wanted = move_at_random(rng, self.homes, self.executors)
            if wanted != self.homes:
                tell(folder, "move", batch)
            self._move(batch, cause, ChannelGraph(), wanted)

    made = program()
    last = tuple(operator.id for operator in made.application.operators if not operator.outputs)
    options = Options(
        environment=Environment(data_directory=folder, output_directory=folder / "out"),
        pes=(*FUSION, last),
        channels=CHANNELS,
        batch=TURNS_PER_BATCH,
    )
    patched: Any = query
    patched.Placer = Restless
    run_program(
        made,
        options,
        spark,
        checkpoint=folder / "job",
        on_progress=lambda p: tell(folder, "batch", p["batchId"]),
        placement=PlacementSettings(algorithm="even"),
    )


if __name__ == "__main__":
    main()
